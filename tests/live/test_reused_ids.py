"""Gateways that number the calls of each reply from one: each call keeps its own result."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest

from foldlog.eventstore.errors import ContextError
from foldlog.projections import Session
from foldlog.projections.compaction import presets
from foldlog.projections.live.recording import Recording
from foldlog.projections.render.render import open_calls, repairs
from tests.live.editor import Editor, repeated
from tests.live.harness import MODEL, TOOLS, Harness, events, problems, session
from tests.server import Server, call, reply

TURNS = 8


def gateway(api: Server, **given: Any) -> Harness:
    return Harness(api, Recording(session(), **given), system="Be brief.", tools=TOOLS)


def work(api: Server, harness: Harness, turns: int = TURNS, lines: int = 1) -> None:
    """Turns whose calls are all ``call_1``, each with a result of its own."""
    for turn in range(turns):
        api.script(reply(call("bash", "call_1", command=f"run {turn}")), reply(f"Done {turn}."))
        harness.results(harness.say(f"task {turn}"), f"out {turn}\n" * lines)
        harness.ask()


def pairs(messages: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Each call's command with the first line of its result."""
    blocks = [b for m in messages if isinstance(m["content"], list) for b in m["content"]]
    results = {b["tool_use_id"]: b["content"] for b in blocks if b["type"] == "tool_result"}
    return [
        (b["input"]["command"], results[b["id"]].split("\n")[0])
        for b in blocks
        if b["type"] == "tool_use"
    ]


def right(messages: list[dict[str, Any]]) -> bool:
    """Whether no result that is shown whole stands with the call of another, or was blanked."""
    shown = [pair for pair in pairs(messages) if pair[1].startswith("out ")]
    return "[Tool use interrupted]" not in str(messages) and all(
        command.removeprefix("run ") == said.removeprefix("out ") for command, said in shown
    )


WANTED = [(f"run {turn}", f"out {turn}") for turn in range(TURNS)]


class TestManaged:
    def test_the_api_gets_ids_of_their_own_and_each_result_with_its_call(self, api: Server) -> None:
        harness = gateway(api)
        work(api, harness)
        assert all(received.refusal is None for received in api.requests)
        assert pairs(api.last.body["messages"]) == WANTED
        assert {repair.rule for repair in repairs(harness.session.view())} == {"repeated_id"}
        assert len(events(harness.session, "tool.result")) == TURNS
        assert problems(harness.session) == []

    def test_calls_of_one_reply_with_the_same_id(self, api: Server) -> None:
        harness = gateway(api)
        both = call("bash", "call_1", command="a"), call("bash", "call_1", command="b")
        api.script(reply(*both), reply("Done."))
        harness.results(harness.say("go"), "of a", "of b")
        harness.ask()
        assert pairs(api.last.body["messages"]) == [("a", "of a"), ("b", "of b")]

    @pytest.mark.parametrize("policy", presets())
    def test_with_each_policy_what_is_shown_is_paired(self, api: Server, policy: str) -> None:
        harness = gateway(api, policy=policy, window=9_000, reserve=1_000)
        work(api, harness, lines=900)
        assert all(received.refusal is None for received in api.requests)
        assert right(api.last.body["messages"])
        assert problems(harness.session) == []


class Gateway(Editor):
    """It is observed, and its gateway takes a list in which every call is ``call_1``."""

    def two_calls(self, turn: int) -> None:
        """A turn in which the model makes two calls at once."""
        self.messages.append({"role": "user", "content": f"task {turn}"})
        names = [f"{turn}.{nth}" for nth in (1, 2)]
        self.ask([call("bash", "call_1", command=f"run {name}") for name in names])
        results = [
            {"type": "tool_result", "tool_use_id": "call_1", "content": f"out {name}\n" * 300}
            for name in names
        ]
        self.messages.append({"role": "user", "content": results})
        self.ask([{"type": "text", "text": f"Done {turn}."}])


BOTH = [(f"run {t}.{nth}", f"out {t}.{nth}") for t in range(TURNS) for nth in (1, 2)]


def request(session: Session) -> dict[str, Any]:
    """What the API would be sent to go on from a session."""
    session.user("Go on.")
    return {"model": MODEL, "max_tokens": 99, **session.render()}


class TestObserved:
    @pytest.fixture
    def gateway(self) -> Gateway:
        made = Gateway()
        for turn in range(TURNS):
            made.two_calls(turn)
        return made

    def test_each_request_is_rebuilt_as_it_was_sent(self, gateway: Gateway) -> None:
        assert problems(gateway.session) == []
        number = len(events(gateway.session, "request.sent"))
        sent = gateway.session.render(f"request:{number}")["messages"]
        assert sent == gateway.messages[:-1]

    def test_nothing_is_recorded_twice(self, gateway: Gateway) -> None:
        assert repeated(gateway.session) == []
        assert len(events(gateway.session, "tool.result")) == 2 * TURNS
        assert not events(gateway.session, "head.moved")

    def test_what_the_api_would_be_sent_is_paired(self, api: Server, gateway: Gateway) -> None:
        body = request(gateway.session)
        assert api.refusal(body) is None
        assert pairs(body["messages"]) == BOTH

    @pytest.mark.parametrize("policy", presets())
    def test_with_each_policy(self, api: Server, gateway: Gateway, policy: str) -> None:
        session = gateway.session
        with suppress(ContextError):
            session.compact(policy, model=MODEL, window=9_000)
        body = request(session)
        assert api.refusal(body) is None
        assert right(body["messages"])
        assert problems(session) == []

    def test_a_call_that_waits_is_answered_under_the_id_that_it_has(self, gateway: Gateway) -> None:
        gateway.messages.append({"role": "user", "content": "again"})
        gateway.ask([call("bash", "call_1", command="run 99")])
        [waiting] = open_calls(gateway.session.view())
        assert waiting.id == waiting.block["id"] == "call_1"
        gateway.session.tool_result("call_1", "the newest")
        assert open_calls(gateway.session.view()) == []
        assert pairs(gateway.session.render()["messages"]) == [*BOTH, ("run 99", "the newest")]

    def test_a_reply_that_was_asked_for_again_is_another_one(self, gateway: Gateway) -> None:
        gateway.messages.append({"role": "user", "content": "list"})
        gateway.ask([call("bash", "call_1", command="run wrong")])
        result = {"type": "tool_result", "tool_use_id": "call_1", "content": "out wrong"}
        gateway.messages.append({"role": "user", "content": [result]})
        gateway.ask([{"type": "text", "text": "Oh."}])
        del gateway.messages[-3:]
        gateway.messages.append(
            {"role": "assistant", "content": [call("bash", "call_1", command="run other")]}
        )
        other = {**result, "content": "out other"}
        gateway.messages.append({"role": "user", "content": [other]})
        gateway.ask([{"type": "text", "text": "Good."}])
        shown = pairs(gateway.session.render()["messages"])
        assert shown == [*BOTH, ("run other", "out other")]
        assert problems(gateway.session) == []
