"""Every preset keeps a session going that the API takes, request by request."""

from __future__ import annotations

import pytest

from foldlog.projections.compaction import presets
from tests.scenarios.agent import Agent, working
from tests.scenarios.told import rules
from tests.server import Server

TURNS = 6
LINES = {"lesson": 20}
"""How many lines a tool prints, where others may print more: the lesson has 3,200 bytes for all."""


@pytest.mark.parametrize("name", presets())
@pytest.mark.parametrize(
    ("model", "window"),
    [("claude-opus-5-5", 12_000), ("claude-opus-4-6", 12_000), ("claude-opus-5-5", 8_000)],
)
def test_no_request_is_refused(api: Server, name: str, model: str, window: int) -> None:
    """Bound thinking, parallel calls, several turns in a small window: all requests are valid.

    The server shares no code with the project.
    """
    api.window = window
    api.respond = working()
    lines = LINES.get(name, window // 30)
    agent = Agent(api, name, model=model, window=window, run=lambda call: "line " * lines)
    for turn in range(TURNS):
        agent.say(f"Now do number {turn}.")
    refusals = [request.refusal for request in api.requests if request.refusal]
    assert refusals == []
    assert agent.sent == 4 * TURNS
    assert rules(agent.session) or name == "api-native"
