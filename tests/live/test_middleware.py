"""One line records a client, and changes nothing for its user: streams, failures, views."""

from __future__ import annotations

import asyncio
import gzip
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import anthropic
import httpx2
import pytest
from anthropic import beta_async_tool, beta_tool

from tests.live.harness import MODEL, TOOLS, events, types
from tests.live.sdk import (
    RICH,
    WORDS,
    Place,
    asked,
    assistant,
    helper,
    proven,
    streaming_response,
    user,
)
from tests.server import Server, broken, call, overloaded, rate_limited, reply, thought
from tests.server.stream import encoded
from tests.server.stream import events as stream_events


async def drained(stream: Any) -> list[Any]:
    return [event async for event in stream]


def test_a_conversation_of_sdk_objects_is_recorded_once(api: Server, place: Place) -> None:
    api.script(RICH, reply(thought(), "Done."), reply("Bye."))
    messages: list[Any] = [user("List the files.")]
    sync = place.sync()
    while True:
        message = sync.messages.create(**asked(*messages, tools=TOOLS))
        messages.append(assistant(message))
        calls = [block for block in message.content if block.type == "tool_use"]
        if not calls:
            break
        answers = [
            {"type": "tool_result", "tool_use_id": block.id, "content": "a.py"} for block in calls
        ]
        messages.append(user(answers))
    sync.messages.create(**asked(*messages, user("Thanks."), tools=TOOLS))
    assert types(place.session) == [
        "tools.set", "message.user", "request.sent", "message.assistant",
        "tool.result", "request.sent", "message.assistant",
        "message.user", "request.sent", "message.assistant",
    ]  # fmt: skip


class TestTouchingNothing:
    def test_counting_and_models_pass(self, api: Server, place: Place) -> None:
        sync = place.sync()
        sync.messages.count_tokens(model=MODEL, messages=[user()])
        sync.models.list()
        sync.models.retrieve(MODEL)
        assert place.session.store.last("s") == 0

    def test_the_observed_request_is_the_same_object(self, api: Server) -> None:
        place, seen = Place(api, observe=True), []

        def inner(request: Any, call_next: Any) -> Any:
            seen.append(request)
            return call_next(request)

        def outer(request: Any, call_next: Any) -> Any:
            seen.append(request)
            return call_next(request)

        api.client(middleware=[outer, place.middleware, inner]).messages.create(**asked())
        assert seen[0] is seen[1]

    def test_the_harness_s_own_list_is_not_changed(self, api: Server, place: Place) -> None:
        messages = [user([{"type": "text", "text": "Hi.", "cache_control": {"type": "ephemeral"}}])]
        before = [dict(message) for message in messages]
        place.sync().messages.create(**asked(*messages))
        assert messages == before

    def test_loading_foldlog_does_not_load_the_sdk(self) -> None:
        code = "import sys, foldlog.projections.live; print('anthropic' in sys.modules)"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert done.stdout.strip() == "False"


class TestStreams:
    def test_each_event_passes_when_it_comes(self, api: Server, place: Place) -> None:
        gate = threading.Event()
        api.script(RICH.waiting(gate, after=4))
        stream = iter(place.sync().messages.create(**asked(), stream=True))
        first = [next(stream).type for _ in range(2)]
        assert not gate.is_set()  # the server holds the rest
        assert place.replies() == []
        gate.set()
        assert first[0] == "message_start"
        assert [event.type for event in stream][-1] == "message_stop"
        assert len(place.reply.data["content"]) == 3

    def test_each_event_passes_on_a_loop(self, api: Server, place: Place) -> None:
        gate = threading.Event()
        api.script(RICH.waiting(gate, after=4))

        async def ask() -> list[str]:
            async with place.on_loop() as client:
                stream = await client.messages.create(**asked(), stream=True)
                first = [await anext(aiter(stream)) for _ in range(1)]
                assert not gate.is_set()
                gate.set()
                return [event.type for event in first] + [e.type for e in await drained(stream)]

        assert asyncio.run(ask())[0] == "message_start"
        assert len(place.reply.data["content"]) == 3

    def test_the_reply_is_recorded_before_its_end_is_seen(self, api: Server, place: Place) -> None:
        api.script(RICH)
        for event in place.sync().messages.create(**asked(), stream=True):
            if event.type == "message_stop":
                assert "partial" not in place.reply.data

    @pytest.mark.parametrize("after", [4, 8, 12])
    def test_one_that_is_closed_early_is_partial(
        self, api: Server, place: Place, after: int
    ) -> None:
        gate = threading.Event()
        api.script(RICH.waiting(gate, after=after))
        with place.sync().messages.create(**asked(), stream=True) as stream:
            next(iter(stream))
        gate.set()
        assert place.reply.data["partial"] is True
        assert "closed" in place.reply.data["problem"]

    def test_one_that_is_left_alone_is_partial(self, api: Server, place: Place) -> None:
        api.script(RICH)
        for _ in place.sync().messages.create(**asked(), stream=True):
            break
        assert place.reply.data["partial"] is True

    @pytest.mark.parametrize("after", range(1, 14))
    def test_one_that_breaks_is_partial(self, api: Server, place: Place, after: int) -> None:
        api.script(RICH.dying(after), reply("Again."))
        sync = place.sync()
        with (
            pytest.raises(httpx2.RemoteProtocolError),
            sync.messages.stream(**asked()) as stream,
        ):
            list(stream)
        assert place.reply.data["partial"] is True
        said = place.reply.data["content"]
        assert sync.messages.create(**asked("Hi.")).content[0].text == "Again."  # type: ignore[union-attr]
        assert all(block["type"] in ("thinking", "text") for block in said)

    def test_one_that_breaks_on_a_loop_is_partial(self, api: Server, place: Place) -> None:
        api.script(RICH.dying(9))

        async def ask() -> None:
            async with place.on_loop() as client, client.messages.stream(**asked()) as stream:
                await drained(stream)

        with pytest.raises(httpx2.RemoteProtocolError):
            asyncio.run(ask())
        assert place.reply.data["partial"] is True

    def test_one_that_ends_in_an_error_is_the_sdk_s_typed_error(
        self, api: Server, place: Place
    ) -> None:
        api.script(RICH.failing(overloaded(), after=9))
        with pytest.raises(anthropic.APIStatusError) as raised:
            list(place.sync().messages.create(**asked(), stream=True))
        assert raised.value.type == "overloaded_error"
        assert place.reply.data["partial"] is True
        assert place.reply.data["problem"] == "Overloaded"

    def test_one_that_is_compressed(self, place: Place) -> None:
        message = {
            "id": "msg_1", "type": "message", "role": "assistant", "model": MODEL,
            "content": [{"type": "text", "text": WORDS}], "stop_reason": "end_turn",
            "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1},
        }  # fmt: skip
        body = gzip.compress(b"".join(map(encoded, stream_events(message))))

        class Chunks(httpx2.SyncByteStream):
            def __iter__(self) -> Iterator[bytes]:
                yield from (body[at : at + 7] for at in range(0, len(body), 7))

        def answer(request: httpx2.Request) -> httpx2.Response:
            headers = {"content-type": "text/event-stream", "content-encoding": "gzip"}
            return httpx2.Response(200, headers=headers, stream=Chunks())

        http = httpx2.Client(transport=httpx2.MockTransport(answer))
        with place.sync(http_client=http).messages.stream(**asked()) as stream:
            assert stream.get_final_text() == WORDS
        assert place.reply.data["content"] == message["content"]

    def test_one_whose_bytes_were_there_at_once(self, api: Server, place: Place) -> None:
        message = {
            "id": "msg_1", "type": "message", "role": "assistant", "model": MODEL,
            "content": [{"type": "text", "text": WORDS}], "stop_reason": "end_turn",
            "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1},
        }  # fmt: skip
        body = b"".join(map(encoded, stream_events(message)))

        def answer(request: httpx2.Request) -> httpx2.Response:
            headers = {"content-type": "text/event-stream"}
            return httpx2.Response(200, headers=headers, content=body)

        http = httpx2.Client(transport=httpx2.MockTransport(answer))
        with place.sync(http_client=http).messages.stream(**asked()) as stream:
            assert stream.get_final_text() == WORDS
        assert place.reply.data["content"] == message["content"]


class TestFailures:
    def test_refusals_stay_the_sdk_s_typed_errors(self, api: Server, place: Place) -> None:
        api.script(rate_limited(), overloaded(), broken())
        for kind in (
            anthropic.RateLimitError,
            anthropic.OverloadedError,
            anthropic.InternalServerError,
        ):
            with pytest.raises(kind) as raised:
                place.sync().messages.create(**asked())
            assert raised.value.body["error"]["message"]  # type: ignore[index]
        failures = events(place.session, "request.failed")
        assert [event.data["error"]["status"] for event in failures] == [429, 529, 500]
        assert len(events(place.session, "message.user")) == 1

    @pytest.mark.parametrize("way", [helper, streaming_response])
    def test_a_refusal_whose_body_was_not_read(
        self, api: Server, place: Place, way: Callable[[Any], Any]
    ) -> None:
        api.script(overloaded())
        with pytest.raises(anthropic.OverloadedError):
            way(place.sync())
        assert place.failure.data["error"]["type"] == "overloaded_error"

    def test_a_retried_request_is_one_request(self, api: Server, place: Place) -> None:
        api.script(rate_limited(0.001), overloaded(), reply("Third."))
        message = place.sync(max_retries=3).messages.create(**asked())
        assert message.content[0].text == "Third."  # type: ignore[union-attr]
        assert types(place.session) == [
            "message.user", "request.sent", "request.failed", "request.failed", "message.assistant",
        ]  # fmt: skip
        failures = events(place.session, "request.failed")
        assert [event.data["attempt"] for event in failures] == [0, 1]

    def test_no_connection(self, place: Place) -> None:
        def answer(request: httpx2.Request) -> httpx2.Response:
            raise httpx2.ConnectError("no route")

        http = httpx2.Client(transport=httpx2.MockTransport(answer))
        with pytest.raises(anthropic.APIConnectionError):
            place.sync(http_client=http).messages.create(**asked())
        assert place.failure.data["error"]["type"] == "APIConnectionError"

    def test_a_timeout(self, api: Server, place: Place) -> None:
        def answer(request: httpx2.Request) -> httpx2.Response:
            raise httpx2.ReadTimeout("too slow")

        http = httpx2.Client(transport=httpx2.MockTransport(answer))
        with pytest.raises(anthropic.APITimeoutError):
            place.sync(http_client=http).messages.create(**asked())
        assert place.failure.data["error"]["type"] == "APITimeoutError"

    def test_a_body_that_breaks_off(self, api: Server, place: Place) -> None:
        api.script(reply(WORDS).dying(), reply(WORDS).dying())
        with pytest.raises(anthropic.APIConnectionError):
            place.sync().messages.create(**asked())
        with (
            pytest.raises(httpx2.RemoteProtocolError),
            place.sync().messages.with_streaming_response.create(**asked()) as response,
        ):
            response.read()
        assert len(events(place.session, "request.failed")) == 2
        assert place.replies() == []

    def test_an_answer_that_is_no_message(self, place: Place) -> None:
        def answer(request: httpx2.Request) -> httpx2.Response:
            return httpx2.Response(200, text="<html>login</html>")

        http = httpx2.Client(transport=httpx2.MockTransport(answer))
        place.sync(http_client=http).messages.with_raw_response.create(**asked())
        said = "the answer is no message: <html>login</html>"
        assert place.failure.data["error"]["message"] == said


class TestOverflow:
    """Managed: a request that is too long goes out again, smaller, within the same attempt."""

    def long(self, api: Server, place: Place) -> list[Any]:
        api.window = 400_000
        api.respond = lambda _: reply("Noted.")
        messages: list[Any] = []
        sync = place.sync()
        for n in range(6):
            messages.append(user(f"Remember part {n}. " + "words and more words " * 900))
            messages.append(assistant(sync.messages.create(**asked(*messages))))
        return [*messages, user("Go on.")]

    @pytest.mark.parametrize("way", ["plain", "stream"])
    def test_the_smaller_one_is_answered(self, api: Server, way: str) -> None:
        place = Place(api, False)
        messages = self.long(api, place)
        api.window = 12_000
        before = len(api.requests)
        if way == "plain":
            message = place.sync().messages.create(**asked(*messages))
        else:
            with place.sync().messages.stream(**asked(*messages)) as stream:
                message = stream.get_final_message()
        assert message.content[0].text == "Noted."  # type: ignore[union-attr]
        assert [r.refusal is None for r in api.requests[before:]] == [False, True]
        assert len(events(place.session, "view.edited")) >= 1
        proven(place.session)

    def test_on_a_loop(self, api: Server) -> None:
        place = Place(api, False)
        messages = self.long(api, place)
        api.window = 12_000

        async def ask() -> Any:
            async with place.on_loop() as client:
                return await client.messages.create(**asked(*messages))

        assert asyncio.run(ask()).content[0].text == "Noted."
        proven(place.session)

    def test_a_retry_after_it_sends_the_smaller_one(self, api: Server) -> None:
        place = Place(api, False)
        messages = self.long(api, place)
        api.window = 12_000
        before = len(api.requests)
        api.script(overloaded(), reply("Noted."))
        message = place.sync(max_retries=2).messages.create(**asked(*messages))
        assert message.content[0].text == "Noted."  # type: ignore[union-attr]
        refused = [r.refusal.status if r.refusal else 200 for r in api.requests[before:]]
        assert refused == [400, 529, 200]
        proven(place.session)

    def test_observed_it_is_the_harness_s_error(self, api: Server) -> None:
        place = Place(api, True)
        messages = self.long(api, place)
        api.window = 12_000
        with pytest.raises(anthropic.BadRequestError, match="prompt is too long"):
            place.sync().messages.create(**asked(*messages))
        proven(place.session)


class TestManaged:
    def test_the_view_is_sent_and_stays_bounded(self, api: Server, managed: Place) -> None:
        api.window = 12_000
        api.respond = lambda _: reply("Noted.")
        messages: list[Any] = []
        for n in range(12):
            messages.append(user(f"Remember part {n}. " + "words and more words " * 300))
            message = managed.sync().messages.create(**asked(*messages))
            messages.append(assistant(message))
        assert all(received.refusal is None for received in api.requests)
        assert len(api.last.body["messages"]) < len(messages)
        assert len(events(managed.session, "message.user")) == 12

    def test_betas_of_a_policy_are_added_to_those_of_the_harness(self, api: Server) -> None:
        place = Place(api, False, policy="api-native")
        own = "interleaved-thinking-2025-05-14"
        place.sync().beta.messages.create(**asked(thinking={"type": "adaptive"}), betas=[own])
        assert own in api.last.betas
        assert "context-management-2025-06-27" in api.last.betas
        assert api.last.body["context_management"]["edits"]
        proven(place.session)


@beta_tool
def look(place: str) -> str:
    """Look at a place."""
    return f"nothing at {place}"


@beta_async_tool(name="look")
async def look_async(place: str) -> str:
    """Look at a place."""
    return f"nothing at {place}"


THREADS: Any = [{}, {"thread": False}]
SEEN = [
    "tools.set", "message.user", "request.sent", "message.assistant",
    "tool.result", "request.sent", "message.assistant",
    "tool.result", "request.sent", "message.assistant",
]  # fmt: skip


class TestToolRunner:
    def script(self, api: Server) -> None:
        looks = (reply(thought(), call("look", f"t{n}", place=f"{n}")) for n in range(2))
        api.script(*looks, reply("Done."))

    @pytest.mark.parametrize("more", THREADS)
    @pytest.mark.parametrize("stream", [False, True])
    def test_it_runs(self, api: Server, place: Place, more: Any, stream: bool) -> None:
        self.script(api)
        runner: Any = place.sync().beta.messages.tool_runner(
            **asked("Look around."), tools=[look], stream=stream, **more
        )
        for turn in runner:
            message = turn.get_final_message() if stream else turn
        assert message.content[0].text == "Done."
        assert types(place.session) == SEEN
        assert len(api.last.whole["messages"]) == 5

    @pytest.mark.parametrize("more", THREADS)
    def test_it_runs_on_a_loop(self, api: Server, place: Place, more: Any) -> None:
        self.script(api)

        async def run() -> Any:
            async with place.on_loop() as client:
                runner = client.beta.messages.tool_runner(
                    **asked("Look around."), tools=[look_async], **more
                )
                return await runner.until_done()

        assert asyncio.run(run()).content[0].text == "Done."
        assert types(place.session) == SEEN

    def test_what_the_server_forgot_is_not_recorded_again(self, api: Server, place: Place) -> None:
        self.script(api)
        runner = place.sync().beta.messages.tool_runner(**asked("Look around."), tools=[look])
        for _ in runner:
            api.threads.expire()
        assert runner.until_done().content[0].text == "Done."  # type: ignore[union-attr]
        assert [t for t in types(place.session) if t not in ("request.sent", "request.failed")] == [
            t for t in SEEN if t != "request.sent"
        ]

    def test_where_there_are_no_threads(self, api: Server, place: Place) -> None:
        api.holds_threads = False
        self.script(api)
        runner = place.sync().beta.messages.tool_runner(**asked("Look around."), tools=[look])
        assert runner.until_done().content[0].text == "Done."  # type: ignore[union-attr]
        assert len(events(place.session, "message.user")) == 1
