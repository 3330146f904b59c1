"""A log is recorded as the proxy records what passes: each request goes on from the one before.

Each request holds the whole conversation again. What is new in it, what was left out or rewritten,
and which requests are beside the conversation is for the live recording to find. It records into a
store of its own, which holds what was imported earlier; what it adds is written to the log.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from foldlog.cli.formats.messages.cassettes import read_cassette
from foldlog.cli.formats.messages.exchanges import FAILED, exchange_of
from foldlog.cli.formats.report import LineNote
from foldlog.cli.formats.times import iso_time
from foldlog.cli.proxy.grouping import sender
from foldlog.cli.proxy.recorder import Recorder
from foldlog.eventstore import EventDraft, EventStore

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foldlog.cli.formats.import_run import ImportRun
    from foldlog.cli.formats.jsonl_source import Record
    from foldlog.cli.formats.messages.exchanges import Exchange
    from foldlog.cli.formats.protocols import Source
    from foldlog.cli.formats.report import ImportReport
    from foldlog.cli.formats.session_log import SessionLog
    from foldlog.eventstore import Event
    from foldlog.eventstore.events import Json

IMPORTER = "messages"
"""``origin.importer`` of the sessions."""

NO_RESPONSE = "the log holds no response"


def import_log(source: Source, run: ImportRun) -> Iterator[ImportReport]:
    """Import a log and yield a report for each session in it."""
    is_yaml = source.path.suffix in (".yaml", ".yml")
    reading = read_cassette(source.path) if is_yaml else run.read(source)
    if not reading.records:
        yield run.report(source, reading=reading)
        return
    with EventStore(":memory:") as scratch:
        replay = _Replay(run, source, reading.records[0].digest, scratch)
        for record in run.each(source, reading.records):
            replay.take(record)
        logs = replay.logs
        if not logs:
            notices = [*replay.notices, LineNote(0, "it holds no request for a message")]
            yield run.report(source, reading=reading, notices=notices)
        for number, log in enumerate(logs):
            if number == 0:
                yield run.report(source, log, reading=reading, notices=replay.notices)
            else:
                yield run.report(source, log)


class _Replay:
    """A log on its way into the store.

    Args:
        run: The import.
        source: The log.
        first: The digest of its first record: sessions that were imported from it are known by it.
        scratch: Where it is recorded first.
    """

    def __init__(self, run: ImportRun, source: Source, first: str, scratch: EventStore) -> None:
        self.notices: list[LineNote] = []
        self._run = run
        self._source = source
        self._first = first
        self._scratch = scratch
        self._recorder = Recorder(scratch, tell=self._tell, name=self._new_name, forks=False)
        self._logs: dict[str, SessionLog] = {}
        self._began: dict[str, int] = {}
        """The line that a conversation begins with."""
        self._known: dict[str, str] = {}
        """The conversation that a record was imported into, by its key."""
        self._current: str | None = None
        self._held: list[Record] = []
        self._line = 0
        self._take_up()

    @property
    def logs(self) -> list[SessionLog]:
        """The logs of the sessions of this source, in the order in which they began."""
        return [self._logs[name] for name in sorted(self._logs, key=self._began.__getitem__)]

    def take(self, record: Record) -> None:
        """Record what a line of the log says, unless it is known."""
        self._line = record.line
        exchange = exchange_of(record.value) if record.value is not None else None
        known = self._known.get(record.key)
        if known is not None:
            self._current = known
            if exchange is not None:
                self._remember(exchange, known)
        elif exchange is None or not self._take_exchange(record, exchange):
            self._keep(record)

    # -- what was imported earlier -----------------------------------------------------------

    def _take_up(self) -> None:
        """Take up the sessions that were imported from this source."""
        for info in self._run.store.sessions():
            origin = info.origin if isinstance(info.origin, dict) else {}
            name = origin.get("conversation")
            if (origin.get("importer"), origin.get("first")) == (IMPORTER, self._first):
                self._open(str(name), info.session, 0)

    def _open(self, name: str, session: str, line: int) -> SessionLog:
        """Open the log of a session, and let the scratch store hold what it holds."""
        events: list[Event] = []
        log = self._run.session(session, self._source, events.append)
        if events:
            drafts = [EventDraft(e.type, e.data, e.key, e.meta, e.schema) for e in events]
            self._scratch.append(name, drafts)
        places = (event.meta["source"]["line"] for event in events if "source" in event.meta)
        self._began[name] = next(places, line)
        for event in events:
            if event.key is not None:
                record = event.key.removeprefix(f"{session}/").rpartition("/")[0]
                self._known[record] = name
        self._logs[name] = log
        return log

    def _remember(self, exchange: Exchange, name: str) -> None:
        """Let a request that is known be one that others go on from."""
        if sender(exchange.headers, exchange.body).session is None:
            conversations = self._recorder.conversations
            transcript = conversations.transcript(exchange.body["messages"])
            conversations.sent(transcript, name)
            if exchange.reply:
                conversations.answered(transcript, exchange.reply, name)

    # -- what is new -------------------------------------------------------------------------

    def _take_exchange(self, record: Record, exchange: Exchange) -> bool:
        """Record a request and its reply; False if it cannot be recorded as one."""
        try:
            ticket = self._recorder.begin(exchange.headers, exchange.body, exchange.betas)
        except Exception as error:  # what logs hold was sent by anybody
            reason = str(error) or type(error).__name__
            self.notices.append(LineNote(record.line, f"kept as it is: {reason}"))
            return False
        answer = exchange.answer
        if answer is None:
            ticket.failed(NO_RESPONSE)
        elif exchange.status >= FAILED:
            ticket.refused(exchange.status, answer, exchange.request_id)
        elif exchange.is_stream:
            reading = ticket.reading(exchange.request_id)
            if reading is not None:
                reading.feed(answer)
                ticket.read(reading)
        else:
            ticket.replied(answer, exchange.request_id)
        return self._transfer(ticket.session, record, exchange)

    def _keep(self, record: Record) -> None:
        """Keep a line that is no request with the session of those around it."""
        if self._current is None:
            self._held.append(record)
            return
        if record.value is None:
            text = record.raw.decode("utf-8", "surrogateescape")
            kept = EventDraft("source.unreadable", {"text": text, "reason": record.reason})
        else:
            kept = EventDraft("messages.line", record.value)
        self._scratch.append(self._current, [kept])
        self._transfer(self._current, record, None)

    def _transfer(self, name: str, record: Record, exchange: Exchange | None) -> bool:
        """Write what the scratch store holds of a conversation, and the log does not.

        Returns:
            Whether there was anything.
        """
        log = self._logs.get(name)
        last = log.version if log is not None else 0
        if self._scratch.last(name) == last:
            return False
        log = log or self._open(name, self._session_name(name), record.line)
        for number, event in enumerate(self._scratch.read(name, after=last)):
            log.add(self._draft(log, f"{record.key}/{number}", event, record, exchange))
        log.checkpoint()
        self._current = name
        held, self._held = self._held, []
        for earlier in held:
            self._keep(earlier)
        return True

    def _draft(
        self, log: SessionLog, key: str, event: Event, record: Record, exchange: Exchange | None
    ) -> EventDraft:
        meta = {**event.meta, "source": log.source_of(record)}
        data = event.data
        if exchange is not None:
            is_response = "request" in event.data
            time = iso_time(exchange.answered if is_response else exchange.sent)
            meta |= {"occurred": time} if time is not None else {}
        if event.type == "request.sent" and exchange is not None:
            meta["line"] = exchange.line
        if event.type == "session.started":
            data = {**data, "origin": self._origin(log, event.data.get("origin"))}
        return EventDraft(event.type, data, f"{log.session}/{key}", meta, event.schema)

    # -- names -------------------------------------------------------------------------------

    def _origin(self, log: SessionLog, given: Json) -> dict[str, Json]:
        known = given if isinstance(given, dict) else {}
        name = next(name for name, other in self._logs.items() if other is log)
        more = {"importer": IMPORTER, "file": self._source.file, "first": self._first}
        kept = {key: value for key, value in known.items() if key != "program"}
        return {**kept, **more, "conversation": name}

    def _session_name(self, name: str) -> str:
        """Return the id of a new session for what the scratch store calls a conversation.

        What the program called it is the name of its own transcript, so it gets another one.
        """
        harness = name.removeprefix("proxy-")
        wanted = name if harness == name else f"requests-{harness}"
        found = self._run.name_for(wanted, self._source.file, self._first)
        return f"{found}-{self._first[:8]}" if self._run.store.exists(found) else found

    def _new_name(self) -> str:
        stem, number = self._source.path.stem or "requests", 1
        while self._scratch.exists(name := stem if number == 1 else f"{stem}-{number}"):
            number += 1
        return name

    def _tell(self, words: str) -> None:
        if not words.startswith("Recording session"):
            self.notices.append(LineNote(self._line, words))
