"""The stand-in for OpenAI's Responses API refuses what that refuses."""

from __future__ import annotations

from typing import Any

import pytest

from tests.responses.rules import problem

CALL = {"type": "function_call", "call_id": "c1", "name": "ls", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "c1", "output": "a"}


def said(role: str, type_: str) -> dict[str, Any]:
    return {"type": "message", "role": role, "content": [{"type": type_, "text": "hi"}]}


USER = said("user", "input_text")


@pytest.mark.parametrize(
    ("items", "words"),
    [
        ([USER, CALL, OUTPUT], None),
        ([USER, OUTPUT], "No tool call found for function call output with call_id c1."),
        ([USER, OUTPUT, CALL], "No tool call found"),
        ([USER, CALL], "No tool output found for function call c1."),
        ([USER, CALL, CALL, OUTPUT], "Duplicate item"),
        ([said("user", "output_text")], "Invalid value: 'output_text'."),
        ([said("assistant", "input_text")], "Invalid value: 'input_text'."),
        ([said("tool", "input_text")], "Invalid value: 'tool'."),
        ([{"type": "thinking"}], "Invalid value: 'thinking'."),
        ([USER, {**CALL, "name": "a b"}, OUTPUT], "does not match pattern"),
        ([USER, {**CALL, "call_id": "c" * 65}, {**OUTPUT, "call_id": "c" * 65}], "too long"),
        ([{**USER, "id": "item_1"}], "begins with 'msg'"),
        ([USER, {**CALL, "arguments": {}}, OUTPUT], "expected a string"),
    ],
)
def test_a_request_is_judged(items: list[dict[str, Any]], words: str | None) -> None:
    found = problem({"model": "gpt-5", "input": items})
    assert found is None if words is None else words in (found or "")
