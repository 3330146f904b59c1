"""The log of one agent of Kimi Code, as events: what a resume replays, in order.

Every line becomes one event. A step is a reply: its parts and calls are lines, its end says what it
took. An undo that began a new branch is replayed: the lines that still count, from the first.
"""

from __future__ import annotations

from collections import Counter
from hashlib import sha256
from typing import TYPE_CHECKING

from foldlog.cli.formats import openai_blocks
from foldlog.cli.formats.jsonl_source import KEY_DIGITS, Reading
from foldlog.cli.formats.kimi import branches, files, messages
from foldlog.cli.formats.kimi.compaction import RESULT, Compaction, Context, Said
from foldlog.cli.formats.report import LineNote
from foldlog.cli.formats.shown_events import GONE, ShownEvents
from foldlog.eventstore.codec import dumps
from foldlog.projections.wire.blocks import objects

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from foldlog.cli.formats.import_run import ImportRun
    from foldlog.cli.formats.jsonl_source import Record
    from foldlog.cli.formats.protocols import Source
    from foldlog.cli.formats.report import ImportReport
    from foldlog.eventstore.events import Json

    Line = dict[str, Json]

INTERRUPTED = (
    "Tool execution was interrupted before its result was recorded."
    " Do not assume the tool completed successfully."
)
"""What Kimi Code sends as the output of a call that was interrupted (2.1.0)."""

STOP_REASONS = {"max_tokens": "max_tokens", "tool_use": "tool_use", "end_turn": "end_turn"}


class WireImport:
    """Reads the log of one agent into its session.

    Args:
        run: The import that it is part of.
        source: The log.
    """

    def __init__(self, run: ImportRun, source: Source) -> None:
        self._run = run
        self._source = source
        self._lines: list[Line] = []
        self._records: list[Record] = []

    def report(self, reading: Reading) -> ImportReport:
        """Import all and return the report."""
        if not reading.records:
            return self._run.report(self._source, reading=reading)
        reading = Reading([*_keyed(reading.records)], reading.pending)
        first = reading.records[0]
        state, agent = files.state(self._source.path), files.agent(self._source.path)
        given = state.get("id")
        id = given if isinstance(given, str) else files.session(self._source.path)
        wanted = id if agent == files.MAIN else f"{id}-{agent}"
        log = self._run.session(
            self._run.name_for(wanted, self._source.file, first.digest), self._source
        )
        self._context = Context(ShownEvents(log))
        notices = [] if log.departs(reading.records) is None else [LineNote(0, GONE)]
        created = (first.value or {}).get("created_at")
        log.start(occurred=created, **self._start(state, id, agent, first))
        for record in self._run.each(self._source, reading.records):
            self._read(record)
        self._context.shown.finish()
        return self._run.report(self._source, log, reading=reading, notices=notices)

    def _start(self, state: Line, id: str, agent: str, first: Record) -> Line:
        meta = state.get("agents")
        own = meta.get(agent) if isinstance(meta, dict) else None
        labels = own.get("labels") if isinstance(own, dict) else None
        above = labels.get("parentAgentId") if isinstance(labels, dict) else None
        parent = f"{id}-{above}" if isinstance(above, str) and above != files.MAIN else id
        title, cwd = state.get("title"), state.get("cwd", state.get("workDir"))
        return {
            "title": title if isinstance(title, str) and title and agent == files.MAIN else None,
            "cwd": cwd if isinstance(cwd, str) else None,
            "origin": {
                "harness": "kimi",
                "importer": "foldlog",
                "file": self._source.file,
                "version": (first.value or {}).get("protocol_version"),
                "first": first.digest,
            },
            "parent": None if agent == files.MAIN else {"session": parent, "kind": "subagent"},
        }

    # -- one line ----------------------------------------------------------------------------

    def _read(self, record: Record) -> None:
        if record.value is None:
            self._context.shown.unreadable(record)
            return
        self._lines.append(record.value)
        self._records.append(record)
        self._line(record, record.value)
        if record.value.get("type") == branches.SWITCHED:
            self._replay()

    def _replay(self) -> None:
        """Show what is left after an undo: read the lines again that count, which are known."""
        numbers = branches.counting(self._lines)
        if numbers is None:
            return
        switched = self._context.shown.versions[-1:]
        self._context.begin()
        for number in numbers:
            self._line(self._records[number - 1], self._lines[number - 1])
        for version in switched:
            self._context.shown.add(version)

    def _line(self, record: Record, line: Line) -> None:
        event = line.get("event") if line.get("type") == "context.append_loop_event" else None
        inner = event if isinstance(event, dict) else {}
        read = _READERS.get(tuple(str(inner.get("type", line.get("type"))).split(".")))
        if read is None or not read(self, record, line, inner):
            self._write(_own_type(line, inner), line, record)

    def _write(self, type_: str, data: Line, record: Record, said: Said | None = None) -> int:
        """Write a line as an event; what is said is noted as a message of the context."""
        line = record.value if data is not record.value else None
        time = (record.value or {}).get("time")
        version = self._context.shown.write(type_, data, record, occurred=time, line=line)
        if said is not None:
            self._context.note(version, said)
        return version

    def _derived(self, type_: str, data: Line, key: str, of: int) -> int:
        return self._context.shown.write(type_, data, key, of=of)

    # -- settings ----------------------------------------------------------------------------

    def _profile(self, record: Record, line: Line, _: Line) -> bool:
        version = self._write("kimi.profile.bind", line, record)
        system = line.get("systemPrompt")
        if isinstance(system, str) and system and system != self._context.system:
            self._derived("system.set", {"system": system}, f"{record.key}/system", version)
            self._context.system = system
        return True

    def _tools(self, record: Record, line: Line, _: Line) -> bool:
        version = self._write("kimi.llm.tools_snapshot", line, record)
        tools = [{**tool, "type": "function"} for tool in objects(line.get("tools"))]
        given = {"tools": openai_blocks.tools(tools)}
        if given["tools"] != self._context.tools:
            self._derived("tools.set", given, f"{record.key}/tools", version)
            self._context.tools = given["tools"]
        return True

    def _request(self, record: Record, line: Line, _: Line) -> bool:
        model = line.get("model")
        self._context.model = model if isinstance(model, str) else self._context.model
        return False

    # -- the conversation --------------------------------------------------------------------

    def _appended(self, record: Record, line: Line, _: Line) -> bool:
        message = line.get("message")
        found = messages.from_message(message) if isinstance(message, dict) else None
        if found is None or not isinstance(message, dict):
            return False
        self._write(found.type, found.data, record, Said.of(found, message))
        return True

    def _step(self, record: Record, line: Line, event: Line) -> bool:
        self._close_calls()
        self._context.step = str(event.get("uuid"))
        return False

    def _part(self, record: Record, line: Line, event: Line) -> bool:
        self._reply({"content": [messages.part(event.get("part"))]}, record)
        return True

    def _call(self, record: Record, line: Line, event: Line) -> bool:
        id, name = event.get("toolCallId"), event.get("name")
        version = self._reply(
            {"content": [openai_blocks.call(id, name, event.get("args"))]}, record
        )
        if isinstance(id, str):
            self._context.waiting[id] = str(name), version
        return True

    def _reply(self, data: Line, record: Record) -> int:
        said = Said("assistant", step=self._context.step)
        return self._write("message.assistant", {**data, **self._of_step()}, record, said)

    def _of_step(self) -> Line:
        known: Line = {"model": self._context.model, "id": self._context.step}
        return {key: value for key, value in known.items() if value is not None}

    def _result(self, record: Record, line: Line, event: Line) -> bool:
        id, given = event.get("toolCallId"), event.get("result")
        if not isinstance(id, str) or id not in self._context.waiting:
            return False  # Kimi Code does not send it
        name, _ = self._context.waiting.pop(id)
        shown = messages.result(given if isinstance(given, dict) else {}, name)
        self._write("tool.result", {"tool_use_id": id, **shown}, record, RESULT)
        return True

    def _end(self, record: Record, line: Line, event: Line) -> bool:
        """Write what a step took, as a part of its reply without content."""
        reason = event.get("finishReason")
        if reason not in ("interrupted", "error"):
            self._close_calls()
        data: Line = {"content": [], **self._of_step(), "usage": messages.usage(event.get("usage"))}
        if isinstance(reason, str):
            data["stop_reason"] = STOP_REASONS.get(reason, reason)
        said = Said("assistant", step=self._context.step, is_empty=True)
        self._write("message.assistant", data, record, said)
        return True

    def _close_calls(self) -> None:
        """Write what Kimi Code sends for the calls that nobody answered."""
        for id, (_, version) in self._context.waiting.items():
            shown = messages.result({"output": INTERRUPTED, "isError": True}, "")
            data = {"tool_use_id": id, **shown, "synthesized": True}
            made = self._derived("tool.result", data, f"interrupted/{version}/{id}", version)
            self._context.note(made, RESULT)
        self._context.waiting.clear()

    def _ended(self, record: Record, line: Line, _: Line) -> bool:
        if line.get("reason") != "cancelled":
            return False
        self._write("turn.stopped", {"by": "user"}, record)
        return True

    def _used(self, record: Record, line: Line, _: Line) -> bool:
        """Write what a request beside the turns took; those of turns are in their steps."""
        usage = messages.usage(line.get("usage"))
        if line.get("usageScope") == "turn" or not usage:
            return False
        counted: Line = {"content": [], "model": line.get("model"), "usage": usage}
        self._write("request.answered", counted, record)
        return True

    # -- what is taken back or replaced ------------------------------------------------------

    def _undone(self, record: Record, line: Line, _: Line) -> bool:
        if len(self._lines) not in branches.paired_undos(self._lines):
            self._context.undo(line.get("count"))
        return False

    def _cleared(self, record: Record, line: Line, _: Line) -> bool:
        self._context.clear()
        return False

    def _compacted(self, record: Record, line: Line, _: Line) -> bool:
        return Compaction(self._context, record).carry_out()


_READERS: dict[tuple[str, ...], Callable[[WireImport, Record, Line, Line], bool]] = {
    ("profile", "bind"): WireImport._profile,
    ("llm", "tools_snapshot"): WireImport._tools,
    ("llm", "request"): WireImport._request,
    ("context", "append_message"): WireImport._appended,
    ("step", "begin"): WireImport._step,
    ("content", "part"): WireImport._part,
    ("tool", "call"): WireImport._call,
    ("tool", "result"): WireImport._result,
    ("step", "end"): WireImport._end,
    ("turn", "ended"): WireImport._ended,
    ("usage", "record"): WireImport._used,
    ("context", "undo"): WireImport._undone,
    ("context", "clear"): WireImport._cleared,
    ("context", "apply_compaction"): WireImport._compacted,
}
"""What each line becomes, by the parts of its type or that of the event in it; all others are kept
as they are. A reader returns False where the line is to be kept as it is."""


def _own_type(line: Line, event: Line) -> str:
    named = event.get("type", line.get("type"))
    is_name = isinstance(named, str) and 0 < len(named) < 100 and named.isprintable()
    return f"kimi.{named}" if is_name else "kimi.line"


def _keyed(records: Iterable[Record]) -> Iterator[Record]:
    """Return records known by the ids in them: a newer version rewrites the lines of an older."""
    seen: Counter[str] = Counter()
    for record in records:
        own = _identity(record.value or {}) or record.digest
        seen[own] += 1
        yield record._replace(digest=own, occurrence=seen[own])


def _identity(line: Line) -> str | None:
    event, message = line.get("event"), line.get("message")
    if line.get("type") == "metadata":
        named: list[Json] = ["metadata", line.get("created_at")]
    elif isinstance(event, dict) and isinstance(event.get("uuid", event.get("parentUuid")), str):
        named = [event.get("type"), event.get("uuid", event.get("parentUuid"))]
    elif line.get("type") == "context.append_message" and isinstance(message, dict):
        named = [message.get("role"), message.get("id"), message.get("content"), line.get("time")]
    else:
        return None
    return sha256(dumps(named)).hexdigest()[:KEY_DIGITS]
