"""``context_management``: what the API clears before the model reads, and what it says of it."""

from __future__ import annotations

from typing import Any

import anthropic
import pytest

from tests.server import Server, call, reply, thought
from tests.server.talk import BOUND, NEW, OLD, a, send, text, u, wire

EDITS = "context-management-2025-06-27"


def managed(*edits: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"context_management": {"edits": list(edits)}, "betas": [EDITS], **more}


def uses(count: int, words: int = 500) -> list[dict[str, Any]]:
    """A history of some tool uses with results of some words."""
    messages = [u()]
    for n in range(count):
        result = {"type": "tool_result", "tool_use_id": f"t{n}", "content": "word " * words}
        name = "bash" if n % 2 else "read"
        messages += [a({**call(name, path="p" * 400), "id": f"t{n}"}), u(result)]
    return messages


def clear(**more: Any) -> dict[str, Any]:
    trigger = {"type": "input_tokens", "value": 2_000}
    return {"type": "clear_tool_uses_20250919", "trigger": trigger, **more}


def applied(message: Any) -> list[dict[str, Any]]:
    return [edit.to_dict() for edit in message.context_management.applied_edits]


class TestToolUses:
    def test_below_the_trigger_nothing_is_cleared(self, api: Server) -> None:
        assert applied(send(api, *uses(3), **managed(clear()))) == []

    def test_old_results_go_the_newest_three_stay(self, api: Server) -> None:
        plain = send(api, *uses(6)).usage.input_tokens
        message = send(api, *uses(6), **managed(clear()))
        (edit,) = applied(message)
        assert edit["cleared_tool_uses"] == 3
        assert message.usage.input_tokens == plain - edit["cleared_input_tokens"]
        assert edit["cleared_input_tokens"] > 3 * 450

    def test_some_tools_may_be_left_out(self, api: Server) -> None:
        (edit,) = applied(send(api, *uses(6), **managed(clear(exclude_tools=["read"]))))
        assert edit["cleared_tool_uses"] == 1

    def test_inputs_are_cleared_where_asked_for(self, api: Server) -> None:
        freed = [
            applied(send(api, *uses(6), **managed(clear(**more))))[0]["cleared_input_tokens"]
            for more in ({}, {"clear_tool_inputs": ["bash"]}, {"clear_tool_inputs": True})
        ]
        assert freed[0] < freed[1] < freed[2]

    def test_not_if_too_little_would_be_freed(self, api: Server) -> None:
        least = {"type": "input_tokens", "value": 5_000}
        assert applied(send(api, *uses(6), **managed(clear(clear_at_least=least)))) == []

    def test_uses_can_be_the_trigger(self, api: Server) -> None:
        trigger, keep = {"type": "tool_uses", "value": 4}, {"type": "tool_uses", "value": 1}
        edit = clear(trigger=trigger, keep=keep)
        assert applied(send(api, *uses(4), **managed(edit))) == []
        assert applied(send(api, *uses(5), **managed(edit)))[0]["cleared_tool_uses"] == 4

    def test_it_is_told_at_the_end_of_a_stream(self, api: Server) -> None:
        asked: dict[str, Any] = {"model": NEW, "max_tokens": 99, "messages": uses(6)}
        with api.client().beta.messages.stream(**asked, **managed(clear())) as events:
            deltas = [event for event in events if event.type == "message_delta"]
        assert applied(deltas[-1])[0]["cleared_tool_uses"] == 3

    def test_counting_tells_both(self, api: Server) -> None:
        asked: dict[str, Any] = {"model": NEW, "messages": uses(6)}
        counted = api.client().beta.messages.count_tokens(**asked, **managed(clear()))
        assert counted.context_management is not None
        assert counted.input_tokens < counted.context_management.original_input_tokens - 1_350

    def test_bound_thinking_stays_valid(self, api: Server) -> None:
        messages = uses(6)
        api.script(reply(thought(), text()), reply("Done."))
        messages += [a(*wire(send(api, *messages, model=BOUND))), u()]
        assert applied(send(api, *messages, model=BOUND, **managed(clear())))


class TestThinking:
    def clear(self, **more: Any) -> dict[str, Any]:
        return managed({"type": "clear_thinking_20251015", **more}, thinking={"type": "adaptive"})

    def talk(self, api: Server) -> list[dict[str, Any]]:
        written = [u(), *[a(thought("hm " * 99), text()), u()] * 3]
        return api.sign({"model": NEW, "messages": written})

    @pytest.mark.parametrize(
        ("keep", "cleared"),
        [({}, 2), ({"keep": {"type": "thinking_turns", "value": 2}}, 1), ({"keep": "all"}, None)],
    )
    def test_the_newest_turns_keep_theirs(self, api: Server, keep: Any, cleared: Any) -> None:
        found = applied(send(api, *self.talk(api), **self.clear(**keep)))
        assert [edit["cleared_thinking_turns"] for edit in found] == ([cleared] if cleared else [])

    def test_it_is_the_first_edit(self, api: Server) -> None:
        edits = managed(clear(), {"type": "clear_thinking_20251015"})
        with pytest.raises(anthropic.BadRequestError, match="must be the first edit"):
            send(api, u(), **edits)

    def test_it_needs_thinking(self, api: Server) -> None:
        edits = managed({"type": "clear_thinking_20251015"})
        with pytest.raises(anthropic.BadRequestError, match="requires `thinking` to be enabled"):
            send(api, u(), model=OLD, **edits)


def test_edits_need_their_beta(api: Server) -> None:
    with pytest.raises(anthropic.BadRequestError, match="context_management: Extra inputs"):
        send(api, u(), **{**managed(clear()), "betas": ["x"]})
