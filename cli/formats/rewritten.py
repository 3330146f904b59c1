"""Sources that are databases: what their rows hold now is shown, the rest is kept.

A row that was changed or deleted stays in the log as it was. The head moves to where the
conversation is what the source holds now, which is a rewind where it took something back. Rows have
ids, and an importer writes all of them each time. For messages without ids, whose list is cut and
rewritten, see ``message_list``; for a log that says itself where it goes back, ``shown_events``.
"""

from __future__ import annotations

from collections import Counter
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from foldlog.cli.formats.report import taken_back
from foldlog.cli.formats.session_log import ON_LINEAGE, START
from foldlog.eventstore.codec import dumps

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from foldlog.cli.formats.import_run import ImportRun
    from foldlog.cli.formats.protocols import Source
    from foldlog.cli.formats.report import LineNote
    from foldlog.eventstore.events import Event, Json

DIGEST_DIGITS = 16
"""Digits of the SHA-256 of what an event holds, in its key: next to an id, enough to tell apart."""


class Rewritten:
    """One session of a source whose rows change.

    Write all that the source holds in the order of the conversation, then ``finish``. A copy of the
    source, such as an export or a backup, adds what is new and takes nothing back.

    Args:
        run: The import.
        session: The session's id.
        source: Where it is read from.

    Attributes:
        log: The session's log.
        shown: The versions that the source holds now, in the order of the conversation.
    """

    def __init__(self, run: ImportRun, session: str, source: Source) -> None:
        origin = run.origin(session)
        self.shown: list[int] = []
        self._title: Json = None
        self._is_copy = origin is not None and origin.get("file") != source.file
        self.log = run.session(session, source, self._follow)
        self._lines = self.log.shown()
        self._first = self.log.version
        self._aside: list[int] = []
        self._place: Sequence[int] | None = None
        self._keys: Counter[str] = Counter()

    def begin(self, title: Json, *, occurred: Json = None, **data: Json) -> None:
        """Begin the session, or give it the title that it has now.

        Args:
            title: Its title; anything but a text counts as unknown.
            occurred: When it began, as for ``SessionLog.write``.
            data: The fields of ``session.started``, as for ``SessionLog.start``.
        """
        known = title if isinstance(title, str) else None
        if self.log.is_new:
            self.log.start(title=known, occurred=occurred, **data)
        elif known is not None and not self._is_copy and known != self._title:
            self.log.rename(known, None)

    def write(
        self, type: str, data: dict[str, Json], key: str, *, aside: bool = False, **more: Any
    ) -> int:
        """Write an event and show it after those that are shown, unless it was taken back.

        Args:
            type: The event's type.
            data: Its data. Where that changes, it is another event.
            key: What names it in the source, such as the id of a row.
            aside: The source once held it and does not any more.
            more: As for ``SessionLog.write``.

        Returns:
            The version of the event, recorded now or before.
        """
        name = self._name(f"{key}/{digest_of([type, data])}")
        self._aside = self._aside if aside else []
        if name not in self.log:
            self._go_to(aside=aside)
        version = self.log.write(type, data, name, **more)
        if type in ON_LINEAGE:
            (self._aside if aside else self.shown).append(version)
        return version

    def edit(
        self, shown: Mapping[str, Json], versions: Sequence[int], key: str, **more: Any
    ) -> int | None:
        """Show events differently from here on, as ``SessionLog.edit`` does."""
        name = self._name(f"{key}/{digest_of([dict(shown), list(versions)])}")
        if versions and name not in self.log:
            self._go_to(aside=False)
        last = max(versions, default=START)
        version = self.log.edit(shown, sorted(versions), name, of=last, **more)
        if version is not None:
            self.shown.append(version)
        return version

    def summarize(self, content: Json, versions: Sequence[int], key: str, **more: Any) -> None:
        """Show a summary for events from here on, as ``SessionLog.summarize`` does."""
        name = self._name(f"{key}/{digest_of([content, list(versions)])}")
        if name not in self.log:
            self._go_to(aside=False)
        self.shown += self.log.summarize(content, sorted(versions), name, **more)

    def reorder(self, shown: Sequence[int]) -> None:
        """Show what was written so far in another order, or less of it."""
        self.shown = list(shown)
        self._place = None

    def finish(self) -> list[LineNote]:
        """Bring the head to what the source holds now and return what a reader may want to know."""
        is_behind = self._is_copy and self.log.version == self._first
        if is_behind:
            return []
        self.log.show(self.shown)
        return taken_back(len({*self._lines} - {*self.shown}))

    def _go_to(self, *, aside: bool) -> None:
        """Move the head to where the next event belongs, if it is not there."""
        wanted = self._aside if aside else self.shown
        if self._place is not wanted:
            self.log.show([*self.shown, *self._aside])
            self._place = wanted

    def _name(self, key: str) -> str:
        """Return a key that is new in this source: what it holds twice is two events."""
        self._keys[key] += 1
        return key if self._keys[key] == 1 else f"{key}/{self._keys[key]}"

    def _follow(self, event: Event) -> None:
        if event.type in ("session.started", "session.renamed"):
            self._title = event.data.get("title")


def digest_of(value: Json) -> str:
    """Return the beginning of the SHA-256 of a JSON value, whatever the order of its keys."""
    return sha256(dumps(_sorted(value))).hexdigest()[:DIGEST_DIGITS]


def _sorted(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list) else value
