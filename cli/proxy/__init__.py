"""A recording proxy: HTTP on the loopback, in front of the Messages API.

    client ─► guard ─► read ─► record the request ─► upstream ─► client, and record the reply

``server`` passes bytes on, ``recorder`` records, ``grouping`` says which session a request belongs
to. Headers are never recorded. What the proxy does not know (other paths, other methods, bodies
that are not JSON) goes through as it came.
"""
