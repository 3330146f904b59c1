"""Rows of a moment: what happened, beside the cells of what the model saw of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeAlias

from markupsafe import Markup

from foldlog.cli.formats.html.fragments import Look
from foldlog.cli.formats.html.page import Section
from foldlog.cli.serve.prices import Price

CELL_CHARS = 600
"""Characters of HTML around the content of a cell."""


@dataclass(frozen=True, slots=True)
class Cell:
    """What the model saw of a piece, as far as a row shows it.

    Attributes:
        look: How it saw it, and why.
        first, last: The versions.
        tokens: Their size as they are shown, in estimated tokens.
        before: Their size as they happened.
        price: What the tokens that are shown cost; None where that is not known.
        content: What is seen in its place; None if it is as it happened.
        is_repeated: Whether a summary or marker is shown once, further down on the page.
        lost: Characters of the content that are not shown here.
        stand_in: What is shown in place of this piece and of others; None for other pieces.
    """

    look: Look
    first: int
    last: int
    tokens: int = 0
    before: int = 0
    price: Price | None = None
    content: Markup | None = None
    is_repeated: bool = False
    lost: int = 0
    stand_in: object = None

    def joined(self, other: Cell) -> Cell:
        """Return one cell of two that follow each other and belong to one piece."""
        content = None
        if self.content is not None and other.content is not None:
            content = other.content if self.stand_in else self.content + other.content
        return replace(
            other,
            first=self.first,
            tokens=other.tokens if self.stand_in else self.tokens + other.tokens,
            before=self.before + other.before,
            price=Price.joined(self.price, other.price, once=self.stand_in is not None),
            content=content,
            lost=other.lost if self.stand_in else self.lost + other.lost,
        )


class Shown(NamedTuple):
    """A passage as HTML.

    Attributes:
        html: The fragment.
        versions: Those of its event and of its result, if it is a call.
        lost: How many characters were cut off.
        cut: The version of the event that was cut.
    """

    html: Markup
    versions: tuple[int, ...]
    lost: int = 0
    cut: int = 0


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of a section that lies in one row; the first one shows who speaks."""

    section: Section
    parts: tuple[Shown, ...]
    is_first: bool


Places: TypeAlias = tuple[int, ...]
"""The pieces that a row belongs to, by their first versions; 0 for what was left behind."""


@dataclass(slots=True)
class Row:
    """What happened, beside what the model saw of it.

    Attributes:
        places: The pieces that it belongs to; empty for what has no place of its own.
        stretches: What happened.
        cells: What the model saw, a cell for each piece.
    """

    places: Places
    stretches: list[Stretch] = field(default_factory=list)
    cells: list[Cell] = field(default_factory=list)

    def add(self, section: Section, part: Shown, *, is_first: bool) -> None:
        """Add a passage of a section; ``is_first`` where it is the section's first."""
        if self.stretches and self.section is section:
            last = self.stretches[-1]
            self.stretches[-1] = Stretch(section, (*last.parts, part), last.is_first)
        else:
            self.stretches.append(Stretch(section, (part,), is_first))

    @property
    def section(self) -> Section:
        """The speaker who was the last to say something."""
        return self.stretches[-1].section

    @property
    def versions(self) -> list[int]:
        """The versions of its events."""
        return [v for stretch in self.stretches for part in stretch.parts for v in part.versions]


@dataclass(frozen=True, slots=True)
class Window:
    """Some rows of a moment.

    Attributes:
        first, last: The versions that they show.
        rows: In order.
    """

    first: int
    last: int
    rows: tuple[Row, ...]


def show_once(rows: list[Row]) -> None:
    """Show what stands in for several rows with the last of them."""
    shown: list[object] = []
    for row in reversed(rows):
        for place, cell in enumerate(row.cells):
            if cell.stand_in is not None and cell.stand_in in shown:
                row.cells[place] = replace(cell, content=None, tokens=0, is_repeated=True)
            shown.append(cell.stand_in)


def size(rows: Iterable[Row]) -> int:
    """Return about how many characters of HTML rows take."""
    parts = sum(len(p.html) for row in rows for s in row.stretches for p in s.parts)
    return parts + sum(len(cell.content or "") + CELL_CHARS for row in rows for cell in row.cells)
