"""Every preset keeps a session going that the API takes, request by request."""

from __future__ import annotations

import pytest

from foldlog.projections.compaction import presets
from tests.scenarios.agent import Agent, working
from tests.scenarios.told import rules
from tests.server import Server

TURNS = 6
LINES = {"lesson": 20}
"""How many lines a tool prints, where 400 are too many: the lesson has 3,200 bytes for all."""


@pytest.mark.parametrize("name", presets())
@pytest.mark.parametrize("model", ["claude-opus-5-5", "claude-opus-4-6"])
def test_no_request_is_refused(api: Server, name: str, model: str) -> None:
    """Bound thinking, parallel calls, several turns in a small window: all requests are valid.

    The server shares no code with the project.
    """
    api.window = 12_000
    api.respond = working()
    agent = Agent(api, name, model=model, run=lambda call: "line " * LINES.get(name, 400))
    for turn in range(TURNS):
        agent.say(f"Now do number {turn}.")
    refusals = [request.refusal for request in api.requests if request.refusal]
    assert refusals == []
    assert agent.sent == 4 * TURNS
    assert rules(agent.session) or name == "api-native"
