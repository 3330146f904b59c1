"""The result that is written for a call whose own result never came.

What happened to the call is not known: it may have run in part or in full. The model is told so,
and that the call failed; a real result that arrives later takes its place.
"""

from __future__ import annotations

from typing import Any

from foldlog.eventstore.events import Json
from foldlog.projections.blocks import call_id

INTERRUPTED = (
    "[Tool call interrupted: the session ended before this call's result was recorded."
    " The outcome is unknown: it may have run in part or in full.]"
)


def interrupted(call: Json) -> dict[str, Any]:
    """The data of the ``tool.result`` that closes a call as interrupted.

    Args:
        call: The ``tool_use`` block. The name of its toolset, if it has one, is echoed, as the API
            demands.
    """
    echoed = {"toolset_name": call["toolset_name"]} if call.get("toolset_name") else {}
    return {
        "tool_use_id": call_id(call),
        "content": INTERRUPTED,
        "is_error": True,
        **echoed,
        "synthesized": True,
    }
