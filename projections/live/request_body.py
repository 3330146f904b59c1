"""A view in a harness's request: its own settings and cache marks, and what the policy asks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from foldlog.eventstore.events import EventDraft, Json
from foldlog.projections.compaction.bound_thinking import DROP_BLOCK, is_bound
from foldlog.projections.compaction.decision import ApiRequestExtras
from foldlog.projections.explain.proof import has_diverged
from foldlog.projections.live.request import Body, HarnessRequest
from foldlog.projections.render.items import items
from foldlog.projections.view.lineage import is_version
from foldlog.projections.view.view import View
from foldlog.projections.wire.blocks import THINKING, blocks, content_of, is_blank, kind
from foldlog.projections.wire.requests import MARK, SETTINGS

ALWAYS = {"type": "adaptive"}
"""The ``thinking`` of a request that sets none, where it says what to do about earlier thinking: a
model that binds its thinking thinks in any case."""


def with_view(request: HarnessRequest, rendered: Mapping[str, Any]) -> dict[str, Any]:
    """Return a harness's request with the view in the place of its messages, sent whole.

    What a message thread leaves to the API, system prompt and tools too, comes from the view.
    """
    made = {key: value for key, value in request.body.items() if key != "thread"}
    if request.previous_reply:
        held = {key: rendered[key] for key in SETTINGS if rendered[key] is not None}
        made = {**held, **made}
    made["messages"] = marked(rendered["messages"], request.messages)
    return made


def asked_for(
    ask: ApiRequestExtras | None, body: Body, betas: frozenset[str]
) -> tuple[dict[str, Any], frozenset[str]]:
    """Return a request that asks for something, and the beta names that it needs besides its own.

    What the harness itself asks for is kept: a request in which the API edits already is not
    changed in that.
    """
    if ask is None:
        return dict(body), frozenset()
    taken = {key for key in ask.params if key != "thinking" and body.get(key) is not None}
    if taken:
        ask = ApiRequestExtras(
            {k: v for k, v in ask.params.items() if k not in taken}, ask.betas, ask.reason
        )
    if "thinking" in ask.params and not body.get("thinking"):
        body = {**body, "thinking": ALWAYS}
    made = ask.added_to(body)
    added = frozenset(made.pop("betas", ()))
    return made, added - betas


def marked(
    view: Sequence[Mapping[str, Any]], harness: Sequence[Mapping[str, Any]]
) -> list[Mapping[str, Any]]:
    """Return the messages of a view with the marks of a harness's list, as far from the end.

    A mark is put on the last block of a message that can have one: thinking and empty text cannot.
    Messages without a mark are the very objects of the view.
    """
    messages = list(view)
    for behind, mark in _marks(harness):
        at = len(messages) - 1 - behind
        if at >= 0:
            messages[at] = _marked(messages[at], mark)
    return messages


def _marks(messages: Sequence[Mapping[str, Any]]) -> Iterator[tuple[int, Json]]:
    """Yield the newest mark of each message that has one, and how many messages follow it."""
    for behind, message in enumerate(reversed(messages)):
        content = blocks(content_of(message.get("content")))
        found = [block[MARK] for block in content if isinstance(block, dict) and block.get(MARK)]
        if found:
            yield behind, found[-1]


def _marked(message: Mapping[str, Any], mark: Json) -> Mapping[str, Any]:
    content = list(blocks(content_of(message.get("content"))))
    for at in range(len(content) - 1, -1, -1):
        if kind(content[at]) not in THINKING and not is_blank(content[at]):
            content[at] = {**content[at], MARK: mark}
            return {**message, "content": content}
    return message


def without_partial(view: View) -> list[EventDraft]:
    """Return the move that takes a broken-off reply off the lineage, if nothing was said after it.

    The models refuse a request that ends in a reply. All else stays on the lineage.
    """
    newest = next((item.event for item in reversed(items(view))), None)
    if newest is None or not newest.data.get("partial"):
        return []
    path = view.layout.lineage.without(newest.version).ranges
    to = max(last for _, last in path)
    return [EventDraft("head.moved", {"to": to, "path": [list(part) for part in path]})]


def drops_bound(view: View, model: str | None) -> ApiRequestExtras | None:
    """Return what to ask where thinking may be bound to messages sent in place of the view."""
    reply = next((item.event for item in reversed(items(view)) if item.role == "assistant"), None)
    request = reply.data.get("request") if reply else None
    if not is_bound(model) or not is_version(request):
        return None
    return DROP_BLOCK if has_diverged(view.event(request)) else None
