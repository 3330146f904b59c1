"""Streams: every kind of event, the same message at their end, and how they break."""

from __future__ import annotations

from typing import Any

import anthropic
import httpx2
import pytest

from tests.server import (
    Server,
    broken,
    call,
    overloaded,
    rate_limited,
    redacted,
    reply,
    searched,
    thought,
)
from tests.server.talk import MARK, NEW, send, text, u, wire

RICH = reply(
    thought("A thought of more than a dozen characters."),
    redacted(),
    *searched("srvtoolu_1"),
    text("And a text of more than a dozen characters."),
    call("bash", command="ls -la", deep={"list": [1, 2, "中文"]}),
    call("nothing"),
)


def stream(api: Server, **more: Any) -> Any:
    asked: dict[str, Any] = {"model": NEW, "max_tokens": 1_000, "messages": [u()], **more}
    return api.client().messages.stream(**asked)


def raw(api: Server) -> list[str]:
    """The names of all events on the wire."""
    body = {"model": NEW, "max_tokens": 1_000, "messages": [u()], "stream": True}
    sent = httpx2.post(
        f"{api.url}/v1/messages", json=body, headers={"x-api-key": "k"}, trust_env=False
    )
    lines = sent.text.splitlines()
    return [line.removeprefix("event: ") for line in lines if line.startswith("event: ")]


def test_a_stream_ends_in_the_message_that_would_have_come_whole(api: Server) -> None:
    api.script(RICH)
    whole = send(api, u()).to_dict()
    api.reset()
    api.script(RICH)
    with stream(api) as events:
        streamed = events.get_final_message().to_dict()
    assert streamed["content"] == whole["content"]
    assert streamed["stop_reason"] == whole["stop_reason"] == "tool_use"
    assert streamed["usage"] == whole["usage"]


def test_all_kinds_of_events_are_sent(api: Server) -> None:
    api.script(RICH)
    names = raw(api)
    assert names[:2] == ["message_start", "content_block_start"]
    assert names[-2:] == ["message_delta", "message_stop"]
    assert "ping" in names
    assert names.count("content_block_start") == names.count("content_block_stop") == 7


def test_the_input_is_told_at_the_start_and_the_output_at_the_end(api: Server) -> None:
    with stream(api, messages=[u(text("word " * 3_000, **MARK))]) as events:
        usages = {
            e.type: e.usage if e.type == "message_delta" else e.message.usage
            for e in events
            if e.type in ("message_start", "message_delta")
        }
    assert usages["message_start"].cache_creation_input_tokens > 3_000
    assert usages["message_start"].output_tokens == 1
    assert usages["message_delta"].output_tokens > 1


class TestDying:
    @pytest.mark.parametrize("after", [1, 3, 5, 9])
    def test_a_stream_dies_after_some_events(self, api: Server, after: int) -> None:
        api.script(RICH.dying(after), reply("Alive."))
        with pytest.raises(httpx2.RemoteProtocolError), stream(api) as events:
            list(events)
        assert send(api, u()).content[0].text == "Alive."

    def test_what_came_before_is_there(self, api: Server) -> None:
        api.script(reply("Some words that were said, and more that never came.").dying(5))
        with pytest.raises(httpx2.RemoteProtocolError), stream(api) as events:
            list(events)
        assert events.current_message_snapshot.content[0].text.startswith("Some words")

    def test_a_stream_ends_in_an_error_event(self, api: Server) -> None:
        api.script(reply("Some words that were said.").failing(overloaded(), after=4))
        with pytest.raises(anthropic.APIStatusError) as failed, stream(api) as events:
            list(events)
        assert failed.value.type == "overloaded_error"

    def test_an_answer_that_is_no_stream_dies_in_its_middle(self, api: Server) -> None:
        api.script(reply("Some words.").dying())
        with pytest.raises(anthropic.APIConnectionError):
            send(api, u())


class TestFaults:
    def test_each_is_the_error_of_its_kind(self, api: Server) -> None:
        api.script(rate_limited(), overloaded(), broken())
        for error in (
            anthropic.RateLimitError,
            anthropic.OverloadedError,
            anthropic.InternalServerError,
        ):
            with pytest.raises(error):
                send(api, u())

    def test_the_sdk_tries_again(self, api: Server) -> None:
        api.script(rate_limited(0.001), reply("Second."))
        client = api.client(max_retries=1)
        message = client.messages.create(
            model=NEW, max_tokens=9, messages=[{"role": "user", "content": "x"}]
        )
        assert wire(message)[0]["text"] == "Second."
        assert [received.refusal is None for received in api.requests] == [False, True]

    def test_they_can_come_before_anything_else(self, api: Server) -> None:
        api.faults.append(overloaded())
        with pytest.raises(anthropic.OverloadedError):
            send(api)
        with pytest.raises(anthropic.BadRequestError):
            send(api)

    def test_a_script_ends(self, api: Server) -> None:
        api.script(reply("Last."))
        send(api, u())
        with pytest.raises(anthropic.BadRequestError, match="no more replies"):
            send(api, u())
