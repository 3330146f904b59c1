"""From a session of OpenCode to events, and to what OpenCode would send next."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, Any

from foldlog.cli.formats.opencode import blocks
from foldlog.cli.formats.opencode.chats import Message, Part, object_of, text_of
from foldlog.cli.formats.report import LineNote

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from foldlog.cli.formats.opencode.chats import Chat, Object
    from foldlog.cli.formats.rewritten import Rewritten


@dataclass
class ChatImport:
    """The import of one session.

    Args:
        chat: The session.
        target: Where it is written to.
        reply_ids: By the time of a message of another session that this one was copied from, the
            id that its reply has there: so a reply counts once.

    Attributes:
        notices: What a reader may want to know.
        is_pending: OpenCode is still writing the last reply.
    """

    chat: Chat
    target: Rewritten
    reply_ids: dict[Any, str] = field(default_factory=dict)
    notices: list[LineNote] = field(default_factory=list)
    is_pending: bool = False
    _versions: dict[str, list[int]] = field(default_factory=dict)
    _cleared: list[tuple[float, int]] = field(default_factory=list)

    def run(self) -> None:
        """Write all messages, and show what OpenCode would send."""
        messages = self._kept_until_revert()
        for place, message in enumerate(messages):
            is_last = place == len(messages) - 1
            if not message.is_removed:
                self._clear(message.order[0])
            self._write(message, is_open=is_last and not message.is_finished)
        self._clear()
        for name, text, reason, source in self.chat.unreadable:
            data: Object = {"text": text, "reason": reason}
            self.target.write("source.unreadable", data, name, source=source)
        self.notices += self.target.finish()

    def _kept_until_revert(self) -> list[Message]:
        """Return the messages; those that the next prompt deletes are removed ones already."""
        revert = object_of(self.chat.info, "revert")
        until, part = text_of(revert, "messageID"), text_of(revert, "partID")
        found = []
        is_reverted = False
        for message in self.chat.messages:
            kept = message
            if is_reverted or (until and message.id == until and not part):
                kept = Message(message.info, message.place, message.parts, is_removed=True)
            elif until and message.id == until:
                parts = (p._replace(is_removed=p.is_removed or p.id >= part) for p in message.parts)
                kept = Message(message.info, message.place, tuple(parts))
            is_reverted = is_reverted or bool(until and message.id == until)
            found.append(kept)
        return found

    def _write(self, message: Message, *, is_open: bool) -> None:
        before = len(self.target.shown)
        if message.role == "assistant":
            self._write_reply(message, is_open=is_open)
        else:
            self._write_prompt(message)
        if not message.is_removed:
            self._versions[message.id] = self.target.shown[before:]
        if message.role == "assistant" and not message.is_removed:
            self._apply(message)

    # -- messages ----------------------------------------------------------------------------

    def _write_prompt(self, message: Message) -> None:
        """Write what the user said as one event, and each part that is not sent on its own."""
        sent = [block for part in _sent(message) if (block := blocks.asked(part)) is not None]
        compacts = any(part.kind == "compaction" for part in message.parts)
        for part in message.parts:
            if part.is_removed or blocks.asked(part) is None or compacts:
                self._write_part(message, part)
        line: Object = {"info": message.info, "parts": [part.data for part in message.parts]}
        if compacts or not sent:
            self._add(message, "opencode.message", message.info, message.id, message.place)
        else:
            data: Object = {"content": sent}
            self._add(message, "message.user", data, message.id, message.place, line=line)

    def _write_reply(self, message: Message, *, is_open: bool) -> None:
        """Write each part of a reply as an event, then the results of its calls."""
        calls = []
        step = 0
        for part in message.parts:
            step += part.kind == "step-start"
            waits = is_open and not _is_whole(part)
            if part.is_removed or waits or not self._write_block(message, part, step):
                self._write_part(message, part, waits=waits)
            elif part.kind == "tool":
                calls.append(part)
        for part in calls:
            self._write_result(message, part, is_open=is_open)
        if is_open:
            self.is_pending = True
        else:
            self._add(message, "opencode.message", message.info, message.id, message.place)

    def _write_block(self, message: Message, part: Part, step: int) -> bool:
        """Write what a part adds to a reply; False where it adds nothing."""
        data: Object = {
            "content": [],
            "id": self._reply_id(message, step),
            "model": text_of(message.info, "modelID") or None,
        }
        block = blocks.replied(part)
        if block is not None:
            data["content"] = [block]
        elif part.kind == "step-finish" and any(map(blocks.replied, _sent(message))):
            data["usage"] = blocks.usage(part.data.get("tokens"), part.data.get("cost"))
            reason = text_of(part.data, "reason")
            data["stop_reason"] = blocks.STOPPED.get(reason, reason)
        else:
            return False
        line = None if part.kind == "tool" else {"part": part.data}
        self._add(message, "message.assistant", data, part.id, part.place, line=line)
        return True

    def _write_result(self, message: Message, part: Part, *, is_open: bool) -> None:
        result = blocks.result(part, is_open=is_open)
        if result is None:
            return
        occurred = object_of(part.state, "time").get("end")
        key = f"{part.id}/result"
        line: Object = {"part": part.data}
        version = self._add(
            message, "tool.result", result, key, part.place, occurred=occurred, line=line
        )
        cleared = blocks.cleared(part)
        if cleared is not None and not message.is_removed:
            self._cleared.append((cleared, version))

    def _write_part(self, message: Message, part: Part, *, waits: bool = False) -> None:
        if not waits:
            self._add(
                *(message, f"opencode.{part.kind or 'part'}", part.data, part.id, part.place),
                aside=part.is_removed,
            )

    def _add(
        self,
        message: Message,
        type_: str,
        data: Object,
        key: str,
        place: Object,
        *,
        aside: bool = False,
        occurred: Any = None,
        line: Object | None = None,
    ) -> int:
        return self.target.write(
            *(type_, data, key),
            aside=aside or message.is_removed,
            occurred=message.created if occurred is None else occurred,
            source=place,
            line=line,
        )

    def _reply_id(self, message: Message, step: int) -> str:
        """Return the id of a step's reply: OpenCode sends each step as a reply of its own."""
        known = self.reply_ids.get(message.moment, message.id)
        return known if step < 2 else f"{known}/{step}"

    # -- what OpenCode leaves out ------------------------------------------------------------

    def _apply(self, message: Message) -> None:
        """Leave out what is not sent once this reply is there."""
        if message.info.get("summary") is True:
            self._compact(message)
        elif message.failed and not _is_sent(message):
            self.target.edit(
                *({"shown": "hidden"}, self._versions[message.id], f"{message.id}/failed"),
                rule="failed",
                reason="OpenCode does not send a reply that failed.",
            )

    def _compact(self, message: Message) -> None:
        """Put a summary in the place of what was before it; the messages that were kept follow."""
        prompt = text_of(message.info, "parentID")
        asked = next((m for m in self.chat.messages if m.id == prompt), None)
        part = next((p for p in asked.parts if p.kind == "compaction"), None) if asked else None
        if part is None or message.failed or not message.info.get("finish"):
            return
        self._clear()
        pair = {*self._versions.get(prompt, ()), *self._versions[message.id]}
        before = [version for version in self.target.shown if version not in pair]
        kept = self._since(text_of(part.data, "tail_start_id"), before)
        hidden = before[: len(before) - len(kept)]
        edit = self.target.edit(
            *({"shown": "marker", "text": blocks.ASKED}, hidden, f"{message.id}/compacted"),
            reason="OpenCode wrote a summary, which follows.",
        )
        if edit is not None and kept:
            summary = [version for version in self.target.shown if version in {*pair, edit}]
            self.target.reorder([*hidden, *summary, *kept])

    def _since(self, message: str, shown: Sequence[int]) -> list[int]:
        """Return what is shown from a message on; nothing where that is unknown."""
        first = next(iter(self._versions.get(message, ())), None)
        return list(shown[shown.index(first) :]) if first in shown else []

    def _clear(self, until: float = inf) -> None:
        """Show what OpenCode sends in the place of results that it had pruned by this time."""
        cleared = [version for at, version in self._cleared if at <= until]
        self._cleared = [(at, version) for at, version in self._cleared if at > until]
        if cleared:
            self.target.edit(
                *({"shown": "cleared", "text": blocks.CLEARED}, cleared, "cleared"),
                rule="prune",
                reason="OpenCode has pruned old results.",
            )


def _sent(message: Message) -> Iterable[Part]:
    return (part for part in message.parts if not part.is_removed)


def _is_whole(part: Part) -> bool:
    """Return whether OpenCode writes nothing more into a part of a reply that is not finished."""
    if part.kind == "tool":
        return part.state.get("status") in ("running", "completed", "error")
    return part.kind not in ("text", "reasoning") or "end" in object_of(part.data, "time")


def _is_sent(message: Message) -> bool:
    """Return whether a failed reply is sent: one that was stopped, as far as it came."""
    is_stopped = object_of(message.info, "error").get("name") == "MessageAbortedError"
    return is_stopped and any(
        part.kind not in ("step-start", "reasoning") for part in message.parts
    )
