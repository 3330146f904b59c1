"""Every way to ask the SDK is recorded, and changes nothing for its user."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest
from pydantic import BaseModel

from tests.live.harness import types
from tests.live.sdk import RICH, Place, asked, helper, streaming_response
from tests.server import Server, reply

# -- the ways to ask: each gives the content of the reply -----------------------------------------


def plain(client: Any) -> Any:
    return client.messages.create(**asked()).content


def beta(client: Any) -> Any:
    return client.beta.messages.create(**asked(), betas=["interleaved-thinking-2025-05-14"]).content


def beta_helper(client: Any) -> Any:
    with client.beta.messages.stream(**asked()) as stream:
        list(stream.text_stream)
        return stream.get_final_message().content


def raw_stream(client: Any) -> Any:
    stream = client.messages.create(**asked(), stream=True)
    return [e.content_block for e in stream if e.type == "content_block_start"]


def raw_response(client: Any) -> Any:
    response = client.messages.with_raw_response.create(**asked())
    assert response.headers["request-id"]
    return response.parse().content


def raw_response_stream(client: Any) -> Any:
    response = client.messages.with_raw_response.create(**asked(), stream=True)
    return [e.content_block for e in response.parse() if e.type == "content_block_start"]


def streaming_lines(client: Any) -> Any:
    with client.messages.with_streaming_response.create(**asked(), stream=True) as response:
        return [line for line in response.iter_lines() if "content_block_start" in line][::2]


WAYS = [
    plain,
    beta,
    helper,
    beta_helper,
    raw_stream,
    raw_response,
    raw_response_stream,
    streaming_response,
    streaming_lines,
]


@pytest.mark.parametrize("way", WAYS)
def test_every_way_to_ask_is_recorded(api: Server, place: Place, way: Callable[[Any], Any]) -> None:
    api.script(RICH)
    assert len(way(place.sync())) == 3
    sent = api.last.message
    assert sent is not None
    assert place.reply.data["content"] == sent["content"]
    assert place.reply.data["id"] == sent["id"]
    assert place.reply.data["usage"] == sent["usage"]
    assert place.reply.data["stop_reason"] == "tool_use"
    assert place.reply.data["request_id"].startswith("req_")
    assert "partial" not in place.reply.data
    assert types(place.session) == ["message.user", "request.sent", "message.assistant"]


async def async_plain(client: Any) -> Any:
    return (await client.messages.create(**asked())).content


async def async_helper(client: Any) -> Any:
    async with client.messages.stream(**asked()) as stream:
        return (await stream.get_final_message()).content


async def async_raw_stream(client: Any) -> Any:
    stream = await client.messages.create(**asked(), stream=True)
    return [e.content_block async for e in stream if e.type == "content_block_start"]


async def async_raw_response(client: Any) -> Any:
    response = await client.messages.with_raw_response.create(**asked())
    return (await response.parse()).content


async def async_streaming_response(client: Any) -> Any:
    async with client.messages.with_streaming_response.create(**asked()) as response:
        return (await response.parse()).content


ASYNC_WAYS = [
    async_plain,
    async_helper,
    async_raw_stream,
    async_raw_response,
    async_streaming_response,
]


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@pytest.mark.parametrize("way", ASYNC_WAYS)
def test_every_way_to_await_is_recorded(
    api: Server, place: Place, way: Callable[[Any], Awaitable[Any]], backend: str
) -> None:
    if backend == "trio":
        pytest.importorskip("trio")
    api.script(RICH)

    async def ask() -> Any:
        async with place.on_loop() as client:
            return await way(client)

    assert len(anyio.run(ask, backend=backend)) == 3
    assert api.last.message is not None
    assert place.reply.data["content"] == api.last.message["content"]
    assert types(place.session) == ["message.user", "request.sent", "message.assistant"]


class Weather(BaseModel):
    degrees: int


def test_parsed_output(api: Server, place: Place) -> None:
    api.script(reply('{"degrees": 3}'))
    message = place.sync().messages.parse(**asked(), output_format=Weather)
    assert message.parsed_output == Weather(degrees=3)
    assert place.reply.data["content"] == [{"type": "text", "text": '{"degrees": 3}'}]
