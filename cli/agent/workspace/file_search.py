"""Walking through a folder, in the order of names, within bounds.

Folders of version control are left out, and so are hidden ones unless a pattern names what is
hidden. Links to folders are not followed, and files outside the folder (through links) are skipped.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from foldlog.cli.agent.tool import ToolFailed
from foldlog.cli.agent.workspace.globs import TooManyGlobs, expression

LEFT_OUT = frozenset({".git", ".hg", ".svn", ".jj", "__pycache__", "node_modules"})
"""Folders that are never looked into; only a path that leads into them does."""

LOOKED_AT = 200_000
"""Files that are looked at, at the most: a few seconds."""


class Search:
    """The files below a folder that a glob names.

    Args:
        folder: Where; links resolved.
        glob: Which: ``*.py`` at any depth, ``src/**/*.py`` from the folder; all without.
        hidden: Whether a file may not be shown.

    Attributes:
        unfinished: There were too many to look at them all.

    Raises:
        ToolFailed: It is not a valid glob.
    """

    def __init__(self, folder: Path, glob: str | None, hidden: Callable[[Path], bool]) -> None:
        self.folder = folder
        self.unfinished = False
        self._hidden = hidden
        self._wanted = _expression(glob or "**")
        self._dots = any(part.startswith(".") for part in (glob or "").split("/"))

    def __iter__(self) -> Iterator[Path]:
        for count, path in enumerate(self._below(self.folder)):
            if count >= LOOKED_AT:
                self.unfinished = True
                return
            inside = path.relative_to(self.folder).as_posix()
            if self._wanted.fullmatch(inside) and self._may_show(path):
                yield path

    def _below(self, folder: Path) -> Iterator[Path]:
        """Yield all files below a folder, by their names."""
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError:
            return  # nobody may look into it
        for entry in entries:
            if not entry.is_dir(follow_symlinks=False):
                yield Path(entry.path)
            elif entry.name not in LEFT_OUT and (self._dots or not entry.name.startswith(".")):
                yield from self._below(Path(entry.path))

    def _may_show(self, path: Path) -> bool:
        real = path.resolve() if path.is_symlink() else path
        inside = real.is_relative_to(self.folder) and real.is_file()
        return inside and not self._hidden(path) and not (real != path and self._hidden(real))


def _expression(glob: str) -> re.Pattern[str]:
    if glob.startswith("/") or ".." in glob.split("/"):
        raise ToolFailed(f"{glob!r} leads out of the folder. Name another folder with path.")
    try:
        return re.compile(expression(glob if "/" in glob else f"**/{glob}"))
    except (re.error, TooManyGlobs) as error:
        raise ToolFailed(f"{glob!r} is not a pattern of files: {error}.") from error
