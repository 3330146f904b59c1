"""Conversations of older versions: a row for each response, with what was asked in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from foldlog.cli.formats import openai_blocks
from foldlog.cli.formats.llm import contents
from foldlog.cli.formats.llm.contents import Contents, begun
from foldlog.projections.wire.blocks import text

if TYPE_CHECKING:
    from foldlog.cli.formats.foreign_database import Row
    from foldlog.cli.formats.import_run import ImportRun
    from foldlog.cli.formats.protocols import Source
    from foldlog.cli.formats.report import ImportReport
    from foldlog.cli.formats.rewritten import Rewritten
    from foldlog.eventstore.events import Json


def import_conversation(
    known: Contents, conversation: Row, source: Source, run: ImportRun
) -> ImportReport:
    """Import a conversation: what each response was asked, then what it said."""
    id_ = conversation.values.get("id")
    rows = list(known.database.rows("responses", order=["id"], conversation_id=id_))
    began = rows[0].plain.get("datetime_utc") if rows else None
    target = begun(conversation, source, run, occurred=began)
    system, tools = "", list[Any]()
    for row in rows:
        now = _system(known, row)
        if now and now != system:
            system = now
            target.write("system.set", {"system": now}, f"{row.plain.get('id')}/system")
        named = known.tools_of("tool_responses", response_id=row.values.get("id"))
        tools = contents.set_tools(target, named, tools, str(row.plain.get("id")))
        _write_prompt(known, row, target)
        _write_reply(known, row, target)
    return run.report(source, target.log, notices=target.finish())


def _system(known: Contents, row: Row) -> str:
    own = row.values.get("system")
    bits = known.fragments_of("system_fragments", row.values.get("id"))
    bits += [own] if isinstance(own, str) else []
    return "\n\n".join(bit.strip() for bit in bits if bit.strip())


def _write_prompt(known: Contents, row: Row, target: Rewritten) -> None:
    """Write the results that a response was given, then what the user said."""
    id_ = row.values.get("id")
    more: Any = {"occurred": row.plain.get("datetime_utc")}
    for result in known.database.rows("tool_results", order=["id"], response_id=id_):
        owner = result.values.get("id")
        files = known.attachments_of("tool_results_attachments", tool_result_id=owner)
        data = contents.result(result.plain, files)
        line = {"tool_result": result.plain}
        key = f"tool_results/{result.number}"
        target.write("tool.result", data, key, line=line, source=result.place, **more)
    own = row.values.get("prompt")
    bits = known.fragments_of("prompt_fragments", id_)
    bits += [own] if isinstance(own, str) and own else []
    files = known.attachments_of("prompt_attachments", response_id=id_)
    if bits or files:
        said = {"content": [*([text("\n".join(bits))] if bits else []), *files]}
        target.write("message.user", said, f"{id_}/prompt", source=row.place, **more)


def _write_reply(known: Contents, row: Row, target: Rewritten) -> None:
    blocks: list[Json] = []
    thought, said = row.values.get("reasoning"), row.values.get("response")
    if isinstance(thought, str) and thought:
        blocks.append(openai_blocks.thinking(thought))
    if isinstance(said, str) and said:
        blocks.append(text(said))
    id_ = row.values.get("id")
    for call in known.database.rows("tool_calls", order=["id"], response_id=id_):
        values = call.plain
        name, arguments = values.get("name"), values.get("arguments")
        blocks.append(openai_blocks.call(values.get("tool_call_id"), name, arguments))
    data: dict[str, Json] = {
        "content": blocks,
        "id": row.plain.get("id"),
        "model": row.plain.get("resolved_model") or row.plain.get("model"),
        "usage": contents.usage(row),
    }
    time, line = row.plain.get("datetime_utc"), {"response": row.plain}
    target.write(
        *("message.assistant", data, f"{id_}/response"),
        line=line,
        source=row.place,
        occurred=time,
    )
