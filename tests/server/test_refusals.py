"""Each refusal, through the real SDK: its status, its text as the API words it, its code."""

from __future__ import annotations

from typing import Any

import anthropic
import httpx2
import pytest
from anthropic.types.image_dimensions_too_large_error import ImageDimensionsTooLargeError
from anthropic.types.tool_reference_unresolved_error import ToolReferenceUnresolvedError

from tests.server import Server, reply
from tests.server.talk import (
    ANSWER,
    CALL,
    HITS,
    HOUR,
    MARK,
    NEW,
    OLD,
    SEARCH,
    a,
    image,
    s,
    send,
    text,
    u,
    wire,
)

GOOD: dict[str, list[dict[str, Any]]] = {
    "a word": [u()],
    "a tool loop": [u(), a(text(), CALL), u(ANSWER, text()), a(), u()],
    "parallel calls, results in two messages": [
        u(),
        a(CALL, {**CALL, "id": "t2"}),
        u(ANSWER),
        u({**ANSWER, "tool_use_id": "t2"}),
    ],
    "an empty result": [u(), a(CALL), u({**ANSWER, "content": ""})],
    "a server tool": [u(), a(SEARCH, HITS, text()), u()],
    "a server tool that goes on later": [u(), a(SEARCH, CALL), u(ANSWER), a(HITS, text()), u()],
    "a server tool that waits for our result": [u(), a(SEARCH, CALL), u(ANSWER)],
    "a server tool that paused": [u(), a(text(), SEARCH)],
    "a system message": [u(), s(), a(), u()],
    "a system message at the end": [u(), a(CALL), u(ANSWER), s()],
    "a system message behind a server tool": [u(), a(SEARCH, HITS), s()],
    "four marks, hours first": [u(text(**HOUR), text(**HOUR), text(**MARK), text(**MARK))],
    "null for a field that may be null": [u(text(citations=None))],
}


@pytest.mark.parametrize("messages", GOOD.values(), ids=GOOD)
def test_what_the_api_takes_is_answered(api: Server, messages: list[dict[str, Any]]) -> None:
    assert send(api, *messages).content[0].text == "Understood."


FEW: dict[str, tuple[list[dict[str, Any]], str]] = {
    "no message": ([], "at least one message is required"),
    "an assistant first": ([a(), u()], 'first message must use the "user" role'),
    "a system message first": ([s(), u()], "messages.0: use the top-level 'system' parameter"),
    "a role of another kind": ([{"role": "tool", "content": "x"}], "messages.0.role"),
    "an empty text": ([u(text(""))], "text content blocks must be non-empty"),
    "a blank text": ([u(text(" \n"))], "text content blocks must contain non-whitespace text"),
    "a blank text in a result": (
        [u(), a(CALL), u({**ANSWER, "content": [text(" ")]})],
        "must contain non-whitespace text",
    ),
    "a mark on an empty text": ([u(text("", **MARK))], "cannot be set for empty text blocks"),
    "a message without content": (
        [u(), {"role": "assistant", "content": []}, u()],
        "messages.1: all messages must have non-empty content except for the optional final",
    ),
    "a call unanswered": (
        [u(), a(CALL), u()],
        "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: t1",
    ),
    "a call at the end": ([u(), a(CALL)], "ids were found without `tool_result` blocks"),
    "a text before a result": ([u(), a(CALL), u(text(), ANSWER)], "ids were found without"),
    "one of two calls unanswered": (
        [u(), a(CALL, {**CALL, "id": "t2"}), u(ANSWER)],
        "immediately after: t2",
    ),
    "a result without a call": (
        [u(), a(), u(ANSWER)],
        "messages.2.content.0: unexpected `tool_use_id` found in `tool_result` blocks: t1",
    ),
    "a result one message late": (
        [u(), a(CALL), u(ANSWER), a(), u(ANSWER)],
        "messages.4.content.0: unexpected `tool_use_id`",
    ),
    "two results": (
        [u(), a(CALL), u(ANSWER, ANSWER)],
        "messages.2.content.1: each tool_use must have a single result. Found multiple",
    ),
    "one id twice": (
        [u(), a(CALL), u(ANSWER), a(CALL), u(ANSWER)],
        "messages.3.content.0: `tool_use` ids must be unique",
    ),
    "an id that is none": ([u(), a({**CALL, "id": "t 1"})], "String should match pattern"),
    "a call by the user": ([u(CALL)], "`tool_use` blocks can only be in `assistant` messages"),
    "a result by the assistant": ([u(), a(ANSWER)], "can only be in `user` messages"),
    "a failed result with an image": (
        [u(), a(CALL), u({**ANSWER, "is_error": True, "content": [image(9, 9)]})],
        'all content must be type "text" if "is_error" is true',
    ),
    "a toolset not echoed": (
        [u(), a({**CALL, "toolset_name": "browser"}), u(ANSWER)],
        "tool_result.toolset_name",
    ),
    "a server tool without its result": (
        [u(), a(SEARCH, text()), u()],
        (
            "messages.1: `web_search` tool use with id `srvtoolu_1` was found without a"
            " corresponding `web_search_tool_result` block"
        ),
    ),
    "a server tool's result without its call": ([u(), a(HITS), u()], "unexpected `tool_use_id`"),
    "a system message behind an assistant": ([u(), a(), s()], "must follow a user message"),
    "a system message before a user": ([u(), s(), u()], "followed by an assistant message"),
    "a system message within a tool loop": ([u(), a(CALL), s(), u(ANSWER)], "must follow a user"),
    "a tool removed by the user": (
        [u({"type": "tool_removal", "tool": {"type": "tool_reference", "name": "bash"}})],
        "can only be in `system` messages",
    ),
    "five marks": (
        [u(*[text(**MARK)] * 5)],
        "A maximum of 4 blocks with cache_control may be provided. Found 5.",
    ),
    "an hour behind minutes": (
        [u(text(**MARK), text(**HOUR))],
        (
            "messages.0.content.1.cache_control.ttl: a ttl='1h' cache_control block must not come"
            " after a ttl='5m' cache_control block."
        ),
    ),
    "a mark on thinking": (
        [u(), a({"type": "thinking", "thinking": "", "signature": "", **MARK}, text()), u()],
        "cache_control: Extra inputs are not permitted",
    ),
    "a mark of another kind": (
        [u(text(cache_control={"type": "forever"}))],
        "cache_control.type: Input should be 'ephemeral'",
    ),
    "a mark of another lifetime": (
        [u(text(cache_control={"type": "ephemeral", "ttl": "2h"}))],
        "cache_control.ttl: Input should be '5m' or '1h'",
    ),
    "thinking at the end of a turn": (
        [u(), a(text(), {"type": "thinking", "thinking": "hm", "signature": "s"}), u()],
        "messages.1: The final block in an assistant message cannot be `thinking`.",
    ),
    "thinking without a signature": (
        [u(), a({"type": "thinking", "thinking": "hm"}, text()), u()],
        "thinking.signature: Field required",
    ),
    "thinking with an empty signature": (
        [u(), a({"type": "thinking", "thinking": "hm", "signature": ""}, text()), u()],
        "messages.1.content.0: Invalid `signature` in `thinking` block",
    ),
    "a field of ours": ([u(text(version=3))], "text.version: Extra inputs are not permitted"),
    "a message's own field": (
        [{**u(), "id": "msg_1"}],
        "messages.0.id: Extra inputs are not permitted",
    ),
    "null for a content": ([u(), a(CALL), u({**ANSWER, "content": None})], "should not be null"),
    "a call without input": (
        [u(), a({"type": "tool_use", "id": "t1", "name": "bash"})],
        "tool_use.input: Field required",
    ),
    "a call whose input is a text": ([u(), a({**CALL, "input": "x"})], "valid dictionary"),
    "a block of another API": ([u({"type": "input_text", "text": "x"})], "Input tag 'input_text'"),
    "too many images": ([u(*[image(9, 9)] * 601)], "0 document pages + 601 images > 600"),
    "too large an image": ([u(image(8001, 9))], "exceed max allowed size: 8000 pixels"),
    "one of many images": ([u(*[image(2001, 9)] * 21)], "many-image requests: 2000 pixels"),
    "an image of many bytes": ([u(image(9, 9, extra=8_000_000))], "image exceeds 10 MB maximum"),
}


@pytest.mark.parametrize(("messages", "words"), FEW.values(), ids=FEW)
def test_what_the_api_refuses_is_refused(
    api: Server, messages: list[dict[str, Any]], words: str
) -> None:
    with pytest.raises(anthropic.BadRequestError) as refused:
        send(api, *messages)
    assert words in str(refused.value.api_message)
    assert refused.value.type == "invalid_request_error"


class TestCodes:
    def test_images_say_which_of_them_are_too_large(self, api: Server) -> None:
        with pytest.raises(ImageDimensionsTooLargeError) as refused:
            send(api, u(image(9, 9), image(9000, 9)))
        assert refused.value.details.paths == ["messages.0.content.1"]
        assert refused.value.details.max_side_length_pixels == 8000

    def test_a_tool_that_nobody_declared_cannot_be_removed(self, api: Server) -> None:
        removal = {"type": "tool_removal", "tool": {"type": "tool_reference", "name": "bash"}}
        with pytest.raises(ToolReferenceUnresolvedError):
            send(api, u(), s(removal))
        tool = {"name": "bash", "input_schema": {"type": "object"}}
        assert send(api, u(), s(removal), tools=[tool]).stop_reason == "end_turn"


class TestMarks:
    def test_the_one_on_the_request_counts(self, api: Server) -> None:
        four = u(*[text(**MARK)] * 4)
        assert send(api, four)
        with pytest.raises(anthropic.BadRequestError, match="Found 5"):
            send(api, four, **MARK)


class TestModels:
    def test_newer_models_refuse_prefill(self, api: Server) -> None:
        with pytest.raises(anthropic.BadRequestError, match="does not support assistant message"):
            send(api, u(), a(), model="claude-opus-4-6")

    def test_older_ones_refuse_white_space_at_its_end(self, api: Server) -> None:
        assert send(api, u(), a(), model=OLD).role == "assistant"
        with pytest.raises(anthropic.BadRequestError, match="cannot end with trailing whitespace"):
            send(api, u(), a(text("The answer is ")), model=OLD)

    def test_older_ones_hear_no_system_message(self, api: Server) -> None:
        with pytest.raises(anthropic.BadRequestError, match="role 'system' is not supported"):
            send(api, u(), s(), model=OLD)

    def test_newer_ones_take_no_temperature_but_the_default(self, api: Server) -> None:
        warm: dict[str, Any] = {"extra_body": {"temperature": 0.2}}
        assert send(api, u(), model=OLD, **warm)
        assert send(api, u(), extra_body={"temperature": 1.0})
        with pytest.raises(anthropic.BadRequestError, match="`temperature` is deprecated for this"):
            send(api, u(), **warm)

    def test_models_of_small_windows_take_fewer_images(self, api: Server) -> None:
        with pytest.raises(anthropic.BadRequestError, match="101 images > 100"):
            send(api, u(*[image(9, 9)] * 101), model=OLD)

    def test_no_more_output_than_a_model_gives(self, api: Server) -> None:
        with pytest.raises(anthropic.BadRequestError, match="64001 > 64000, which is the maximum"):
            send(api, u(), model=OLD, max_tokens=64_001, timeout=9)

    def test_a_model_that_is_not_there(self, api: Server) -> None:
        with pytest.raises(anthropic.NotFoundError, match="model: claude-none"):
            send(api, u(), model="claude-none")
        with pytest.raises(anthropic.NotFoundError):
            api.client().models.retrieve("claude-none")

    def test_the_list_tells_windows(self, api: Server) -> None:
        client = api.client()
        windows = {model.id: model.max_input_tokens for model in client.models.list()}
        assert (windows[NEW], windows[OLD]) == (1_000_000, 200_000)
        api.window = 8_000
        assert client.models.retrieve(NEW).max_input_tokens == 8_000


class TestRequest:
    def test_a_key_is_needed(self, api: Server) -> None:
        sent = httpx2.post(f"{api.url}/v1/messages", json={}, trust_env=False)
        assert (sent.status_code, sent.json()["error"]["type"]) == (401, "authentication_error")

    def test_too_many_bytes(self, api: Server) -> None:
        api.max_bytes = 10_000
        with pytest.raises(anthropic.ContentTooLargeError, match="exceeds the maximum size"):
            send(api, u(text("x" * 10_000)))

    @pytest.mark.parametrize("field", ["system", "tools", "thinking"])
    def test_null_is_no_way_to_leave_out(self, api: Server, field: str) -> None:
        with pytest.raises(anthropic.BadRequestError, match=f"{field}: Input should not be null"):
            send(api, u(), extra_body={field: None})

    def test_a_parameter_that_is_not_there(self, api: Server) -> None:
        with pytest.raises(anthropic.BadRequestError, match="tool_choise: Extra inputs"):
            send(api, u(), extra_body={"tool_choise": 1})

    def test_blank_system_prompts(self, api: Server) -> None:
        with pytest.raises(anthropic.BadRequestError, match="system: text content blocks must be"):
            send(api, u(), system="")

    def test_what_was_sent_is_recorded(self, api: Server) -> None:
        send(api, u(text("hello")))
        assert api.last.body["messages"] == [u(text("hello"))]
        with pytest.raises(anthropic.BadRequestError):
            send(api, u(text("")))
        assert api.last.refusal is not None
        assert len(api.requests) == 2

    def test_too_many_messages(self, api: Server) -> None:
        body = {"model": NEW, "messages": [u()] * 100_001}
        assert "100001 > 100000" in str(api.refusal(body))

    def test_it_can_be_asked_without_being_sent_anything(self, api: Server) -> None:
        body = {"model": NEW, "messages": [u(), a(CALL), u()]}
        assert "`tool_use` ids" in str(api.refusal(body))
        assert api.refusal({**body, "messages": [u()]}) is None
        assert not api.requests


class TestOverflow:
    def test_the_text_of_current_models(self, api: Server) -> None:
        api.window = 500
        words = r"prompt is too long: (\d+) tokens > 500 maximum"
        with pytest.raises(anthropic.BadRequestError, match=words):
            send(api, u(text("word " * 600)))

    def test_older_models_count_what_they_may_answer(self, api: Server) -> None:
        api.window = 2_000
        words = r"input length and `max_tokens` exceed context limit: \d+ \+ 1000 > 2000, decrease"
        with pytest.raises(anthropic.BadRequestError, match=words):
            send(api, u(text("word " * 1_100)), model="claude-opus-4-1")
        assert send(api, u(text("word " * 900)), model="claude-opus-4-1")

    def test_current_models_stop_when_the_window_is_full(self, api: Server) -> None:
        api.window = 2_000
        api.script(reply("word " * 3_000))
        message = send(api, u(text("word " * 1_800)), max_tokens=10_000, timeout=9)
        assert message.stop_reason == "model_context_window_exceeded"
        usage = message.usage
        assert usage.input_tokens + usage.output_tokens == pytest.approx(2_000, abs=2)
        assert wire(message)[0]["text"].startswith("word word")

    def test_and_when_they_said_what_they_were_allowed_to(self, api: Server) -> None:
        api.script(reply("word " * 3_000))
        message = send(api, u(), max_tokens=50)
        assert (message.stop_reason, message.usage.output_tokens <= 51) == ("max_tokens", True)

    def test_blocks_share_what_is_allowed(self, api: Server) -> None:
        api.script(reply("word " * 30, "word " * 30, "word " * 30))
        message = send(api, u(), max_tokens=50)
        assert message.usage.output_tokens == 51
        assert [block["text"].count("word") for block in wire(message)] == [30, 20]


class TestCounting:
    def test_the_count_is_what_is_charged(self, api: Server) -> None:
        client = api.client()
        asked: dict[str, Any] = {
            "model": NEW,
            "messages": [u(text("hello " * 99))],
            "system": "Be.",
        }
        counted = client.messages.count_tokens(**asked)
        message = client.messages.create(max_tokens=9, **asked)
        assert message.usage.input_tokens == counted.input_tokens > 99

    def test_what_is_refused_is_not_counted(self, api: Server) -> None:
        with pytest.raises(anthropic.BadRequestError):
            api.client().messages.count_tokens(model=NEW, messages=[])
