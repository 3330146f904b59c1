"""The files of one thread: what each holds, what it goes on from, and how the thread begins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from foldlog.cli.formats import jsonl_source
from foldlog.cli.formats.codex.lines import payload_of
from foldlog.cli.formats.codex.rollouts import TITLES, codex_home, file_id
from foldlog.cli.formats.jsonl_source import Reading
from foldlog.cli.formats.report import LineNote
from foldlog.cli.formats.source_files import read_file

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from foldlog.cli.formats.codex.rollouts import Rollout
    from foldlog.cli.formats.jsonl_source import Record
    from foldlog.cli.formats.session_log import SessionLog
    from foldlog.eventstore import Event
    from foldlog.eventstore.events import Json

MISSING = "the file that it goes on from is not here ({}): it begins where that one ended"


class Stretch(NamedTuple):
    """Lines that are read one after the other: a file, or the beginning of one.

    Attributes:
        path: The file.
        name: What ``meta.source`` calls it.
        records: Its lines, up to where the next stretch goes on.
    """

    path: Path
    name: str
    records: Sequence[Record]


@dataclass(frozen=True, slots=True)
class File:
    """A file of a thread.

    Attributes:
        path: Where it is.
        name: What reports call it.
        reading: Its lines.
        meta: What it says of itself.
    """

    path: Path
    name: str
    reading: Reading
    meta: dict[str, Json]


class Start(NamedTuple):
    """How a thread begins.

    Attributes:
        id: The id that Codex gave it.
        title: The title that Codex gave it; None without one.
        time: When it began, as Codex writes it.
        data: The data of ``session.started``.
    """

    id: str
    title: str | None
    time: Json
    data: dict[str, Json]


class Title:
    """The title that a session has now."""

    def __init__(self) -> None:
        self._now: str | None = None

    def follow(self, event: Event) -> None:
        """Take up an event that is recorded."""
        title = event.data.get("title")
        if event.type in ("session.started", "session.renamed") and isinstance(title, str):
            self._now = title

    def give(self, log: SessionLog, title: str | None) -> None:
        """Record the title that the thread has in its source, if it is another one."""
        if title is not None:
            log.rename(title, self._now)


def files(source: Rollout) -> list[File]:
    """Return the files of a thread, the one that it began with first."""
    names = {source.path: source.file}
    return [_opened(path, names.get(path, str(path))) for path in (source.path, *source.parts)]


def start_of(main: File, source: Rollout) -> Start:
    """Return how a thread begins, as its first file and the list of titles say."""
    meta = main.meta
    given = meta.get("id")
    id = given if isinstance(given, str) and given else file_id(main.path)
    title = _titles(main.path).get(id)
    first = main.reading.records[0]
    origin = {
        "harness": "codex",
        "importer": "foldlog",
        "file": source.file,
        "version": _text(meta.get("cli_version")),
        "first": first.digest,
    }
    data: dict[str, Json] = {
        "title": title,
        "cwd": _text(meta.get("cwd")),
        "origin": origin,
        "parent": _parent(meta, id),
    }
    return Start(id, title, (first.value or {}).get("timestamp"), data)


def stretches(source: Rollout, file: File) -> tuple[list[Stretch], list[LineNote]]:
    """Return the lines that a file goes on from, then its own; and what is missing of them.

    Files that go on from each other in a circle are read once.
    """
    found = [Stretch(file.path, file.name, file.reading.records)]
    seen, base = {file.path}, file.meta.get("history_base")
    while isinstance(base, dict):
        path = source.file_of(base.get("thread_id"))
        if path is None or path in seen:
            note = LineNote(0, MISSING.format(base.get("thread_id")))
            return found, [note] if path is None else []
        seen.add(path)
        earlier = _opened(path, str(path))
        found.insert(0, Stretch(path, earlier.name, _until(earlier.reading.records, base)))
        base = earlier.meta.get("history_base")
    return found, []


def joined(files: Sequence[File]) -> Reading:
    """Return the lines of all files of a thread as one reading, for its report.

    What is wrong with a line of a later file says which file that is.
    """
    main, *others = files
    records = list(main.reading.records)
    for file in others:
        records += [_placed(record, file.path.name) for record in file.reading.records]
    return Reading(records, any(file.reading.pending for file in files))


def _placed(record: Record, name: str) -> Record:
    reason = record.reason
    return record if reason is None else record._replace(reason=f"{reason} (in {name})")


def _opened(path: Path, name: str) -> File:
    reading = jsonl_source.read(read_file(path))
    values = (record.value for record in reading.records if record.value is not None)
    metas = (payload_of(line) for line in values if line.get("type") == "session_meta")
    return File(path, name, reading, next(metas, {}))


def _until(records: Sequence[Record], base: dict[str, Json]) -> list[Record]:
    """Return the lines before the place where another file goes on."""
    offset, ordinal = base.get("end_byte_offset"), base.get("end_ordinal_exclusive")
    if isinstance(offset, int):
        return [record for record in records if record.offset < offset]
    if not isinstance(ordinal, int):
        return list(records)
    ends = (at for at, record in enumerate(records) if _is_from(record, ordinal))
    return list(records[: next(ends, len(records))])


def _is_from(record: Record, ordinal: int) -> bool:
    own = (record.value or {}).get("ordinal")
    return isinstance(own, int) and own >= ordinal


def _parent(meta: dict[str, Json], id: str) -> dict[str, Json] | None:
    """Return the thread that a thread is a copy of, or works for."""
    source = meta.get("source")
    spawned = source.get("subagent") if isinstance(source, dict) else None
    by = spawned.get("thread_spawn") if isinstance(spawned, dict) else None
    works_for = _text(by.get("parent_thread_id")) if isinstance(by, dict) else None
    if works_for is not None:
        return {"session": works_for, "kind": "subagent"}
    forked = _text(meta.get("forked_from_id"))
    return None if forked in (None, id) else {"session": forked, "kind": "copy"}


def _titles(path: Path) -> dict[str, str]:
    """Return the titles that Codex keeps for its threads, by their ids."""
    root = codex_home(path)
    if root is None:
        return {}
    try:
        found = read_file(root / TITLES, root)
    except OSError:
        return {}
    lines = [record.value or {} for record in jsonl_source.read(found).records]
    named = ((line.get("id"), line.get("thread_name")) for line in lines)
    return {
        id: name for id, name in named if isinstance(id, str) and isinstance(name, str) and name
    }


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) and value else None
