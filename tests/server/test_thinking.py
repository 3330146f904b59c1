"""Thinking goes back unchanged, and what is bound to its prefix only behind that prefix."""

from __future__ import annotations

from typing import Any

import anthropic
import pytest

from tests.server import Server, call, redacted, reply, thought
from tests.server.talk import BOUND, HOUR, MARK, NEW, OLD, a, send, text, u, wire

BINDING = "thinking-binding-controls-2026-08-01"
DROP = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}
MISMATCH = "The block is bound to a different conversation"


def answers(messages: list[Any]) -> dict[str, Any]:
    """Results for the calls of the last message."""
    calls = [block for block in messages[-1]["content"] if block["type"] == "tool_use"]
    return u(*({"type": "tool_result", "tool_use_id": b["id"], "content": "out"} for b in calls))


def loop(api: Server, turns: int, **more: Any) -> list[dict[str, Any]]:
    """A tool loop of some turns, each thought about; it ends with results."""
    api.script(*(reply(thought(f"Turn {n}."), call("bash", n=str(n))) for n in range(turns)))
    messages = [u(text("Begin."))]
    for _ in range(turns):
        messages.append(a(*wire(send(api, *messages, **more))))
        messages.append(answers(messages))
    api.script(*[reply("Done.")] * 9)
    return messages


def test_it_may_go_back_as_it_came(api: Server) -> None:
    assert send(api, *loop(api, 3, model=BOUND), model=BOUND).content[0].text == "Done."


class TestSignatures:
    def test_nobody_else_can_sign(self, api: Server) -> None:
        forged = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
        words = "messages.1.content.0: Invalid `signature` in `thinking` block"
        with pytest.raises(anthropic.BadRequestError, match=words):
            send(api, u(), a(forged, text()), u())
        api.checks_signatures = False
        assert send(api, u(), a(forged, text()), u(), model=BOUND)

    def test_the_text_is_signed(self, api: Server) -> None:
        messages = loop(api, 1)
        messages[1]["content"][0]["thinking"] = "I thought something else."
        with pytest.raises(anthropic.BadRequestError, match="Invalid `signature`"):
            send(api, *messages)

    def test_redacted_thinking_too(self, api: Server) -> None:
        api.script(reply(redacted(), text()), reply("Done."))
        content = wire(send(api, u(), model=BOUND))
        assert send(api, u(), a(*content), u(), model=BOUND).stop_reason == "end_turn"
        content[0]["data"] = content[0]["data"][:-4] + "AAAA"
        with pytest.raises(
            anthropic.BadRequestError, match="Invalid `data` in `redacted_thinking`"
        ):
            send(api, u(), a(*content), u(), model=BOUND)

    def test_a_request_can_be_signed_as_if_it_had_been_written_here(self, api: Server) -> None:
        written = [u(), a(thought(), text()), u(), a(thought(), text()), u()]
        signed = api.sign({"model": BOUND, "system": "Be.", "messages": written})
        assert send(api, *signed, model=BOUND, system="Be.")
        with pytest.raises(anthropic.BadRequestError, match=MISMATCH):
            send(api, *signed, model=BOUND, system="Be kind.")


class TestNewest:
    def test_no_part_of_it_may_be_missing(self, api: Server) -> None:
        api.script(reply(thought("One."), thought("Two."), text()))
        first, second, words = wire(send(api, u()))
        with pytest.raises(anthropic.BadRequestError, match="cannot be modified"):
            send(api, u(), a(first, words), u())
        with pytest.raises(anthropic.BadRequestError, match="cannot be modified"):
            send(api, u(), a(second, first, words), u())

    def test_within_a_tool_loop_it_must_be_there(self, api: Server) -> None:
        *messages, last, results = loop(api, 2)
        last["content"] = last["content"][1:]
        with pytest.raises(anthropic.BadRequestError, match="cannot be modified"):
            send(api, *messages, last, results)

    def test_with_a_budget_a_loop_begins_with_thinking(self, api: Server) -> None:
        budget = {"type": "enabled", "budget_tokens": 1_024}
        messages = [u(), a(text(), {**call("bash"), "id": "t1"})]
        words = "Expected `thinking` or `redacted_thinking`, but found `text`"
        with pytest.raises(anthropic.BadRequestError, match=words):
            send(api, *messages, answers(messages), model=OLD, thinking=budget, max_tokens=2_000)

    def test_older_turns_may_drop_theirs(self, api: Server) -> None:
        messages = loop(api, 3)
        for message in messages[1:4:2]:
            message["content"] = message["content"][1:]
        assert send(api, *messages).content[0].text == "Done."


class TestBinding:
    @pytest.mark.parametrize("change", ["text", "system", "tools", "result", "gone"])
    def test_nothing_before_it_may_change(self, api: Server, change: str) -> None:
        messages, more = loop(api, 2, model=BOUND), dict[str, Any]()
        match change:
            case "text":
                messages[0] = u(text("Begin again."))
            case "system":
                more["system"] = "Be kind."
            case "tools":
                more["tools"] = [{"name": "bash", "input_schema": {"type": "object"}}]
            case "result":
                messages[2]["content"][0]["content"] = "[cleared]"
            case "gone":
                messages[:3] = [u(text("What happened before."))]
        with pytest.raises(anthropic.BadRequestError, match=MISMATCH):
            send(api, *messages, model=BOUND, **more)

    def test_models_that_do_not_bind_take_it_anywhere(self, api: Server) -> None:
        messages = loop(api, 2, model=NEW)
        messages[:3] = [u(text("What happened before."))]
        assert send(api, *messages, model=NEW).content[0].text == "Done."

    def test_marks_and_the_borders_of_messages_are_no_change(self, api: Server) -> None:
        messages = loop(api, 2, model=BOUND)
        messages[0] = u(text("Begin.", **HOUR))
        messages[-1]["content"][0] |= MARK
        assert send(api, *messages, model=BOUND)
        messages[0] = {"role": "user", "content": "Begin."}
        assert send(api, *messages, model=BOUND)

    def test_thinking_may_go_from_the_oldest_on(self, api: Server) -> None:
        messages = loop(api, 3, model=BOUND)
        del messages[1]["content"][0]
        assert send(api, *messages, model=BOUND)

    def test_but_not_from_the_middle(self, api: Server) -> None:
        messages = loop(api, 3, model=BOUND)
        del messages[3]["content"][0]
        with pytest.raises(anthropic.BadRequestError, match=r"messages\.5\.content\.0.*different"):
            send(api, *messages, model=BOUND)

    def test_a_request_may_ask_for_dropping(self, api: Server) -> None:
        messages = loop(api, 2, model=BOUND)
        messages[0] = u(text("Begin again."))
        message = send(api, *messages, model=BOUND, thinking=DROP, betas=[BINDING])
        reason = {"type": "thinking_dropped", "reason": "prefix_binding_mismatch"}
        assert [t.to_dict() for t in message.input_transformations] == [
            {**reason, "path": "messages.1.content.0"},
            {**reason, "path": "messages.3.content.0"},
        ]

    def test_what_is_thought_behind_dropped_thinking_stays_valid(self, api: Server) -> None:
        messages = loop(api, 2, model=BOUND)
        messages[0] = u(text("Begin again."))
        drop: dict[str, Any] = {"model": BOUND, "thinking": DROP, "betas": [BINDING]}
        api.script(reply(thought("After."), text()), reply("Done."))
        messages += [a(*wire(send(api, *messages, **drop))), u()]
        assert len(send(api, *messages, **drop).input_transformations) == 2
        for message in messages[1:4:2]:
            message["content"] = message["content"][1:]
        api.script(reply("Done."))
        assert send(api, *messages, model=BOUND)

    def test_dropping_needs_its_beta(self, api: Server) -> None:
        with pytest.raises(anthropic.BadRequestError, match="block_binding: Extra inputs"):
            send(api, u(), model=BOUND, thinking=DROP, betas=["x"])

    def test_another_models_thinking_is_dropped_in_silence(self, api: Server) -> None:
        messages = [*loop(api, 1, model=NEW), a(), u()]
        message = send(api, *messages, model=BOUND, betas=[BINDING])
        assert [t.reason for t in message.input_transformations] == ["model_binding_mismatch"]
