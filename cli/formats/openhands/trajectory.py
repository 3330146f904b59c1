"""Version 0: a trajectory, the list of all actions and observations of a session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foldlog.cli.formats import jsonl_source, openai_blocks
from foldlog.cli.formats.jsonl_source import Reading, records_of
from foldlog.cli.formats.openhands.events import content_of, terminal
from foldlog.cli.formats.source_files import read_file
from foldlog.projections.wire.blocks import objects, text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from foldlog.cli.formats.import_run import ImportRun
    from foldlog.cli.formats.jsonl_source import Record
    from foldlog.cli.formats.protocols import Source
    from foldlog.cli.formats.report import ImportReport
    from foldlog.cli.formats.session_log import SessionLog
    from foldlog.eventstore.events import Json

NAME = 100
"""The longest name of an action or observation in a type."""

NOTES = {
    "error": "\n[Error occurred in processing last action]",
    "user_rejected": "\n[Last action has been rejected by the user]",
}
"""What the program appends to results, by the kind of observation (OpenHands 0.62)."""

Object = dict[str, "Json"]


def import_trajectory(source: Source, run: ImportRun) -> ImportReport:
    """Import a trajectory; one that is not whole JSON yet is read next time."""
    words = read_file(source.path).decode("utf-8", "surrogateescape")
    value, _ = jsonl_source.decoded(words.lstrip("\ufeff"))
    if not isinstance(value, list):
        return run.report(source, reading=Reading((), True))
    reading = Reading(records_of(value), False)
    if not reading.records:
        return run.report(source, reading=reading)
    first = reading.records[0].digest
    log = run.session(run.name_for(source.path.stem, source.file, first), source)
    begin = reading.records[0].value or {}
    origin = {"harness": "openhands", "file": source.file, "first": first}
    log.start(title=None, cwd=None, origin=origin, occurred=begin.get("timestamp"))
    _Trajectory(log).take(run.each(source, reading.records), reading.records)
    return run.report(source, log, reading=reading)


class _Trajectory:
    """A trajectory on its way into the log.

    Args:
        log: The log of its session.
    """

    def __init__(self, log: SessionLog) -> None:
        self._log = log
        self._shown: list[int] = []
        self._seen_as: dict[int, int] = {}
        """The version that an item is seen as, by its id."""
        self._replies: set[str] = set()

    def take(self, records: Iterable[Record], every: Sequence[Record]) -> None:
        """Write all records. What was taken out of the list since is not shown any more."""
        known = [self._log.version_of(record.key) for record in every]
        if None in known:
            self._log.show([version for version in known if version is not None])
        for record in records:
            self._write(record)
        if None in known:
            self._log.show(self._shown)

    def _write(self, record: Record) -> None:
        item = record.value
        if item is None:
            self._shown.append(self._log.unreadable(record))
            return
        first, *more = self._write_item(record, item)
        self._shown += [first, *more]
        number = item.get("id")
        if isinstance(number, int):
            self._seen_as.setdefault(number, first)

    def _write_item(self, record: Record, item: Object) -> list[int]:
        if item.get("action") == "system":
            return self._begin(record, item)
        if item.get("action") == "condensation":
            return self._condense(record, item)
        said = self._said_by(item)
        if said is None:
            name = item.get("action") or item.get("observation")
            kind = name if isinstance(name, str) and name.isidentifier() else "unknown"
            said = f"openhands.{kind[:NAME]}", item
            return [self._log.write(*said, record, occurred=item.get("timestamp"))]
        return [self._log.write(*said, record, occurred=item.get("timestamp"), line=item)]

    def _said_by(self, item: Object) -> tuple[str, Object] | None:
        """Return what an item says to the model; None if it says nothing."""
        call = item.get("tool_call_metadata")
        if "observation" in item:
            return _result(item, call) if isinstance(call, dict) else None
        if item.get("action") == "finish":
            return "message.assistant", {**self._reply(call), "content": _finish(item, call)}
        if isinstance(call, dict):
            return "message.assistant", self._reply(call)
        if item.get("action") == "message":
            is_user = item.get("source") == "user"
            return "message.user" if is_user else "message.assistant", {"content": _words(item)}
        return None

    def _reply(self, call: Json) -> Object:
        """Return what a call says of the reply that it is from: its first call says it all."""
        reply = _at(call, "model_response")
        if not isinstance(reply, dict):
            return {"content": []}
        number = reply.get("id")
        is_first = not isinstance(number, str) or number not in self._replies
        data: Object = {"content": _calls(call, _message(reply), is_first=is_first)}
        if isinstance(number, str):
            self._replies.add(number)
            data["id"] = number
        if isinstance(reply.get("model"), str):
            data["model"] = reply["model"]
        return {**data, "usage": _usage(reply.get("usage"))} if is_first else data

    def _begin(self, record: Record, item: Object) -> list[int]:
        """Write the system prompt and the tools."""
        system: Object = {"system": content_of(_at(item, "args", "content"))}
        time = item.get("timestamp")
        version = self._log.write("system.set", system, record, occurred=time, line=item)
        tools: Object = {"tools": openai_blocks.tools(_at(item, "args", "tools"))}
        return [version, self._log.write("tools.set", tools, f"{record.key}/tools", of=version)]

    def _condense(self, record: Record, item: Object) -> list[int]:
        """Write a condensation: the summary in place of what is forgotten, or nothing there."""
        time, hidden = item.get("timestamp"), self._forgotten(item)
        summary = _at(item, "args", "summary")
        if isinstance(summary, str) and hidden:
            return self._log.summarize(summary, hidden, record, occurred=time, line=item)
        version = self._log.write("openhands.condensation", item, record, occurred=time)
        key = f"{record.key}/hidden"
        edit = self._log.edit({"shown": "hidden"}, hidden, key, of=version)
        return [version] if edit is None else [version, edit]

    def _forgotten(self, item: Object) -> list[int]:
        """Return the versions of the items that a condensation forgets: ids, or a range of them."""
        listed = _at(item, "args", "forgotten_event_ids")
        start = _at(item, "args", "forgotten_events_start_id")
        end = _at(item, "args", "forgotten_events_end_id")
        if isinstance(listed, list):
            return sorted(v for id, v in self._seen_as.items() if id in listed)
        if not isinstance(start, int) or not isinstance(end, int):
            return []
        return sorted(v for id, v in self._seen_as.items() if start <= id <= end)


def _words(item: Object) -> list[Json]:
    """Return the content of a message: its text and its images."""
    urls = _at(item, "args", "image_urls")
    images = [{"type": "image", "image_urls": [url]} for url in urls] if _is_list(urls) else []
    return [*content_of(_at(item, "args", "content")), *content_of(images)]


def _finish(item: Object, call: Json) -> list[Json]:
    """Return the text that the program sends for a finish: its thought and the reply's words."""
    said = _at(_message(_at(call, "model_response")), "content")
    words = [_at(item, "args", "thought"), said]
    return [text(word) for word in dict.fromkeys(w for w in words if isinstance(w, str) and w)]


def _message(reply: Json) -> Json:
    choices = objects(_at(reply, "choices"))
    return choices[0].get("message") if choices else None


def _calls(call: Json, message: Json, *, is_first: bool) -> list[Json]:
    """Return one call of a reply; with the reply's words, if it is the first."""
    whole = openai_blocks.from_message(message)
    blocks = whole.data["content"] if whole is not None else []
    number = _at(call, "tool_call_id")
    return [
        block
        for block in objects(blocks)
        if (block.get("id") == number if block.get("type") == "tool_use" else is_first)
    ]


def _result(item: Object, call: Object) -> tuple[str, Object]:
    """Return the result of a call, as the model sees it."""
    content, number = content_of(item.get("content")), call.get("tool_call_id")
    data: Object = {"tool_use_id": number if isinstance(number, str) else ""}
    note = NOTES.get(item["observation"]) if isinstance(item["observation"], str) else None
    if note is not None:
        return "tool.result", {**data, "content": [*content, text(note)], "is_error": True}
    found = _at(item, "extras", "metadata")
    return "tool.result", {**data, "content": terminal(content, found)}


def _usage(used: Json) -> Json:
    written = _at(used, "cache_creation_input_tokens")
    given = used if isinstance(used, dict) else {}
    return openai_blocks.usage({**given, "cache_write_input_tokens": written})


def _is_list(value: Json) -> bool:
    return isinstance(value, list)


def _at(value: Json, *path: str) -> Json:
    """Return what is at a path of keys; None where there is nothing."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value
