"""Live sessions: any harness's requests are recorded as they pass, and the view is sent.

    harness's body → reconcile → append what is new → prepare → render → request.sent → the API
    its answer     → message.assistant, whole or partial; request.failed

One core, behind several doors: see ``recording``.
"""
