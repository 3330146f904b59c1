"""What both generations of llm's tables refer to: texts, attachments, tools, tokens."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

from foldlog.cli.formats import openai_blocks
from foldlog.cli.formats.rewritten import Rewritten, digest_of
from foldlog.projections.wire.blocks import objects

if TYPE_CHECKING:
    from foldlog.cli.formats.foreign_database import ForeignDatabase, Row
    from foldlog.cli.formats.import_run import ImportRun
    from foldlog.cli.formats.protocols import Source
    from foldlog.eventstore.events import Json

_CACHE = ("cache_read_input_tokens", "cache_creation_input_tokens")


class Contents:
    """The rows of a database that others refer to.

    Args:
        database: The database.

    Attributes:
        database: As given.
    """

    def __init__(self, database: ForeignDatabase) -> None:
        self.database = database
        rows = database.rows("fragments")
        self._fragments = {row.values.get("id"): row.values.get("content") for row in rows}

    def fragment(self, id: Json) -> str:
        """Return the text of a fragment; an empty one where it is gone."""
        text = self._fragments.get(id) if isinstance(id, int | str) else None
        return text if isinstance(text, str) else ""

    def fragments_of(self, table: str, response: Json) -> list[str]:
        """Return the texts that a table names for a response, in order."""
        rows = self.database.rows(table, order=["order"], response_id=response)
        return [self.fragment(row.values.get("fragment_id")) for row in rows]

    def attachments_of(self, table: str, **owner: Json) -> list[Json]:
        """Return the blocks of the attachments that a table names for a row of another."""
        rows = self.database.rows(table, order=["order"], **owner)
        return [self.attachment(row.values.get("attachment_id")) for row in rows]

    def attachment(self, id: Json) -> Json:
        """Return the block of an attachment; one that is only a path stays as it is."""
        row = next(self.database.rows("attachments", id=id), None)
        if row is None:
            return {"type": "attachment", "id": id}
        kind, url = _text(row.values.get("type")), _text(row.values.get("url"))
        content = row.values.get("content")
        if isinstance(content, bytes):
            url = f"data:{kind};base64,{base64.b64encode(content).decode()}"
        made = _media(kind, url)
        known = {name: row.plain.get(name) for name in ("id", "path", "url")}
        return made or {"type": "attachment", "media_type": kind, **known}

    def tools_of(self, table: str, **owner: Json) -> list[Json]:
        """Return the definitions of the tools that a table names for a row of another."""
        found: list[Json] = []
        for named in self.database.rows(table, order=["tool_id"], **owner):
            row = next(self.database.rows("tools", id=named.values.get("tool_id")), None)
            if row is not None:
                schema, _ = row.json("input_schema")
                tool = {"name": row.plain.get("name"), "description": row.plain.get("description")}
                kept = {name: value for name, value in tool.items() if value is not None}
                found.append({**kept, "input_schema": schema})
        return found


def begun(
    row: Row, source: Source, run: ImportRun, *, fork_of: Json = None, occurred: Json = None
) -> Rewritten:
    """Begin the session of a thread or a conversation."""
    id_ = str(row.plain.get("id"))
    first = digest_of(["llm", id_])
    target = Rewritten(run, run.name_for(id_, source.file, first), source)
    more: dict[str, Any] = {}
    if isinstance(fork_of, str):
        name = run.name_for(fork_of, source.file, digest_of(["llm", fork_of]))
        more["parent"] = {"session": name, "kind": "fork"}
    origin: dict[str, Json] = {"harness": "llm", "file": source.file, "first": first}
    target.begin(row.values.get("name"), occurred=occurred, origin=origin, **more)
    return target


def usage(row: Row) -> dict[str, Json]:
    """Return the tokens of a response or a turn in Anthropic's words."""
    details, _ = row.json("token_details")
    more = details if isinstance(details, dict) else {}
    counted = {name: row.plain.get(name) for name in ("input_tokens", "output_tokens")}
    cached = {name: more[name] for name in _CACHE if isinstance(more.get(name), int)}
    return {**openai_blocks.usage({**more, **counted}), **cached}


def result(data: dict[str, Json], attachments: list[Json]) -> dict[str, Json]:
    """Return the data of ``tool.result``: what a tool returned, or that it failed."""
    output = data.get("output")
    words = output if isinstance(output, str) else ""
    content: Json = [{"type": "text", "text": words}, *attachments] if attachments else words
    failed = {"is_error": True} if data.get("exception") else {}
    return {"tool_use_id": _text(data.get("tool_call_id")), "content": content, **failed}


def set_tools(target: Rewritten, tools: list[Json], before: list[Json], key: str) -> list[Json]:
    """Write the tools of a turn where they are others than before, and return them."""
    if tools != before:
        target.write("tools.set", {"tools": tools}, f"{key}/tools")
    return tools


def texts(value: Json) -> list[str]:
    """Return the texts among the objects of a list."""
    return [item["text"] for item in objects(value) if isinstance(item.get("text"), str)]


def _media(kind: str, url: str) -> Json:
    """Return the block of an image or a document; None for others."""
    if not url:
        return None
    if kind.startswith("image/"):
        part: dict[str, Json] = {"type": "input_image", "image_url": url}
    elif kind == "application/pdf":
        part = {"type": "input_file", "file_data": url}
    else:
        return None
    return openai_blocks.content([part])[0]


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""
