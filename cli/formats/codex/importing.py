"""The lines of one thread, as events in the order in which Codex sends them.

Every line becomes one event. A compaction shows its summary for what it left out and brings the
rest into the order of its replacement history; a rollback shows what was before it. Each file of a
thread is read from its beginning, that of its base included: what is recorded is found by its key.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

from foldlog.cli.formats.codex import lines, thread
from foldlog.cli.formats.codex.compaction import Compaction, Contents
from foldlog.cli.formats.codex.replies import Replies
from foldlog.cli.formats.codex.rollouts import Rollout
from foldlog.cli.formats.report import LineNote
from foldlog.cli.formats.shown_events import GONE, ShownEvents
from foldlog.eventstore.codec import dumps
from foldlog.projections.view.lineage import is_version
from foldlog.projections.wire.blocks import CALL, kind, objects

if TYPE_CHECKING:
    from collections.abc import Callable

    from foldlog.cli.formats.import_run import ImportRun
    from foldlog.cli.formats.jsonl_source import Record
    from foldlog.cli.formats.protocols import Source
    from foldlog.cli.formats.report import ImportReport
    from foldlog.eventstore.events import Json

    Line = dict[str, Json]

ABORTED = "aborted"
"""What Codex sends as the output of a call that has none (its public source, November 2026)."""

CONTEXT = frozenset({"attachment.added", "message.system"})
"""What a rollback takes along, where it comes right before the prompt that is taken back."""


class ThreadImport:
    """Reads the files of one thread into its log.

    Args:
        run: The import that it is part of.
        source: The thread.
    """

    def __init__(self, run: ImportRun, source: Source) -> None:
        self._run = run
        self._source = source if isinstance(source, Rollout) else Rollout(source.path, source.name)
        self._title = thread.Title()
        self._cwd: str | None = None
        self._begin()

    def report(self) -> ImportReport:
        """Import all and return the report."""
        files = thread.files(self._source)
        main = files[0]
        if not main.reading.records:
            return self._run.report(self._source, reading=main.reading)
        start = thread.start_of(main, self._source)
        name = self._run.name_for(start.id, self._source.file, main.reading.records[0].digest)
        self._log = self._run.session(name, self._source, self._title.follow)
        self._shown = ShownEvents(self._log)
        records = [record for file in files for record in file.reading.records]
        notices = [LineNote(0, GONE)] if self._log.departs(records) is not None else []
        self._log.start(occurred=start.time, **start.data)
        self._cwd = start.data["cwd"]
        for file in files:
            notices += self._read(file)
        self._shown.finish()
        self._title.give(self._log, start.title)
        reading = thread.joined(files)
        return self._run.report(self._source, self._log, reading=reading, notices=notices)

    def _begin(self) -> None:
        """Forget where the thread was: a file is read from its beginning."""
        self._replies = Replies()
        self._open: dict[str, tuple[str, int]] = {}
        self._contents = Contents()
        self._model: str | None = None
        self._system: str | None = None
        self._folder = self._cwd

    def _read(self, file: thread.File) -> list[LineNote]:
        """Read a file and what it goes on from."""
        self._begin()
        self._shown.only([])
        stretches, missing = thread.stretches(self._source, file)
        for stretch in stretches:
            self._log.file = stretch.name
            for record in self._run.each(Rollout(stretch.path), stretch.records):
                self._line(record)
        return missing

    # -- one line ----------------------------------------------------------------------------

    def _line(self, record: Record) -> None:
        if record.value is None:
            self._shown.unreadable(record)
            return
        line, payload = record.value, lines.payload_of(record.value)
        read = _READERS.get((str(line.get("type")), str(payload.get("type"))))
        read = read or _READERS.get((str(line.get("type")), ""))
        if read is None or not read(self, record, line, payload):
            self._write(lines.event_type(line), line, record)

    def _write(self, type_: str, data: Line, record: Record, line: Line | None = None) -> int:
        time = (record.value or {}).get("timestamp")
        version = self._shown.write(type_, data, record, occurred=time, line=line)
        self._contents.note(version, type_, data)
        return version

    def _derived(self, type_: str, data: Line, key: str, of: int) -> int:
        version = self._shown.write(type_, data, key, of=of)
        self._contents.note(version, type_, data)
        return version

    def _meta(self, record: Record, line: Line, payload: Line) -> bool:
        """Write what a file says of itself, and the instructions that are in force from here on."""
        version = self._write(lines.event_type(line), line, record)
        given = payload.get("base_instructions")
        text = given.get("text") if isinstance(given, dict) else payload.get("instructions")
        if isinstance(text, str) and text and text != self._system:
            self._derived("system.set", {"system": text}, f"{record.key}/system", version)
            self._system = text
        return True

    def _turn(self, record: Record, line: Line, payload: Line) -> bool:
        """Write what holds for a turn; in a folder outside of the session's, the session moves."""
        version = self._write(lines.event_type(line), line, record)
        model, folder = payload.get("model"), payload.get("cwd")
        self._model = model if isinstance(model, str) else self._model
        if isinstance(folder, str) and not self._is_inside(folder):
            self._derived("session.moved", {"cwd": folder}, f"{record.key}/moved", version)
            self._folder = folder
        return True

    def _is_inside(self, folder: str) -> bool:
        """Return whether a folder is that of the session, or inside it."""
        own = self._folder or folder
        return folder == own or folder.startswith(f"{own.rstrip('/')}/")

    def _started(self, record: Record, line: Line, payload: Line) -> bool:
        self._replies.turn()
        return False

    def _answered(self, record: Record, line: Line, payload: Line) -> bool:
        self._replies.close()
        return False

    def _item(self, record: Record, line: Line, payload: Line) -> bool:
        found = lines.mapped(payload)
        if found is None:
            return False
        data = found.data
        if found.type == "message.assistant":
            name = sha256(dumps(payload)).hexdigest()[:24]
            data = {**data, **self._model_of(self._replies.item(payload.get("id"), name))}
        else:
            self._replies.close()
        if found.type == "message.user":
            self._abort_calls()
            self._replies.turn()
        version = self._write(found.type, data, record, line)
        self._note_calls(found.type, data, record.key, version)
        return True

    def _model_of(self, reply: str | None) -> Line:
        known: Line = {"model": self._model, "id": reply}
        return {name: value for name, value in known.items() if value is not None}

    def _note_calls(self, type_: str, data: Line, key: str, version: int) -> None:
        for block in objects(data["content"]) if type_ == "message.assistant" else ():
            if kind(block) == CALL and isinstance(block.get("id"), str):
                self._open[block["id"]] = key, version
        if type_ == "tool.result":
            self._open.pop(data["tool_use_id"], None)

    def _abort_calls(self) -> None:
        """Write what Codex sends for the calls that had no output when a person went on."""
        for call, (key, of) in self._open.items():
            data = {"tool_use_id": call, "content": ABORTED, "synthesized": True}
            self._derived("tool.result", data, f"{key}/{call}/aborted", of)
        self._open.clear()

    def _usage(self, record: Record, line: Line, payload: Line) -> bool:
        """Write what a request took, as a part of its reply without content."""
        usage = lines.usage_of(payload)
        if usage is None or not self._replies.is_new(usage):
            return False
        reply = self._replies.counted(record.digest[:24])
        data: Line = {"content": [], **self._model_of(reply), "usage": usage.tokens}
        type_ = "request.answered" if reply is None else "message.assistant"
        self._write(type_, data, record, line)
        return True

    def _aborted(self, record: Record, line: Line, payload: Line) -> bool:
        if payload.get("reason") != "interrupted":
            return False
        self._write("turn.stopped", {"by": "user"}, record, line)
        return True

    # -- what is taken back or replaced ------------------------------------------------------

    def _rolled_back(self, record: Record, line: Line, payload: Line) -> bool:
        turns = payload.get("num_turns")
        shown = self._shown.versions
        prompts = [at for at, v in enumerate(shown) if v in self._contents.prompts]
        if is_version(turns) and turns > 0 and prompts:
            cut = prompts[-turns] if turns <= len(prompts) else prompts[0]
            self._shown.only(shown[: self._before_context(cut, prompts[0])])
        self._replies.turn()
        self._open.clear()
        return False

    def _before_context(self, cut: int, first: int) -> int:
        """Return where a turn begins: before the context that was put in front of its prompt."""
        shown, begin = self._shown.versions, cut
        while cut > first:
            type_ = self._contents.types.get(shown[cut - 1], "")
            if type_ in CONTEXT:
                begin = cut - 1
            elif not type_.startswith("codex."):
                break
            cut -= 1
        return begin

    def _compacted(self, record: Record, line: Line, payload: Line) -> bool:
        Compaction(self._shown, self._contents, record).carry_out()
        self._replies.turn()
        self._open.clear()
        return True


_READERS: dict[tuple[str, str], Callable[[ThreadImport, Record, Line, Line], bool]] = {
    ("session_meta", ""): ThreadImport._meta,
    ("turn_context", ""): ThreadImport._turn,
    ("response_item", ""): ThreadImport._item,
    ("compacted", ""): ThreadImport._compacted,
    ("token_usage_record", ""): ThreadImport._answered,
    ("event_msg", "task_started"): ThreadImport._started,
    ("event_msg", "token_count"): ThreadImport._usage,
    ("event_msg", "turn_aborted"): ThreadImport._aborted,
    ("event_msg", "thread_rolled_back"): ThreadImport._rolled_back,
}
"""What each type of line becomes, by its type and that of its payload; all others are kept as they
are. A reader returns False where the line is to be kept as it is."""
