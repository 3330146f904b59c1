"""Reads sessions from ``opencode.db``, from the folder ``storage`` before it, and from exports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foldlog.cli.formats.jsonl_source import decoded
from foldlog.cli.formats.opencode.chats import Chat, Message, Part, in_order, object_of, text_of
from foldlog.cli.formats.source_files import is_inside, read_file
from foldlog.projections.wire.blocks import objects

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from foldlog.cli.formats.foreign_database import ForeignDatabase, Row
    from foldlog.cli.formats.opencode.chats import Object
    from foldlog.eventstore.events import Json

_COLUMNS = {
    "id": "id",
    "project_id": "projectID",
    "parent_id": "parentID",
    "slug": "slug",
    "directory": "directory",
    "title": "title",
    "version": "version",
    "agent": "agent",
    "cost": "cost",
}
"""The columns of a session, and what an export calls them."""

_EVENT_VERSION = 1
"""The version of the events about messages, up to 1.18."""

_JSON_COLUMNS = ("revert", "model", "metadata", "permission")

# -- the database ----------------------------------------------------------------------------


def sessions_of(database: ForeignDatabase) -> list[Object]:
    """Return what a database keeps about each session, parents before their children."""
    rows = database.rows("session", order=["time_created", "id"])
    return parents_first([_session(row) for row in rows])


def _session(row: Row) -> Object:
    values = row.plain
    info: Object = {new: values[old] for old, new in _COLUMNS.items() if values.get(old)}
    for column in _JSON_COLUMNS:
        value, _ = row.json(column)
        if value is not None:
            info[column] = value
    times = {"created": "time_created", "updated": "time_updated", "archived": "time_archived"}
    info["time"] = {new: values[old] for new, old in times.items() if values.get(old) is not None}
    return info


def parents_first(infos: list[Object]) -> list[Object]:
    """Return sessions in their order, but none before its parent."""
    by_id = {text_of(info, "id"): info for info in infos}
    done: dict[str, Object] = {}
    for info in infos:
        chain: list[Object] = []
        step: Object | None = info
        while step is not None and text_of(step, "id") not in done and step not in chain:
            chain.append(step)
            step = by_id.get(text_of(step, "parentID"))
        done |= {text_of(step, "id"): step for step in reversed(chain)}
    return list(done.values())


def from_database(database: ForeignDatabase, info: Object) -> Chat:
    """Read a session of a database; what it removed is read from its event table."""
    chat = Chat(info)
    parts: dict[str, list[Part]] = {}
    for row in database.rows("part", order=["id"], session_id=text_of(info, "id")):
        data = _data(chat, row, messageID="message_id", sessionID="session_id")
        if data is not None:
            parts.setdefault(text_of(data, "messageID"), []).append(Part(data, row.place))
    found = []
    for row in database.rows("message", session_id=text_of(info, "id")):
        data = _data(chat, row, sessionID="session_id")
        if data is not None:
            found.append(Message(data, row.place, tuple(parts.get(text_of(data, "id"), ()))))
    chat.messages = in_order(_with_removed(found, Removed(database, chat.id)))
    return chat


def _data(chat: Chat, row: Row, **ids: str) -> Object | None:
    """Return the data of a row with its ids; None where it is no object, which is noted."""
    value, reason = row.json("data")
    if isinstance(value, dict):
        columns = {"id": "id", **ids}
        return {**value, **{name: row.plain.get(column) for name, column in columns.items()}}
    name = f"{row.table}/{row.values.get('id', row.number)}"
    text = row.values.get("data")
    kept = text if isinstance(text, str) else str(row.plain)
    chat.unreadable.append((name, kept, row.problem or reason or "no JSON object", row.place))
    return None


class Removed:
    """What a session held once, as the event table knows it.

    Args:
        database: The database.
        session: The id of the session.

    Attributes:
        infos: The last known state of each removed message, with its place.
        parts: That of each removed part, by the id of its message.
    """

    def __init__(self, database: ForeignDatabase, session: str) -> None:
        def events(kind: str) -> Iterator[tuple[Row, Object]]:
            return _events(database, session, kind)

        messages = {text_of(data, "messageID") for _, data in events("removed")}
        gone = {text_of(data, "partID") for _, data in events("part_removed")}
        self.infos: dict[str, tuple[Object, Object]] = {}
        for row, data in events("updated") if messages else ():
            info = object_of(data, "info")
            if text_of(info, "id") in messages:
                self.infos[text_of(info, "id")] = (info, row.place)
        latest: dict[str, Part] = {}
        for row, data in events("part_updated") if messages or gone else ():
            part = object_of(data, "part")
            if text_of(part, "messageID") in messages or text_of(part, "id") in gone:
                latest[text_of(part, "id")] = Part(part, row.place, is_removed=True)
        self.parts: dict[str, list[Part]] = {}
        for part_id in sorted(latest):
            message = text_of(latest[part_id].data, "messageID")
            self.parts.setdefault(message, []).append(latest[part_id])


def _events(database: ForeignDatabase, session: str, kind: str) -> Iterator[tuple[Row, Object]]:
    """Yield the events of a session about its messages, in order."""
    type_ = f"message.{kind.replace('_', '.')}.{_EVENT_VERSION}"
    for row in database.rows("event", order=["seq"], aggregate_id=session, type=type_):
        data, _ = row.json("data")
        if isinstance(data, dict):
            yield row, data


def _with_removed(found: list[Message], removed: Removed) -> Iterator[Message]:
    """Yield the messages with the parts that were removed from them, then removed messages."""
    here = {message.id for message in found}
    for message in found:
        known = {part.id for part in message.parts}
        more = [part for part in removed.parts.get(message.id, ()) if part.id not in known]
        parts = sorted([*message.parts, *more], key=lambda part: part.id)
        yield Message(message.info, message.place, tuple(parts))
    for id_, (info, place) in removed.infos.items():
        if id_ not in here:
            had = removed.parts.get(id_, ())
            own = tuple(part._replace(is_removed=False) for part in had)
            yield Message(info, place, own, is_removed=True)


# -- files -----------------------------------------------------------------------------------


def from_export(document: Json) -> Chat:
    """Read what ``opencode export`` printed."""
    chat = Chat(object_of(document, "info"))
    listed = document.get("messages") if isinstance(document, dict) else None
    for number, item in enumerate(objects(listed)):
        place: Object = {"message": number}
        parts = tuple(Part(part, place) for part in objects(item.get("parts")))
        chat.messages.append(Message(object_of(item, "info"), place, parts))
    return chat


def from_storage(session: Path) -> Chat:
    """Read ``session/PROJECT/ID.json`` of the folder ``storage``, and what belongs to it."""
    chat = Chat({})
    chat.info = _object_in(chat, session) or {}
    storage = session.parents[2]
    found = []
    for file in _files(storage, "message", session.stem):
        info = _object_in(chat, file)
        if info is not None:
            parts = ((path, _object_in(chat, path)) for path in _files(storage, "part", file.stem))
            kept = tuple(Part(data, _place(path)) for path, data in parts if data is not None)
            found.append(Message(info, _place(file), kept))
    chat.messages = in_order(found)
    return chat


def _object_in(chat: Chat, file: Path) -> Object | None:
    try:
        value, reason = decoded(read_file(file).decode("utf-8", "surrogateescape"))
    except OSError as error:
        value, reason = None, error.strerror
    if isinstance(value, dict):
        return value
    chat.unread.append((file.name, reason or "no JSON object"))
    return None


def _files(storage: Path, kind: str, owner: str) -> list[Path]:
    """Return the files of a session or a message; links that lead out are as if not there."""
    found = (storage / kind / owner).glob("*.json")
    return sorted(path for path in found if is_inside(path, storage.resolve()))


def _place(file: Path) -> Object:
    return {"part": f"{file.parent.name}/{file.name}"}
