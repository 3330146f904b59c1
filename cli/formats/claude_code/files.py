"""One file: its lines go into the session of its name, those of sidechains into child sessions."""

from __future__ import annotations

import re
from collections import Counter
from hashlib import sha256
from typing import TYPE_CHECKING

from foldlog.cli.formats.claude_code import beside, family, sources
from foldlog.cli.formats.claude_code.log import Log
from foldlog.cli.formats.claude_code.notices import notices_of
from foldlog.cli.formats.report import ImportReport, LineNote

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foldlog.cli.formats.claude_code.family import Task
    from foldlog.cli.formats.claude_code.records import Record
    from foldlog.cli.formats.claude_code.run import Run
    from foldlog.cli.formats.claude_code.sources import Source
    from foldlog.eventstore.events import Json

FORMAT = "claude-code"

KEY_DIGITS = 32
"""Of a line's SHA-256, in its key: enough that no two lines of a store ever share one."""

PROGRESS_LINES = 256

_ID = re.compile(r"[\w-]{1,100}", re.ASCII)


class FileImport:
    """The import of one file."""

    def __init__(self, run: Run, source: Source) -> None:
        self.run = run
        self.source = source
        self.file = source.file
        reading = sources.records(source.path)
        self.records: Sequence[Record] = reading.records
        self.pending = reading.pending
        self.is_agent = source.is_named_agent
        self.main: Log | None = None
        self._children: dict[str, Log] = {}
        self._chains: dict[str, str] = {}
        self._tasks: list[Task] = []

    def report(self) -> ImportReport:
        """Import the file."""
        if not self.records:
            return ImportReport(self.file, FORMAT, None, pending=self.pending)
        session = self._session()
        self.is_agent = self.is_agent or self._is_agent(session)
        self.main = self._log(session, agent=self.is_agent)
        self._read_all()
        logs = [self.main, *self._children.values()]
        beside.record(self.source, self.records, self.main)
        for log in logs:
            log.finish()
        self.run.remember(self.main.session, self.records)
        return ImportReport(
            file=self.file,
            format=FORMAT,
            session=self.main.session,
            events=sum(log.transcript.version for log in logs),
            new=self.new,
            rejected=tuple(LineNote(r.line, r.reason) for r in self.records if r.reason),
            notices=tuple(notices_of(self.records)),
            pending=self.pending,
        )

    @property
    def new(self) -> int:
        """How many events were recorded so far, also where the import then broke off."""
        main = [] if self.main is None else [self.main]
        return sum(log.new for log in [*main, *self._children.values()])

    def _read_all(self) -> None:
        """Each record goes into its session, under a key of its own."""
        seen: Counter[str] = Counter()
        size = self.records[-1].offset + len(self.records[-1].raw)
        for number, record in enumerate(self.records):
            digest = sha256(record.raw).hexdigest()[:KEY_DIGITS]
            seen[digest] += 1
            self._read(record, f"{digest}/{seen[digest]}")
            if self.run.progress is not None and number % PROGRESS_LINES == 0:
                self.run.progress(self.source.path, record.offset, size)
        if self.run.progress is not None:
            self.run.progress(self.source.path, size, size)

    def _read(self, record: Record, key: str) -> None:
        assert self.main is not None
        line = record.value
        if line is None or self.is_agent or not line.get("isSidechain"):
            if line is not None:
                self._tasks += family.tasks_in(line)
            self.main.read(record, key, self._start)
        else:
            child = self._child(line)
            child.read(record, key, lambda: self._child_start(child, record))

    # -- the session of the file -------------------------------------------------------------

    def _session(self) -> str:
        """The id of the file's session: its name, if no other file has taken that."""
        name = self.source.path.stem.encode(errors="replace").decode()
        origin = self.run.origin(name)
        if origin is None or self._is_mine(origin):
            return name
        return f"{name}-{self._first[:8]}"

    def _is_agent(self, session: str) -> bool:
        """Whether the lines are a subagent's, whatever the file is called: as it was found when the
        file was first read, so that a growing file stays what it is."""
        origin = self.run.origin(session)
        return _all_sidechain(self.records) if origin is None else bool(origin.get("agent"))

    def _is_mine(self, origin: dict[str, Json]) -> bool:
        return origin.get("file") == self.file or origin.get("first") == self._first

    @property
    def _first(self) -> str:
        """The digest of the first record: a file that was moved or copied is known by it."""
        return sha256(self.records[0].raw).hexdigest()[:KEY_DIGITS]

    def _log(self, session: str, *, agent: bool) -> Log:
        run = self.run
        return Log(run.store, session, self.file, agent=agent, dry_run=run.dry_run)

    def _start(self) -> dict[str, Json]:
        assert self.main is not None
        meta = sources.meta_of(self.source.path) if self.is_agent else {}
        return {
            "title": meta.get("description"),
            "cwd": _first_text(self.records, "cwd"),
            "origin": {**self._origin(), "first": self._first, **self._agent(meta)},
            "parent": self._parent(meta),
        }

    def _agent(self, meta: dict[str, Json]) -> dict[str, Json]:
        if not self.is_agent:
            return {}
        return {"agent": True, "agent_type": meta.get("agentType")}

    def _parent(self, meta: dict[str, Json]) -> dict[str, Json] | None:
        assert self.main is not None
        if self.is_agent:
            return self.run.spawned_by(self.source.owner, self.records, meta)
        return self.run.copied_from(self.records, self.main.session)

    def _origin(self) -> dict[str, Json]:
        return {
            "harness": "claude-code",
            "importer": "foldlog",
            "file": self.file,
            "version": _first_text(self.records, "version"),
        }

    # -- sidechains --------------------------------------------------------------------------

    def _child(self, line: dict[str, Json]) -> Log:
        """The child session that a sidechain's line belongs to: by its agent, else by its root."""
        uuid, parent, agent = str(line.get("uuid")), line.get("parentUuid"), line.get("agentId")
        name = f"agent-{agent}" if _is_id(agent) else self._chains.get(str(parent))
        if name is None:
            name = f"agent-{uuid[:8] if _is_id(uuid) else self._first[:8]}"
        self._chains[uuid] = name
        if name not in self._children:
            self._children[name] = self._log(self._child_session(name), agent=True)
        return self._children[name]

    def _child_session(self, name: str) -> str:
        assert self.main is not None
        origin = self.run.origin(name)
        if origin is None or origin.get("file") == self.file:
            return name
        return f"{name}-{self._first[:8]}"

    def _child_start(self, child: Log, record: Record) -> dict[str, Json]:
        assert self.main is not None
        task = family.task_of(self._tasks, [record], None)
        spawned = self.main.transcript.find(task.uuid) if task else None
        parent: dict[str, Json] = {"session": self.main.session, "kind": "subagent"}
        if task is not None and spawned is not None:
            parent |= {"version": spawned.version, "tool_use_id": task.id}
        return {
            "title": None,
            "cwd": record.value.get("cwd") if record.value else None,
            "origin": {**self._origin(), "inline": True},
            "parent": parent,
        }


def _is_id(name: Json) -> bool:
    """Whether a session can be called so."""
    return isinstance(name, str) and _ID.fullmatch(name) is not None


def _all_sidechain(records: Sequence[Record]) -> bool:
    """Whether the lines are a subagent's, whatever the file is called."""
    lines = (record.value or {} for record in records)
    marks = [line.get("isSidechain") for line in lines if line.get("type") in ("user", "assistant")]
    return bool(marks) and all(marks)


def _first_text(records: Sequence[Record], key: str) -> str | None:
    values = (record.value.get(key) for record in records if record.value)
    return next((value for value in values if isinstance(value, str)), None)
