"""Find the forms in which a harness writes what was recorded before: replies that it sends back,
texts that carried a mark in an earlier request.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from foldlog.eventstore.events import EventDraft, Json
from foldlog.projections.live.drafts import noted_keys, with_form
from foldlog.projections.render.divergence import same
from foldlog.projections.render.items import Item, recorded_content
from foldlog.projections.render.messages import Message
from foldlog.projections.render.source_form import Note
from foldlog.projections.wire.blocks import blocks
from foldlog.projections.wire.forms import NoForm, form_of

Written: TypeAlias = Mapping[str, Any]
"""A message as a harness wrote it."""

CARRIERS = ("message.user", "message.assistant", "message.system", "tool.result")
"""What notes the forms of earlier events."""


def rewritten(seen: Sequence[Message], sent: Sequence[Written]) -> dict[str, Note]:
    """Return what to note of events, by version, so that a view renders what was sent."""
    found: dict[str, Note] = {}
    for message, written in _aligned(seen, sent):
        keys = {"keys": noted_keys(written)}
        for item, content in _shares(message, written):
            note = _note(item, content, keys if item is message.items[0] else {})
            if note is not None:
                found[str(item.version)] = note
    return found


def _note(item: Item, content: Json, keys: Note) -> Note | None:
    """Return what to note of an item; None if nothing is new, or it was sent in other words."""
    if item.event is None:
        return None
    try:
        form = form_of(recorded_content(item.event), content)
    except NoForm:
        return None
    known = {key: value for key, value in item.form.items() if key != "earlier"}
    note = {key: value for key, value in {**known, "content": form, **keys}.items() if value}
    return None if same(note, known) else note


def noting(coming: Sequence[EventDraft], notes: Mapping[str, Note]) -> list[EventDraft] | None:
    """Return drafts with the notes on the first that takes them; None if none does."""
    for at, draft in enumerate(coming):
        if draft.type in CARRIERS:
            return [*coming[:at], with_form(draft, earlier=dict(notes)), *coming[at + 1 :]]
    return None


def _aligned(seen: Sequence[Message], sent: Sequence[Written]) -> Iterator[tuple[Message, Written]]:
    """Yield messages that differ with what was sent for them: counted from the start, and from the
    end where there are more of the one than of the other."""
    pairs = list(zip(seen, sent, strict=False))
    if len(seen) != len(sent):
        pairs += zip(reversed(seen), reversed(sent), strict=False)
    for message, written in pairs:
        if message.role == written.get("role") and not same(message.to_json(), dict(written)):
            yield message, written


def _shares(message: Message, written: Written) -> Iterator[tuple[Item, Json]]:
    """Yield the items of a message, each with its share of the content that was sent."""
    content = written.get("content")
    if len(message.items) == 1:
        yield message.items[0], content
        return
    counts = [len(blocks(item.content)) for item in message.in_order]
    if not isinstance(content, list) or len(content) != sum(counts):
        return
    start = 0
    for item, count in zip(message.in_order, counts, strict=True):
        share = content[start : start + count]
        start += count
        as_seen = same(blocks(item.content), share)
        yield item, item.content if as_seen else share
