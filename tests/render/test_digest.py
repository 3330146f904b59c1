"""The digest of a request: what counts and what does not, and one value that never changes."""

from __future__ import annotations

from copy import deepcopy
from hashlib import sha256
from typing import Any

import pytest

from foldlog.projections.render.digest import canonical, digest

MARK = {"type": "ephemeral"}
REQUEST: dict[str, Any] = {
    "system": [{"type": "text", "text": "Be brief."}],
    "tools": [{"name": "bash", "input_schema": {"type": "object"}}],
    "messages": [
        {"role": "user", "content": "héllo"},
        {
            "role": "assistant",
            "content": [
                {"type": "tool_use", "id": "t", "name": "x", "input": {"cache_control": 1}}
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "t",
                    "content": [
                        {
                            "type": "document",
                            "source": {
                                "type": "content",
                                "content": [{"type": "text", "text": "d"}],
                            },
                        }
                    ],
                }
            ],
        },
    ],
}
FORM = (
    '{"system":[{"type":"text","text":"Be brief."}],'
    '"tools":[{"name":"bash","input_schema":{"type":"object"}}],'
    '"messages":[{"role":"user","content":"héllo"},'
    '{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"x",'
    '"input":{"cache_control":1}}]},'
    '{"role":"user","content":[{"type":"tool_result","tool_use_id":"t",'
    '"content":[{"type":"document","source":{"type":"content",'
    '"content":[{"type":"text","text":"d"}]}}]}]}]}'
)


def places(request: dict[str, Any]) -> list[dict[str, Any]]:
    """Every block and tool that may carry a mark."""
    found = [*request["system"], *request["tools"]]
    for message in request["messages"][1:]:
        found += message["content"]
    result = request["messages"][2]["content"][0]
    document = result["content"][0]
    return [*found, document, document["source"]["content"][0]]


def test_the_canonical_form_is_fixed() -> None:
    assert canonical(REQUEST).decode() == FORM
    assert digest(REQUEST) == "sha256:" + sha256(FORM.encode()).hexdigest()


@pytest.mark.parametrize("place", range(len(places(REQUEST))))
def test_cache_marks_do_not_count_wherever_they_stand(place: int) -> None:
    marked = deepcopy(REQUEST)
    places(marked)[place]["cache_control"] = MARK
    before = deepcopy(marked)
    assert digest(marked) == digest(REQUEST)
    assert marked == before, "the request itself is left alone"


def test_a_key_of_that_name_in_the_input_of_a_call_does_count() -> None:
    other = deepcopy(REQUEST)
    other["messages"][1]["content"][0]["input"] = {}
    assert digest(other) != digest(REQUEST)


def test_parameters_and_nulls_do_not_count_the_order_of_parts_neither() -> None:
    messages = REQUEST["messages"]
    request = {"messages": messages, "model": "m", "tools": None, "max_tokens": 1}
    assert digest(request) == digest({"messages": messages})


def test_the_order_of_keys_counts() -> None:
    a = {"messages": [{"role": "user", "content": "x"}]}
    b = {"messages": [{"content": "x", "role": "user"}]}
    assert digest(a) != digest(b)


def test_a_lone_surrogate_and_a_huge_number_have_a_digest() -> None:
    request = {"messages": [{"role": "user", "content": "\ud83d"}], "tools": [{"n": 2**70}]}
    assert canonical(request) == (
        b' {"tools":[{"n":1180591620717411303424}],'
        b'"messages":[{"role":"user","content":"\\ud83d"}]}'
    )
