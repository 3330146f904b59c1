"""Streams: however their bytes are cut, and wherever they break, what came is there."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldlog.projections.live.stream import MessageStream
from tests.server.stream import encoded, events

FIXTURES = Path(__file__).parents[1] / "fixtures" / "sse"

USAGE = {"input_tokens": 9, "output_tokens": 8, "iterations": [{"type": "message"}]}


def message(*content: Any, **more: Any) -> dict[str, Any]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-opus-5",
        "content": list(content),
        "stop_reason": "tool_use",
        "stop_sequence": None,
        "stop_details": None,
        "usage": USAGE,
        **more,
    }


TEXT = {"type": "text", "text": "One text, 两个字, and \r\n a line."}
THOUGHT = {"type": "thinking", "thinking": "Let me think about it.", "signature": "c2ln"}
HIDDEN = {"type": "redacted_thinking", "data": "AAAA"}
CALL = {
    "type": "tool_use",
    "id": "toolu_1",
    "name": "bash",
    "input": {"command": "ls -la", "deep": {"list": [1, 2.5, None, "中文"]}},
    "caller": {"type": "direct"},
}
BARE = {"type": "tool_use", "id": "toolu_2", "name": "nothing", "input": {}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [{"a": 1}]}
FUTURE = {"type": "hologram", "rays": [1, 2], "unknown": {"field": True}}
RICH = message(THOUGHT, HIDDEN, TEXT, FUTURE, CALL, BARE, FOUND)


def folded(*chunks: bytes) -> MessageStream:
    stream = MessageStream()
    for chunk in chunks:
        stream.feed(chunk)
    return stream


def wire(whole: dict[str, Any]) -> bytes:
    return b"".join(map(encoded, events(whole)))


def event(name: str, **data: Any) -> bytes:
    return encoded((name, {"type": name, **data}))


def start(index: int, **block: Any) -> bytes:
    return event("content_block_start", index=index, content_block=block)


def delta(index: int, **delta: Any) -> bytes:
    return event("content_block_delta", index=index, delta=delta)


DEEP = "[" * 400 + "]" * 400
"""More than an event can hold."""

BEGUN = event("message_start", message={**message(), "stop_reason": None})
TEXT_BEGUN = BEGUN + start(0, type="text", text="")

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
objects = st.dictionaries(st.text(), json_values, max_size=3)
block_kinds = (
    st.builds(lambda text: {"type": "text", "text": text}, st.text())
    | st.builds(
        lambda text, signed: {"type": "thinking", "thinking": text, "signature": signed},
        st.text(),
        st.text(),
    )
    | st.builds(lambda data: {"type": "redacted_thinking", "data": data}, st.text())
    | st.builds(
        lambda type, given: {"type": type, "id": "t", "name": "n", "input": given, "more": 1},
        st.sampled_from(["tool_use", "server_tool_use"]),
        objects,
    )
    | st.builds(lambda more: {**more, "type": "hologram"}, objects)
)
messages = st.builds(lambda content: message(*content), st.lists(block_kinds, max_size=4))


class TestAnyMessage:
    @given(messages, st.data())
    def test_is_itself_again_wherever_its_bytes_are_cut(
        self, whole: dict[str, Any], data: st.DataObject
    ) -> None:
        sent = wire(whole)
        cuts = sorted(data.draw(st.lists(st.integers(0, len(sent)), max_size=12)))
        chunks = [sent[a:b] for a, b in zip([0, *cuts], [*cuts, len(sent)], strict=True)]
        stream = folded(*chunks)
        assert stream.message == whole
        assert json.dumps(stream.message) == json.dumps(whole)  # its keys in order, too
        assert (stream.complete, stream.error, stream.strange) == (True, None, [])
        assert stream.unfinished == []

    @pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
    def test_whatever_ends_its_lines(self, end: str) -> None:
        sent = wire(RICH).replace(b"\n", end.encode())
        assert folded(*(bytes([byte]) for byte in sent)).message == RICH
        assert folded(sent).message == RICH
        assert folded(*(sent[at : at + 2] for at in range(0, len(sent), 2))).message == RICH

    @given(st.binary(), st.integers(0, 40))
    def test_strange_bytes_never_raise(self, noise: bytes, at: int) -> None:
        parts = wire(RICH).split(b"\n\n")
        sent = b"\n\n".join([*parts[:at], noise, *parts[at:]])
        stream = folded(sent)
        _ = stream.message, stream.unfinished

    @given(st.lists(objects, max_size=3), st.integers(0, 40))
    def test_strange_events_never_raise(self, noise: list[Any], at: int) -> None:
        names = ["message_start", "content_block_start", "content_block_delta", "message_delta"]
        made = [
            encoded((name, {"type": name, key: value}))
            for name in names
            for value in [*noise, {"type": "text_delta", "text": 5}, {"content": [1]}, 5]
            for key in ("message", "content_block", "delta", "usage", "index")
        ]
        stream = folded(*map(encoded, [*events(RICH)][:at]), *made)
        _ = stream.message, stream.unfinished


class TestWhatIsUnknown:
    def test_fields_of_message_blocks_and_ends_stay(self) -> None:
        sent = (
            event("message_start", message={**message(), "novel": 1})
            + start(0, type="text", text="", novel=2)
            + delta(0, type="text_delta", text="Hi")
            + event("content_block_stop", index=0)
            + event("message_delta", delta={"novel_end": 3}, usage={"novel_use": 4}, novel_too=5)
            + event("message_stop")
        )
        found = folded(sent).message
        assert found is not None
        assert found["content"] == [{"type": "text", "text": "Hi", "novel": 2}]
        assert (found["novel"], found["novel_end"], found["novel_too"]) == (1, 3, 5)
        assert found["usage"] == {**USAGE, "novel_use": 4}

    def test_events_are_kept_beside(self) -> None:
        news = {"type": "novel_event", "x": 1}
        stream = folded(TEXT_BEGUN, encoded(("novel_event", news)), encoded(("odd", {"y": 2})))
        assert stream.strange == [news, {"y": 2}]

    def test_deltas_are_kept_beside_and_change_nothing(self) -> None:
        ray, padded = {"type": "ray_delta", "ray": 3}, {"type": "text_delta", "text": "a", "pad": 1}
        stream = folded(TEXT_BEGUN, delta(0, **ray), delta(0, **padded), delta(7, **ray))
        assert [found["delta"] for found in stream.strange] == [ray, padded, ray]
        assert stream.message is not None
        assert stream.message["content"] == []

    def test_data_that_is_no_json_is_kept_as_text(self) -> None:
        stream = folded(TEXT_BEGUN, b"event: odd\ndata: {half\n\n", b"data: \xff\n\n")
        assert stream.strange == [
            {"event": "odd", "data": "{half"},
            {"event": "message", "data": "\\xff"},
        ]

    def test_data_that_no_event_can_hold_is_kept_as_text(self) -> None:
        deep, endless = f'{{"type": "odd", "x": {DEEP}}}', '{"type": "odd", "x": 1e400}'
        for data in (deep, endless):
            stream = folded(TEXT_BEGUN, f"event: odd\ndata: {data}\n\n".encode())
            assert stream.strange == [{"event": "odd", "data": data}]

    def test_a_call_too_deep_to_be_recorded_is_kept_as_text(self) -> None:
        called = {"type": "tool_use", "id": "toolu_1", "name": "n", "input": {}}
        stream = folded(
            event("message_start", message={"content": []}),
            event("content_block_start", index=0, content_block=called),
            delta(0, type="input_json_delta", partial_json=f'{{"x": {DEEP}}}'),
            event("content_block_stop", index=0),
        )
        assert stream.unfinished == [{**called, "partial_json": f'{{"x": {DEEP}}}'}]

    def test_an_event_before_the_message_is_kept(self) -> None:
        stream = folded(event("message_stop"))
        assert (stream.message, stream.complete) == (None, False)
        assert stream.strange == [{"type": "message_stop"}]


class TestLines:
    def test_comments_pings_and_other_fields_say_nothing(self) -> None:
        noise = b": hello\n\nevent: ping\ndata: {}\n\nid: 7\nretry: 10\nnonsense\n\n"
        stream = folded(*(part + b"\n\n" + noise for part in wire(RICH).split(b"\n\n")))
        assert (stream.message, stream.strange) == (RICH, [])

    def test_data_in_several_lines_is_one(self) -> None:
        stream = folded(b'\xef\xbb\xbfdata: {"type": "message_start",\ndata:"message": {}}\n\n')
        assert stream.message == {"content": []}

    def test_a_line_end_that_is_cut_in_two_is_one(self) -> None:
        sent = b'data: {"type": "message_start",\r\ndata: "message": {}}\r\n\r\n'
        assert folded(*(bytes([byte]) for byte in sent)).message == {"content": []}

    def test_the_type_of_the_data_names_the_event(self) -> None:
        sent = b"".join(b"data: %s\n\n" % json.dumps(data).encode() for _, data in events(RICH))
        assert folded(sent).message == RICH

    def test_an_event_that_did_not_end_is_none(self) -> None:
        stream = folded(wire(RICH).removesuffix(b"\n"))
        assert not stream.complete
        stream.feed(b"\n")
        assert stream.complete


class TestBroken:
    def test_at_every_event_what_came_is_there(self) -> None:
        sent = [*events(RICH)]
        for end in range(1, len(sent)):
            stream = folded(*map(encoded, sent[:end]))
            assert not stream.complete
            stopped = sum(name == "content_block_stop" for name, _ in sent[:end])
            started = sum(name == "content_block_start" for name, _ in sent[:end])
            found = stream.message
            assert found is not None
            assert found["content"][:stopped] == RICH["content"][:stopped]
            assert len(found["content"]) + len(stream.unfinished) <= started
            for block in found["content"][stopped:]:  # only a text may be cut
                assert block["type"] == "text"
                assert TEXT["text"].startswith(block["text"])

    def test_a_call_whose_input_is_no_json_yet_is_unfinished(self) -> None:
        begun = start(0, **{**CALL, "input": {}})
        stream = folded(BEGUN, begun, delta(0, type="input_json_delta", partial_json='{"com'))
        assert stream.message is not None
        assert stream.message["content"] == []
        assert stream.unfinished == [{**CALL, "input": {}, "partial_json": '{"com'}]

    def test_thinking_without_its_signature_is_unfinished(self) -> None:
        begun = start(0, type="thinking", thinking="", signature="")
        stream = folded(BEGUN, begun, delta(0, type="thinking_delta", thinking="So"))
        assert stream.unfinished == [{"type": "thinking", "thinking": "So", "signature": ""}]

    def test_a_text_that_had_only_begun_is_nothing(self) -> None:
        stream = folded(TEXT_BEGUN)
        assert stream.message is not None
        assert (stream.message["content"], stream.unfinished) == ([], [])

    def test_an_error_is_told(self) -> None:
        error = {"type": "overloaded_error", "message": "Overloaded"}
        stream = folded(TEXT_BEGUN, event("error", error=error))
        assert stream.error == {"type": "error", "error": error}
        assert not stream.complete
        assert folded(b"event: error\ndata: sorry\n\n").error == "sorry"


class TestSdkFixtures:
    """The streams that the SDK's own tests fold."""

    def read(self, name: str) -> bytes:
        return (FIXTURES / f"{name}_response.txt").read_bytes() + b"\n\n"

    def test_a_compaction(self) -> None:
        stream = folded(self.read("compaction"))
        assert stream.complete
        assert stream.message is not None
        assert stream.message["content"] == [
            {
                "type": "compaction",
                "content": "Earlier conversation summarized.",
                "encrypted_content": "EpwBCioIDxgCEAEYASJALd_opaque_compaction_payload",
            },
            {"type": "text", "text": "Hello there!"},
        ]
        assert stream.message["usage"] == {"input_tokens": 30, "output_tokens": 8}

    def test_a_call(self) -> None:
        stream = folded(self.read("tool_use"))
        assert stream.message is not None
        assert stream.message["stop_reason"] == "tool_use"
        assert stream.message["content"][1]["input"] == {"location": "Paris"}
        assert stream.message["usage"]["service_tier"] == "standard"

    def test_a_call_that_max_tokens_cut_short(self) -> None:
        stream = folded(self.read("incomplete_partial_json"))
        assert stream.complete
        assert stream.message is not None
        assert [block["type"] for block in stream.message["content"]] == ["text"]
        assert stream.message["stop_reason"] == "max_tokens"
        assert [block["id"] for block in stream.unfinished] == ["toolu_01EKqbqmZrGRXy18eN7m9kvY"]
        assert stream.unfinished[0]["partial_json"].endswith("Filing taxes")


def test_asking_does_not_change_what_comes() -> None:
    stream = MessageStream()
    for one in map(encoded, events(RICH)):
        before = copy.deepcopy(stream.message)
        assert stream.message == before
        stream.feed(one)
    assert stream.message == RICH
