"""What of the messages on disk is sent: after compactions, with what was kept of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from foldlog.cli.formats.cline.messages import is_summary
from foldlog.projections.wire.blocks import objects

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from foldlog.eventstore.events import Json

Message = dict[str, Any]


def projected(messages: Sequence[Message], state: Mapping[str, Json]) -> list[Message] | None:
    """Return what a session sends after a compaction; None if there is none that fits.

    Args:
        messages: All messages of the session.
        state: What its compaction left: messages in place of the first ``source_message_count``.
    """
    count, listed = state.get("source_message_count"), objects(state.get("messages"))
    shown = [message for message in messages if not _is_only_displayed(message)]
    if not isinstance(count, int) or isinstance(count, bool) or not 0 < count <= len(shown):
        return None
    last = state.get("source_last_message_key")
    own = shown[count - 1].get("id")
    if not listed or (isinstance(own, str) and last != f"id:{own}"):
        return None
    return [*listed, *shown[count:]]


def effective(messages: Sequence[Message]) -> list[Message] | None:
    """Return what a task of Roo Code or Kilo Code sends; None if it sends all of its messages.

    Messages name the summary or the cut that hides them; while that is there, they are not sent.
    From the last summary on all is sent, and before a summary of the model the first message.
    """
    hidden = {message.get("condenseId") for message in messages if is_summary(message)}
    hidden |= {m.get("truncationId") for m in messages if m.get("isTruncationMarker") is True}
    hidden = {name for name in hidden if isinstance(name, str)}
    if not hidden:
        return None
    kept = [message for message in messages if not _is_hidden(message, hidden)]
    places = [place for place, message in enumerate(kept) if is_summary(message)]
    if not places:
        return kept
    first = kept[:1] if kept[places[-1]].get("role") == "assistant" and places[-1] else []
    return [*first, *kept[places[-1] :]]


def _is_hidden(message: Message, by: set[Json]) -> bool:
    names = (message.get("condenseParent"), message.get("truncationParent"))
    return any(isinstance(name, str) and name in by for name in names)


def _is_only_displayed(message: Message) -> bool:
    metadata = message.get("metadata")
    return isinstance(metadata, dict) and metadata.get("displayOnly") is True
