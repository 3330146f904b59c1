"""What the API does by itself is recorded: it compacted, or it cleared."""

from __future__ import annotations

from typing import Any

import pytest

from foldlog.projections.live.recording import Recording
from tests.live.harness import TOOLS, Harness, events, problems, session
from tests.server import Server, call, reply

BETAS = frozenset({"context-management-2025-06-27", "compact-2026-01-12"})
CLEARING = {
    "type": "clear_tool_uses_20250919",
    "trigger": {"type": "tool_uses", "value": 1},
    "keep": {"type": "tool_uses", "value": 1},
}
COMPACTING = {"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": 50_000}}


def harness(api: Server, *edits: dict[str, Any], observe: bool = False) -> Harness:
    recording = Recording(session(), observe=observe, policy="adaptive", window=200_000)
    more: dict[str, Any] = {"context_management": {"edits": list(edits)}} if edits else {}
    made = Harness(api, recording, system="Be brief.", tools=TOOLS, **more)
    made.betas = BETAS
    return made


def compacted(api: Server, observe: bool = False) -> Harness:
    """A conversation that the API compacts at its second turn."""
    made = harness(api, COMPACTING, observe=observe)
    made.say("one")
    made.say("word " * 70_000)
    return made


class TestClearing:
    def test_is_a_fact_about_the_request(self, api: Server) -> None:
        made = harness(api, CLEARING)
        for number in range(3):
            api.script(reply(call("bash", f"toolu_{number}")), reply("Done."))
            made.results(made.say("work"), f"line {number} " * 50)
            made.ask()
        edited = events(made.session, "request.edited")
        requests = {event.version for event in events(made.session, "request.sent")}
        assert edited
        assert {event.data["request"] for event in edited} <= requests
        assert edited[-1].data["applied_edits"][0]["type"] == CLEARING["type"]
        assert not events(made.session, "view.edited")
        assert "line 0" in str(made.session.render()["messages"])
        assert problems(made.session) == []


class TestCompacting:
    @pytest.mark.parametrize("observe", [True, False], ids=["observed", "managed"])
    def test_the_block_stands_for_what_was_before(self, api: Server, observe: bool) -> None:
        made = compacted(api, observe)
        [written] = events(made.session, "summary.written")
        [edit] = events(made.session, "view.edited")
        [block] = written.data["content"]
        assert block["type"] == "compaction"
        assert (edit.data["rule"], edit.data["via"]) == ("server_edits", "server")
        messages = made.session.render()["messages"]
        assert messages[0]["content"][0] == block
        assert str(messages).count("'compaction'") == 1
        assert "word word" not in str(messages)
        assert problems(made.session) == []

    @pytest.mark.parametrize("observe", [True, False], ids=["observed", "managed"])
    def test_it_goes_on_behind_the_block(self, api: Server, observe: bool) -> None:
        made = compacted(api, observe)
        made.say("three")
        assert api.last.refusal is None
        assert not events(made.session, "head.moved")
        if not observe:
            assert api.last.body["messages"][0]["content"][0]["type"] == "compaction"
        assert problems(made.session) == []

    def test_a_harness_that_drops_what_was_before_is_recognised(self, api: Server) -> None:
        made = compacted(api)
        made.messages = made.messages[-1:]
        made.say("three")
        assert not events(made.session, "head.moved")
        assert made.session.render()["messages"][1]["content"] == "three"

    def test_it_can_be_undone(self, api: Server) -> None:
        made = compacted(api)
        first = events(made.session, "message.user")[0].version
        made.session.expand(first)
        assert made.session.view().piece(first).shown.kind == "whole"  # type: ignore[union-attr]
