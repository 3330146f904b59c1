"""Sessions with everything that an export may have to say, recorded at fixed times."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

from foldlog.eventstore import EventDraft, EventStore
from foldlog.projections import Session
from tests.projections.build import call, shown
from tests.server import thought
from tests.server.signing import Prefix, signed_reply

EVERYTHING, CHILD, FORK = "everything-1", "everything-1-agent", "everything-1-fork"

PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"
    "+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
"""A picture of one point."""

IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}
REMOTE = {"type": "image", "source": {"type": "url", "url": "https://example.com/a.webp"}}
PDF = {
    "type": "document",
    "title": "paper.pdf",
    "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0xLjQK"},
}
MODEL = "claude-sonnet-4-5"
USAGE = {
    "input_tokens": 10,
    "output_tokens": 20,
    "cache_read_input_tokens": 30,
    "cache_creation_input_tokens": 5,
}


def clock() -> Callable[[], str]:
    """A second more at each look, from a fixed moment on."""
    seconds = count()
    return lambda: f"2026-11-29T12:{(n := next(seconds)) // 60:02}:{n % 60:02}.000000Z"


def clocked() -> EventStore:
    """A store in memory with that clock."""
    return EventStore(":memory:", clock=clock())


def record(store: EventStore) -> None:
    """Record all sessions."""
    record_everything(store)
    record_child(store)
    store.fork(EVERYTHING, at=11, title="the fork", new=FORK)
    Session(store, FORK).user("Elsewhere.")


def record_everything(store: EventStore) -> None:
    """Parallel calls, a failure, images, a document, thinking, a server tool, a compaction."""
    session = Session(store, EVERYTHING)
    session.append(EventDraft("session.started", {"title": "Tests", "cwd": "/home/user/work"}))
    session.system("Be brief.")
    schema = {"type": "object", "properties": {"command": {"type": "string"}}}
    session.tools([{"name": "Bash", "description": "Run a command", "input_schema": schema}])
    session.user("An old question.")  # 4
    session.assistant([{"type": "text", "text": "An old answer."}], id="msg_0", model=MODEL)  # 5
    session.edit(  # 6 and 7
        "summarize",
        "over budget",
        [shown(4, 5, "summary", summary=6)],
        before=[EventDraft("summary.written", {"text": "It was about tests.", "covers": [[4, 5]]})],
    )
    session.user([{"type": "text", "text": "Look: 测试"}, IMAGE, REMOTE, PDF])  # 8
    session.assistant(  # 9
        [
            *signed_reply([thought("Both at once.")], Prefix(""), MODEL, "msg_1"),
            {"type": "text", "text": "I look."},
            call("toolu_1", "Bash", command="pytest"),
            call("toolu_2", "Read", file_path="a.png"),
            call("toolu_3", "Agent", prompt="count"),
        ],
        id="msg_1",
        model=MODEL,
        stop_reason="tool_use",
        usage=USAGE,
    )
    session.tool_result("toolu_1", "FAILED", is_error=True)  # 10
    session.tool_result("toolu_2", [{"type": "text", "text": "a picture"}, IMAGE])  # 11
    session.tool_result("toolu_3", "three")  # 12
    session.attach("file", "<system-reminder>\na.py changed\n</system-reminder>")  # 13
    search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
    found = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
    session.assistant(  # 14
        [search, found, {"type": "text", "text": "One fails."}],
        id="msg_2",
        model=MODEL,
        stop_reason="end_turn",
        usage=USAGE | {"output_tokens": 7},
    )
    session.user("Much?")  # 15
    session.assistant([call("toolu_4", "Bash", command="seq 9")], id="msg_3", model=MODEL)  # 16
    session.tool_result("toolu_4", "1\n2\n3\n4\n5\n6\n7\n8\n9")  # 17
    session.edit("clear", "old", [shown(17, 17, "cleared", text="[cleared: foldlog:e/17]")])  # 18
    session.assistant([{"type": "text", "text": "No."}], id="msg_4", model=MODEL)  # 19
    session.user("Sleep.")  # 20
    session.assistant([call("toolu_5", "Bash", command="sleep 9")], id="msg_5", model=MODEL)  # 21


def record_child(store: EventStore) -> None:
    """The subagent that the third call started."""
    parent = {"session": EVERYTHING, "kind": "subagent", "tool_use_id": "toolu_3"}
    session = Session(store, CHILD)
    session.append(EventDraft("session.started", {"parent": parent}))
    session.user("count")
    session.assistant([{"type": "text", "text": "three"}], id="msg_c", model=MODEL, usage=USAGE)
