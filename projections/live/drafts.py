"""Make drafts of what a harness's list says that the log does not know yet.

Each result is an event, the rest of a message another one. They note the form in which the harness
wrote them where it cannot be derived, so that a view renders the message as it was sent.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from foldlog.eventstore.events import EventDraft, Json
from foldlog.projections.live.compared import Compared
from foldlog.projections.render.items import result_block
from foldlog.projections.render.replies import INTERRUPTED, NOT_STARTED
from foldlog.projections.render.source_form import FORM
from foldlog.projections.wire.forms import form_of
from foldlog.projections.wire.requests import MARK, unmarked

KEYS = ["role", "content"]
"""The usual keys of a message, in the usual order."""

Message = Mapping[str, Any]


def drafts(
    messages: Sequence[Message], parts: Sequence[Compared], matched: Container[int]
) -> Iterator[EventDraft]:
    """Yield drafts of what a list says beyond what is known, message by message.

    Args:
        messages: The list.
        parts: Its parts.
        matched: The indexes of those that the log says too.
    """
    fresh: dict[int, list[Compared]] = {}
    known: set[int] = set()
    for at, part in enumerate(parts):
        if at in matched:
            known.add(part.message)
        else:
            fresh.setdefault(part.message, []).append(part)
    for at, rest in fresh.items():
        first, *others = _drafts(messages[at], rest)
        yield first if at in known else with_form(first, **_message_form(messages, at))
        yield from others


def with_form(draft: EventDraft, **noted: Json) -> EventDraft:
    """Return a draft that notes something more of its form; what is empty is left out."""
    more = {key: value for key, value in noted.items() if value}
    if not more:
        return draft
    return replace(draft, meta={**draft.meta, FORM: {**draft.meta.get(FORM, {}), **more}})


def _drafts(message: Message, rest: Sequence[Compared]) -> Iterator[EventDraft]:
    role, more = str(message.get("role")), {}
    if role == "user":
        yield from (_result(part.block) for part in rest if part.is_result)
        rest = [part for part in rest if not part.is_result]
    elif role == "system":
        more = {key: message[key] for key in message if key not in (*KEYS, MARK)}
    if rest:
        yield EventDraft(f"message.{role}", {"content": _content(message, rest), **more})


def _content(message: Message, rest: Sequence[Compared]) -> Json:
    content = message.get("content")
    return content if isinstance(content, str) else unmarked([part.block for part in rest])


def _result(block: Json) -> EventDraft:
    """Return a result; one that says it was interrupted gives way to a real one later."""
    [bare] = unmarked([block])
    data = {key: value for key, value in bare.items() if key != "type"}
    made_up = data.get("content") in (INTERRUPTED, NOT_STARTED)
    draft = EventDraft("tool.result", {**data, "synthesized": True} if made_up else data)
    return with_form(draft, content=form_of([result_block(data)], [bare]))


def _message_form(messages: Sequence[Message], at: int) -> dict[str, Json]:
    """Return what the first draft of a message notes of it."""
    message = messages[at]
    apart = at > 0 and messages[at - 1].get("role") == message.get("role")
    return {"apart": apart, "keys": noted_keys(message)}


def noted_keys(message: Message) -> list[str] | None:
    """Return the keys of a message as they are noted; None for the usual, or for more values."""
    usual = [*KEYS, *(key for key in message if key not in KEYS and message[key] is not None)]
    is_usual = list(message) == usual
    is_known = message.get("role") == "system" or len(usual) == len(KEYS)
    return list(message) if is_known and not is_usual else None
