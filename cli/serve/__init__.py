"""A viewer that travels in time: pages of a store, for the browser of the user of this machine.

    browser ─► security ─► app ─► pages ─► a template

app        which address shows what            security, keys   who may look
pages      what a page needs                   readers          a store for each request
moment     what happened beside what was seen  history          requests, replies, compactions
listing    which sessions                      chart, prices    figures, and what they cost
rendering  templates, styles, scripts          running, state   the server, and where it is found

The fragments and the style are those of the export: ``foldlog.cli.formats.html``. Pages are made
here; htmx puts parts of them into the page that is open. Nothing is loaded from elsewhere.
"""
