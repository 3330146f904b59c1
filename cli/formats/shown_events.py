"""Sources that append: a log of everything, which says itself where it goes back or forks.

The importer knows at each line which events count from there on. For messages whose list the
program cuts and rewrites, see ``message_list``; for rows of a database, ``rewritten``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from foldlog.cli.formats.jsonl_source import Record
    from foldlog.cli.formats.session_log import SessionLog
    from foldlog.eventstore.events import Json


GONE = "recorded lines are no longer in it: kept in the log, and not shown"
"""The notice of a file that was rewritten, with another end than the one that is recorded."""


class ShownEvents:
    """The events that a source shows, and a log whose head follows them.

    An importer writes all that the source holds, and says where the source goes back, forks or
    replaces: ``only``. The head moves before the next event that is new, and at ``finish`` if
    something new was written: what somebody did to the session meanwhile stays, and an import of
    what is known moves nothing.

    Args:
        log: The session's log.

    Attributes:
        log: As given.
        versions: What is shown now, in order.
    """

    def __init__(self, log: SessionLog) -> None:
        self.log = log
        self.versions: list[int] = []
        self._held: set[int] = set()
        self._follows = log.is_new
        self._wrote = False

    def write(self, type: str, data: dict[str, Json], key: str | Record, **more: Any) -> int:
        """Write an event, as ``SessionLog.write`` does, and show it after all others."""
        self._move_before(key)
        return self.add(self.log.write(type, data, key, **more))

    def unreadable(self, record: Record) -> int:
        """Keep a record that could not be decoded, with the reason."""
        self._move_before(record)
        return self.add(self.log.unreadable(record))

    def summarize(
        self, content: Json, versions: Sequence[int], key: str | Record, **more: Any
    ) -> list[int]:
        """Write a summary, as ``SessionLog.summarize`` does, and show it for these versions."""
        self._move_before(key)
        covered = self._without_notes(versions)
        return [self.add(v) for v in self.log.summarize(content, covered, key, **more)]

    def edit(
        self, shown: dict[str, Json], versions: Sequence[int], key: str, **more: Any
    ) -> int | None:
        """Show events differently from here on, as ``SessionLog.edit`` does."""
        wanted = self._without_notes(versions)
        if not wanted:
            return None
        self._move_before(key)
        edit = self.log.edit(shown, wanted, key, **more)
        return None if edit is None else self.add(edit)

    def add(self, version: int) -> int:
        """Show an event that was written after all others, unless it is shown already."""
        if version not in self._held:
            self._held.add(version)
            self.versions.append(version)
        return version

    def only(self, versions: Iterable[int]) -> None:
        """Show these from here on, in this order."""
        wanted = list(dict.fromkeys(versions))
        self._follows = self._follows and wanted == self.versions
        self.versions, self._held = wanted, set(wanted)

    def finish(self) -> None:
        """Bring the head to what is shown, if something new was written."""
        if self._wrote:
            self._move()

    def _move_before(self, key: str | Record) -> None:
        """Bring the head to what is shown before something new is written."""
        if (key if isinstance(key, str) else key.key) in self.log:
            return
        self._wrote = True
        self._move()

    def _move(self) -> None:
        if not self._follows:
            self.log.show(self._without_notes(self.versions))
            self._follows = True

    def _without_notes(self, versions: Iterable[int]) -> list[int]:
        """Return those that are conversation: others have no place, and none is taken by them."""
        return [version for version in versions if not self.log.is_note(version)]
