"""Render a view as the request that is sent to the model.

    pieces -> items (each as it is shown) -> repaired by named rules -> messages

Pure: no clock, no randomness, no network; the same view gives the same bytes. Content that is shown
whole is the very object that was recorded: unknown block types and fields, and the order of keys,
survive.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, TypeAlias

from foldlog.eventstore.errors import InvalidView
from foldlog.projections.render.call_names import CallNames
from foldlog.projections.render.interrupted import closing
from foldlog.projections.render.items import Item, items, result_block, whole_items
from foldlog.projections.render.messages import Message, messages
from foldlog.projections.render.repairs import Repair, RepairContext, repair_items
from foldlog.projections.render.repairs.characters import whole_characters
from foldlog.projections.render.repairs.thinking import newest_model
from foldlog.projections.render.replies import Call, interruption, join_replies, waiting_calls
from foldlog.projections.view.view import View
from foldlog.projections.wire.blocks import CALL, kind

Open: TypeAlias = Literal["error", "keep", "recover"]
"""What to do with open calls at the end of a view: refuse, keep, or close them as interrupted."""


def render(view: View, *, open: Open = "error", model: str | None = None) -> dict[str, Any]:
    """Return the request that shows a view to a model.

    Args:
        open: What to do with calls at the end that have no result yet. ``recover`` adds the
            results that ``Session.recover`` would append; nothing is written.
        model: The model that the request is for; the model of the newest reply by default.
            Thinking that another model wrote is left out (dates in model names do not count).

    Returns:
        ``{"system", "tools", "messages"}``. ``system`` and ``tools`` are None if none was set:
        leave them out when sending. The values belong to the log: copy before changing them.

    Raises:
        InvalidView: A call at the end is open (with ``error``), or a summary that is shown does
            not exist.
    """
    if view.request is not None:
        from foldlog.projections.render.sent import sent  # which renders views itself

        return {"system": None, "tools": None, **sent(view, view.request)}
    return request_of(view, render_messages(view, open=open, model=model))


def render_messages(
    view: View, *, open: Open, model: str | None = None, whole: bool = False
) -> list[Message]:
    """Return the messages of a request before they become JSON: each knows its items.

    Args:
        whole: All that happened on the view's lineage, however its edits show it.
    """
    return _messages_of_view(view, open, model, whole)[0]


def request_of(view: View, messages: Iterable[Message]) -> dict[str, Any]:
    """Return the request that some messages of a view make, with its settings."""
    return {
        "system": whole_characters((view.system or {}).get("system")),
        "tools": whole_characters((view.tools or {}).get("tools")),
        "messages": [message.to_json() for message in messages],
    }


def repairs(view: View, *, model: str | None = None) -> list[Repair]:
    """Return what render left out or completed in a view: the rule and the version of each."""
    _, context = _messages_of_view(view, "keep", model)
    return list(dict.fromkeys(context.found))


def open_calls(view: View) -> list[Call]:
    """Return the calls at the end of a view that have no result yet, in their order."""
    return _open(*_named(items(view)))


def interrupted_items(view: View) -> list[Item]:
    """Return the results that ``open="recover"`` adds for the open calls."""
    return [_closing_item(call.version, closing(view, call)) for call in open_calls(view)]


def messages_of(seen: list[Item], *, model: str | None = None) -> list[dict[str, Any]]:
    """Return the messages that some items of a view make, for example a stretch of it.

    Calls at the end that wait for their results are closed as interrupted.
    """
    named, names = _named(seen)
    ours = (call for call in waiting_calls(named) if kind(call.block) == CALL)
    closed = [_closing_item(call.version, interruption(call.block)) for call in ours]
    made, _ = _assemble([*named, *closed], names, model)
    return [message.to_json() for message in made]


def _messages_of_view(
    view: View, open: Open, model: str | None, whole: bool = False
) -> tuple[list[Message], RepairContext]:
    seen, names = _named(whole_items(view) if whole else items(view))
    if open == "error" and (ours := _open(seen, names)):
        raise _open_calls_error(view, ours)
    closed = interrupted_items(view) if open == "recover" else ()
    return _assemble([*seen, *map(names.apart, closed)], names, model)


def _named(seen: Iterable[Item]) -> tuple[list[Item], CallNames]:
    """Return items with their replies joined, and each call with a name of its own."""
    names = CallNames()
    return [names.apart(item) for item in join_replies(seen)], names


def _open(seen: list[Item], names: CallNames) -> list[Call]:
    """Return the calls that wait for their results, with the ids that they were recorded with."""
    ours = (call for call in waiting_calls(seen) if kind(call.block) == CALL)
    return [names.as_recorded(call) for call in ours]


def _assemble(
    seen: list[Item], names: CallNames, model: str | None
) -> tuple[list[Message], RepairContext]:
    """Return the messages that items make whose replies are joined; and the repairs."""
    calls = waiting_calls(seen)
    context = RepairContext.of(seen, model or newest_model(seen), calls)
    for version in names.renamed:
        context.note("repeated_id", version)
    return messages(repair_items(seen, context), context), context


def _closing_item(version: int, data: dict[str, Any]) -> Item:
    """Return the result that closes a call, by the version of the call."""
    return Item(version, "user", "result", [result_block(data)])


def _open_calls_error(view: View, calls: list[Call]) -> InvalidView:
    ids = ", ".join(call.id for call in calls)
    return InvalidView(
        f"session {view.session!r} ends at version {view.version} with calls that have no result:"
        f" {ids}. Append their results; or close them as interrupted, outcome unknown, with"
        f" `foldlog recover {view.session}`, or render with open='recover'."
    )
