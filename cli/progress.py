"""A progress bar on stderr, for a person who waits: nothing where nobody looks."""

from __future__ import annotations

import sys
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from foldlog.cli.safe import one_line

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


class Bar:
    """A bar that is drawn on a terminal and leaves nothing behind. Use it in a ``with`` block.

    Args:
        hidden: Not even there: the answer itself is printed there meanwhile.
    """

    def __init__(self, *, hidden: bool = False) -> None:
        self._hidden = hidden or not sys.stderr.isatty()
        self._progress: Progress | None = None
        self._tasks: dict[str, TaskID] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._progress is not None:
            self._progress.stop()

    def update(self, name: str, done: int, total: int) -> None:
        """Show how far something is; remove its bar when it is done."""
        if self._hidden or (self._progress is None and done >= total):
            return
        if self._progress is None:
            self._progress = _drawn()
            self._progress.start()
        if name not in self._tasks:
            self._tasks[name] = self._progress.add_task(one_line(name), total=total)
        self._progress.update(self._tasks[name], completed=done, total=total)
        if done >= total:
            self._progress.remove_task(self._tasks.pop(name))

    def file(self, path: Path, done: int, total: int) -> None:
        """Show how many bytes of a file are read, as importers report it."""
        self.update(path.name, done, total)


def _drawn() -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

    text = TextColumn("{task.description}", markup=False)
    console = Console(stderr=True)
    columns = (text, BarColumn(), TaskProgressColumn())
    return Progress(*columns, console=console, transient=True, redirect_stdout=False)
