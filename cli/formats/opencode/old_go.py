"""The program of the same name that was written in Go: ``.opencode/opencode.db``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from foldlog.cli.formats import openai_blocks
from foldlog.cli.formats.foreign_database import opened
from foldlog.cli.formats.opencode.chats import object_of, text_of
from foldlog.cli.formats.report import LineNote
from foldlog.cli.formats.rewritten import Rewritten, digest_of
from foldlog.projections.wire.blocks import objects, text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from foldlog.cli.formats.foreign_database import ForeignDatabase, Row
    from foldlog.cli.formats.import_run import ImportRun
    from foldlog.cli.formats.opencode.chats import Object
    from foldlog.cli.formats.protocols import Source
    from foldlog.cli.formats.report import ImportReport
    from foldlog.eventstore.events import Json


def import_source(source: Source, run: ImportRun) -> Iterator[ImportReport]:
    """Import each session of a database."""
    with opened(source.path) as database:
        for row in database.rows("sessions", order=["created_at", "id"]):
            yield _import(database, row, source, run)


def _import(
    database: ForeignDatabase, session: Row, source: Source, run: ImportRun
) -> ImportReport:
    info = session.plain
    first = digest_of(["opencode", text_of(info, "id")])
    target = Rewritten(run, run.name_for(text_of(info, "id"), source.file, first), source)
    parent = text_of(info, "parent_session_id")
    target.begin(
        info.get("title"),
        occurred=info.get("created_at"),
        cwd=_project(source.path),
        origin={"harness": "opencode", "file": source.file, "first": first},
        **({"parent": {"session": parent, "kind": "subagent"}} if parent else {}),
    )
    summary = text_of(info, "summary_message_id")
    notes = []
    order = ["created_at"]
    for row in database.rows("messages", order=order, session_id=session.values.get("id")):
        parts, reason = row.json("parts")
        if isinstance(parts, list):
            _write(target, row, parts)
            if summary and row.values.get("id") == summary:
                words = "\n".join(
                    text_of(object_of(part, "data"), "text") for part in objects(parts)
                )
                target.summarize(words.strip(), list(target.shown), summary)
        else:
            why = reason or "no list in parts"
            notes.append(LineNote(row.number, f"messages: {why}"))
            data: Object = {"text": str(row.plain.get("parts")), "reason": why}
            target.write("source.unreadable", data, str(row.plain.get("id")), source=row.place)
    report = run.report(source, target.log, notices=target.finish())
    return replace(report, rejected=tuple(notes))


def _project(database: Path) -> str | None:
    """Return the folder that the program worked in: the one with the folder ``.opencode``."""
    folder = database.absolute().parent
    return str(folder.parent) if folder.name == ".opencode" else None


def _write(target: Rewritten, row: Row, parts: list[Json]) -> None:
    """Write a message as one event, and each result in it as one."""
    info = row.plain
    role, key = text_of(info, "role"), text_of(info, "id")
    line: Object = {name: value for name, value in info.items() if name != "parts"}
    more: Any = {"occurred": info.get("created_at"), "source": row.place}
    content = [block for part in objects(parts) if (block := _block(part)) is not None]
    if role == "assistant":
        said: Object = {"content": content, "id": key, "model": info.get("model")}
        target.write("message.assistant", said, key, line={**line, "parts": parts}, **more)
    elif content:
        said = {"content": content}
        target.write("message.user", said, key, line={**line, "parts": parts}, **more)
    for part in objects(parts):
        if part.get("type") == "tool_result":
            data = object_of(part, "data")
            result: Object = {
                "tool_use_id": text_of(data, "tool_call_id"),
                "content": text_of(data, "content"),
                **({"is_error": True} if data.get("is_error") is True else {}),
            }
            target.write("tool.result", result, f"{key}/result", line={"part": part}, **more)


def _block(part: Object) -> Json:
    """Return the block of a part; None for other parts, such as how a reply ended."""
    data = object_of(part, "data")
    kind = part.get("type")
    if kind == "text":
        return text(text_of(data, "text"))
    if kind == "reasoning":
        return openai_blocks.thinking(text_of(data, "thinking"))
    if kind == "tool_call":
        return openai_blocks.call(data.get("id"), data.get("name"), data.get("input"))
    if kind == "image_url":
        found = openai_blocks.content([{"type": "input_image", "image_url": data.get("url")}])
        return found[0]
    return None if kind in ("finish", "tool_result") else part
