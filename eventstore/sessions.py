"""The list of sessions: a projection kept beside the log, one row a session, updated with each append.

It serves lists, names and the ancestry of forks without reading events, and could be made again
from the log at any time; ``verify`` compares it with the log.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any

from foldlog.eventstore.codec import dumps, loads
from foldlog.eventstore.errors import AmbiguousName, SessionNotFound
from foldlog.eventstore.events import Event, Json

PREVIEW_CHARS = 120


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """What a list tells of a session.

    Attributes:
        session: Its id.
        parent: The session it came from, with the version there and the kind: ``fork``,
            ``subagent``, ``continuation`` or ``copy``.
        title: As set when it started or was renamed.
        preview: The beginning of its first user message.
        tags: As set last.
        cwd: The folder it worked in.
        origin: Which harness, importer and file it came from.
        first: Its first own version: 1, or behind the parent's for a fork.
        last_version: Its highest version.
        head: The tip of its active lineage.
        messages, tool_results, compactions: How many were recorded, on any lineage.
        started, last: When the first and the newest thing happened, ISO 8601.
    """

    session: str
    parent: str | None = None
    parent_version: int | None = None
    parent_kind: str | None = None
    title: str | None = None
    preview: str | None = None
    tags: tuple[str, ...] = ()
    cwd: str | None = None
    origin: Json = None
    first: int = 1
    last_version: int = 0
    head: int = 0
    messages: int = 0
    tool_results: int = 0
    compactions: int = 0
    started: str = ""
    last: str = ""

    @property
    def is_fork(self) -> bool:
        """Whether it shares its parent's past instead of starting at version 1."""
        return self.parent_kind == "fork" and self.first > 1


COLUMNS = tuple(field.name for field in fields(SessionInfo))
_ADDED = ("messages", "tool_results", "compactions")
_KEPT = ("parent", "parent_version", "parent_kind", "title", "tags", "cwd", "origin")
UPSERT = (
    f"INSERT INTO sessions ({', '.join(COLUMNS)}) VALUES ({', '.join('?' * len(COLUMNS))})"
    " ON CONFLICT (session) DO UPDATE SET last_version = excluded.last_version, head = excluded.head,"
    + "".join(f" {name} = {name} + excluded.{name}," for name in _ADDED)
    + "".join(f" {name} = coalesce(excluded.{name}, {name})," for name in _KEPT)
    + " preview = coalesce(preview, excluded.preview),"
    " started = min(started, excluded.started), last = max(last, excluded.last)"
)


def summarize(events: Sequence[Event], head: int) -> list[Any]:
    """The row that takes these new events of one session into the list, with the head after them."""
    row: dict[str, Any] = dict.fromkeys(COLUMNS)
    row.update(dict.fromkeys(_ADDED, 0))
    for event in events:
        _take(row, event)
    times = [event.occurred for event in events]
    last = events[-1]
    row.update(
        session=last.session,
        first=events[0].version,
        last_version=last.version,
        head=head,
        started=min(times),
        last=max(times),
    )
    return list(row.values())


def inherit(db: sqlite3.Connection, fork: str, segments: Iterable[tuple[str, int, int]]) -> None:
    """Count what a new fork shares with its ancestors as its own."""
    counts = [
        db.execute(
            "SELECT count(*) FILTER (WHERE type LIKE 'message.%'),"
            " count(*) FILTER (WHERE type = 'tool.result')"
            " FROM events WHERE session = ? AND version BETWEEN ? AND ?",
            segment,
        ).fetchone()
        for segment in segments
    ]
    messages, results = (sum(column) for column in zip(*counts, strict=True))
    db.execute(
        "UPDATE sessions SET messages = messages + ?, tool_results = tool_results + ?"
        " WHERE session = ?",
        (messages, results, fork),
    )


def _take(row: dict[str, Any], event: Event) -> None:
    take = _TAKERS.get(event.type)
    if take is not None:
        take(row, event.data)


def _take_started(row: dict[str, Any], data: dict[str, Json]) -> None:
    row["title"], row["cwd"] = _text(data.get("title")), _text(data.get("cwd"))
    if data.get("origin") is not None:
        row["origin"] = dumps(data["origin"]).decode()
    parent = data.get("parent")
    if isinstance(parent, dict):
        row["parent"], row["parent_kind"] = _text(parent.get("session")), _text(parent.get("kind"))
        version = parent.get("version")
        row["parent_version"] = version if isinstance(version, int) else None


def _take_renamed(row: dict[str, Any], data: dict[str, Json]) -> None:
    row["title"] = _text(data.get("title"))


def _take_tags(row: dict[str, Any], data: dict[str, Json]) -> None:
    tags = data.get("tags")
    if isinstance(tags, list):
        row["tags"] = dumps([tag for tag in tags if isinstance(tag, str)]).decode()


def _take_user(row: dict[str, Any], data: dict[str, Json]) -> None:
    row["messages"] += 1
    if row["preview"] is None:
        row["preview"] = _preview(data.get("content"))


def _take_message(row: dict[str, Any], data: dict[str, Json]) -> None:
    row["messages"] += 1


def _take_result(row: dict[str, Any], data: dict[str, Json]) -> None:
    row["tool_results"] += 1


def _take_edit(row: dict[str, Any], data: dict[str, Json]) -> None:
    edits = data.get("edits")
    shown = (
        [edit.get("shown") for edit in edits if isinstance(edit, dict)]
        if isinstance(edits, list)
        else []
    )
    row["compactions"] += int("summary" in shown or "marker" in shown)


_TAKERS: dict[str, Callable[[dict[str, Any], dict[str, Json]], None]] = {
    "session.started": _take_started,
    "session.renamed": _take_renamed,
    "session.tagged": _take_tags,
    "message.user": _take_user,
    "message.assistant": _take_message,
    "message.system": _take_message,
    "tool.result": _take_result,
    "view.edited": _take_edit,
}


def _preview(content: Json) -> str | None:
    if isinstance(content, list):
        texts = [block.get("text") for block in content if isinstance(block, dict)]
        content = next((text for text in texts if isinstance(text, str) and text.strip()), None)
    if not isinstance(content, str) or not content.strip():
        return None
    return (
        " ".join(content[: 4 * PREVIEW_CHARS].split())[:PREVIEW_CHARS]
        .encode(errors="replace")
        .decode()
    )


def _text(value: Json) -> str | None:
    return value.encode(errors="replace").decode() if isinstance(value, str) else None


def listed(
    db: sqlite3.Connection, where: str = "1", arguments: Sequence[Any] = ()
) -> list[SessionInfo]:
    """The sessions that satisfy an SQL condition, the newest first."""
    sql = f"SELECT {', '.join(COLUMNS)} FROM sessions WHERE {where} ORDER BY last DESC, session"
    return [_info(row) for row in db.execute(sql, arguments)]


def _info(row: tuple[Any, ...]) -> SessionInfo:
    values = dict(zip(COLUMNS, row, strict=True))
    values["tags"] = tuple(loads(values["tags"])) if values["tags"] else ()
    values["origin"] = loads(values["origin"]) if values["origin"] else None
    return SessionInfo(**values)


def find(db: sqlite3.Connection, name: str, cwd: str | None = None) -> str:
    """The session that a person means: an id, a unique prefix of one, a title, or ``last``.

    Raises:
        SessionNotFound: Nothing answers to that name.
        AmbiguousName: More than one session does.
    """
    if name == "last":
        return _last_used(db, cwd)
    if listed(db, "session = ?", [name]):
        return name
    end = name + "\U0010ffff"
    for where, arguments in (("session >= ? AND session < ?", [name, end]), ("title = ?", [name])):
        found = [info.session for info in listed(db, where, arguments)]
        if len(found) == 1:
            return found[0]
        if found:
            shown = ", ".join(found[:5]) + (", …" if len(found) > 5 else "")
            raise AmbiguousName(
                f"{name!r} names {len(found)} sessions: {shown}. Say more of the id."
            )
    raise SessionNotFound(f"no session is called {name!r}. `foldlog sessions` lists what there is.")


def _last_used(db: sqlite3.Connection, cwd: str | None) -> str:
    own = "coalesce(parent_kind, '') <> 'subagent'"
    found = (listed(db, f"{own} AND cwd = ?", [cwd]) if cwd else []) or listed(db, own)
    if not found:
        raise SessionNotFound("there is no session yet. Import one with `foldlog import`.")
    return found[0].session
