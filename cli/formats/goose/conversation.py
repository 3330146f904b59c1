"""From a session of goose to events, and to what the model still sees of it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from foldlog.cli.formats.foreign_database import utc_time
from foldlog.cli.formats.goose import messages
from foldlog.cli.formats.goose.messages import Message
from foldlog.cli.formats.report import LineNote
from foldlog.cli.formats.rewritten import Rewritten, digest_of

if TYPE_CHECKING:
    from foldlog.cli.formats.foreign_database import ForeignDatabase, Row
    from foldlog.cli.formats.import_run import ImportRun
    from foldlog.cli.formats.jsonl_source import Record
    from foldlog.cli.formats.protocols import Source
    from foldlog.cli.formats.report import ImportReport
    from foldlog.eventstore.events import Json


def from_database(
    database: ForeignDatabase, session: Row, source: Source, run: ImportRun
) -> ImportReport:
    """Import a session of a database."""
    info = session.plain
    target = _begun(str(info.get("id")), info, source, run)
    doing = Conversation(target)
    order = ["created_timestamp", "id"]
    for row in database.rows("messages", order=order, session_id=session.values.get("id")):
        content, reason = row.json("content_json")
        if reason is not None:
            doing.reject(f"messages/{row.number}", row.plain, reason, row.place)
            continue
        metadata, _ = row.json("metadata_json")
        role, created = str(row.plain.get("role")), row.plain.get("created_timestamp")
        original = {**row.plain, "content_json": content, "metadata_json": metadata}
        seen = messages.visible(metadata)
        doing.write(Message(role, created, content, *seen, original, row.place))
    config, _ = session.json("model_config_json")
    doing.write_usage(info, config.get("model_name") if isinstance(config, dict) else None)
    return doing.report(source, run)


def from_file(source: Source, run: ImportRun) -> ImportReport:
    """Import a file of before: a line about the session, if there is one, and its messages."""
    reading = run.read(source)
    if not reading.records:
        return run.report(source, reading=reading)
    head = reading.records[0].value or {}
    info = head if "working_dir" in head else {}
    doing = Conversation(_begun(source.path.stem, info, source, run))
    for record in run.each(source, reading.records):
        _write_line(doing, record)
    doing.write_usage(info)
    report = doing.report(source, run)
    broken = [LineNote(r.line, r.reason) for r in reading.records if r.reason is not None]
    return replace(report, rejected=tuple(broken), pending=reading.pending)


def _write_line(doing: Conversation, record: Record) -> None:
    line, place = record.value, {"line": record.line, "offset": record.offset}
    if line is None:
        doing.target.log.unreadable(record)
    elif line.get("role") in ("user", "assistant"):
        seen = messages.visible(line.get("metadata"))
        role, content = str(line["role"]), line.get("content")
        doing.write(Message(role, line.get("created"), content, *seen, line, place))
    else:
        doing.target.write("goose.line", line, record.key, source=place)


def _begun(id_: str, info: dict[str, Json], source: Source, run: ImportRun) -> Rewritten:
    first = digest_of(["goose", id_])
    target = Rewritten(run, run.name_for(id_, source.file, first), source)
    target.begin(
        info.get("name") or info.get("description"),
        occurred=utc_time(info.get("created_at")),
        cwd=info.get("working_dir"),
        origin={"harness": "goose", "file": source.file, "first": first},
    )
    if "id" in info:
        target.log.write("goose.session", info, "session", of=1)
    return target


@dataclass
class Conversation:
    """The import of the messages of one session.

    Args:
        target: Where they are written to.
    """

    target: Rewritten
    _rejected: list[LineNote] = field(default_factory=list)
    _hidden: list[int] = field(default_factory=list)
    _unexplained: list[int] = field(default_factory=list)

    def write(self, message: Message) -> None:
        """Write a message: a summary in the place of what the model does not see any more."""
        if message.is_summary and self._hidden:
            self._summarize(message)
            return
        before = len(self.target.shown)
        self._write_message(message)
        written = self.target.shown[before:]
        if not message.for_agent:
            self._hidden += written
            self._unexplained += written

    def _summarize(self, message: Message) -> None:
        """Show a summary for all before it that the model does not see any more."""
        self.target.summarize(
            *(messages.blocks(message.content), self._hidden, message.key),
            occurred=message.created,
            line={"message": message.original},
        )
        self._unexplained = []

    def _write_message(self, message: Message) -> None:
        """Write the results in a message, then what it says."""
        more: Any = {"occurred": message.created, "source": message.place}
        for result in messages.results(message.content):
            self.target.write("tool.result", result, f"{message.key}/result", **more)
        said = messages.blocks(message.content)
        line = {"message": message.original}
        if said and message.role in ("user", "assistant"):
            data: dict[str, Json] = {"content": said}
            self.target.write(f"message.{message.role}", data, message.key, line=line, **more)
        elif not messages.results(message.content):
            data = {"role": message.role, "content": message.content}
            self.target.write("goose.message", data, message.key, line=line, **more)

    def write_usage(self, info: dict[str, Json], model: Json = None) -> None:
        """Write what the whole session took: goose keeps no figures of single replies."""
        taken = {
            "input_tokens": info.get("accumulated_input_tokens"),
            "output_tokens": info.get("accumulated_output_tokens"),
            "cost": info.get("accumulated_cost"),
        }
        usage = {name: count for name, count in taken.items() if isinstance(count, int | float)}
        if usage:
            id_ = f"{self.target.log.session}/accumulated"
            data: dict[str, Json] = {"content": [], "id": id_, "model": model, "usage": usage}
            self.target.write("request.answered", data, "accumulated")

    def reject(
        self, key: str, original: dict[str, Json], reason: str, place: dict[str, Json]
    ) -> None:
        """Keep a row whose content is no JSON."""
        self._rejected.append(LineNote(0, f"{key}: {reason}"))
        text = str(original.get("content_json"))
        self.target.write("source.unreadable", {"text": text, "reason": reason}, key, source=place)

    def report(self, source: Source, run: ImportRun) -> ImportReport:
        """Hide what else the model does not see, and return the report."""
        self.target.edit(
            *({"shown": "hidden"}, self._unexplained, "hidden"),
            rule="hidden",
            reason="goose does not show this to the model.",
        )
        report = run.report(source, self.target.log, notices=self.target.finish())
        return replace(report, rejected=tuple(self._rejected))
