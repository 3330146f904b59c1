"""Trajectories become sessions; those embedded in them are sessions of subagents.

Harbor and others write a trajectory again as a whole while it grows, and add the results of calls
to a step. A reply and each result are therefore known by what they say, and not by their step.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from foldlog.cli.formats import jsonl_source, openai_blocks
from foldlog.cli.formats.jsonl_source import Reading, records_of
from foldlog.cli.formats.message_list import MessageList, Piece, digest_of, is_copy
from foldlog.cli.formats.protocols import Source
from foldlog.cli.formats.report import LineNote, taken_back
from foldlog.cli.formats.session_log import START
from foldlog.cli.formats.source_files import is_inside, read_file
from foldlog.projections.wire.blocks import objects, text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from foldlog.cli.formats.import_run import ImportRun
    from foldlog.cli.formats.jsonl_source import Record
    from foldlog.cli.formats.report import ImportReport
    from foldlog.cli.formats.source_files import SourceFiles
    from foldlog.eventstore.events import Json

VERSION = re.compile(rb'"schema_version"\s*:\s*"ATIF-v1\.\d+"')

PARTS = re.compile(rb'"steps"\s*:\s*\[|"agent"\s*:\s*\{')

EMBEDDED = "subagent_trajectories"
"""The field with the trajectories of subagents."""

SUMMARY = "summary"
"""``extra.kind`` of a step that holds a summary, as foldlog exports it."""

ADDRESS = re.compile(r"https?://|data:")

IMAGES = {
    "png": "image/png",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "gif": "image/gif",
    "webp": "image/webp",
}
"""The media types of images, by the endings of their files."""

IMAGE_BYTES = 32 << 20
"""The largest image that is read: the Messages API takes no larger request."""

Object = dict[str, Any]


def default_locations() -> list[Path]:
    """Return nothing: each run is given its own place."""
    return []


def find(files: SourceFiles) -> Iterator[Source]:
    """Yield the files that name a version of ATIF 1 and have an agent or steps."""
    for path in files.named("*.json"):
        content = files.head(path).content
        if VERSION.search(content) and PARTS.search(content):
            yield Source(path, files.name, parts=(path.parent / "images",))


def import_source(source: Source, run: ImportRun) -> Iterator[ImportReport]:
    """Import a trajectory and those embedded in it; one that is not whole yet is read next time."""
    words = read_file(source.path).decode("utf-8", "surrogateescape")
    document, reason = jsonl_source.decoded(words.lstrip("\ufeff"))
    if reason is not None:
        yield run.report(source, reading=Reading((), True), notices=[LineNote(0, reason)])
        return
    if not isinstance(document, dict):
        yield run.refused(source, "it is no trajectory: it has no steps")
        return
    yield from _Trajectory(source, run, document, None, Counter()).take()


class _Trajectory:
    """One trajectory on its way into the store.

    Args:
        source: The file that it is in.
        run: The import.
        document: The trajectory.
        parent: The session, and the call, that started it; None for one that is not embedded.
        names: How often a name was given to a session of this file so far.
    """

    def __init__(
        self,
        source: Source,
        run: ImportRun,
        document: Object,
        parent: Json,
        names: Counter[str],
    ) -> None:
        self._source = source
        self._run = run
        self._document = document
        self._names = names
        self._keys: Counter[str] = Counter()
        own, self._asides = _apart(document.get("steps"))
        self._records = records_of(own)
        self._agent = _object(document.get("agent"))
        first = self._records[0].digest if self._records else digest_of(document)
        name = self._name(first)
        self._is_copy = is_copy(source, run.origin(name))
        self._log = run.session(name, source)
        self._log.start(
            title=None,
            cwd=self._folder(),
            origin={**self._harness(), "file": source.file, "first": first},
            parent=parent,
            occurred=self._begun(),
        )

    def take(self) -> Iterator[ImportReport]:
        """Write the steps and yield a report; then one for each trajectory embedded in it."""
        rest = {k: v for k, v in self._document.items() if k not in ("steps", EMBEDDED)}
        self._log.write("atif.trajectory", rest, f"trajectory/{digest_of(rest)}", of=START)
        held = MessageList(self._log, from_head=True)
        gone = held.replace(list(self._pieces()))
        notices = held.finish(is_copy=self._is_copy) or taken_back(gone)
        reading = Reading(self._records, False)
        yield self._run.report(self._source, self._log, reading=reading, notices=notices)
        started = _started(self._records)
        for child in objects(self._document.get(EMBEDDED)):
            yield from self._child(child, started.get(str(child.get("trajectory_id"))))
        for agent, steps in self._asides.items():
            name = f"{self._log.session}-agent-{agent}"
            child = {"trajectory_id": name, "agent": self._agent, "steps": steps}
            yield from self._child(child, _asked(self._records, steps))

    def _child(self, document: Object, call: str | None) -> Iterator[ImportReport]:
        parent = {"session": self._log.session, "kind": "subagent", "tool_use_id": call}
        more = (self._source, self._run, document, parent, self._names)
        yield from _Trajectory(*more).take()

    # -- the session -------------------------------------------------------------------------

    def _name(self, first: str) -> str:
        given = (self._document.get(key) for key in ("trajectory_id", "session_id"))
        wanted = next((name for name in given if isinstance(name, str)), self._source.path.stem)
        name = self._run.name_for(wanted, self._source.file, first)
        self._names[name] += 1
        return name if self._names[name] == 1 else f"{name}-{self._names[name]}"

    def _harness(self) -> Object:
        named = {"harness": self._agent.get("name"), "version": self._agent.get("version")}
        return {"importer": "atif", **{k: v for k, v in named.items() if isinstance(v, str)}}

    def _folder(self) -> str | None:
        extra = _object(self._agent.get("extra"))
        several = extra.get("cwds")
        folders = [extra.get("cwd"), *(several if isinstance(several, list) else [])]
        return next((folder for folder in folders if isinstance(folder, str)), None)

    def _begun(self) -> Json:
        times = (record.value.get("timestamp") for record in self._records if record.value)
        return next((time for time in times if time is not None), None)

    # -- steps -------------------------------------------------------------------------------

    def _pieces(self) -> Iterator[Piece]:
        tools = openai_blocks.tools(self._agent.get("tool_definitions"))
        if tools and self._records:
            yield self._piece("tools.set", {"tools": tools}, self._records[0], {})
        for number, record in enumerate(self._records):
            if record.value is None:
                self._log.unreadable(record)
            else:
                yield from self._of_step(record, record.value, is_first=number == 0)

    def _of_step(self, record: Record, step: Object, *, is_first: bool) -> Iterator[Piece]:
        said = {key: value for key, value in step.items() if key != "observation"}
        type_, data = self._said(step, is_first=is_first)
        yield self._piece(type_, data, record, said)
        for result in objects(_object(step.get("observation")).get("results")):
            yield self._piece(*self._result(result), record, result)

    def _said(self, step: Object, *, is_first: bool) -> tuple[str, Object]:
        content = self._content(step.get("message"))
        source = step.get("source")
        if source == "user" or _object(step.get("extra")).get("kind") == SUMMARY:
            return "message.user", {"content": content}
        if source == "agent":
            return "message.assistant", self._reply(step, content)
        if source == "system":
            return ("system.set", {"system": content}) if is_first else _system(content)
        return "atif.step", step

    def _reply(self, step: Object, content: list[Json]) -> Object:
        thought = step.get("reasoning_content")
        thoughts = [openai_blocks.thinking(thought)] if isinstance(thought, str) else []
        calls = [
            openai_blocks.call(c.get("tool_call_id"), c.get("function_name"), c.get("arguments"))
            for c in objects(step.get("tool_calls"))
        ]
        extra = _object(step.get("extra"))
        fields = {
            "model": step.get("model_name", self._agent.get("model_name")),
            "id": extra.get("message_id"),
            "stop_reason": extra.get("stop_reason"),
        }
        named = {key: value for key, value in fields.items() if isinstance(value, str)}
        data = {"content": [*thoughts, *content, *calls], **named}
        metrics = step.get("metrics")
        return {**data, "usage": _usage(metrics)} if isinstance(metrics, dict) else data

    def _result(self, result: Object) -> tuple[str, Object]:
        """Return the result of a call; what comes from no call is put before the model as it is."""
        content, call = self._content(result.get("content")), result.get("source_call_id")
        if not isinstance(call, str):
            return "message.user", {"content": content}
        failed = _object(result.get("extra")).get("is_error") is True
        data = {"tool_use_id": call, "content": content}
        return "tool.result", {**data, "is_error": True} if failed else data

    def _content(self, parts: Json) -> list[Json]:
        """Return a text or a list of parts as blocks."""
        if isinstance(parts, str):
            return [text(parts)] if parts else []
        return [self._block(part) for part in objects(parts)]

    def _block(self, part: Object) -> Json:
        if part.get("type") == "text" and isinstance(part.get("text"), str):
            return text(part["text"])
        path = _object(part.get("source")).get("path")
        if part.get("type") != "image" or not isinstance(path, str):
            return part
        address = path if ADDRESS.match(path) else image_file(self._source.path.parent, path)
        if address is None:
            return part
        return openai_blocks.content([{"type": "image_url", "image_url": address}])[0]

    def _piece(self, type_: str, data: Object, record: Record, line: Object) -> Piece:
        digest = digest_of([type_, data])
        self._keys[digest] += 1
        key = f"{digest}/{self._keys[digest]}"
        step = record.value or {}
        is_verbatim = line == data or not line
        time = step.get("timestamp")
        return Piece(key, type_, data, record, time, None if is_verbatim else line)


def _system(content: list[Json]) -> tuple[str, Object]:
    return "message.system", {"content": content}


def _started(records: Sequence[Record]) -> dict[str, str]:
    """Return the calls that started subagents, by the ids of their trajectories."""
    found: dict[str, str] = {}
    for record in records:
        for result in objects(_object(_object(record.value).get("observation")).get("results")):
            for reference in objects(result.get("subagent_trajectory_ref")):
                if isinstance(result.get("source_call_id"), str):
                    found[str(reference.get("trajectory_id"))] = result["source_call_id"]
    return found


def _apart(steps: Json) -> tuple[list[Json], dict[str, list[Json]]]:
    """Return a trajectory's own steps, and those of subagents by the ids of these.

    Harbor's converter for Claude Code puts the steps of subagents between the others.
    """
    own: list[Json] = []
    asides: dict[str, list[Json]] = {}
    for step in steps if isinstance(steps, list) else []:
        extra = _object(_object(step).get("extra"))
        agent = extra.get("agent_id") if extra.get("is_sidechain") is True else None
        (asides.setdefault(agent, []) if isinstance(agent, str) else own).append(step)
    if own or len(asides) != 1:
        return own, asides
    return next(iter(asides.values())), {}  # the trajectory of a subagent itself


def _asked(records: Sequence[Record], steps: Sequence[Json]) -> str | None:
    """Return the call whose prompt is the first thing that a subagent was asked."""
    first = _object(steps[0]).get("message")
    calls = [
        call for record in records for call in objects(_object(record.value).get("tool_calls"))
    ]
    ids = [
        call.get("tool_call_id")
        for call in calls
        if isinstance(first, str) and _object(call.get("arguments")).get("prompt") == first
    ]
    return ids[0] if len(ids) == 1 and isinstance(ids[0], str) else None


def _usage(metrics: Object) -> Json:
    extra = _object(metrics.get("extra"))
    return openai_blocks.usage(
        {
            "prompt_tokens": metrics.get("prompt_tokens"),
            "cached_input_tokens": metrics.get("cached_tokens"),
            "cache_write_input_tokens": extra.get("cache_creation_input_tokens"),
            "completion_tokens": metrics.get("completion_tokens"),
        }
    )


def image_file(folder: Path, name: str) -> str | None:
    """Return an image next to a trajectory as an address that holds it; None if it is not there.

    Args:
        folder: The folder of the trajectory: no file outside of it is read.
        name: The path of the image, as the trajectory names it.
    """
    with suppress(OSError, ValueError):
        path, type_ = folder / name, IMAGES.get(name.rpartition(".")[2].lower())
        is_there = type_ is not None and is_inside(path, folder.resolve()) and path.is_file()
        if is_there and path.stat().st_size <= IMAGE_BYTES:
            return f"data:{type_};base64,{b64encode(read_file(path, folder)).decode()}"
    return None


def _object(value: Json) -> Object:
    return value if isinstance(value, dict) else {}
