"""Version 1: one conversation, with its branches and its condensations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foldlog.cli.formats import openai_blocks
from foldlog.cli.formats.openhands.events import said_by, system_of
from foldlog.cli.formats.openhands.files import Conversation, read_events, read_state
from foldlog.cli.formats.session_log import START
from foldlog.projections.wire.blocks import objects

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from foldlog.cli.formats.import_run import ImportRun
    from foldlog.cli.formats.jsonl_source import Record
    from foldlog.cli.formats.protocols import Source
    from foldlog.cli.formats.report import ImportReport
    from foldlog.cli.formats.session_log import SessionLog
    from foldlog.eventstore.events import Json

ROOT = "__root__"
"""The ``parent_id`` of an event that begins a tree of its own."""

NO_NODES = ("ConversationStateUpdateEvent", "ConversationErrorEvent")
"""Events that are written at the end of a conversation whose head is somewhere else."""

HEAD = "openhands.head"
"""The event that says where the head of a conversation with branches is."""

NAME = 100
"""The longest name of a kind of events in a type."""

Object = dict[str, "Json"]


def import_conversation(source: Source, run: ImportRun) -> ImportReport:
    """Import a conversation: its events in their order, shown as far as they lead to its head."""
    reading = read_events(source) if isinstance(source, Conversation) else run.read(source)
    if not reading.records:
        return run.report(source, reading=reading)
    state = read_state(source.state if isinstance(source, Conversation) else None)
    first = reading.records[0].digest
    wanted = state.get("id") if isinstance(state.get("id"), str) else source.path.stem
    heads: list[Json] = []
    log = run.session(
        run.name_for(str(wanted), source.file, first),
        source,
        lambda event: heads.append(event.data) if event.type == HEAD else None,
    )
    value = reading.records[0].value or {}
    run.shared(_sessions)[source.path] = log.session
    log.start(
        title=None,
        cwd=_text(_at(state, "workspace", "working_dir")),
        origin={"harness": "openhands", "file": source.file, "first": first},
        parent=_parent(source, run),
        occurred=value.get("timestamp"),
    )
    conversation = _Conversation(log, state, reading.records)
    conversation.take(run.each(source, reading.records), heads)
    return run.report(source, log, reading=reading)


def _parent(source: Source, run: ImportRun) -> Json:
    """Return whose subagent a conversation is."""
    folder = source.parent if isinstance(source, Conversation) else None
    if folder is None:
        return None
    session = run.shared(_sessions).get(folder, folder.name)
    return {"session": session, "kind": "subagent"}


def _sessions(run: ImportRun) -> dict[Path, str]:
    """Return where the sessions of an import are noted, by the folders of their conversations."""
    return {}


class _Conversation:
    """A conversation on its way into the log.

    Args:
        log: The log of its session.
        state: The state of the conversation.
        records: All its events.
    """

    def __init__(self, log: SessionLog, state: Object, records: Sequence[Record]) -> None:
        self._log = log
        self._state = state
        self._path = path_to_head(records, state)
        self._usage = _usage_by_response(state)
        self._model = _at(state, "agent", "llm", "model")
        self._shown: list[int] = []
        self._seen_as: dict[str, list[int]] = {}
        """The versions that an event is seen as, by its id."""

    def take(self, records: Iterable[Record], heads: Sequence[Json]) -> None:
        """Write all records, and show those on the way to the head.

        Args:
            records: All events, in their order.
            heads: Where the head was at earlier imports.
        """
        is_branched = follows = wrote = False
        for record in records:
            is_off = self._is_off(record.value)
            is_branched = is_branched or is_off
            if record.key not in self._log:
                wrote = True
                if is_branched and not is_off and not follows:
                    self._log.show(self._shown)
                    follows = True
            versions = self._write(record, is_off=is_off)
            if is_off:
                follows = False
            else:
                self._shown += versions
        head: Object = {"leaf_event_id": self._state.get("leaf_event_id")}
        has_moved = is_branched and heads[-1:] != [head]
        if has_moved:
            self._log.write(HEAD, head, f"head/{len(heads) + 1}", of=START)
        if is_branched and (wrote or has_moved):
            self._log.show(self._shown)

    def _is_off(self, event: Object | None) -> bool:
        """Return whether an event is on another branch than the head."""
        if event is None or event.get("kind") in NO_NODES:
            return False
        number = event.get("id")
        return isinstance(number, str) and number not in self._path

    def _write(self, record: Record, *, is_off: bool) -> list[int]:
        """Write a record and return the versions of what it became."""
        event = record.value
        if event is None:
            return [self._log.unreadable(record)]
        versions = self._write_event(record, event, is_off=is_off)
        number = event.get("id")
        if isinstance(number, str):
            self._seen_as[number] = [*self._seen_as.get(number, ()), *versions]
        return versions

    def _write_event(self, record: Record, event: Object, *, is_off: bool) -> list[int]:
        kind, time = event.get("kind"), event.get("timestamp")
        if kind == "Condensation" and is_off:
            left = f"{record.key}/left"
            return [self._log.write("openhands.Condensation", event, left, occurred=time)]
        if kind == "Condensation":
            return self._condense(record, event)
        if kind == "SystemPromptEvent":
            system: Object = {"system": system_of(event)}
            return [self._log.write("system.set", system, record, occurred=time, line=event)]
        said = said_by(event)
        if said is None:
            name = kind if isinstance(kind, str) and kind.isidentifier() else "unknown"
            return [self._log.write(f"openhands.{name[:NAME]}", event, record, occurred=time)]
        data = said.data
        if said.type == "message.assistant":
            data = {**data, **self._used(data.get("id"))}
        return [self._log.write(said.type, data, record, occurred=time, line=event)]

    def _used(self, response: Json) -> Object:
        """Return the model of a reply, and with its first event what it used."""
        used = self._usage.pop(response, {}) if isinstance(response, str) else {}
        model = used.get("model") or self._model
        found: Object = {"model": model} if isinstance(model, str) else {}
        return {**found, "usage": _usage(used)} if used else found

    def _condense(self, record: Record, event: Object) -> list[int]:
        """Write a condensation: the summary in place of what is forgotten, or nothing there."""
        forgotten, time = event.get("forgotten_event_ids"), event.get("timestamp")
        numbers = (
            [n for n in forgotten if isinstance(n, str)] if isinstance(forgotten, list) else []
        )
        found = {version for n in numbers for version in self._seen_as.get(n, ())}
        hidden = sorted(found.intersection(self._shown))
        summary = event.get("summary")
        if isinstance(summary, str) and event.get("summary_offset") is not None:
            self._seen_as[f"{event.get('id')}-summary"] = hidden
            return self._log.summarize(summary, hidden, record, occurred=time, line=event)
        version = self._log.write("openhands.Condensation", event, record, occurred=time)
        key = f"{record.key}/hidden"
        edit = self._log.edit({"shown": "hidden"}, hidden, key, of=version)
        return [version] if edit is None else [version, edit]


def path_to_head(records: Sequence[Record], state: Object) -> set[str]:
    """Return the ids of the events that lead to the head of a conversation.

    An event of before there were branches follows the one before it, and so does one whose parent
    cannot be read.
    """
    parents: dict[str, str | None] = {}
    head = before = None
    for event in (record.value for record in records if record.value is not None):
        number, parent = event.get("id"), event.get("parent_id")
        if isinstance(number, str):
            is_known = isinstance(parent, str) and (parent == ROOT or parent in parents)
            parents[number] = str(parent) if is_known else before
            before = number
            head = head if event.get("kind") in NO_NODES else number
    leaf = state.get("leaf_event_id")
    if isinstance(leaf, str) and leaf in parents:
        head = leaf
    elif leaf is None and state.get("head_is_empty") is True:
        head = None
    path: set[str] = set()
    while head is not None and head not in path:
        path.add(head)
        head = parents.get(head)
    return path


def _usage_by_response(state: Object) -> dict[str, Object]:
    """Return what each response used, by its id."""
    metrics = _at(state, "stats", "usage_to_metrics")
    by_purpose = objects(list(metrics.values())) if isinstance(metrics, dict) else []
    used = [used for found in by_purpose for used in objects(found.get("token_usages"))]
    return {u["response_id"]: u for u in used if isinstance(u.get("response_id"), str)}


def _usage(used: Object) -> Json:
    return openai_blocks.usage(
        {
            "prompt_tokens": used.get("prompt_tokens"),
            "cached_input_tokens": used.get("cache_read_tokens"),
            "cache_write_input_tokens": used.get("cache_write_tokens"),
            "completion_tokens": used.get("completion_tokens"),
        }
    )


def _at(value: Json, *path: str) -> Json:
    """Return what is at a path of keys; None where there is nothing."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) else None
