"""The views of a thread are the requests that Codex sent, block by block.

What is not in a rollout: the developer message of tools that begins every request, the tools, and
requests beside the thread (the words that ask for a summary or a title).
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest

from foldlog.cli.formats.openai_blocks import from_item
from foldlog.eventstore import EventStore
from foldlog.projections import Session
from foldlog.projections.explain.statistics import statistics
from tests.formats.codex.cases import DATA, FORK, RESUMES, THREAD, Part, imported, parts, shown

WIRE = [
    json.loads(line)["request"]["input"]
    for line in (DATA / "wire_requests.jsonl").read_text().split("\n")
    if line
]
COMPACTION, TITLE, FORKED = 9, 11, 20
"""The places of the requests that ask for a summary and a title, and of the fork's own."""

OWN = [place for place in range(len(WIRE)) if place not in (TITLE, FORKED)]
"""The requests of the thread, in the order of its replies."""

ROLES = {
    "message.user": "user",
    "message.assistant": "assistant",
    "message.system": "system",
}


@cache
def store() -> EventStore:
    return imported(DATA / "sessions")[0]


def sent(place: int) -> list[Part]:
    """Return a request in the Messages API's blocks, without its first message."""
    return in_blocks(WIRE[place][1:])


def in_blocks(items: list[Any]) -> list[Part]:
    """Return items of a request as blocks of the Messages API, each with its role."""
    found: list[Part] = []
    for item in items:
        mapped = from_item(item)
        assert mapped is not None
        if mapped.type == "tool.result":
            found.append(("user", {"type": "tool_result", **mapped.data}))
        else:
            found += parts(ROLES[mapped.type], mapped.data["content"])
    return found


def before_each_reply(session: str) -> list[list[Part]]:
    """Return what the view showed before each reply was recorded."""
    first: dict[str, int] = {}
    for event in store().read(session, types=["message.assistant"]):
        first.setdefault(event.data["id"], event.version)
    return [shown(Session(store(), session).view(version - 1)) for version in first.values()]


def elided(part: Part, like: Part) -> Any:
    """Return a part with its text left out where the recorded request leaves it out."""
    role, block = part
    hidden = [key for key in ("text", "content") if "[elided" in str(like[1].get(key))]
    return role, {key: value for key, value in block.items() if key not in hidden}


def assert_same(view: list[Part], request: list[Part]) -> None:
    same = zip(view, request, strict=True)
    assert [elided(mine, theirs) for mine, theirs in same] == [elided(p, p) for p in request]


@pytest.mark.parametrize(("reply", "place"), list(enumerate(OWN)))
def test_the_view_before_a_reply_is_the_request_that_codex_sent(reply: int, place: int) -> None:
    request = sent(place)
    if place == COMPACTION:
        asked = request.pop()
        assert "CONTEXT CHECKPOINT COMPACTION" in asked[1]["text"]
    assert_same(before_each_reply(THREAD)[reply], request)


def test_the_view_of_a_fork_is_the_request_that_it_sent() -> None:
    assert_same(before_each_reply(FORK)[-1], sent(FORKED))


RESUMED = json.loads((RESUMES / "sent.json").read_text())


@pytest.mark.parametrize("name", RESUMED)
def test_the_view_at_the_head_is_what_codex_resumes_with(name: str) -> None:
    resumed, (report,) = imported(RESUMES / f"{name}.jsonl")
    assert report.session is not None
    assert shown(Session(resumed, report.session).view()) == in_blocks(RESUMED[name])


def test_each_request_is_counted_once() -> None:
    assert statistics(store().read(THREAD)).total.requests == len(OWN)
