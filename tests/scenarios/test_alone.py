"""An agent that works alone: one request, then hundreds of calls, and nobody says anything more.

The first reply has thinking, the others have none; the tools are none that a digest knows, and the
model says no word with its calls. The server refuses what the Messages API refuses.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from foldlog.projections.compaction import NothingToCompact, ViewTooLarge, policy, presets
from tests.scenarios.agent import Agent
from tests.scenarios.told import rules
from tests.server import Received, Server, call, reply, thought

REQUEST = "Move all customers of the old shop. Never touch the billing tables."


def alone(calls: int, *, thinks: Callable[[int], bool] = lambda n: n == 0) -> Any:
    """A model that makes one call after the other without a word, and is done in the end."""
    count = 0

    def respond(received: Received) -> Any:
        nonlocal count
        n, count = count, count + 1
        if n == calls:
            return reply("All are moved.")
        made = call("query_db", f"toolu_{n}", sql=f"select {n} from customers", limit=n)
        return reply(thought(f"I begin with {n}."), made) if thinks(n) else reply(made)

    return respond


def run(api: Server, name: str, calls: int, window: int, lines: int, **more: Any) -> Agent:
    api.window, api.respond = window, alone(calls, **more)
    agent = Agent(api, name, window=window, run=lambda call: f"{call['id']} row\n" * lines)
    agent.say(REQUEST)
    refused = [request.refusal for request in api.requests if request.refusal]
    assert refused == []
    assert agent.sent == calls + 1
    return agent


def test_five_hundred_calls(api: Server) -> None:
    agent = run(api, "adaptive", 500, 9_000, 12, thinks=lambda n: n % 170 == 0)
    for request in api.requests:
        assert REQUEST in json.dumps(request.call.messages)
    assert rules(agent.session).count("summarize") > 5
    assert "query_db `sql: select" in json.dumps(agent.session.render()["messages"])


@pytest.mark.parametrize("name", sorted({*presets()} - {"lesson"}))
def test_one_thought_at_the_beginning_stops_no_preset(api: Server, name: str) -> None:
    agent = run(api, name, 40, 12_000, 40)
    assert rules(agent.session) or name == "api-native", "the API may clear in its place"


@pytest.mark.parametrize("name", ["adaptive", "codex", "pi"])
def test_thinking_anywhere_in_the_loop_stops_nothing(api: Server, name: str) -> None:
    run(api, name, 40, 12_000, 25, thinks=lambda n: n % 7 in (0, 3))


class TestByHand:
    def agent(self, api: Server, lines: int, calls: int = 6) -> Agent:
        api.window, api.respond = 100_000, alone(calls)
        agent = Agent(api, "pi", window=100_000, run=lambda call: "row\n" * lines)
        agent.session.user(REQUEST)
        for _ in range(calls):
            agent._step()
        return agent

    def test_an_open_loop_is_compacted(self, api: Server) -> None:
        agent = self.agent(api, 2_000, 20)
        before = agent.session.version
        agent.session.compact("claude-code", window=100_000)
        (edit,) = agent.session.prepared.edits  # type: ignore[union-attr]
        first = [(e["first"], e["last"]) for e in edit.data["edits"]]
        assert first[0][0] > 5, "the reply that thought stays, with its results"
        assert edit.data["tokens_after"] < edit.data["tokens_before"] / 4
        assert agent._step() or agent.session.version > before
        assert [request.refusal for request in api.requests if request.refusal] == []

    def test_where_nothing_can_be_left_out_it_says_what_stays(self, api: Server) -> None:
        agent = self.agent(api, 5, 1)
        view = agent.session.compact("claude-code", window=100_000)
        prepared = agent.session.prepared
        assert prepared is not None
        assert prepared.edits == ()
        assert view.version == agent.session.version
        refusal = prepared.refusal
        assert isinstance(refusal, NothingToCompact)
        told = {block.why for block in refusal.blocks}
        assert {"is the active request", "was not read by the model yet"} <= told
        assert "version 3 (" in str(refusal)


def test_a_refusal_says_which_versions_block_how_large_and_why(api: Server) -> None:
    agent = TestByHand().agent(api, 5, 1)
    loop = agent.session
    loop.assistant([call("query_db", "toolu_big", sql="x")])
    pinned = loop.tool_result("toolu_big", "a row " * 30_000).version
    loop.pin(pinned)
    with pytest.raises(ViewTooLarge) as refused:
        loop.prepare("manus", window=20_000)
    error = refused.value
    largest = error.blocks[0]
    assert (largest.first, largest.last) == (pinned - 1, pinned)
    assert largest.why == "is pinned"
    assert largest.tokens > error.room
    assert f"versions {largest.first} to {largest.last} ({largest.tokens:,} tokens)" in str(error)
    assert "use the policy adaptive" in str(error)
    assert policy("manus").name in str(error)
