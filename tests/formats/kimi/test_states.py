"""The views of a log are the messages that Kimi Code itself holds after each line."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from foldlog.cli.formats import import_path
from foldlog.cli.formats.kimi import messages
from foldlog.cli.formats.openai_blocks import call, from_message
from foldlog.eventstore import EventStore
from foldlog.projections import Session
from foldlog.projections.explain.statistics import statistics
from foldlog.projections.render.items import items
from foldlog.projections.wire.blocks import is_blank

DATA = Path(__file__).parent / "data"
EDGES, REAL = "constructed_edges", "gen_kimi_2.1.0_wire"

Part = tuple[str, Any]


@cache
def imported(name: str) -> tuple[EventStore, str]:
    store = EventStore(":memory:")
    (report,) = import_path(store, DATA / f"{name}.jsonl")
    assert (report.format, report.rejected) == ("kimi", ())
    assert report.session is not None
    return store, report.session


def states(name: str) -> list[tuple[int, list[dict[str, Any]]]]:
    """Return (line, messages) of each state of Kimi Code's, but those that wait for a result."""
    found = json.loads((DATA / f"{name}.states_2.1.0.json").read_text())
    held = found["messages"]
    all_states = [(s["line"], [held[place] for place in s["messages"]]) for s in found["states"]]
    return [state for state in all_states if not waits(state[1])]


def waits(held: list[dict[str, Any]]) -> bool:
    called = {made["id"] for message in held for made in message.get("toolCalls", ())}
    return not called <= {message.get("toolCallId") for message in held}


CASES = [(name, *state) for name in (EDGES, REAL) for state in states(name)]


def expected(held: list[dict[str, Any]]) -> list[Part]:
    found: list[Part] = []
    for message in held:
        blocks = [messages.part(part) for part in message["content"]]
        if message["role"] == "tool":
            failed = {"is_error": True} if message.get("isError") else {}
            fields = {"tool_use_id": message["toolCallId"], **failed, "content": blocks}
            found.append(("user", fields))
            continue
        made = (m.get("function", m) | {"id": m["id"]} for m in message.get("toolCalls", ()))
        blocks += [call(m["id"], m["name"], m["arguments"]) for m in made]
        found += [(message["role"], block) for block in blocks]
    return paired(found)


def shown(store: EventStore, session: str, version: int) -> list[Part]:
    found: list[Part] = []
    for item in items(Session(store, session).view(version)):
        said = item.content
        blocks = [{"type": "text", "text": said}] if isinstance(said, str) else said
        for block in blocks:
            is_result = block["type"] == "tool_result"
            found.append(
                (item.role, {k: v for k, v in block.items() if not is_result or k != "type"})
            )
    return paired(found)


def paired(parts: list[Part]) -> list[Part]:
    """Return parts with each result after its call, where both send it, and without blank texts."""
    results = {
        block["tool_use_id"]: (role, block) for role, block in parts if "tool_use_id" in block
    }
    found: list[Part] = []
    for role, block in parts:
        if "tool_use_id" not in block and not is_blank(block):
            found.append((role, block))
        if block.get("type") == "tool_use" and block["id"] in results:
            found.append(results[block["id"]])
    return found


def version_after(store: EventStore, session: str, line: int) -> int:
    """Return the last version that a line brought."""
    events = list(store.read(session))
    after = (e.version for e in events if e.meta.get("source", {}).get("line", 0) > line)
    version = next(after, events[-1].version + 1) - 1
    while events[version - 1].type == "head.moved" or events[version - 1].data.get("synthesized"):
        version -= 1
    return version


@pytest.mark.parametrize(("name", "line", "held"), CASES)
def test_the_view_after_a_line_is_what_kimi_code_holds(
    name: str, line: int, held: list[dict[str, Any]]
) -> None:
    store, session = imported(name)
    moved = next(
        (e for e in store.read(session, types=["head.moved"]) if _follows(store, session, e, line)),
        None,
    )
    version = moved.version if moved else version_after(store, session, line)
    assert shown(store, session, version) == expected(held)


def _follows(store: EventStore, session: str, move: Any, line: int) -> bool:
    """Return whether a move of the head is what a line did."""
    return bool(move.version == version_after(store, session, line) + 1)


def test_the_views_are_the_requests_that_were_sent() -> None:
    store, session = imported(REAL)
    requests = [
        json.loads(line) for line in (DATA / f"{REAL}_requests.jsonl").read_text().splitlines()
    ]
    logged = list(store.read(session, types=["kimi.llm.request"]))
    for event, request in zip(logged[1:], requests, strict=True):
        sent: list[Part] = []
        for message in request["messages"][1:]:
            mapped = from_message(message)
            assert mapped is not None
            said = mapped.data["content"]
            blocks = [{"type": "text", "text": said}] if isinstance(said, str) else said
            if mapped.type == "tool.result":
                failed = {"is_error": True}
                sent.append(
                    ("user", {"tool_use_id": message["tool_call_id"], **failed, "content": blocks})
                )
            else:
                sent += [(message["role"], block) for block in blocks]
        assert shown(store, session, event.version) == paired(sent)


def test_each_request_has_as_many_messages_as_the_log_says() -> None:
    store, session = imported(REAL)
    for event in store.read(session, types=["kimi.llm.request"]):
        found = items(Session(store, session).view(event.version))
        replies = {item.reply for item in found if item.reply}
        others = [item for item in found if not item.reply]
        assert len(replies) + len(others) == event.data["messageCount"]


def test_a_step_is_one_reply_and_is_counted_once() -> None:
    store, session = imported(EDGES)
    steps = 13  # of which the last did not end
    found = statistics(store.read(session)).total
    assert (found.requests, found.input) == (steps - 1 + 1, (steps - 1) * 10 + 100)


def test_prompt_and_tools_are_settings() -> None:
    store, session = imported(EDGES)
    (system,) = store.read(session, types=["system.set"])
    (tools,) = store.read(session, types=["tools.set"])
    assert system.data["system"] == "You are Kimi."
    assert [tool["name"] for tool in tools.data["tools"]] == ["Bash"]
