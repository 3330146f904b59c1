"""What an import did, in lines for a person: file by file, or format by format."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

from foldlog.cli.formats import UNKNOWN
from foldlog.cli.output import styled
from foldlog.cli.safe import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from foldlog.cli.formats import ImportReport, LineNote, Place

NOTES = 5
"""How many notices of a file, and names of files passed over, are printed; --json has them all."""


def lines(places: Sequence[Place], reports: Sequence[ImportReport]) -> Iterator[str]:
    """Say what an import of these places did: of each file, or of each known program."""
    if all(place.is_default for place in places):
        return _of_programs(places, reports)
    return _of_paths(reports)


def _of_paths(reports: Sequence[ImportReport]) -> Iterator[str]:
    """Say how each file at the paths that were named was imported."""
    imported = [report for report in reports if not _is_passed_over(report)]
    yield from of_files(imported)
    yield from _passed_over(report for report in reports if _is_passed_over(report))
    yield _total(imported)


def _of_programs(places: Sequence[Place], reports: Sequence[ImportReport]) -> Iterator[str]:
    """Say what is new in the places of known programs, then what was found of each program."""
    imported = [report for report in reports if not _is_passed_over(report)]
    yield from of_files(report for report in imported if report.new or report.rejected)
    formats = dict.fromkeys(place.format for place in places)
    there = [name for name in formats if _existing(places, name)]
    width = max(map(len, there), default=0)
    for name in there:
        found = [report for report in imported if report.format == name]
        where = ", ".join(map(str, _existing(places, name)))
        label = styled(one_line(name).ljust(width), fg="cyan")
        yield f"{label}  {_outcome(found)}  {one_line(where)}"
    absent = [name for name in formats if name not in there]
    if absent:
        yield one_line(f"nothing found of: {', '.join(absent)}")
    yield _total(imported)


def _existing(places: Iterable[Place], format: str) -> list[Path]:
    return [place.path for place in places if place.format == format and place.path.exists()]


def _outcome(found: Sequence[ImportReport]) -> str:
    sessions = len({report.session for report in found if report.session})
    if not sessions:
        return "no sessions"
    new = sum(report.new for report in found)
    return f"{_counted(sessions, 'session')}, {f'{new:,} new events' if new else 'nothing new'}"


def of_files(reports: Iterable[ImportReport]) -> Iterator[str]:
    """Say how each file was imported, and what about its lines is worth a note."""
    for report in reports:
        into = report.session or "no session"
        new = f"{report.new:,} new of {report.events:,} events" if report.session else "nothing"
        yield f"{styled(one_line(into), fg='cyan')}  {new}  {one_line(report.file)}"
        for line in report.rejected:
            yield styled(_note_line("unreadable", line), fg="red")
        for line in report.notices[:NOTES]:
            yield _note_line("notice", line)
        if report.notices[NOTES:]:
            yield f"  and {len(report.notices) - NOTES} more notices; --json lists them"
        if report.pending:
            yield "  the last line is still being written: it is read next time"


def _note_line(kind: str, line: LineNote) -> str:
    place = f" line {line.line}" if line.line else ""
    return f"  {one_line(f'{kind}{place}: {line.reason}')}"


def _is_passed_over(report: ImportReport) -> bool:
    return report.format == UNKNOWN and not report.rejected and not report.pending


def _passed_over(reports: Iterable[ImportReport]) -> Iterator[str]:
    """Say which files of a folder are not sessions, by the reason."""
    by_reason = defaultdict(list)
    for report in reports:
        by_reason[report.notices[0].reason].append(Path(report.file).name)
    for reason, names in by_reason.items():
        shown = ", ".join(names[:NOTES])
        more = f" and {len(names) - NOTES:,} more; --json lists them" if names[NOTES:] else ""
        yield one_line(f"{_counted(len(names), 'file')} passed over: {reason}: {shown}{more}")


def _total(reports: Sequence[ImportReport]) -> str:
    new = sum(report.new for report in reports)
    notes = [line for report in reports for line in report.rejected]
    lines = sum(1 for line in notes if line.line)
    bad = f", {_counted(lines, 'unreadable line')}" if lines else ""
    bad += f", {_counted(len(notes) - lines, 'file')} unreadable" if len(notes) > lines else ""
    return f"{_counted(len(reports), 'file')}: {new:,} new events{bad}"


def _counted(count: int, what: str) -> str:
    return f"1 {what}" if count == 1 else f"{count:,} {what}s"
