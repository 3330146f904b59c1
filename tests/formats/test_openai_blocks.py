"""Forms of OpenAI's two APIs, as programs keep them on disk, in the words of the Messages API."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldlog.cli.formats.openai_blocks import call, from_item, from_message, tools, usage
from foldlog.eventstore.codec import dumps

PIXEL = "iVBORw0KGgo="


def item(**fields: Any) -> Any:
    mapped = from_item(fields)
    return None if mapped is None else (mapped.type, mapped.data)


def reply(**fields: Any) -> Any:
    type_, data = item(**fields)
    assert type_ == "message.assistant"
    return data["content"]


def chat(**fields: Any) -> Any:
    mapped = from_message(fields)
    return None if mapped is None else (mapped.type, mapped.data)


def text(words: str) -> dict[str, str]:
    return {"type": "text", "text": words}


def test_messages_get_the_event_of_their_role_and_text_blocks() -> None:
    said = [{"type": "input_text", "text": "Hello"}]
    assert item(type="message", role="user", content=said) == (
        "message.user",
        {"content": [text("Hello")]},
    )
    assert item(role="user", content="Hello") == ("message.user", {"content": "Hello"})
    assert item(type="message", role="developer", content=said)[0] == "message.system"
    answer = [{"type": "output_text", "text": "Hi", "annotations": []}]
    assert reply(type="message", role="assistant", content=answer) == [text("Hi")]
    refusal = [{"type": "refusal", "refusal": "No."}]
    assert reply(type="message", role="assistant", content=refusal) == [text("No.")]


def test_images_and_files_become_sources() -> None:
    given = [
        {"type": "input_image", "image_url": f"data:image/jpeg;base64,{PIXEL}", "detail": "auto"},
        {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
        {
            "type": "input_file",
            "filename": "a.pdf",
            "file_data": "data:application/pdf;base64,AA==",
        },
    ]
    assert item(type="message", role="user", content=given)[1]["content"] == [
        {
            "type": "image",
            "source": {"type": "base64", "media_type": "image/jpeg", "data": PIXEL},
        },
        {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}},
        {
            "type": "document",
            "source": {"type": "base64", "media_type": "application/pdf", "data": "AA=="},
            "title": "a.pdf",
        },
    ]


def test_what_has_no_counterpart_is_carried_through() -> None:
    audio = {"type": "input_audio", "input_audio": {"data": "AA==", "format": "wav"}}
    assert item(type="message", role="user", content=[audio])[1]["content"] == [audio]
    packed = {"type": "compaction", "encrypted_content": "gAAA"}
    assert reply(**packed) == [packed]


@pytest.mark.parametrize(
    ("arguments", "becomes"),
    [
        ('{"cmd": "ls"}', {"cmd": "ls"}),
        ({"cmd": "ls"}, {"cmd": "ls"}),
        ("", {}),
        (None, {}),
        ('{"cmd": ', {"input": '{"cmd": '}),
        ('["ls"]', {"input": '["ls"]'}),
        (7, {"input": 7}),
        ('{"n": 123456789012345678901234567890}', {"n": 123456789012345678901234567890}),
        ('{"n": NaN}', {"input": '{"n": NaN}'}),
        ('{"n":' * 300 + "1" + "}" * 300, {"input": '{"n":' * 300 + "1" + "}" * 300}),
    ],
)
def test_arguments_are_an_object_or_kept_as_input(arguments: Any, becomes: Any) -> None:
    made = {"type": "tool_use", "id": "call_1", "name": "exec", "input": becomes}
    assert call("call_1", "exec", arguments) == made
    assert reply(type="function_call", call_id="call_1", name="exec", arguments=arguments) == [made]


def test_calls_of_every_kind_are_tool_uses() -> None:
    assert reply(type="custom_tool_call", call_id="c", name="apply_patch", input="***") == [
        {"type": "tool_use", "id": "c", "name": "apply_patch", "input": {"input": "***"}}
    ]
    action = {"type": "exec", "command": ["ls"]}
    assert reply(type="local_shell_call", id="l", call_id="c", action=action) == [
        {"type": "tool_use", "id": "c", "name": "local_shell", "input": action}
    ]
    assert reply(type="tool_search_call", call_id="c", arguments={"query": "x"}) == [
        {"type": "tool_use", "id": "c", "name": "tool_search", "input": {"query": "x"}}
    ]
    searched = {"type": "search", "query": "x"}
    assert reply(type="web_search_call", id="ws", status="completed", action=searched) == [
        {"type": "server_tool_use", "name": "web_search", "input": searched, "id": "ws"}
    ]
    called, answered = reply(
        type="mcp_call", id="m", name="q", server_label="db", arguments="{}", output="42"
    )
    assert (called["type"], called["server_name"]) == ("mcp_tool_use", "db")
    assert answered == {
        "type": "mcp_tool_result",
        "tool_use_id": "m",
        "is_error": False,
        "content": [text("42")],
    }


def test_outputs_are_results_of_their_call() -> None:
    plain = item(type="function_call_output", call_id="c", output="done")
    assert plain == ("tool.result", {"tool_use_id": "c", "content": "done"})
    parts = [{"type": "input_text", "text": "a"}]
    listed = item(type="custom_tool_call_output", call_id="c", output=parts)
    assert listed == ("tool.result", {"tool_use_id": "c", "content": [text("a")]})
    old = item(type="function_call_output", call_id="c", output={"content": "x", "success": False})
    assert old == ("tool.result", {"tool_use_id": "c", "is_error": True, "content": "x"})


def test_found_tools_are_a_result_of_json_text() -> None:
    _, data = item(
        type="tool_search_output", call_id="c", tools=[{"type": "function", "name": "f"}]
    )
    assert json.loads(data["content"]) == [{"type": "function", "name": "f"}]


def test_reasoning_is_thinking_without_a_signature() -> None:
    summary = [{"type": "summary_text", "text": "One."}, {"type": "summary_text", "text": "Two."}]
    packed = {"id": "rs_1", "encrypted_content": "gAAA"}
    assert reply(type="reasoning", summary=summary, content=None, **packed) == [
        {"type": "thinking", "thinking": "One.\n\nTwo.", **packed}
    ]


def test_items_that_no_model_sees_are_none() -> None:
    assert item(type="ghost_snapshot", ghost_commit={}) is None
    assert item(type="message", role="critic", content="x") is None
    assert from_item("text") is None


def test_a_chat_reply_is_thinking_then_text_then_calls() -> None:
    function = {"name": "ls", "arguments": '{"path": "."}'}
    made = chat(
        role="assistant",
        content="Looking.",
        reasoning_content="Hm.",
        tool_calls=[{"id": "c", "type": "function", "function": function}],
    )
    assert made == (
        "message.assistant",
        {
            "content": [
                {"type": "thinking", "thinking": "Hm."},
                text("Looking."),
                {"type": "tool_use", "id": "c", "name": "ls", "input": {"path": "."}},
            ]
        },
    )


def test_a_chat_tool_message_is_a_result() -> None:
    assert chat(role="tool", tool_call_id="c", content="a.txt") == (
        "tool.result",
        {"tool_use_id": "c", "content": "a.txt"},
    )


def test_the_oldest_functions_of_chat_are_answered_by_name() -> None:
    _, data = chat(role="assistant", content=None, function_call={"name": "f", "arguments": "{}"})
    assert data["content"] == [{"type": "tool_use", "id": "f", "name": "f", "input": {}}]
    assert chat(role="function", name="f", content="1")[1]["tool_use_id"] == "f"


def test_usage_leaves_the_cache_out_of_the_input() -> None:
    counted = {"input_tokens": 10, "cache_read_input_tokens": 90, "output_tokens": 5}
    responses = {"input_tokens": 100, "input_tokens_details": {"cached_tokens": 90}}
    assert usage({**responses, "output_tokens": 5, "total_tokens": 105}) == counted
    of_chat = {"prompt_tokens": 100, "prompt_tokens_details": {"cached_tokens": 90}}
    assert usage({**of_chat, "completion_tokens": 5}) == counted
    assert usage({"input_tokens": 100, "cached_input_tokens": 90, "output_tokens": 5}) == counted
    assert usage({"input_tokens": "many", "output_tokens": True}) == {}


def test_tools_of_both_apis_become_definitions() -> None:
    schema = {"type": "object", "properties": {"path": {"type": "string"}}}
    function = {"name": "ls", "description": "List.", "parameters": schema}
    made = {"name": "ls", "description": "List.", "input_schema": schema}
    other = {"type": "web_search"}
    given = [{"type": "function", **function}, {"type": "function", "function": function}, other]
    assert tools(given) == [made, made, other]


@pytest.mark.parametrize("type_", [[], {}, 7, None])
def test_a_part_of_no_type_is_carried_through(type_: Any) -> None:
    part = {"type": type_, "text": "x"}
    assert item(role="user", content=[part])[1]["content"] == [part]
    assert item(type="function_call_output", call_id="c", output=[part])[0] == "tool.result"


SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
KINDS = st.sampled_from(
    [
        *("message", "reasoning", "function_call", "function_call_output", "custom_tool_call"),
        *("mcp_call", "local_shell_call", "web_search_call", "image_generation_call"),
        *("compaction", "tool_search_output"),
    ]
)
PARTS = st.fixed_dictionaries(
    {
        "type": st.sampled_from(["input_text", "input_image", "input_file", "refusal"]) | VALUES,
        **dict.fromkeys(("text", "image_url", "file", "file_data", "refusal"), VALUES),
    }
)
FIELDS = st.dictionaries(
    st.sampled_from(
        [
            *("role", "content", "summary", "id", "call_id", "name", "arguments", "input"),
            *("output", "action", "error", "tools", "tool_calls", "function_call"),
            *("reasoning_content", "refusal", "tool_call_id"),
        ]
    ),
    VALUES | st.lists(PARTS, max_size=2) | st.sampled_from(["user", "assistant", "tool"]),
)


@given(FIELDS, KINDS | VALUES)
def test_whatever_is_in_an_item_it_is_mapped_or_none(fields: dict[str, Any], kind: Any) -> None:
    for mapped in (from_item({**fields, "type": kind}), from_message(fields)):
        if mapped is not None:
            dumps(mapped.data)
    assert isinstance(usage(fields.get("content")), dict)
    assert isinstance(tools(fields.get("tools")), list)
