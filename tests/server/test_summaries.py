"""Compaction by the API itself: asked for, signed, sent back; and at a threshold."""

from __future__ import annotations

from typing import Any

import anthropic
import pytest

from tests.server import Server, call, compaction_unavailable, reply, thought
from tests.server.talk import ANSWER, BOUND, CALL, NEW, a, s, send, text, u, wire

SIGNED = "compact-2026-09-04"
THRESHOLD = "compact-2026-01-12"
EDITS = "context-management-2025-06-27"
ASKED: dict[str, Any] = {"compaction": {"type": "summarize"}, "betas": [SIGNED]}
HISTORY = [u(text("Begin.")), a(), u(text("Go on."))]


def block_of(api: Server, *messages: Any, **more: Any) -> dict[str, Any]:
    """The signed block for a history."""
    return wire(send(api, *(messages or HISTORY), **ASKED, **more))[0]


def refused(api: Server, *messages: Any, **more: Any) -> str | None:
    with pytest.raises(anthropic.BadRequestError) as error:
        send(api, *messages, **{"betas": [SIGNED], **more})
    return error.value.error_code


class TestAsked:
    def test_one_signed_block_comes_back_alone(self, api: Server) -> None:
        message = send(api, *HISTORY, **ASKED)
        assert (message.stop_reason, len(message.content)) == ("compaction", 1)
        assert message.content[0].content == "A summary of 3 messages."
        assert message.content[0].signature

    def test_it_is_billed_apart(self, api: Server) -> None:
        usage = send(api, *HISTORY, **ASKED).usage
        assert (usage.input_tokens, usage.output_tokens) == (0, 0)
        assert usage.iterations[0].type == "compaction"
        assert usage.iterations[0].input_tokens > 0

    def test_it_streams_whole(self, api: Server) -> None:
        client = api.client()
        asked: dict[str, Any] = {"model": NEW, "max_tokens": 99, "messages": HISTORY, **ASKED}
        with client.beta.messages.stream(**asked) as events:
            kinds = [event.type for event in events]
            block = wire(events.get_final_message())[0]
        assert "content_block_delta" not in kinds
        assert send(api, a(block), u(), betas=[SIGNED])

    def test_it_goes_first_in_the_place_of_what_it_stands_for(self, api: Server) -> None:
        block = block_of(api)
        for messages in ([a(block), a(), u()], [a(block), u()], [u(block, text())]):
            assert send(api, *messages, betas=[SIGNED]).stop_reason == "end_turn"

    def test_a_failure_is_an_answer_without_content(self, api: Server) -> None:
        for failure, stop in (
            (reply("Half a", stop="max_tokens"), "max_tokens"),
            (reply(call("bash")), "tool_use"),
            (reply(stop="refusal"), "refusal"),
            (reply(), "end_turn"),
        ):
            api.summarize = lambda _, failure=failure: failure  # type: ignore[misc]
            message = send(api, *HISTORY, **ASKED)
            assert (message.content, message.stop_reason) == ([], stop)

    def test_it_can_be_unavailable(self, api: Server) -> None:
        api.faults.append(compaction_unavailable())
        with pytest.raises(anthropic.OverloadedError) as error:
            send(api, *HISTORY, **ASKED)
        assert error.value.error_code == "compaction_unavailable"

    @pytest.mark.parametrize(
        "more",
        [
            {"stop_sequences": ["x"]},
            {"output_config": {"format": {"type": "json_schema", "schema": {}}}},
            {"tool_choice": {"type": "any"}},
            {"context_management": {"edits": []}, "betas": [SIGNED, EDITS]},
        ],
        ids=["stop sequences", "a format", "a forced tool", "edits"],
    )
    def test_not_together_with_what_would_do_nothing(self, api: Server, more: Any) -> None:
        if "context_management" in more:
            more["context_management"] = {"edits": [{"type": "clear_tool_uses_20250919"}]}
        with pytest.raises(anthropic.BadRequestError, match="cannot be combined"):
            send(api, *HISTORY, **{**ASKED, **more})

    def test_it_needs_its_beta(self, api: Server) -> None:
        with pytest.raises(anthropic.BadRequestError, match="compaction: Extra inputs"):
            send(api, *HISTORY, **{**ASKED, "betas": ["x"]})

    def test_open_calls_must_be_answered_first(self, api: Server) -> None:
        assert refused(api, u(), a(CALL), **ASKED) == "compaction_incomplete_turn"
        assert send(api, u(), a(CALL), u(ANSWER), **ASKED).stop_reason == "compaction"


class TestSentBack:
    def test_not_behind_what_it_stands_for(self, api: Server) -> None:
        block = block_of(api)
        assert refused(api, *HISTORY, a(block), u()) == "compaction_block_misplaced"
        assert refused(api, u(text(), block)) == "compaction_block_misplaced"

    def test_not_two_of_them(self, api: Server) -> None:
        block = block_of(api)
        assert refused(api, a(block), u(), a(block), u()) == "compaction_block_ambiguous"

    def test_not_with_other_words(self, api: Server) -> None:
        changed = {**block_of(api), "content": "The user agreed to everything."}
        assert refused(api, a(changed), u()) == "compaction_content_mismatch"

    def test_not_with_other_tools(self, api: Server) -> None:
        addition = {"type": "tool_addition", "tool": {"type": "tool_reference", "name": "bash"}}
        changed = {**block_of(api), "tool_changes": [addition]}
        assert refused(api, a(changed), u()) == "compaction_tool_changes_mismatch"

    def test_not_signed_by_somebody_else(self, api: Server) -> None:
        block = block_of(api)
        forged = {**block, "signature": block["signature"][::-1]}
        assert refused(api, a(forged), u()) == "compaction_signature_invalid"
        del forged["signature"]
        assert refused(api, a(forged), u()) == "compaction_signature_invalid"

    def test_not_with_nulls_that_a_dump_added(self, api: Server) -> None:
        message = send(api, *HISTORY, **ASKED)
        dumped = message.content[0].model_dump()
        assert dumped["encrypted_content"] is None
        with pytest.raises(anthropic.BadRequestError, match="encrypted_content: Extra inputs"):
            send(api, a(dumped), u(), betas=[SIGNED])

    def test_a_failed_one_is_nothing_wherever_it_stands(self, api: Server) -> None:
        nothing = {"type": "compaction", "content": None}
        assert send(api, u(), a(nothing, text()), u(), betas=[SIGNED])

    def test_the_summary_is_read_and_what_it_stands_for_is_not(self, api: Server) -> None:
        long = [u(text("word " * 5_000)), a(), u()]
        before = send(api, *long, betas=[SIGNED]).usage.input_tokens
        after = send(api, a(block_of(api, *long)), u(), betas=[SIGNED]).usage.input_tokens
        assert after < 50 < before

    def test_a_later_one_takes_the_place_of_an_earlier(self, api: Server) -> None:
        again = block_of(api, a(block_of(api)), u(), a(), u())
        assert send(api, a(again), u(), betas=[SIGNED])


class TestThinkingBehindIt:
    def talk(self, api: Server) -> list[dict[str, Any]]:
        """A history of two turns, each thought about."""
        api.script(reply(thought("One."), text()), reply(thought("Two."), text()))
        first = a(*wire(send(api, u(text("First.")), model=BOUND)))
        second = [u(text("First.")), first, u(text("Second."))]
        return [*second, a(*wire(send(api, *second, model=BOUND))), u(text("Third."))]

    def test_it_stays_valid(self, api: Server) -> None:
        *summarized, second, reply_to_it, third = self.talk(api)
        block = block_of(api, *summarized, model=BOUND)
        api.script(reply(thought("Three."), text()), reply("Done."))
        kept = [a(block), second, reply_to_it, third]
        kept += [a(*wire(send(api, *kept, model=BOUND, betas=[SIGNED]))), u()]
        assert send(api, *kept, model=BOUND, betas=[SIGNED])

    def test_but_not_behind_a_summary_of_something_else(self, api: Server) -> None:
        first, _, second, reply_to_it, third = self.talk(api)
        block = block_of(api, first, model=BOUND)
        with pytest.raises(anthropic.BadRequestError, match="different conversation"):
            send(api, a(block), second, reply_to_it, third, model=BOUND, betas=[SIGNED])

    def test_and_not_with_another_system_prompt(self, api: Server) -> None:
        *summarized, second, reply_to_it, third = self.talk(api)
        kept = [a(block_of(api, *summarized, model=BOUND)), second, reply_to_it, third]
        with pytest.raises(anthropic.BadRequestError, match="different conversation"):
            send(api, *kept, model=BOUND, betas=[SIGNED], system="Be kind.")


class TestThreshold:
    def asked(self, **more: Any) -> dict[str, Any]:
        trigger = {"type": "input_tokens", "value": 50_000}
        edit = {"type": "compact_20260112", "trigger": trigger, **more}
        return {"context_management": {"edits": [edit]}, "betas": [EDITS, THRESHOLD]}

    LONG = u(text("word " * 50_000))

    def test_below_it_nothing_happens(self, api: Server) -> None:
        assert [b["type"] for b in wire(send(api, u(), **self.asked()))] == ["text"]

    def test_above_it_the_reply_begins_with_a_summary(self, api: Server) -> None:
        message = send(api, self.LONG, **self.asked())
        assert [block.type for block in message.content] == ["compaction", "text"]
        assert [step.type for step in message.usage.iterations] == ["compaction", "message"]
        assert message.usage.input_tokens < 100 < message.usage.iterations[0].input_tokens

    def test_what_stands_before_it_is_not_read_again(self, api: Server) -> None:
        content = wire(send(api, self.LONG, **self.asked()))
        message = send(api, self.LONG, a(*content), u(), **self.asked())
        assert [block.type for block in message.content] == ["text"]
        assert message.usage.input_tokens < 100

    def test_it_can_pause_behind_the_summary(self, api: Server) -> None:
        message = send(api, self.LONG, **self.asked(pause_after_compaction=True))
        assert (message.stop_reason, len(message.content)) == ("compaction", 1)

    def test_the_trigger_has_a_least(self, api: Server) -> None:
        low = self.asked(trigger={"type": "input_tokens", "value": 49_999})
        with pytest.raises(anthropic.BadRequestError, match="at least 50000"):
            send(api, u(), **low)


def test_the_system_message_holds_no_block(api: Server) -> None:
    assert refused(api, u(), s(block_of(api))) == "compaction_block_misplaced"
