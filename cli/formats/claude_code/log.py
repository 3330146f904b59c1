"""One session in the making: its transcript, the drafts that wait, and the store they go into."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foldlog.cli.formats.claude_code.drafts import Drafts
from foldlog.cli.formats.claude_code.importing import Importer
from foldlog.cli.formats.claude_code.settling import settle
from foldlog.cli.formats.claude_code.transcript import Transcript

if TYPE_CHECKING:
    from collections.abc import Callable

    from foldlog.cli.formats.claude_code.records import Record
    from foldlog.eventstore import EventStore
    from foldlog.eventstore.events import Json

BATCH_EVENTS = 4096
"""So many events at most go into one transaction: a file mostly is one."""


class Log:
    """One session that a file goes into.

    Args:
        store: Where it is kept; what it has of the session is recalled.
        session: The session's id.
        file: The name of the file.
        agent: The file is a subagent's own, or the session is a sidechain.
        dry_run: Nothing is recorded.
    """

    def __init__(
        self, store: EventStore, session: str, file: str, *, agent: bool, dry_run: bool
    ) -> None:
        self.session = session
        self.transcript = Transcript(session, agent=agent)
        if store.exists(session):
            for event in store.read(session):
                self.transcript.recall(event)
        self.importer = Importer(Drafts(self.transcript, file))
        self.new = 0
        self._store = store
        self._dry_run = dry_run
        self._recorded = self.transcript.version

    @property
    def is_new(self) -> bool:
        """Nothing is known of the session yet."""
        return self.transcript.version == 0

    def read(self, record: Record, key: str, start: Callable[[], dict[str, Json]]) -> None:
        """Take up a record if it is new; ``start`` tells how the session begins, if it does."""
        key = f"{self.session}/{key}"
        if key in self.transcript.keys:
            return
        if self.is_new:
            self.importer.start(start(), record)
        self.importer.read(record, key)
        if len(self.importer.drafts) >= BATCH_EVENTS:
            self.flush()

    def finish(self) -> None:
        """Bring the head to where it belongs and record what is left."""
        if not self.is_new:
            settle(self.importer.drafts)
            self.flush()

    def flush(self) -> None:
        """Record the drafts that wait, all or none.

        Raises:
            VersionConflict: Somebody else appended meanwhile.
        """
        drafts = self.importer.drafts.take()
        if drafts and not self._dry_run:
            self._store.append(self.session, drafts, expected=self._recorded)
        self.new += len(drafts)
        self._recorded = self.transcript.version
