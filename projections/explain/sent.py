"""Find where a request was sent otherwise than its view shows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from foldlog.eventstore.events import Json
from foldlog.projections.render.divergence import divergence, places, same
from foldlog.projections.render.messages import Message
from foldlog.projections.render.render import request_of
from foldlog.projections.render.sent import seen_messages, sent
from foldlog.projections.tokens.estimate import estimate
from foldlog.projections.tokens.truncate import one_line
from foldlog.projections.view.view import View

WORDS = 60
"""Characters of a value that a difference quotes."""


@dataclass(frozen=True, slots=True)
class AsSent:
    """As it was sent, where that is not how the view shows it."""

    kind: ClassVar[str] = "sent"


SENT = AsSent()


@dataclass(frozen=True, slots=True)
class Sent:
    """What was sent instead of a message of a view.

    Attributes:
        first, last: The versions of the message.
        seen: The message as the view shows it; None where it shows none.
        messages: What was sent, which may be nothing.
    """

    first: int
    last: int
    seen: Json
    messages: Sequence[Json]

    @property
    def tokens(self) -> int:
        """The estimated tokens of what was sent."""
        return estimate({"messages": self.messages})

    @property
    def seen_tokens(self) -> int:
        """The estimated tokens of the message."""
        return estimate({"messages": [self.seen] if self.seen is not None else []})

    @property
    def difference(self) -> str:
        """Where the two differ first, and in what."""
        if not self.messages:
            return "it was not sent"
        if len(self.messages) > 1 or self.seen is None:
            return f"{len(self.messages)} messages were sent here"
        return _difference("", self.seen, self.messages[0])

    def to_json(self) -> dict[str, Any]:
        """Return it as ``foldlog diff --json`` prints it."""
        return {"messages": list(self.messages), "view": self.seen}


def differences(view: View) -> dict[str, Sent]:
    """Return where the request that a view stands for differed from it, by place."""
    if view.request is None:
        return {}
    seen = seen_messages(view, view.request)
    rendered = request_of(view, seen)
    instead = divergence(rendered, seen, sent(view, view.request)).get("instead", {})
    by_place = dict(zip(places(seen), zip(seen, rendered["messages"], strict=True), strict=True))
    return {place: _sent(by_place.get(place), found or [None]) for place, found in instead.items()}


def _sent(known: tuple[Message, Json] | None, instead: Sequence[Json]) -> Sent:
    if known is None:
        return Sent(0, 0, None, instead)
    message, seen = known
    versions = [item.version for item in message.items]
    written = [seen if part is None else part for part in instead]
    return Sent(min(versions), max(versions), seen, written)


def _difference(path: str, seen: Json, sent: Json) -> str:
    """Return the first place where two values differ."""
    if isinstance(seen, Mapping) and isinstance(sent, Mapping):
        if list(seen) != list(sent):
            return f"{path or 'message'}: keys {', '.join(sent)}; in the view {', '.join(seen)}"
        pairs = [(f"{path}.{key}".lstrip("."), seen[key], sent[key]) for key in sent]
    elif isinstance(seen, list) and isinstance(sent, list) and len(seen) == len(sent):
        pairs = [(f"{path}[{at}]", *pair) for at, pair in enumerate(zip(seen, sent, strict=True))]
    elif isinstance(seen, list) and isinstance(sent, list):
        return f"{path}: {len(sent)} blocks were sent; in the view {len(seen)}"
    else:
        return f"{path}: {_quoted(sent)} was sent; in the view {_quoted(seen)}"
    return next((_difference(*pair) for pair in pairs if not same(*pair[1:])), path)


def _quoted(value: Json) -> str:
    return one_line(repr(value) if isinstance(value, str) else f"a {type(value).__name__}", WORDS)
