"""Repairs of what only one model can read: thinking, signed by the model that wrote it."""

from __future__ import annotations

from collections.abc import Iterable

from foldlog.eventstore.events import Json
from foldlog.projections.render.items import Item
from foldlog.projections.render.repairs.repair import RepairContext
from foldlog.projections.wire.blocks import THINKING, kind
from foldlog.projections.wire.models import family


def newest_model(items: Iterable[Item]) -> str | None:
    """Return the model of the newest reply; skip names in ``<>``, which harnesses write."""
    models = (item.model for item in reversed(list(items)))
    return next((model for model in models if model and not model.startswith("<")), None)


def foreign_thinking(items: list[Item], context: RepairContext) -> list[Item]:
    """Leave out thinking, redacted or not, of another model than the request's."""
    if context.model is None or not context.in_replies & THINKING:
        return items
    wanted = family(context.model)

    def foreign(item: Item, block: Json) -> bool:
        if kind(block) not in THINKING:
            return False
        writer = _writer(item, block)
        return writer is not None and family(writer) != wanted

    return context.without(items, foreign, "foreign_thinking", role="assistant")


def unsigned_thinking(items: list[Item], context: RepairContext) -> list[Item]:
    """Leave out thinking without a signature: its stream broke off, or another API sent it."""
    if "thinking" not in context.in_replies:
        return items

    def unsigned(_: Item, block: Json) -> bool:
        return kind(block) == "thinking" and not block.get("signature")

    return context.without(items, unsigned, "unsigned_thinking", role="assistant")


def fallback(items: list[Item], context: RepairContext) -> list[Item]:
    """Leave out the blocks that mark the change from a model that refused to another one.

    Only requests with the same beta header may hold them.
    """
    if "fallback" not in context.in_replies:
        return items

    def marks(_: Item, block: Json) -> bool:
        return kind(block) == "fallback"

    return context.without(items, marks, "fallback", role="assistant")


def _writer(item: Item, block: Json) -> str | None:
    """Return the model that wrote a block: before a fallback block, the one that declined."""
    content = item.content
    at = next(i for i, other in enumerate(content) if other is block)
    for later in content[at:]:
        if kind(later) == "fallback" and isinstance(later, dict):
            declined = later.get("from")
            return declined.get("model") if isinstance(declined, dict) else item.model
    return item.model
