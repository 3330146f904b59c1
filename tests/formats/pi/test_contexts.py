"""The views of a session are the contexts that pi itself makes of it, at every entry."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from foldlog.cli.formats import import_path
from foldlog.cli.formats.pi.entries import mapped
from foldlog.eventstore import Event, EventStore
from foldlog.projections import Session
from foldlog.projections.explain.statistics import statistics
from foldlog.projections.render.items import items

DATA = Path(__file__).parent / "data"
SAMPLES = {
    "gen_pi_0.73.1_tree_branch_compaction": "0.73.1",
    "gen_pi_1.6.0_context_edit_compaction_branch": "1.6.0",
    "constructed_edges": "1.6.0",
}
NO_RESULT = [{"type": "text", "text": "No result provided"}]

Part = tuple[str, Any]


@cache
def imported(name: str) -> tuple[EventStore, str]:
    store = EventStore(":memory:")
    (report,) = import_path(store, DATA / f"{name}.jsonl", format="pi")
    assert report.session is not None
    return store, report.session


def contexts(name: str) -> list[dict[str, Any]]:
    path = DATA / f"{name}.sent_{SAMPLES[name]}.json"
    found: list[dict[str, Any]] = json.loads(path.read_text())
    return found


CASES = [(name, n) for name in SAMPLES for n in range(len(contexts(name)))]


def lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DATA / f"{name}.jsonl").read_text().splitlines()]


def parts(role: str, content: Any) -> list[Part]:
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return [(role, block) for block in blocks]


def sent(name: str, context: list[Any]) -> list[Part]:
    """Return a context of pi's in blocks, without results that it puts in at the end."""
    entries, found = lines(name), list[Part]()
    while context and not isinstance(context[-1], int) and context[-1]["content"] == NO_RESULT:
        context = context[:-1]
    for message in context:
        whole = entries[message]["message"] if isinstance(message, int) else message
        event = mapped({"type": "message", "message": whole}, "x")
        if event.type == "tool.result":
            body = parts("user", event.data.pop("content"))
            found.append(("user", {**event.data, "content": [block for _, block in body]}))
        else:
            role = "assistant" if event.type == "message.assistant" else "user"
            found += parts(role, event.data["content"])
    return found


def shown(store: EventStore, session: str, version: int) -> list[Part]:
    """Return what the view at a version shows, in blocks."""
    found: list[Part] = []
    for item in items(Session(store, session).view(version)):
        for role, block in parts(item.role, item.content):
            if block["type"] == "tool_result":
                body = [inner for _, inner in parts("user", block["content"])]
                fields = {k: v for k, v in block.items() if k != "type"}
                found.append((role, {**fields, "content": body}))
            else:
                found.append((role, block))
    return found


def version_after(store: EventStore, session: str, line: int) -> int:
    """Return the version at which an entry was the leaf: before what the next one brings."""
    events = list(store.read(session))
    after = (e.version for e in events if e.meta.get("source", {}).get("line", 0) > line)
    version = next(after, events[-1].version + 1) - 1

    def is_of_next(event: Event) -> bool:
        return event.type == "head.moved" or bool(event.data.get("synthesized"))

    while version < events[-1].version and is_of_next(events[version - 1]):
        version -= 1
    return version


@pytest.mark.parametrize(("name", "n"), CASES)
def test_the_view_at_an_entry_is_the_context_that_pi_makes(name: str, n: int) -> None:
    store, session = imported(name)
    context = contexts(name)[n]
    version = version_after(store, session, context["entry"] + 1)
    assert shown(store, session, version) == sent(name, context["messages"])


def test_the_prompt_is_folded_from_system_messages_along_the_branch() -> None:
    store, session = imported("constructed_edges")
    prompts = [e.data["system"] for e in store.read(session, types=["system.set"])]
    assert prompts == ["Base.\n\nOne.\n\nTwo.", "Base.\n\nUno.", "New base.\n\nUno."]
    tools = [
        [tool["name"] for tool in event.data["tools"]]
        for event in store.read(session, types=["tools.set"])
    ]
    assert tools == [["bash"], ["read"], []]


def test_each_request_is_counted_once_with_its_cost() -> None:
    store, session = imported("constructed_edges")
    entries = lines("constructed_edges")
    usages = [e["usage"] for e in entries if "usage" in e]
    usages += [
        e["message"]["usage"]
        for e in entries
        if e.get("message", {}).get("usage")
        and e["message"]["stopReason"] not in ("aborted", "error")
    ]
    found = statistics(store.read(session)).total
    assert (found.requests, found.cache_write) == (len(usages), 2 * len(usages))
    assert float(found.dollars) == pytest.approx(0.25 * len(usages))


def test_titles_parents_and_times_come_along() -> None:
    store, session = imported("constructed_edges")
    (info,) = store.sessions()
    assert (info.title, info.cwd, info.parent, info.parent_kind) == (
        "Edges",
        "/w",
        "before",
        "copy",
    )
    first = next(store.read(session, types=["message.user"]))
    assert first.occurred.startswith("2026-11-30T08:00:03")
