"""Rows of figures, and the Markdown that they become in README.md."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from benchmarks.measure import Facts

BEGIN, END = "<!-- bench: begin -->", "<!-- bench: end -->"


@dataclass(frozen=True, slots=True)
class Row:
    """One measure beside its target.

    Attributes:
        what: The measure in words.
        ours: foldlog's figure, with its unit.
        theirs: What it is compared with, with its unit.
        value: The figure that the target is about, mostly a ratio.
        target: The most that ``value`` may be, or with ``at_least`` the least. None: no target.
        at_least: More is better.
        profile: Where the time went, for a target that was missed.
    """

    what: str
    ours: str
    theirs: str
    value: float
    target: float | None
    at_least: bool = False
    profile: tuple[str, ...] = ()

    @property
    def met(self) -> bool:
        if self.target is None:
            return True
        return self.value >= self.target if self.at_least else self.value <= self.target

    def explained(self, profile: Callable[[], Facts]) -> Row:
        """With the profile of the measurement, if it missed its target."""
        return self if self.met else replace(self, profile=tuple(profile()["profile"]))

    def cells(self) -> list[str]:
        verdict = "" if self.target is None else "met" if self.met else "**missed**"
        sign = "≥" if self.at_least else "≤"
        target = "" if self.target is None else f"{sign} {self.target:g}"
        return [self.what, self.ours, self.theirs, f"{self.value:.2f}", target, verdict]


@dataclass(slots=True)
class Table:
    """A further table, under its own heading."""

    heading: str
    columns: Sequence[str]
    rows: list[Sequence[str]] = field(default_factory=list)
    note: str = ""


@dataclass(slots=True)
class Report:
    """What a part found, or why it found nothing."""

    rows: list[Row] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    missing: str = ""


def markdown(reports: Iterable[Report], facts: Sequence[str]) -> str:
    """Return the whole text between the markers."""
    reports = list(reports)
    rows = [row for report in reports for row in report.rows]
    lines = [*facts, *(f"* {report.missing}" for report in reports if report.missing), ""]
    columns = ("measure", "foldlog", "beside it", "ratio", "target", "")
    lines += grid(columns, [row.cells() for row in rows])
    for table in (table for report in reports for table in report.tables):
        lines += ["", f"### {table.heading}", ""]
        if table.note:
            lines += [table.note, ""]
        lines += grid(table.columns, table.rows)
    for row in rows:
        if row.profile and not row.met:
            lines += ["", f"### Why “{row.what}” is missed", "", "```", *row.profile, "```"]
    return "\n".join(lines)


def grid(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    head = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    return head + ["| " + " | ".join(row) + " |" for row in rows]


def write(text: str, path: Path) -> None:
    """Put the text between the markers of a file."""
    before, _, rest = path.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    path.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}", encoding="utf-8")


def duration(seconds: float) -> str:
    if seconds < 0.001:
        return f"{seconds * 1e6:.0f} µs"
    return f"{seconds * 1e3:.3g} ms" if seconds < 1 else f"{seconds:.2f} s"


def amount(size: float) -> str:
    return f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{size / 1e3:.0f} KB"


def rate(per_second: float) -> str:
    return f"{per_second:,.0f}/s"
