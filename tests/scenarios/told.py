"""Sessions for scenarios, told in a few lines, and what is seen of them."""

from __future__ import annotations

from typing import Any

from foldlog.eventstore import Event, EventStore
from foldlog.projections import Session, render
from tests.projections.build import call

HOUR = "2100-01-01T00:00:00Z"
"""A time long after any reply: the prompt cache is cold."""


def begun(text: str = "Fix the login.") -> Session:
    """A session in which a person has asked for something."""
    session = Session(EventStore(":memory:"), "s")
    session.user(text)
    return session


def reads(session: Session, count: int, size: int, tool: str = "Read", name: str = "f") -> None:
    """So many exchanges, each a call and a result of so many characters."""
    for n in range(count):
        session.assistant([call(f"{name}{n}", tool, file_path=f"{name}{n}.py")])
        session.tool_result(f"{name}{n}", f"{name}{n} ".ljust(size, "x"))


def results(session: Session) -> dict[str, str]:
    """What the model sees of each result, by the id of its call."""
    return {
        block["tool_use_id"]: text_of(block["content"])
        for message in messages(session)
        for block in (message["content"] if isinstance(message["content"], list) else ())
        if block["type"] == "tool_result"
    }


def messages(session: Session) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = render(session.view(), open="keep")["messages"]
    return found


def text_of(content: Any) -> str:
    """The text of a content."""
    if isinstance(content, str):
        return content
    return "".join(block.get("text", "") for block in content)


def events(session: Session, *types: str) -> list[Event]:
    return list(session.store.read(session.id, types=types))


def rules(session: Session) -> list[str]:
    """The rules that changed something, in their order."""
    return [event.data["rule"] for event in events(session, "view.edited")]
