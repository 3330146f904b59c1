"""One session on its way into the store: what is recorded already, and the drafts that wait."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from foldlog.cli.formats.times import iso_time
from foldlog.eventstore.events import EventDraft
from foldlog.projections.view.lineage import Moves, join_ranges

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from foldlog.cli.formats.jsonl_source import Record
    from foldlog.eventstore import Store
    from foldlog.eventstore.events import Event, Json

BATCH_EVENTS = 4096
"""The events of one transaction, at most: most files are one."""

START = 1
"""The version of ``session.started``."""

ON_LINEAGE = frozenset(
    {
        *("message.user", "message.assistant", "message.system", "tool.result", "turn.stopped"),
        *("attachment.added", "summary.written", "view.edited"),
        *("system.set", "tools.set", "state.set"),
    }
)
"""The types of events that count where they are on the lineage (docs/event-format.md)."""


class SessionLog:
    """One session that an import writes to. ``ImportRun.session`` makes it.

    Everything written has a key that names it within the session. What is recorded under that key
    already is not written again: an importer reads its source from the start each time and writes
    all that it finds.

    Args:
        store: Where the session is kept.
        session: The session's id.
        file: The name of the source, for ``meta.source``.
        dry_run: Record nothing.
        follow: Called with each event that the store has of the session.
        recorded: Called with the number of events of each transaction.
        via: The name of the format: who decided the edits of the view that it writes.

    Attributes:
        session: The session's id.
        version: The version of the last event, waiting drafts included.
        file: The name of the source for ``meta.source``; an importer of several files sets it.
    """

    def __init__(
        self,
        store: Store,
        session: str,
        file: str,
        *,
        dry_run: bool = False,
        follow: Callable[[Event], None] | None = None,
        recorded: Callable[[str, int], None] | None = None,
        via: str | None = None,
    ) -> None:
        self.session = session
        self.version = 0
        self._store = store
        self.file = file
        self._dry_run = dry_run
        self._count = recorded
        self._via = via
        self._keys: dict[str, int] = {}
        self._waiting: list[EventDraft] = []
        self._moves = Moves()
        self._lines: set[int] = set()
        self._notes: set[int] = set()
        self._records: dict[str, str] = {}
        if store.exists(session):
            for event in store.read(session):
                self._know(event.type, event.data, event.key, event.meta)
                if follow is not None:
                    follow(event)
        self._recorded = self.version

    @property
    def is_new(self) -> bool:
        """Nothing is known of the session yet."""
        return self.version == 0

    def __contains__(self, key: str) -> bool:
        """Return whether something was written under this key (without the session's id)."""
        return f"{self.session}/{key}" in self._keys

    def version_of(self, key: str) -> int | None:
        """Return the version that holds what was written under a key."""
        return self._keys.get(f"{self.session}/{key}")

    def departs(
        self, records: Sequence[Record], taken_back: Callable[[str], bool] | None = None
    ) -> int | None:
        """Return the index of the first record with which a source leaves what is recorded.

        A source may go on where the log ends, be an older copy of it, or be rewritten with the
        same end. One that holds something new and lacks the end of the log is another ending.

        Args:
            records: All records of the source that belong to this session, in their order.
            taken_back: Whether a program removes lines of this event type from its own files.

        Returns:
            None where the source and the log agree.
        """
        keys = {record.key for record in records}
        missing = {key: type_ for key, type_ in self._records.items() if key not in keys}
        has_end = not missing or next(reversed(self._records)) not in missing
        if has_end or all(record.key in self._records for record in records):
            return None
        if taken_back is not None and all(map(taken_back, missing.values())):
            return None
        return _shared([*self._records], records)

    # -- writing -----------------------------------------------------------------------------

    def start(self, *, occurred: Json = None, **data: Json) -> None:
        """Begin the session, unless it has begun: title, cwd, origin and parent, as known.

        Args:
            occurred: When it began, as for ``write``.
            data: The fields of ``session.started``; those that are None are recorded as such.
        """
        if self.is_new:
            self.write("session.started", data, "start", occurred=occurred, of=START + 1)

    def write(
        self,
        type: str,
        data: dict[str, Json],
        key: str | Record,
        *,
        occurred: Json = None,
        of: int | None = None,
        line: dict[str, Json] | None = None,
        source: dict[str, Json] | None = None,
    ) -> int:
        """Write an event, unless it is recorded already.

        Args:
            type: The event's type.
            data: Its data.
            key: What names it within the session: the record it comes from, or a text that is the
                same in each import.
            occurred: When it happened, as the source writes it: ISO 8601, or a number of seconds or
                milliseconds since 1970; anything else is left out.
            of: The version of the line that it follows from, for an event that is not itself a line
                of the source.
            line: What an export needs to write the line again, and ``data`` does not have.
            source: Where it was read in the file, if it is no record: ``table`` and ``row`` of a
                database.

        Returns:
            The version of the event, recorded now or before.
        """
        name = key if isinstance(key, str) else key.key
        known = self.version_of(name)
        if known is not None:
            return known
        meta: dict[str, Json] = {} if isinstance(key, str) else {"source": self.source_of(key)}
        if source is not None:
            meta["source"] = {"file": self.file, **source}
        if of is not None:
            meta["of"] = of
        if line is not None:
            meta["line"] = line
        time = iso_time(occurred)
        if time is not None:
            meta["occurred"] = time
        self.add(EventDraft(type, data, f"{self.session}/{name}", meta))
        self.checkpoint()
        return self.version

    def unreadable(self, record: Record) -> int:
        """Keep a record that could not be decoded, with the reason."""
        text = record.raw.decode("utf-8", "surrogateescape")
        return self.write("source.unreadable", {"text": text, "reason": record.reason}, record)

    def is_note(self, version: int) -> bool:
        """Return whether a line is no conversation, so that it counts wherever it is."""
        return version in self._notes

    def shown(self) -> list[int]:
        """Return the versions of the conversation that the head shows, in their order."""
        return self._shown(set())

    def show(self, versions: Sequence[int]) -> None:
        """Bring the head to where the conversation is exactly these events, in this order.

        For sources that are rewritten as a whole, or that take back what they said: write each
        message under a key of its content and show those that the source has now. Show those that
        are known first, and all of them when the new ones are written: then what is new hangs on
        what it answers. Nothing is recorded where the head is there already, and what the source no
        longer has stays in the log.

        Args:
            versions: What ``write`` returned for each, edits and settings included. What is no
                conversation may be left out: it counts wherever it is.
        """
        wanted = [version for version in versions if version != START]
        if self._shown(set(wanted)) == wanted:
            return
        path = self._ranges([START, *wanted])
        to = path[-1][1]
        data: dict[str, Json] = {"to": to, "path": [list(part) for part in path]}
        self.add(EventDraft("head.moved", data, None, {"of": to}))

    def _shown(self, wanted: set[int]) -> list[int]:
        """Return the lines in the head's lineage, and what else is wanted there, in order."""
        ranges = self._moves.lineage(self.version).ranges
        versions = (version for first, last in ranges for version in range(first, last + 1))
        return [version for version in versions if version in self._lines or version in wanted]

    def edit(
        self,
        shown: Mapping[str, Json],
        versions: Iterable[int],
        key: str,
        *,
        of: int,
        rule: str = "compact",
        reason: str | None = None,
        **data: Json,
    ) -> int | None:
        """Show events differently from here on, as the program does that the source comes from.

        Args:
            shown: How each is shown: ``{"shown": "hidden"}``, ``{"shown": "cleared", "text": …}``
                or another entry of an edit (docs/event-format.md), without its range.
            versions: Those that are shown so, in ascending order: what ``write`` returned for each.
            key: What names the edit within the session.
            of: The version of the line that the edit follows from.
            rule: What the program calls it; it is recorded as ``<format>/<rule>``.
            reason: Why, for a person to read.
            data: More fields of ``view.edited``, such as ``tokens_before``.

        Returns:
            The version of the edit; None where there is nothing to show differently.
        """
        ranges = self._ranges(sorted(versions))
        if not ranges:
            return None
        edits = [{"first": first, "last": last, **shown} for first, last in ranges]
        said: dict[str, Json] = {"rule": f"{self._via}/{rule}", "reason": reason, "edits": edits}
        return self.write("view.edited", {**said, "via": self._via, **data}, key, of=of)

    def summarize(
        self,
        content: Json,
        versions: Sequence[int],
        key: str | Record,
        *,
        occurred: Json = None,
        rule: str = "compact",
        reason: str | None = None,
        line: dict[str, Json] | None = None,
        **data: Json,
    ) -> list[int]:
        """Write the summary that a program put in place of events, and show it for them.

        Args:
            content: The summary as the program sends it: a text, or blocks of a user message.
            versions: What it is shown for, in ascending order: what ``write`` returned for each.
                A summary that is shown for nothing is recorded and not shown.
            key: What names it within the session: its record, or a text.
            occurred: When it was written, as for ``write``.
            rule: As for ``edit``.
            reason: As for ``edit``.
            line: As for ``write``.
            data: More fields of ``view.edited``, such as ``tokens_before``.

        Returns:
            The versions of the summary and of its edit, for ``show``.
        """
        covers = [list(part) for part in self._ranges(sorted(versions))]
        text = "text" if isinstance(content, str) else "content"
        said: dict[str, Json] = {text: content, "covers": covers, "by": self._via}
        summary = self.write("summary.written", said, key, occurred=occurred, line=line)
        name = key if isinstance(key, str) else key.key
        shown: dict[str, Json] = {"shown": "summary", "summary": summary}
        edit = self.edit(
            shown, versions, f"{name}/shown", of=summary, rule=rule, reason=reason, **data
        )
        return [summary] if edit is None else [summary, edit]

    def _ranges(self, versions: Sequence[int]) -> list[tuple[int, int]]:
        """Return versions as ranges in their order; lines that are no conversation part none."""
        notes, found = self._notes.difference(versions), list[tuple[int, int]]()
        for first, last in join_ranges((version, version) for version in versions):
            if found and found[-1][1] < first and notes.issuperset(range(found[-1][1] + 1, first)):
                first = found.pop()[0]
            found.append((first, last))
        return found

    def rename(self, title: str, now: str | None) -> None:
        """Give the session a title, if it is not the one that it has now."""
        if title != now:
            self.add(EventDraft("session.renamed", {"title": title}, None, {"of": START}))

    def source_of(self, record: Record) -> dict[str, Json]:
        """Return ``meta.source`` of a record."""
        source: dict[str, Json] = {
            "file": self.file,
            "line": record.line,
            "offset": record.offset,
        }
        return {**source, "touches": True} if record.touches else source

    def add(self, draft: EventDraft) -> None:
        """Let a draft wait, whatever its key: what ``write`` does after all checks."""
        self._waiting.append(draft)
        self._know(draft.type, draft.data, draft.key, draft.meta)

    # -- recording ---------------------------------------------------------------------------

    def checkpoint(self) -> None:
        """Record what waits, if it is enough for a transaction of its own."""
        if len(self._waiting) >= BATCH_EVENTS:
            self.flush()

    def flush(self) -> None:
        """Record the drafts that wait, all or none.

        Raises:
            VersionConflict: Somebody else appended to the session meanwhile.
        """
        drafts, self._waiting = self._waiting, []
        if not drafts:
            return
        if not self._dry_run:
            self._store.append(self.session, drafts, expected=self._recorded)
        self._recorded = self.version
        if self._count is not None:
            self._count(self.session, len(drafts))

    def _know(
        self, type_: str, data: Mapping[str, Any], key: str | None, meta: Mapping[str, Any]
    ) -> None:
        self.version += 1
        if key is not None:
            self._keys[key] = self.version
        if key is not None and "of" not in meta:
            (self._lines if type_ in ON_LINEAGE else self._notes).add(self.version)
            if "source" in meta:
                self._records[key.removeprefix(f"{self.session}/")] = type_
        if type_ == "head.moved":
            self._moves.add(self.version, data)


def _shared(recorded: Sequence[str], records: Sequence[Record]) -> int:
    """Return how many records a source and a log have in common at their beginning."""
    pairs = enumerate(zip(recorded, records, strict=False))
    return next(
        (place for place, (key, record) in pairs if key != record.key),
        min(len(recorded), len(records)),
    )
