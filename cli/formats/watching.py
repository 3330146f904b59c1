"""Sources that change: which are new or have grown since the last look."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foldlog.cli import formats
from foldlog.cli.formats.source_files import SourceFiles, Stamp, stamp

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from foldlog.cli.formats.protocols import Source
    from foldlog.cli.formats.report import ImportReport

Stamps = dict["Path", "Stamp | None"]


class Watcher:
    """Looks for sources that are new or have changed.

    Args:
        names: The files and folders to look at, and what each is called where that is not its path.
        format: One of the import formats, or ``auto``.
    """

    def __init__(self, names: Mapping[Path, str | None], format: str) -> None:
        self._names = names
        self._format = format
        self._files: dict[Path, SourceFiles] = {}
        self._seen: dict[Path, Stamps] = {}
        self._refused: dict[Path, set[ImportReport]] = {}
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

    def _refuse(self, path: Path, files: SourceFiles, found: Iterable[Source]) -> None:
        """Note the files at a path that are damaged now and were not before."""
        reports = [report for report in formats.passed_over(files, found) if report.rejected]
        before = self._refused.get(path, set())
        self._newly_refused += [report for report in reports if report not in before]
        self._refused[path] = set(reports)

    def _find(self) -> Iterator[tuple[str, Source]]:
        self._newly_refused = []
        for path, name in self._names.items():
            if path.exists():
                files = SourceFiles(path, name=name, before=self._files.get(path))
                found = list(formats.find(files, self._format))
                yield from found
                self._refuse(path, files, [source for _, source in found])
                self._files[path] = files


def _stamps(source: Source) -> Stamps:
    """Return the stamps of all files that belong to a source."""
    return {path: stamp(path) for part in (source.path, *source.parts) for path in _files(part)}


def _files(part: Path) -> Iterable[Path]:
    if part.is_dir():
        return (path for path in part.rglob("*") if path.is_file())
    return (part,)
