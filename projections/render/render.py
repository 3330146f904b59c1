"""Render: a view becomes the request that the model is sent.

    pieces -> items (each as it is shown) -> mended by named rules -> messages

Pure: no clock, no randomness, no network; the same view gives the same bytes. Content that is shown
whole is the very object that was recorded: unknown block types and fields, and the order of keys,
survive.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from foldlog.eventstore.errors import InvalidView
from foldlog.projections.render.items import Item, items
from foldlog.projections.render.messages import messages
from foldlog.projections.render.repairs import Mending, Repair, repaired
from foldlog.projections.render.repairs.characters import whole_characters
from foldlog.projections.render.repairs.thinking import newest_model
from foldlog.projections.render.replies import Call, interrupted, joined, waiting
from foldlog.projections.view.view import View
from foldlog.projections.wire.blocks import CALL, RESULT, kind

Open: TypeAlias = Literal["error", "keep", "recover"]
"""What to do about open calls at the end of a view: refuse, leave or close them as interrupted."""


def render(view: View, *, open: Open = "error", model: str | None = None) -> dict[str, Any]:
    """The request that shows a view to a model.

    Args:
        open: What to do about calls at the end that have no result yet. ``recover`` adds the same
            results that ``Session.recover`` would append; nothing is written.
        model: The model that the request is for: thinking that another one wrote is left out, dates
            in names aside. Without one, it is the model of the newest reply.

    Returns:
        ``{"system", "tools", "messages"}``. ``system`` and ``tools`` are None where none was set:
        leave them out when sending. The values belong to the log: copy before changing them.

    Raises:
        InvalidView: A call at the end is open, or a summary that is shown is not there.
    """
    messages, _ = _rendered(view, open, model)
    return {
        "system": whole_characters((view.system or {}).get("system")),
        "tools": whole_characters((view.tools or {}).get("tools")),
        "messages": messages,
    }


def repairs(view: View, *, model: str | None = None) -> list[Repair]:
    """What render had to leave out or complete in a view: the rule and the version of each."""
    _, mending = _rendered(view, "keep", model)
    return list(dict.fromkeys(mending.found))


def open_calls(view: View) -> list[Call]:
    """The calls at the end of a view that have no result yet, in the order they were made."""
    return [call for call in waiting(joined(items(view))) if kind(call.block) == CALL]


def interrupted_items(view: View) -> list[Item]:
    """The results that ``open="recover"`` adds for the calls that are open."""
    return [_interrupted(call) for call in open_calls(view)]


def messages_of(seen: list[Item], *, model: str | None = None) -> list[dict[str, Any]]:
    """The messages that some items of a view make, a stretch of a conversation for example.

    Calls at the end that wait for their results are closed as interrupted.
    """
    return _assembled(joined(seen), "recover", model)[0]


def _rendered(view: View, open: Open, model: str | None) -> tuple[list[dict[str, Any]], Mending]:
    seen = joined(items(view))
    if open == "error":
        ours = [call for call in waiting(seen) if kind(call.block) == CALL]
        if ours:
            raise _still_open(view, ours)
    return _assembled(seen, open, model)


def _assembled(
    seen: list[Item], open: Open, model: str | None
) -> tuple[list[dict[str, Any]], Mending]:
    """The messages that items make whose replies are joined."""
    calls = waiting(seen)
    if open == "recover":
        seen = seen + [_interrupted(call) for call in calls if kind(call.block) == CALL]
    mending = Mending.of(seen, model or newest_model(seen), calls)
    return messages(repaired(seen, mending), mending), mending


def _interrupted(call: Call) -> Item:
    data = interrupted(call.block)
    block = {"type": RESULT, **{k: v for k, v in data.items() if k != "synthesized"}}
    return Item(call.version, "user", "result", [block])


def _still_open(view: View, calls: list[Call]) -> InvalidView:
    ids = ", ".join(call.id for call in calls)
    return InvalidView(
        f"session {view.session!r} ends at version {view.version} with calls that have no result:"
        f" {ids}. Append their results; or close them as interrupted, outcome unknown, with"
        f" `foldlog recover {view.session}`, or render with open='recover'."
    )
