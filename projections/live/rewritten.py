"""Find the forms in which a harness writes what was recorded before: replies that it sends back,
texts that carried a mark in an earlier request.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from foldlog.eventstore.events import EventDraft, Json
from foldlog.projections.live.drafts import with_form
from foldlog.projections.render.divergence import same
from foldlog.projections.render.items import Item, recorded_content
from foldlog.projections.render.messages import Message
from foldlog.projections.wire.blocks import blocks
from foldlog.projections.wire.forms import Form, NoForm, form_of

CARRIERS = ("message.user", "message.assistant", "message.system", "tool.result")
"""What notes the forms of earlier events."""


def rewritten(seen: Sequence[Message], sent: Sequence[Mapping[str, Any]]) -> dict[str, Form]:
    """Return the forms, by version, that make messages of a view those that were sent."""
    found: dict[str, Form] = {}
    for message, written in _aligned(seen, sent):
        for item, content in _shares(message, written):
            if item.event is not None and not same(item.content, content):
                try:
                    form = form_of(recorded_content(item.event), content)
                except NoForm:
                    continue
                found[str(item.version)] = form
    return found


def noting(coming: Sequence[EventDraft], forms: Mapping[str, Form]) -> list[EventDraft] | None:
    """Return drafts of which the first that can notes forms of earlier events; None if none can."""
    for at, draft in enumerate(coming):
        if draft.type in CARRIERS:
            return [*coming[:at], with_form(draft, earlier=dict(forms)), *coming[at + 1 :]]
    return None


def _aligned(
    seen: Sequence[Message], sent: Sequence[Mapping[str, Any]]
) -> Iterator[tuple[Message, Mapping[str, Any]]]:
    """Yield messages that differ with what was sent for them: counted from the start, and from the
    end where there are more of the one than of the other."""
    pairs = list(zip(seen, sent, strict=False))
    if len(seen) != len(sent):
        pairs += zip(reversed(seen), reversed(sent), strict=False)
    for message, written in pairs:
        if message.role == written.get("role") and not same(message.to_json(), dict(written)):
            yield message, written


def _shares(message: Message, written: Mapping[str, Any]) -> Iterator[tuple[Item, Json]]:
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
        if not same(blocks(item.content), share):
            yield item, share
