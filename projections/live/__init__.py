"""Live sessions: record any harness's requests as they pass, and send the view.

    harness's body → reconcile → append what is new → prepare → render → request.sent → the API
    its answer     → message.assistant, whole or partial; request.failed

One core, ``Recording``, serves ``Session.middleware`` for the SDK, the proxy, and any other way of
sending requests.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from foldlog.projections.live.outgoing import Outgoing, Reading
    from foldlog.projections.live.recording import Recording

__all__ = ["Outgoing", "Reading", "Recording"]

_HOMES = {"Outgoing": "outgoing", "Reading": "outgoing", "Recording": "recording"}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: the rest of the package is slow to import."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
