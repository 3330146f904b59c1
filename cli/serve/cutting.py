"""Passages cut to a size that a page can hold; the rest is loaded when somebody asks for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import TypeVar

from foldlog.cli.formats.html.fragments import IMAGES, Address
from foldlog.eventstore.events import Json
from foldlog.projections.explain.narrative import Block, Call, Edit, Passage

CHARS = 5_000
"""Characters of an event that are shown at first."""

INLINE = 20_000
"""Characters of an image's data, in base64, that are part of a page; a larger one is loaded."""

LEAST = 80
"""Characters of a text that are shown in any case, unless very much was shown before it."""

P = TypeVar("P", bound=Passage)


@dataclass(slots=True)
class Cutter:
    """Cuts what is to be shown of one event.

    Args:
        image: Returns the address of an image by its version and its digest.
        left: Characters that may still be shown.

    Attributes:
        lost: Characters that were cut off.
        of: The version of the result that was cut within a call; None otherwise.
    """

    image: Callable[[int, str], str]
    left: int = CHARS
    lost: int = 0
    of: int | None = None

    def passage(self, passage: P) -> P:
        """Return a passage with its content cut; a result within its call has a size of its own."""
        if isinstance(passage, Block):
            cut = replace(passage, content=self.json(passage.content, passage.version))
            if isinstance(cut, Call) and cut.result is not None:
                apart = Cutter(self.image, max(self.left, CHARS))
                cut = replace(cut, result=apart.passage(cut.result))
                self.lost += apart.lost
                self.of = cut.result.version if apart.lost and cut.result else None
            return cut
        if isinstance(passage, Edit):
            return passage  # a template shows the beginning of it
        data = self.json(passage.event.data, passage.version)
        return replace(passage, event=replace(passage.event, data=data))

    def json(self, value: Json, version: int) -> Json:
        """Return JSON of the same shape; texts are cut, and once too much was shown, lists too."""
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, list):
            return [self.json(item, version) for item in self._some(value)]
        if not isinstance(value, Mapping):
            return value
        if is_image(value) and len(value["data"]) > INLINE:
            return {**value, "data": Address(self.image(version, digest(value["data"])))}
        if is_image(value):
            return value
        return {str(key): self.json(value[key], version) for key in self._some(list(value))}

    def _text(self, text: str) -> str:
        most = max(self.left, LEAST if self.left > -CHARS else 0)
        shown = text if len(text) <= most else f"{text[:most]}…"
        self.left -= len(shown)
        self.lost += max(0, len(text) - most)
        return shown

    def _some(self, items: list[Json]) -> list[Json]:
        """Return the items that are shown: each takes some room, whatever it holds."""
        shown = items[: max(8, self.left // 8)]
        self.left -= 4 * len(shown)
        self.lost += len(items) - len(shown)
        return shown


def is_image(value: Mapping[str, Json]) -> bool:
    """Return whether JSON is the source of an image whose data is there."""
    kind, data = value.get("media_type"), value.get("data")
    return isinstance(kind, str) and kind in IMAGES and isinstance(data, str)


def digest(data: str) -> str:
    """Return a short name of an image's data."""
    return sha256(data.encode("utf-8", "replace")).hexdigest()[:24]


def find_image(value: Json, wanted: str) -> Mapping[str, Json] | None:
    """Return the source of the image whose data has a digest; None if it is not in there."""
    waiting = [value]
    while waiting:
        found = waiting.pop()
        if isinstance(found, Mapping):
            if is_image(found) and digest(found["data"]) == wanted:
                return found
            waiting += found.values()
        elif isinstance(found, list):
            waiting += found
    return None
