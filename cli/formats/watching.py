"""Sources that change: which are new or have grown since the last look."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foldlog.cli import formats
from foldlog.cli.formats.source_files import SourceFiles, Stamp, stamp

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from foldlog.cli.formats.protocols import Place, Source
    from foldlog.cli.formats.report import ImportReport

Stamps = dict["Path", "Stamp | None"]


class Watcher:
    """Looks for sources that are new or have changed.

    Args:
        places: The files and folders to look at; one that does not exist may come to be.
    """

    def __init__(self, places: Iterable[Place]) -> None:
        self._places = list(places)
        self._files: dict[Place, SourceFiles] = {}
        self._seen: dict[Path, Stamps] = {}
        self._refused: dict[Place, set[ImportReport]] = {}
        self._newly_refused: list[ImportReport] = []

    def changed(self) -> list[tuple[str, Source]]:
        """Return (format, source) of what changed since the last call; at first, of everything."""
        changed, seen = [], {}
        for name, source in self._find():
            seen[source.path] = _stamps(source)
            if self._seen.get(source.path) != seen[source.path]:
                changed.append((name, source))
        self._seen = seen
        return changed

    def refused(self) -> list[ImportReport]:
        """Return a report for each file that could not be read at the last look, each once."""
        return self._newly_refused

    def _refuse(self, place: Place, files: SourceFiles, found: Iterable[Source]) -> None:
        """Note the files at a path that are damaged now and were not before."""
        reports = [report for report in formats.passed_over(files, found) if report.rejected]
        before = self._refused.get(place, set())
        self._newly_refused += [report for report in reports if report not in before]
        self._refused[place] = set(reports)

    def _find(self) -> Iterator[tuple[str, Source]]:
        self._newly_refused = []
        for place in self._places:
            if place.path.exists():
                before = self._files.get(place)
                files = SourceFiles(place.path, name=place.name, before=before)
                found = list(formats.find(files, place.format))
                yield from found
                self._refuse(place, files, [source for _, source in found])
                self._files[place] = files


def _stamps(source: Source) -> Stamps:
    """Return the stamps of all files that belong to a source."""
    return {path: stamp(path) for part in (source.path, *source.parts) for path in _files(part)}


def _files(part: Path) -> Iterable[Path]:
    if part.is_dir():
        return (path for path in part.rglob("*") if path.is_file())
    return (part,)
