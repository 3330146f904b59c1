"""What passes is recorded: a request before it is sent, a reply before the client has its end."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Callable, Iterator
from typing import Any

import anthropic
import httpx2
import pytest
import zstandard

from foldlog import EventStore, Session
from foldlog.cli.proxy import recorder
from tests.proxy.client import ask, talk
from tests.proxy.conftest import Running
from tests.proxy.raw import Raw, Request
from tests.proxy.talk import (
    MODEL,
    assistant,
    client,
    events,
    only,
    say,
    sessions,
    user,
    verify,
)
from tests.server import Server, broken, call, overloaded, reply, stream, thought
from tests.server.talk import wire

BASH = {"name": "bash", "description": "runs", "input_schema": {"type": "object"}}
ASKED = {"model": MODEL, "max_tokens": 100, "messages": [user("Hello")]}

STREAMED = json.dumps({**ASKED, "stream": True}).encode()
STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
START = stream.encoded(
    ("message_start", {"type": "message_start", "message": {"id": "msg_1", "content": []}})
)
HALF = stream.encoded(
    (
        "content_block_start",
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": "text", "text": "half"},
        },
    )
)


@pytest.fixture(autouse=True)
def proven(store: EventStore) -> Iterator[None]:
    """Whatever a test did, the requests can be shown again."""
    yield
    verify(store)


def asking(body: bytes) -> tuple[str, ...]:
    """The head of a request for a message."""
    return "POST /v1/messages HTTP/1.1", "Host: localhost", f"Content-Length: {len(body)}"


def settled(proxy: Running) -> EventStore:
    """The store, when all that passed is recorded."""
    proxy.stop()
    return proxy.store


def types(store: EventStore) -> list[str]:
    return [event.type for event in events(store)]


def test_a_conversation_with_tools_is_recorded_once(proxy: Running, api: Server) -> None:
    api.script(reply(thought(), "Looking.", call("bash", command="ls")), reply("Done."))
    sdk, asked = client(proxy), [user("List the files")]
    first = say(sdk, *asked, system="Be brief.", tools=[BASH])
    result = {"type": "tool_result", "tool_use_id": first.content[-1].id, "content": "a.txt"}
    asked += [assistant(wire(first)), user([result])]
    say(sdk, *asked, system="Be brief.", tools=[BASH])
    store = settled(proxy)
    assert types(store) == [
        *("session.started", "system.set", "tools.set", "message.user", "request.sent"),
        *("message.assistant", "tool.result", "request.sent", "message.assistant"),
    ]
    assert Session(store, only(store)).render()["messages"][:3] == asked
    assert [received.body["messages"] for received in api.requests] == [asked[:1], asked]
    assert proxy.told == [f"Recording session {only(store)}."]


def test_what_is_sent_and_what_comes_back_are_the_same_bytes(
    proxied: Callable[..., Running], raw: Raw
) -> None:
    """Odd JSON and all: blanks, order, escapes, a key that nobody knows."""
    asked = b'{ "messages":[{"content":"\\u0048i","role":"user"}],\n"odd":1e2, "model":"m"}'
    said = b'{"id":"msg_1", "role":"assistant","content":[{"type":"text","text":"\\u00fc"}]}'
    raw.says(
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b"
        % (len(said), said)
    )
    proxy = proxied(raw.url)
    response = ask(
        proxy, "POST /v1/messages?beta=true HTTP/1.1", f"Content-Length: {len(asked)}", body=asked
    )
    assert (response.body, raw.last.body) == (said, asked)
    assert raw.last.line == "POST /v1/messages?beta=true HTTP/1.1"
    said_event = events(settled(proxy), "message.assistant")[0]
    assert said_event.data["content"] == [{"type": "text", "text": "ü"}]


def test_a_streamed_reply_is_recorded_and_not_held_back(
    proxied: Callable[..., Running], raw: Raw
) -> None:
    message = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": MODEL,
        "content": [{"type": "text", "text": "a b c"}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 3},
    }
    parts = [stream.encoded(event) for event in stream.events(message)]
    seen = threading.Event()

    def answer(_: object) -> Iterator[bytes]:
        yield STREAM.replace(b"\r\n\r\n", b"\r\nTransfer-Encoding: chunked\r\n\r\n")
        for part in parts[:3]:
            yield b"%x\r\n%b\r\n" % (len(part), part)
        seen.wait()
        for part in [*parts[3:], b""]:
            yield b"%x\r\n%b\r\n" % (len(part), part)

    raw.answer = answer
    proxy, body = proxied(raw.url), json.dumps({**ASKED, "stream": True}).encode()
    with talk(proxy) as connection:
        connection.send(
            "POST /v1/messages HTTP/1.1",
            "Host: localhost",
            f"Content-Length: {len(body)}",
            body=body,
        )
        connection.head()
        came = b""
        while len(came) < sum(map(len, parts[:3])):
            came += connection.chunk()
        seen.set()
        assert came + b"".join(iter(connection.chunk, b"")) == b"".join(parts)
    said = events(settled(proxy), "message.assistant")[0]
    assert said.data["content"] == message["content"]
    assert said.data["usage"] == message["usage"]


def test_the_sdk_streams_through_it(proxy: Running, api: Server) -> None:
    api.script(reply(thought(), "Looking.", call("bash", command="ls")))
    with client(proxy).messages.stream(
        model=MODEL, max_tokens=1_000, messages=[user("Hello")], tools=[BASH]
    ) as streamed:
        message = streamed.get_final_message()
    said = events(settled(proxy), "message.assistant")[0]
    assert said.data["content"] == wire(message)
    assert said.data["request_id"] == "req_000001"
    assert "partial" not in said.data


def test_a_refusal_is_recorded_and_reaches_the_client(proxy: Running, api: Server) -> None:
    with pytest.raises(anthropic.BadRequestError, match="nothing: Extra"):
        say(client(proxy), user("Hello"), extra_body={"nothing": 1})
    failed = events(settled(proxy), "request.failed")[0]
    assert failed.data["error"]["type"] == "invalid_request_error"


def test_a_request_that_is_tried_again_is_one_request(proxy: Running, api: Server) -> None:
    api.faults.extend([overloaded(), broken()])
    assert say(client(proxy, max_retries=2), user("Hello")).content[0].text == "Understood."
    store = settled(proxy)
    assert types(store) == [
        *("session.started", "message.user", "request.sent"),
        *("request.failed", "request.failed", "message.assistant"),
    ]
    assert [event.data["attempt"] for event in events(store, "request.failed")] == [0, 1]


def test_a_reply_that_broke_off_is_recorded_as_far_as_it_came(proxy: Running, api: Server) -> None:
    api.script(reply("One two three four five six").dying(after=4))
    with (
        pytest.raises((httpx2.HTTPError, anthropic.APIError)),
        client(proxy).messages.stream(
            model=MODEL, max_tokens=100, messages=[user("Count")]
        ) as streamed,
    ):
        streamed.get_final_message()
    said = events(settled(proxy), "message.assistant")[0]
    assert said.data["partial"] is True
    assert said.data["content"] == [{"type": "text", "text": "One two three four five "}]


def test_a_stream_that_ends_in_an_error_is_recorded_with_it(proxy: Running, api: Server) -> None:
    api.script(reply("One two three").failing(overloaded(), after=3))
    with (
        pytest.raises(anthropic.APIStatusError),
        client(proxy).messages.stream(
            model=MODEL, max_tokens=100, messages=[user("Count")]
        ) as streamed,
    ):
        streamed.get_final_message()
    said = events(settled(proxy), "message.assistant")[0]
    assert (said.data["partial"], said.data["problem"]) == (True, "Overloaded")


def test_a_client_that_goes_away_leaves_a_partial_reply_and_no_open_upstream(
    proxied: Callable[..., Running], raw: Raw
) -> None:
    def answer(request: Request) -> Iterator[bytes]:
        yield STREAM + START + HALF
        request.closed()
        raw.left.set()

    raw.answer = answer
    proxy = proxied(raw.url)
    with talk(proxy) as connection:
        connection.send(*asking(STREAMED), body=STREAMED)
        connection.head()
        connection.chunk()
    assert raw.left.wait(30)
    said = events(settled(proxy), "message.assistant")[0]
    assert (said.data["partial"], said.data["problem"]) == (True, "the client went away")
    assert said.data["content"] == [{"type": "text", "text": "half"}]


def test_a_client_that_goes_away_before_the_answer_is_recorded(
    proxied: Callable[..., Running], raw: Raw
) -> None:
    came = threading.Event()

    def answer(request: Request) -> Iterator[bytes]:
        came.set()
        request.closed()
        raw.left.set()
        yield b""

    raw.answer = answer
    proxy = proxied(raw.url)
    with talk(proxy) as connection:
        connection.send(*asking(STREAMED), body=STREAMED)
        assert came.wait(30)
    assert raw.left.wait(30)
    failed = events(settled(proxy), "request.failed")[0]
    assert failed.data["error"]["message"] == "the client went away"


def test_stopping_records_what_is_open(proxied: Callable[..., Running], raw: Raw) -> None:
    def answer(request: Request) -> Iterator[bytes]:
        yield STREAM + START
        request.closed()

    raw.answer = answer
    proxy = proxied(raw.url)
    with talk(proxy) as connection:
        connection.send(*asking(STREAMED), body=STREAMED)
        connection.head()
        connection.chunk()
        assert events(settled(proxy), "message.assistant")[0].data["partial"] is True


def test_an_upstream_that_is_down_is_recorded(proxied: Callable[..., Running]) -> None:
    proxy = proxied("http://127.0.0.1:1")
    with pytest.raises(anthropic.InternalServerError, match="cannot be reached"):
        say(client(proxy), user("Hello"))
    failed = events(settled(proxy), "request.failed")[0]
    assert failed.data["error"]["message"].startswith("127.0.0.1 cannot be reached")


def test_what_cannot_be_recorded_is_not_sent(
    proxied: Callable[..., Running], api: Server, tmp_path: Any
) -> None:
    with EventStore(tmp_path / "other.db") as other:
        pass
    with EventStore(tmp_path / "other.db", read_only=True) as other:
        proxy = proxied(api.url, store=other)
        with pytest.raises(anthropic.InternalServerError, match="could not be recorded") as raised:
            say(client(proxy), user("Hello"))
    assert raised.value.status_code == 503
    assert "not recorded, so it was not sent" in str(raised.value) or "not sent" in str(
        raised.value
    )
    assert api.requests == []
    assert len(proxy.told) == 1


def test_a_reply_that_cannot_be_recorded_reaches_the_client(
    proxy: Running, api: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError("no space left on device")

    def respond(_: object) -> Any:
        monkeypatch.setattr(Session, "append", full)
        return reply("Here you are.")

    api.respond = respond
    assert say(client(proxy), user("Hello")).content[0].text == "Here you are."
    proxy.stop()
    assert "no space left on device" in proxy.told[-1]
    assert "The client has it all the same" in proxy.told[-1]


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_compressed_requests_and_replies_are_read_as_they_pass(
    proxied: Callable[..., Running], raw: Raw, encoding: str
) -> None:
    pack = {"gzip": gzip.compress, "zstd": zstandard.ZstdCompressor().compress}[encoding]
    said = pack(json.dumps({"id": "m", "content": [{"type": "text", "text": "Hi"}]}).encode())
    head = f"HTTP/1.1 200 OK\r\nContent-Encoding: {encoding}\r\nContent-Length: {len(said)}\r\n\r\n"
    raw.says(head.encode() + said)
    proxy, asked = proxied(raw.url), pack(json.dumps(ASKED).encode())
    response = ask(
        proxy,
        "POST /v1/messages HTTP/1.1",
        *(f"Content-Encoding: {encoding}", f"Content-Length: {len(asked)}"),
        body=asked,
    )
    assert (response.body, raw.last.body) == (said, asked)
    assert response.values("content-encoding") == [encoding]
    store = settled(proxy)
    assert [
        event.data["content"] for event in events(store, "message.user", "message.assistant")
    ] == [
        "Hello",
        [{"type": "text", "text": "Hi"}],
    ]


def test_no_encoding_is_asked_for_that_could_not_be_read(
    proxied: Callable[..., Running], raw: Raw
) -> None:
    body = json.dumps(ASKED).encode()
    for asked in ("gzip, made-up, zstd;q=0.5", "made-up"):
        ask(
            proxied(raw.url),
            "POST /v1/messages HTTP/1.1",
            *(f"Accept-Encoding: {asked}", f"Content-Length: {len(body)}"),
            body=body,
        )
    assert [one.values("accept-encoding") for one in raw.requests] == [
        ["gzip, zstd;q=0.5"],
        ["identity"],
    ]


def test_counting_tokens_is_no_request_for_a_message(proxy: Running, api: Server) -> None:
    assert client(proxy).messages.count_tokens(model=MODEL, messages=[user("Hello")]).input_tokens
    assert sessions(settled(proxy)) == []


def test_a_compaction_by_another_program_is_no_conflict(proxy: Running, api: Server) -> None:
    sdk = client(proxy, default_headers={"x-foldlog-session": "s"})
    say(sdk, user("One"))
    with EventStore(proxy.store.path) as other:
        Session(other, "s").rename("Another title")
    said = say(sdk, user("One"), assistant("Understood."), user("Two"))
    assert said.content[0].text == "Understood."
    assert [e.type for e in events(settled(proxy))][-4:] == [
        *("session.renamed", "message.user", "request.sent", "message.assistant")
    ]


@pytest.mark.parametrize("policy", [None, "adaptive"])
@pytest.mark.parametrize("begun", [False, True])
def test_another_program_that_appends_just_then_is_no_conflict(
    proxied: Callable[..., Running],
    api: Server,
    monkeypatch: pytest.MonkeyPatch,
    policy: str | None,
    begun: bool,
) -> None:
    proxy = proxied(api.url, policy=policy)
    caught_up, waiting = recorder._caught_up, ["Another title", "And another"]

    def raced(session: Session) -> None:
        caught_up(session)
        if waiting:
            with EventStore(proxy.store.path) as other:
                Session(other, "s").rename(waiting.pop())

    sdk, said = client(proxy, default_headers={"x-foldlog-session": "s"}), [user("One")]
    if begun:
        say(sdk, *said)
        said += [assistant("Understood."), user("Two")]
    monkeypatch.setattr(recorder, "_caught_up", raced)
    assert say(sdk, *said).content[0].text == "Understood."
    assert waiting == []
    found = types(settled(proxy))
    assert found.count("message.user") == found.count("request.sent") == (2 if begun else 1)


def test_managed_a_view_that_is_too_long_is_sent_smaller(
    proxied: Callable[..., Running], api: Server
) -> None:
    """The harness keeps its list and never hears of the refusal."""
    api.window = 30_000
    proxy = proxied(api.url, policy="adaptive")
    said = [user("Look at all of them")]
    for n in range(12):
        said.append(assistant([call("bash", f"toolu_{n}", n=n)]))
        result = {"type": "tool_result", "tool_use_id": f"toolu_{n}", "content": f"{n} " * 6_000}
        said.append(user([result]))
    reply = say(client(proxy), *said, tools=[BASH])
    assert reply.content[0].text == "Understood."
    assert api.requests[0].refusal is not None
    assert api.last.refusal is None
    assert len(json.dumps(api.last.body)) < len(json.dumps(api.requests[0].body))
    assert len(events(settled(proxy), "request.sent")) == len(api.requests) == 2
