"""Message threads: what the server holds is what the client did not send again."""

from __future__ import annotations

from typing import Any

import anthropic
import pytest
from anthropic import beta_tool

from tests.server import Server, call, reply, thought
from tests.server.talk import BOUND, CALL, NEW, u, wire
from tests.server.threads import BETA, LIFE

TOOL = {"name": "bash", "input_schema": {"type": "object"}}


def send(api: Server, *messages: Any, **more: Any) -> Any:
    asked: dict[str, Any] = {"model": NEW, "max_tokens": 1_000, "betas": [BETA], **more}
    return api.client().beta.messages.create(messages=list(messages), **asked)


def create(api: Server, **more: Any) -> Any:
    return send(api, u(), thread={"type": "create"}, **more)


def go_on(api: Server, previous: Any, *messages: Any, **more: Any) -> Any:
    thread = {"type": "continue", "previous_message_id": previous.id}
    return send(api, *(messages or [u()]), thread=thread, **more)


class TestGoingOn:
    def test_the_model_reads_the_whole(self, api: Server) -> None:
        api.script(reply(call("bash", "t1")), reply("Done."))
        first = create(api, system="Be brief.", tools=[TOOL])
        answer = {"type": "tool_result", "tool_use_id": "t1", "content": "out"}
        go_on(api, first, u(answer))
        assert api.last.body["messages"] == [u(answer)]
        assert api.last.whole["messages"] == [
            u(),
            {"role": "assistant", "content": wire(first)},
            u(answer),
        ]
        assert (api.last.whole["system"], api.last.whole["tools"]) == ("Be brief.", [TOOL])

    def test_bound_thinking_stays_valid(self, api: Server) -> None:
        api.script(reply(thought(), call("bash", "t1")), reply("Done."))
        first = create(api, model=BOUND, tools=[TOOL])
        answer = {"type": "tool_result", "tool_use_id": "t1", "content": "out"}
        assert wire(go_on(api, first, u(answer), model=BOUND))[0]["text"] == "Done."

    def test_a_refused_request_takes_nothing_away(self, api: Server) -> None:
        first = create(api)
        with pytest.raises(anthropic.BadRequestError):
            go_on(api, first, {"role": "assistant", "content": [CALL]})
        go_on(api, first)


class TestRefused:
    def code(self, raised: Any) -> Any:
        return raised.value.error_code

    def test_without_its_beta(self, api: Server) -> None:
        with pytest.raises(anthropic.BadRequestError, match="Extra inputs"):
            create(api, betas=["compact-2026-09-04"])

    def test_where_nothing_is_held(self, api: Server) -> None:
        first = create(api)
        api.threads.expire()
        with pytest.raises(anthropic.NotFoundError) as raised:
            go_on(api, first)
        assert self.code(raised) == "thread_not_found"

    def test_after_a_while(self, api: Server) -> None:
        first = create(api)
        api.now += LIFE + 1
        with pytest.raises(anthropic.NotFoundError):
            go_on(api, first)

    def test_going_on_twice(self, api: Server) -> None:
        first = create(api)
        go_on(api, first)
        with pytest.raises(anthropic.BadRequestError) as raised:
            go_on(api, first)
        assert self.code(raised) == "thread_already_continued"

    @pytest.mark.parametrize("more", [{"system": "Be brief."}, {"tools": [TOOL]}])
    def test_what_the_thread_has(self, api: Server, more: Any) -> None:
        first = create(api)
        with pytest.raises(anthropic.BadRequestError, match="the thread has its own"):
            go_on(api, first, **more)

    def test_with_what_does_not_go_together(self, api: Server) -> None:
        betas = [BETA, "context-management-2025-06-27"]
        with pytest.raises(anthropic.BadRequestError) as raised:
            create(api, betas=betas, context_management={"edits": [CLEAR]})
        assert self.code(raised) == "thread_unsupported_request"

    def test_what_the_rules_refuse_in_the_whole(self, api: Server) -> None:
        api.script(reply(call("bash", "t1")))
        first = create(api, tools=[TOOL])
        with pytest.raises(anthropic.BadRequestError, match="were found without"):
            go_on(api, first, u())


CLEAR = {"type": "clear_tool_uses_20250919"}


@beta_tool
def look(place: str) -> str:
    """Look at a place."""
    return f"nothing at {place}"


class TestToolRunner:
    """The SDK's own loop, which uses threads unless it is told not to."""

    def run(self, api: Server, **more: Any) -> str:
        api.script(*(reply(call("look", f"t{n}", place=f"{n}")) for n in range(2)), reply("Done."))
        asked = [{"role": "user", "content": "Look around."}]
        runner = api.client().beta.messages.tool_runner(
            model=NEW, max_tokens=1_000, messages=asked, tools=[look], **more
        )
        return str(runner.until_done().content[0].text)

    def test_it_sends_only_what_is_new(self, api: Server) -> None:
        assert self.run(api) == "Done."
        assert [len(received.body["messages"]) for received in api.requests] == [1, 1, 1]
        assert [len(received.whole["messages"]) for received in api.requests] == [1, 3, 5]

    def test_without_threads_it_sends_all(self, api: Server) -> None:
        assert self.run(api, thread=False) == "Done."
        assert [len(received.body["messages"]) for received in api.requests] == [1, 3, 5]

    def test_where_there_are_none_it_does_without(self, api: Server) -> None:
        api.holds_threads = False
        assert self.run(api) == "Done."
        assert [len(received.body["messages"]) for received in api.requests] == [1, 1, 3, 5]

    def test_it_replays_what_the_server_forgot(self, api: Server) -> None:
        api.script(reply(call("look", "t0")), reply(call("look", "t1")), reply("Done."))
        runner = api.client().beta.messages.tool_runner(
            model=NEW, max_tokens=1_000, messages=[u()], tools=[look]
        )
        for message in runner:
            if wire(message)[0].get("id") == "t1":
                api.threads.expire()
        assert [len(received.body["messages"]) for received in api.requests] == [1, 1, 1, 5]
        assert message.content[0].text == "Done."
