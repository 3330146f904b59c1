"""One file: its lines go into the session of its name, those of sidechains into child sessions."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from foldlog.cli.formats.claude_code import relations, sidecars, sources
from foldlog.cli.formats.claude_code.drafts import time_of
from foldlog.cli.formats.claude_code.importing import LineImporter
from foldlog.cli.formats.claude_code.notices import notices_of
from foldlog.cli.formats.claude_code.relations import Relations
from foldlog.cli.formats.jsonl_source import KEY_DIGITS, Reading, Record
from foldlog.cli.formats.report import LineNote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from foldlog.cli.formats.claude_code.relations import Task
    from foldlog.cli.formats.import_run import ImportRun
    from foldlog.cli.formats.protocols import Source
    from foldlog.cli.formats.report import ImportReport
    from foldlog.cli.formats.session_log import SessionLog
    from foldlog.eventstore.events import Json

DIGITS = range(8, KEY_DIGITS + 1, 8)
"""How many digits of a digest name a session whose file departs from another: few, if they do."""

_ID = re.compile(r"[\w-]{1,100}", re.ASCII)


class Departure(NamedTuple):
    """Where a file leaves the session that has its name.

    Attributes:
        session: That session.
        record: The first record that is not in it.
        version: The last version that both have; None where they have nothing in common.
    """

    session: str
    record: Record
    version: int | None

    def parent(self) -> dict[str, Json]:
        """Return what ``session.started`` says of the other session."""
        parent: dict[str, Json] = {"session": self.session, "kind": "copy"}
        return parent if self.version is None else {**parent, "version": self.version}


def departures(departure: Departure | None, session: str) -> Iterator[LineNote]:
    """Yield a notice about a file that has another ending than the session of its name."""
    if departure is not None:
        yield LineNote(
            departure.record.line,
            f"from here on it differs from the session {departure.session}: it is the session"
            f" {session}",
        )


class FileImport:
    """The import of one file.

    Args:
        run: The import that it is part of.
        source: The file; its records are given to ``take``.
    """

    def __init__(self, run: ImportRun, source: Source) -> None:
        self.run = run
        self.source = sources.transcript_of(source)
        self.file = source.file
        self.records: list[Record] = []
        self.is_agent = self.source.is_named_agent
        self.main: LineImporter | None = None
        self._departure: Departure | None = None
        self._relations = run.shared(Relations)
        self._children: dict[str, LineImporter] = {}
        self._chains: dict[str, str] = {}
        self._tasks: list[Task] = []

    def take(self, reading: Reading) -> ImportReport:
        """Import the next records of the file, which may be all of them."""
        new = reading.records
        self.records += new
        reading = Reading(self.records, reading.pending)
        if not self.records:
            return self.run.report(self.source, reading=reading)
        if self.main is None or self._departs(self.main) is not None:
            self._begin()
            new = self.records
        for record in self.run.each(self.source, new):
            self._read(record)
        return self._finish(reading)

    def _begin(self) -> None:
        """Find the session of the file: the first under its name that ends as the file does.

        A session of that name with another ending is left alone. The file is then a session of its
        own, called after the record with which it departs.
        """
        name = session = self._session()
        self.is_agent = self.is_agent or self._is_agent(session)
        self._departure, tried, self._children = None, {session}, {}
        self.main = self._importer(session, is_agent=self.is_agent)
        while (record := self._departs(self.main)) is not None:
            self._departure = Departure(session, record, self._version_before(record))
            digits = next(n for n in DIGITS if f"{name}-{record.digest[:n]}" not in tried)
            session = f"{name}-{record.digest[:digits]}"
            tried.add(session)
            self.main = self._importer(session, is_agent=self.is_agent)

    def _departs(self, main: LineImporter) -> Record | None:
        """Return the first record that is not what the session, or a sidechain of it, says."""
        taken_back = self._taken_back(main.session)
        for log, records in self._logs(main):
            place = log.departs(records, taken_back)
            if place is not None:
                return records[place]
        return None

    def _logs(self, main: LineImporter) -> Iterator[tuple[SessionLog, list[Record]]]:
        """Yield the session of the file and those of its sidechains, each with its records."""
        yield main.log, self._own_records()
        sidechains: dict[str, list[Record]] = {}
        for record in () if self.is_agent else self.records:
            if record.value is not None and record.value.get("isSidechain"):
                sidechains.setdefault(self._child_name(record.value), []).append(record)
        for name, records in sidechains.items():
            known = self._children.get(name)
            child = known or self._importer(self._child_session(name), is_agent=True)
            yield child.log, records

    def _own_records(self) -> list[Record]:
        """Return the records that belong to the file's own session."""
        if self.is_agent:
            return self.records
        return [r for r in self.records if r.value is None or not r.value.get("isSidechain")]

    def _taken_back(self, session: str) -> Callable[[str], bool] | None:
        """Return which lines may be gone from the file: the program removes replies that failed."""
        if (self.run.origin(session) or {}).get("file") != self.file:
            return None
        return lambda type_: type_ == "message.assistant"

    def _version_before(self, record: Record) -> int | None:
        """Return the version of the last record that the session has before one of the file."""
        assert self.main is not None
        before = [own.key for own in self._own_records() if own.line < record.line]
        return self.main.log.version_of(before[-1]) if before else None

    def _finish(self, reading: Reading) -> ImportReport:
        """Bring all heads to where they belong, and record what waits."""
        assert self.main is not None
        notices = [
            *departures(self._departure, self.main.session),
            *notices_of(self.records),
            *sidecars.record(self.source, self.records, self.main),
        ]
        importers = [self.main, *self._children.values()]
        for importer in importers:
            importer.finish()
        self._relations.remember(self.main.session, self.records, self.source.folder)
        logs = [importer.log for importer in importers]
        return self.run.report(self.source, *logs, reading=reading, notices=notices)

    def _read(self, record: Record) -> None:
        """Read a record into the session that it belongs to."""
        assert self.main is not None
        line = record.value
        if line is None or self.is_agent or not line.get("isSidechain"):
            if line is not None:
                self._tasks += relations.tasks_in(line)
            self.main.read(record, self._start, self._first_dated)
        else:
            child = self._child(line)
            child.read(record, lambda: self._child_start(record))

    # -- the session of the file -------------------------------------------------------------

    def _session(self) -> str:
        """Return the id of the file's session: its name, if no other file has taken that."""
        return self.run.name_for(self.source.path.stem, self.file, self._first)

    def _is_agent(self, session: str) -> bool:
        """Return whether the lines are a subagent's, whatever the file is called.

        What was found when the file was first read counts: a growing file stays what it is.
        """
        origin = self.run.origin(session)
        return _all_sidechain(self.records) if origin is None else bool(origin.get("agent"))

    @property
    def _first(self) -> str:
        """The digest of the first record: a file that was moved or copied is known by it."""
        return self.records[0].digest

    @cached_property
    def _first_dated(self) -> dict[str, Json] | None:
        """The first line with a time, among those that there were at first."""
        return next((r.value for r in self.records if r.value and time_of(r.value)), None)

    def _importer(self, session: str, *, is_agent: bool) -> LineImporter:
        return LineImporter(self.run, session, self.source, is_agent=is_agent)

    def _start(self) -> dict[str, Json]:
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
        if self._departure is not None:
            return self._departure.parent()
        if self.is_agent:
            owner = self._relations.session_of(self.source)
            return self._relations.spawned_by(owner, self.records, meta)
        return self._relations.copied_from(self.records, self.main.session)

    def _origin(self) -> dict[str, Json]:
        return {
            "harness": "claude-code",
            "importer": "foldlog",
            "file": self.file,
            "version": _first_text(self.records, "version"),
        }

    # -- sidechains --------------------------------------------------------------------------

    def _child(self, line: dict[str, Json]) -> LineImporter:
        """Return the child session of a sidechain's line."""
        name = self._child_name(line)
        if name not in self._children:
            self._children[name] = self._importer(self._child_session(name), is_agent=True)
        return self._children[name]

    def _child_name(self, line: dict[str, Json]) -> str:
        """Return what a sidechain is called: by its agent, else by its root."""
        uuid, parent, agent = str(line.get("uuid")), line.get("parentUuid"), line.get("agentId")
        name = f"agent-{agent}" if _is_id(agent) else self._chains.get(str(parent))
        if name is None:
            name = f"agent-{uuid[:8] if _is_id(uuid) else self._first[:8]}"
        self._chains[uuid] = name
        return name

    def _child_session(self, name: str) -> str:
        assert self.main is not None
        if self.run.origin(name) is None or self._relations.stems_from(name, self.main.session):
            return name
        mark = self._departure.record.digest if self._departure else self._first
        return f"{name}-{mark[:8]}"

    def _child_start(self, record: Record) -> dict[str, Json]:
        assert self.main is not None
        task = relations.task_of(self._tasks, [record], None)
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
    """Return whether a session can be called so."""
    return isinstance(name, str) and _ID.fullmatch(name) is not None


def _all_sidechain(records: Sequence[Record]) -> bool:
    """Return whether the lines are a subagent's, whatever the file is called."""
    lines = (record.value or {} for record in records)
    marks = [line.get("isSidechain") for line in lines if line.get("type") in ("user", "assistant")]
    return bool(marks) and all(marks)


def _first_text(records: Sequence[Record], key: str) -> str | None:
    values = (record.value.get(key) for record in records if record.value)
    return next((value for value in values if isinstance(value, str)), None)
