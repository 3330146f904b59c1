"""foldlog as a program uses it: one event a message, through the public API."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal, cast

from foldlog.eventstore import EventDraft, EventStore

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from benchmarks.corpus import Message
    from foldlog.eventstore import Event


def draft(message: Message) -> EventDraft:
    """Return a tool result is an event of its own type, any other message keeps its blocks."""
    first = message["content"][0]
    if first["type"] == "tool_result":
        return EventDraft(
            "tool.result", {"tool_use_id": first["tool_use_id"], "content": first["content"]}
        )
    return EventDraft(f"message.{message['role']}", {"content": message["content"]})


class Foldlog:
    package: ClassVar[str] = "foldlog"
    driven: ClassVar[str] = "EventStore.append: hash chain, payloads once and compressed"

    def __init__(self, folder: Path, session: str = "s", synchronous: str = "FULL") -> None:
        mode = cast("Literal['FULL', 'NORMAL']", synchronous)
        self.session = session
        self.store = EventStore(folder / "foldlog.db", synchronous=mode)

    def native(self, message: Message) -> list[EventDraft]:
        return [draft(message)]

    def append(self, drafts: list[EventDraft]) -> None:
        self.store.append(self.session, drafts)

    def extend(self, natives: Sequence[list[EventDraft]]) -> None:
        self.store.append(self.session, [draft for drafts in natives for draft in drafts])

    def load(self) -> list[Event]:
        return list(self.store.read(self.session))

    def close(self) -> None:
        self.store.close()
