"""Threads: a message is named by the hash of its content, and names the message before it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from foldlog.cli.formats import openai_blocks
from foldlog.cli.formats.llm import contents
from foldlog.cli.formats.llm.contents import Contents, begun
from foldlog.cli.formats.report import LineNote
from foldlog.projections.wire.blocks import objects, text

if TYPE_CHECKING:
    from foldlog.cli.formats.foreign_database import Row
    from foldlog.cli.formats.import_run import ImportRun
    from foldlog.cli.formats.protocols import Source
    from foldlog.cli.formats.report import ImportReport
    from foldlog.cli.formats.rewritten import Rewritten
    from foldlog.eventstore.events import Json


def import_thread(known: Contents, thread: Row, source: Source, run: ImportRun) -> ImportReport:
    """Import a thread: each turn after what it answers, the head at the thread's last message."""
    values = thread.plain
    target = begun(
        *(thread, source, run),
        fork_of=values.get("forked_from"),
        occurred=values.get("datetime_utc"),
    )
    doing = ThreadImport(known, target)
    turns = list(known.database.rows("turns", order=["id"], thread_id=values.get("id")))
    for turn in turns:
        doing.write_turn(turn)
    doing.write_until(thread.values.get("tip_message_hash"))
    doing.write_older_responses(values.get("id"), {turn.values.get("id") for turn in turns})
    report = run.report(source, target.log, notices=target.finish())
    return replace(report, rejected=tuple(doing.rejected))


@dataclass
class ThreadImport:
    """The import of one thread.

    Args:
        known: What the rows refer to.
        target: Where it is written to.

    Attributes:
        rejected: What could not be read.
    """

    known: Contents
    target: Rewritten
    rejected: list[LineNote] = field(default_factory=list)
    _parents: dict[str, str | None] = field(default_factory=dict)
    _versions: dict[str, list[int]] = field(default_factory=dict)
    _tip: str | None = None
    _tools: list[Json] = field(default_factory=list)

    def write_turn(self, turn: Row) -> None:
        """Write what a turn added to its thread, then what is known of the turn."""
        tip, id_ = turn.values.get("tip_message_hash"), str(turn.plain.get("id"))
        tools = self.known.tools_of("turn_tools", turn_id=turn.values.get("id"))
        self._write_chain(turn.values.get("parent_message_hash"))
        self._tools = contents.set_tools(self.target, tools, self._tools, id_)
        self._write_chain(tip, turn)
        time = turn.plain.get("datetime_utc")
        self.target.write("llm.turn", turn.plain, id_, source=turn.place, occurred=time)

    def write_until(self, tip: Json) -> None:
        """Write what is left of a chain, and show exactly that."""
        self._write_chain(tip)
        if isinstance(tip, str) and tip != self._tip:
            self._go_to(tip)

    def write_older_responses(self, thread: Json, turns: set[Any]) -> None:
        """Write what the replies took that an older version of the program wrote."""
        rows = self.known.database.rows("responses", order=["id"], conversation_id=thread)
        for row in rows:
            if row.values.get("id") not in turns:
                id_ = str(row.plain.get("id"))
                data: dict[str, Json] = {
                    "content": [],
                    "id": id_,
                    "model": row.plain.get("resolved_model") or row.plain.get("model"),
                    "usage": contents.usage(row),
                }
                line = {"response": row.plain}
                self.target.write("request.answered", data, id_, line=line, source=row.place)

    # -- chains ------------------------------------------------------------------------------

    def _write_chain(self, tip: Json, turn: Row | None = None) -> None:
        """Write the messages of a chain that are not written yet, the oldest first."""
        chain = []
        step = tip
        while isinstance(step, str) and step not in self._versions:
            row = next(self.known.database.rows("messages", hash=step), None)
            if row is None:
                self.rejected.append(LineNote(0, f"messages: {step} is missing"))
                break
            self._versions[step] = []
            chain.append(row)
            step = row.values.get("parent_hash")
        for row in reversed(chain):
            parent = row.values.get("parent_hash")
            self._parents[row.values["hash"]] = parent if isinstance(parent, str) else None
            if self._tip != parent:
                self._go_to(parent)
            self._tip = row.values["hash"]
            self._write_message(row, turn)

    def _go_to(self, tip: Json) -> None:
        """Show the chain that ends with a message, and nothing after it."""
        path: list[str] = []
        step = tip if isinstance(tip, str) else None
        while step is not None and step not in path:
            path.append(step)
            step = self._parents.get(step)
        shown = [version for name in reversed(path) for version in self._versions.get(name, ())]
        self.target.reorder(shown)
        self._tip = path[0] if path else None

    def _write_message(self, row: Row, turn: Row | None) -> None:
        before = len(self.target.shown)
        rows = self.known.database.rows(
            "parts", order=["position"], message_hash=row.values["hash"]
        )
        parts = [self._part(part) for part in rows]
        role, key = row.values.get("role"), row.values["hash"]
        more: Any = {"source": row.place, "line": {"message": row.plain, "parts": parts}}
        if turn is not None:
            more["occurred"] = turn.plain.get("datetime_utc")
        if role == "tool":
            for number, part in enumerate(parts):
                data = contents.result(part, self._attachments(part))
                self.target.write("tool.result", data, f"{key}/{number}", **more)
        elif role == "system":
            system = "\n\n".join(contents.texts(parts))
            self.target.write("system.set", {"system": system}, key, **more)
        else:
            blocks = [self._block(part) for part in parts]
            type_, data = _message(role, blocks, turn)
            self.target.write(type_, data, key, **more)
        self._versions[key] = self.target.shown[before:]

    # -- parts -------------------------------------------------------------------------------

    def _part(self, row: Row) -> dict[str, Json]:
        """Return a part as the program has it: its columns and its payload in one, texts whole."""
        payload, _ = row.json("payload")
        part = dict(payload) if isinstance(payload, dict) else {}
        words = row.plain.get("text")
        if words is None and isinstance(part.get("text_ref"), list):
            words = "".join(map(self._piece, objects(part["text_ref"])))
        part |= {} if words is None else {"text": words}
        return {**part, "type": row.plain.get("type")}

    def _piece(self, piece: dict[str, Json]) -> str:
        literal = piece.get("literal")
        return literal if isinstance(literal, str) else self.known.fragment(piece.get("fragment"))

    def _block(self, part: dict[str, Json]) -> Json:
        """Return the block that a part of a message becomes."""
        kind, words = part.get("type"), part.get("text")
        if kind == "text":
            return text(words if isinstance(words, str) else "")
        if kind == "reasoning":
            return _thinking(part)
        if kind == "tool_call":
            return openai_blocks.call(
                part.get("tool_call_id"), part.get("name"), part.get("arguments")
            )
        if kind == "attachment":
            return next(iter(self._attachments(part)), part)
        return part

    def _attachments(self, part: dict[str, Json]) -> list[Json]:
        named = [part.get("attachment"), *objects(part.get("attachments"))]
        return [self.known.attachment(item.get("id")) for item in objects(named)]


def _message(role: Any, blocks: list[Json], turn: Row | None) -> tuple[str, dict[str, Json]]:
    """Return the event of a message; the last one of a turn has what the turn took."""
    if role != "assistant":
        return ("message.user" if role == "user" else f"llm.{role or 'message'}"), {
            "content": blocks
        }
    if turn is None:
        return "message.assistant", {"content": blocks}
    return "message.assistant", {
        "content": blocks,
        "id": turn.plain.get("id"),
        "model": turn.plain.get("resolved_model") or turn.plain.get("model"),
        "usage": contents.usage(turn),
    }


def _thinking(part: dict[str, Json]) -> Json:
    """Return a thinking block, with the signature of Anthropic's models where there is one."""
    words, made = part.get("text"), part.get("provider_metadata")
    block = openai_blocks.thinking(words if isinstance(words, str) else "")
    given = made.get("anthropic", made) if isinstance(made, dict) else None
    signature = given.get("signature") if isinstance(given, dict) else None
    return {**block, "signature": signature} if isinstance(signature, str) else block
