"""Every preset keeps a session going that the API takes, request by request."""

from __future__ import annotations

import pytest

from foldlog.projections.compaction import presets
from tests.scenarios.agent import Agent, working
from tests.server import Server

TURNS = 6


@pytest.mark.parametrize("name", [name for name in presets() if name != "lesson"])
@pytest.mark.parametrize("model", ["claude-opus-5-5", "claude-opus-4-6"])
def test_no_request_is_refused(api: Server, name: str, model: str) -> None:
    """Bound thinking, parallel calls, several turns in a small window: all requests are valid.

    The server shares no code with the project.
    """
    api.window = 12_000
    api.respond = working()
    agent = Agent(api, name, model=model)
    for turn in range(TURNS):
        agent.say(f"Now do number {turn}.")
    refusals = [request.refusal for request in api.requests if request.refusal]
    assert refusals == []
    assert agent.sent == 4 * TURNS
