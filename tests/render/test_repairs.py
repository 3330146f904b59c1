"""Named repairs: for each rule a log that needs it, and what is rendered instead."""

from __future__ import annotations

from typing import Any

import pytest

from foldlog.eventstore.events import EventDraft
from foldlog.projections.render.api_rules import check
from foldlog.projections.render.render import open_calls, render, repairs
from foldlog.projections.render.repairs import RULES
from foldlog.projections.render.repairs.beginning import CONTINUES
from foldlog.projections.render.repairs.empty import NO_CONTENT
from foldlog.projections.render.repairs.pairing import INTERRUPTED_CALL
from foldlog.projections.render.replies import interruption
from foldlog.projections.view.open import project
from foldlog.projections.wire.models import family
from tests.projections.build import assistant, call, log, result, thinking, user

CALLED = (user("U1"), assistant(call("t1")), result("t1"))
ANSWERED = [("user", "U1"), ("assistant", [call("t1")])]


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def answer(id: str, content: Any = "done", **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id, "content": content, **more}


def reply(*blocks: Any, model: str | None = None, id: str | None = None) -> EventDraft:
    draft = assistant(*blocks, id=id)
    return EventDraft(draft.type, {**draft.data, **({"model": model} if model else {})})


def mended(*drafts: EventDraft, model: str | None = None) -> tuple[list[Any], list[Any]]:
    """The messages, and the repairs as (rule, version)."""
    view = project(log(*drafts))
    request = render(view, open="keep", model=model)
    assert check(request) == []
    messages = [(message["role"], message["content"]) for message in request["messages"]]
    return messages, [tuple(repair) for repair in repairs(view, model=model)]


def test_a_sound_log_needs_none() -> None:
    assert mended(*CALLED, assistant("A"), user("U2"))[1] == []


class TestResults:
    def test_orphan_result_in_a_turn_that_says_more(self) -> None:
        messages, found = mended(user("U1"), result("t9"), user("U2"))
        assert messages == [("user", [text("U1"), text("U2")])]
        assert found == [("orphan_result", 2)]

    def test_orphan_result_that_is_a_turn_of_its_own(self) -> None:
        messages, found = mended(user("U1"), assistant("A1"), result("t9"), assistant("A2"))
        assert [content for _, content in messages] == [
            "U1",
            [text("A1")],
            NO_CONTENT,
            [text("A2")],
        ]
        assert found == [("orphan_result", 3), ("empty_message", 3)]

    def test_orphan_result_behind_a_server_tool_that_still_works(self) -> None:
        search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
        messages, found = mended(user("U1"), assistant(search), result("t9"))
        assert messages == [("user", "U1"), ("assistant", [search])]
        assert found == [("orphan_result", 3)]

    def test_a_result_before_its_call_is_an_orphan(self) -> None:
        messages, found = mended(user("U1"), result("t1"), assistant("A", call("t1")), user("U2"))
        assert messages == [("user", "U1"), ("assistant", [text("A")]), ("user", "U2")]
        assert found == [("orphan_result", 2), ("unanswered_call", 3)]

    def test_second_result(self) -> None:
        messages, found = mended(*CALLED, result("t1", "again"), assistant("A2"))
        assert messages == [*ANSWERED, ("user", [answer("t1")]), ("assistant", [text("A2")])]
        assert found == [("second_result", 4)]

    def test_late_result_takes_the_place_of_an_interrupted_one(self) -> None:
        gone = EventDraft("tool.result", interruption(call("t1")))
        drafts = [user("U1"), assistant(call("t1")), gone, assistant("A2"), result("t1", "late")]
        messages, found = mended(*drafts)
        assert messages == [
            *ANSWERED,
            ("user", [answer("t1", "late")]),
            ("assistant", [text("A2")]),
        ]
        assert found == [("late_result", 3)]

    def test_an_interrupted_result_never_replaces_a_real_one(self) -> None:
        messages, found = mended(*CALLED, EventDraft("tool.result", interruption(call("t1"))))
        assert messages == [*ANSWERED, ("user", [answer("t1")])]
        assert found == [("second_result", 4)]

    def test_of_two_interrupted_ones_the_first_stays(self) -> None:
        gone = EventDraft("tool.result", interruption(call("t1")))
        messages, found = mended(user("U1"), assistant(call("t1")), gone, gone)
        assert len(messages) == 3
        assert found == [("second_result", 4)]

    def test_a_result_gets_the_toolset_name_of_its_call(self) -> None:
        click = {**call("t1"), "toolset_name": "browser"}
        messages, found = mended(user("U1"), assistant(click), result("t1"))
        assert messages[2] == ("user", [answer("t1", toolset_name="browser")])
        assert found == [("toolset_name", 3)]


class TestCalls:
    def test_unanswered_call_vanishes_and_with_it_a_message_that_was_nothing_else(self) -> None:
        messages, found = mended(user("U1"), assistant(call("t1")), user("U2"))
        assert messages == [("user", [text("U1"), text("U2")])]
        assert found == [("unanswered_call", 2)]

    def test_the_rest_of_its_message_stays(self) -> None:
        drafts = [user("U1"), assistant("I look.", call("t1"), call("t2")), result("t2")]
        messages, _ = mended(*drafts, user("U2"))
        assert messages[1:] == [
            ("assistant", [text("I look."), call("t2")]),
            ("user", [answer("t2"), text("U2")]),
        ]

    def test_call_whose_id_was_used_before_and_its_result(self) -> None:
        again = [user("U2"), assistant(call("t1")), result("t1", "R2"), assistant("A3")]
        messages, found = mended(*CALLED, *again)
        assert messages == [
            *ANSWERED,
            ("user", [answer("t1"), text("U2")]),
            ("assistant", [call("t1_5")]),
            ("user", [answer("t1_5", "R2")]),
            ("assistant", [text("A3")]),
        ]
        assert found == [("repeated_id", 5), ("repeated_id", 6)]

    def test_calls_of_one_reply_with_the_same_id(self) -> None:
        same = assistant(call("t1", path="a"), call("t1", path="b"))
        messages, found = mended(user("U1"), same, result("t1", "of a"), result("t1", "of b"))
        assert messages[1:] == [
            ("assistant", [call("t1", path="a"), call("t1_2", path="b")]),
            ("user", [answer("t1", "of a"), answer("t1_2", "of b")]),
        ]
        assert found == [("repeated_id", 2), ("repeated_id", 4)]

    def test_a_name_that_is_an_id_already(self) -> None:
        again = [assistant(call("t1_5")), result("t1_5"), assistant(call("t1")), result("t1")]
        messages, _ = mended(user("U1"), assistant(call("t1")), result("t1"), *again)
        ids = [
            block["id"] for role, content in messages if role == "assistant" for block in content
        ]
        assert len(set(ids)) == 3

    def test_a_call_that_was_recorded_twice_and_its_result(self) -> None:
        twice = [user("U1"), assistant(call("t1"), id="m"), result("t1", "R1")]
        again = [user("U2"), assistant(call("t1"), id="m"), result("t1", "R1"), assistant("A3")]
        messages, found = mended(*twice, *again)
        assert messages == [
            ("user", "U1"),
            ("assistant", [call("t1")]),
            ("user", [answer("t1", "R1"), text("U2")]),
            ("assistant", INTERRUPTED_CALL),
            ("user", NO_CONTENT),
            ("assistant", [text("A3")]),
        ]
        assert found == [("second_call", 5), ("second_result", 6), ("empty_message", 6)]

    def test_a_call_without_an_id(self) -> None:
        nameless = {"type": "tool_use", "name": "bash", "input": {}}
        answered = user([{"type": "tool_result", "content": "done"}, text("U2")])
        messages, found = mended(user("U1"), assistant("A1", nameless), answered)
        assert messages == [("user", "U1"), ("assistant", [text("A1")]), ("user", [text("U2")])]
        assert found == [("second_call", 2), ("orphan_result", 3)]

    def test_call_of_a_server_tool_without_a_result(self) -> None:
        search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
        messages, found = mended(user("U1"), assistant("A1", search), user("U2"), assistant("A2"))
        assert messages[1] == ("assistant", [text("A1")])
        assert found == [("unanswered_call", 2)]

    def test_call_of_a_server_tool_with_more_than_results_behind_it(self) -> None:
        search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
        plan = EventDraft("attachment.added", {"kind": "plan", "content": "P"})
        messages, found = mended(user("U1"), assistant("A1", search), plan)
        assert messages == [("user", "U1"), ("assistant", [text("A1")]), ("user", "P")]
        assert found == [("unanswered_call", 2)]

    def test_server_tools_are_paired_across_replies(self) -> None:
        search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
        hits = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
        drafts = [user("U1"), assistant(search, call("t1")), result("t1"), assistant(hits, "A")]
        messages, found = mended(*drafts, user("U2"))
        assert messages[3] == ("assistant", [hits, text("A")])
        assert found == []

    def test_second_and_orphan_results_of_server_tools(self) -> None:
        use = {"type": "mcp_tool_use", "id": "mcptoolu_1", "name": "x", "input": {}}
        hit = {"type": "mcp_tool_result", "tool_use_id": "mcptoolu_1", "content": []}
        stray = {"type": "mcp_tool_result", "tool_use_id": "mcptoolu_2", "content": []}
        messages, found = mended(user("U1"), assistant(use, hit, {**hit}, stray))
        assert messages[1] == ("assistant", [use, hit])
        assert found == [("orphan_result", 2), ("second_result", 2)]

    def test_blocks_in_the_wrong_role(self) -> None:
        drafts = [user([text("U1"), call("t1"), thinking()]), assistant("A1", answer("t2"))]
        messages, found = mended(*drafts)
        assert messages == [("user", [text("U1")]), ("assistant", [text("A1")])]
        assert found == [("wrong_role", 1), ("wrong_role", 2)]


class TestEmptiness:
    @pytest.mark.parametrize("blank", ["", " ", "\n\t"])
    def test_blank_text_of_a_reply(self, blank: str) -> None:
        messages, found = mended(user("U1"), assistant(blank, "A1"))
        assert messages == [("user", "U1"), ("assistant", [text("A1")])]
        assert found == [("blank_text", 2)]

    def test_blank_text_within_a_result(self) -> None:
        parts = [text(""), text("out"), text("  ")]
        messages, found = mended(user("U1"), assistant(call("t1")), result("t1", parts))
        assert messages[2] == ("user", [answer("t1", [text("out")])])
        assert found == [("blank_text", 3)]

    def test_a_result_may_be_empty(self) -> None:
        messages, found = mended(user("U1"), assistant(call("t1")), result("t1", ""))
        assert messages[2] == ("user", [answer("t1", "")])
        assert found == []

    @pytest.mark.parametrize("blank", ["", "  ", [], [text(" ")]])
    def test_a_user_message_that_is_emptied_is_filled(self, blank: Any) -> None:
        messages, found = mended(user("U1"), assistant("A1"), user(blank), assistant("A2"))
        assert messages[2] == ("user", NO_CONTENT)
        assert ("empty_message", 3) in found

    def test_an_attachment_that_says_nothing_is_not(self) -> None:
        blank = EventDraft("attachment.added", {"kind": "hook", "content": " "})
        messages, _ = mended(user("U1"), assistant("A1"), blank, assistant("A2"))
        assert messages == [("user", "U1"), ("assistant", [text("A1"), text("A2")])]

    def test_a_reply_without_content_is_filled(self) -> None:
        messages, found = mended(user("U1"), assistant(), user("U2"))
        assert messages == [("user", "U1"), ("assistant", NO_CONTENT), ("user", "U2")]
        assert found == [("empty_reply", 2)]

    def test_at_the_end_it_is_left_out(self) -> None:
        messages, found = mended(user("U1"), assistant())
        assert messages == [("user", "U1")]
        assert found == [("empty_reply", 2)]

    def test_a_reply_of_thinking_alone(self) -> None:
        messages, found = mended(user("U1"), assistant(thinking()), user("U2"))
        assert messages == [("user", [text("U1"), text("U2")])]
        assert found == [("thinking_only", 2)]

    def test_thinking_and_text_of_one_reply_are_not_alone(self) -> None:
        messages, found = mended(
            user("U1"), assistant(thinking(), id="m"), assistant("A1", id="m"), user("U2")
        )
        assert messages[1] == ("assistant", [thinking(), text("A1")])
        assert found == []

    def test_thinking_that_a_reply_broke_off_in(self) -> None:
        messages, found = mended(user("U1"), assistant("A1", thinking(), id="m"), user("U2"))
        assert messages[1] == ("assistant", [text("A1")])
        assert found == [("thinking_last", 2)]

    def test_thinking_between_two_replies_is_not_last(self) -> None:
        messages, found = mended(
            user("U1"), assistant("A1", thinking(), id="m"), assistant("A2", id="n"), user("U2")
        )
        assert messages[1] == ("assistant", [text("A1"), thinking(), text("A2")])
        assert found == []

    @pytest.mark.parametrize("signature", [{}, {"signature": ""}, {"signature": None}])
    def test_thinking_whose_signature_never_came(self, signature: dict[str, Any]) -> None:
        unsigned = {"type": "thinking", "thinking": "hm", **signature}
        messages, found = mended(user("U1"), assistant(unsigned, "A1"), user("U2"))
        assert messages[1] == ("assistant", [text("A1")])
        assert found == [("unsigned_thinking", 2)]


class TestModels:
    def test_thinking_of_another_model(self) -> None:
        redacted = {"type": "redacted_thinking", "data": "x"}
        drafts = [user("U1"), reply(thinking(), redacted, "A1", model="claude-opus-4-1")]
        messages, found = mended(*drafts, user("U2"), reply("A2", model="claude-sonnet-4-5"))
        assert messages[1] == ("assistant", [text("A1")])
        assert found == [("foreign_thinking", 2)]

    def test_the_model_of_the_request_decides_where_it_is_given(self) -> None:
        drafts = [user("U1"), reply(thinking(), "A1", model="claude-opus-4-1")]
        assert mended(*drafts)[1] == []
        assert mended(*drafts, model="claude-sonnet-4-5")[1] == [("foreign_thinking", 2)]

    @pytest.mark.parametrize("dated", ["claude-sonnet-4-5-20250929", "claude-sonnet-4-5@20250929"])
    def test_the_date_of_a_model_does_not_count(self, dated: str) -> None:
        drafts = [user("U1"), reply(thinking(), "A1", model=dated)]
        assert mended(*drafts, model="claude-sonnet-4-5")[1] == []
        assert family("claude-sonnet-4-5") != family("claude-sonnet-4")

    def test_a_message_that_a_harness_wrote_has_no_model(self) -> None:
        drafts = [user("U1"), reply(thinking(), "A1", model="claude-opus-4-1"), user("U2")]
        assert mended(*drafts, reply("A2", model="<synthetic>"))[1] == []

    def test_fallback_and_the_thinking_of_the_model_that_refused(self) -> None:
        gave_way = {
            "type": "fallback",
            "from": {"model": "claude-fable-5"},
            "to": {"model": "claude-opus-4-8"},
        }
        late = thinking("later")
        draft = reply(thinking(), gave_way, late, "A1", model="claude-opus-4-8")
        messages, found = mended(user("U1"), draft)
        assert messages[1] == ("assistant", [late, text("A1")])
        assert found == [("foreign_thinking", 2), ("fallback", 2)]


class TestBeginning:
    def test_a_leading_assistant_message(self) -> None:
        messages, found = mended(assistant("A1"), user("U1"))
        assert messages == [("user", CONTINUES), ("assistant", [text("A1")]), ("user", "U1")]
        assert found == [("leading_assistant", 1)]

    def test_a_paused_reply_with_an_attachment_behind_it_waits_for_nothing(self) -> None:
        """A server tool's call goes back as it is, or not at all."""
        search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "s", "input": {}}
        note = EventDraft("attachment.added", {"content": "words"})
        paused = [user("U1"), assistant("A1", search)]
        assert mended(*paused)[0][-1] == ("assistant", [text("A1"), search])
        messages, found = mended(*paused, note)
        assert messages[1:] == [("assistant", [text("A1")]), ("user", "words")]
        assert found == [("unanswered_call", 2)]

    def test_a_call_that_the_api_compacted_away_waits_for_nothing(self) -> None:
        block = {"type": "compaction", "content": "S"}
        view = project(log(user("U1"), assistant(call("t1"), block)))
        assert open_calls(view) == []

    def test_a_compaction_block_is_first_and_untouched(self) -> None:
        block = {"type": "compaction", "content": "S", "signature": "x", "novel": None}
        drafts = [user("U1"), assistant("A1", block, "A2"), user("U2")]
        messages, found = mended(*drafts)
        assert messages == [("assistant", [block, text("A2")]), ("user", "U2")]
        assert messages[0][1][0] is drafts[1].data["content"][1]
        assert found == [("compaction_first", 2)]

    def test_the_newest_of_two_counts(self) -> None:
        old, new = ({"type": "compaction", "content": words} for words in "on")
        messages, _ = mended(user("U1"), assistant(old), user("U2"), assistant(new), user("U3"))
        assert messages == [("assistant", [new]), ("user", "U3")]

    def test_one_that_failed_is_no_beginning(self) -> None:
        failed = {"type": "compaction", "content": None}
        assert mended(user("U1"), assistant(failed, "A1"))[0] == [
            ("user", "U1"),
            ("assistant", [failed, text("A1")]),
        ]


class TestSystemMessages:
    TOLD = EventDraft("message.system", {"content": "s"})

    def test_behind_a_reply_it_waits_for_the_next_user_message(self) -> None:
        messages, found = mended(user("U1"), assistant("A1"), self.TOLD, user("U2"))
        assert messages == [
            ("user", "U1"),
            ("assistant", [text("A1")]),
            ("user", "U2"),
            ("system", "s"),
        ]
        assert found == []

    def test_it_may_pass_a_reply(self) -> None:
        drafts = [user("U1"), reply("A1", id="m"), self.TOLD, reply("A2", id="n"), user("U2")]
        messages, found = mended(*drafts)
        assert [role for role, _ in messages] == ["user", "assistant", "user", "system"]
        assert found == [("system_place", 3)]

    def test_without_a_user_message_behind_it_it_is_left_out(self) -> None:
        messages, found = mended(user("U1"), assistant("A1"), self.TOLD)
        assert messages == [("user", "U1"), ("assistant", [text("A1")])]
        assert found == [("system_place", 3)]

    def test_to_a_model_that_takes_none_it_is_told_by_the_user_message(self) -> None:
        messages, found = mended(user("U1"), self.TOLD, assistant("A1"), model="claude-haiku-4-5")
        told = text("<system-reminder>\ns\n</system-reminder>")
        assert messages == [("user", [text("U1"), told]), ("assistant", [text("A1")])]
        assert found == [("system_unheard", 2)]

    def test_there_it_stands_behind_results_too(self) -> None:
        drafts = [*CALLED[:2], self.TOLD, CALLED[2], assistant("A1")]
        messages, _ = mended(*drafts, model="claude-haiku-4-5")
        told = text("<system-reminder>\ns\n</system-reminder>")
        assert messages[2] == ("user", [answer("t1"), told])

    def test_tools_that_it_adds_are_left_out_there(self) -> None:
        added = EventDraft("message.system", {"content": [{"type": "tool_addition", "tool": {}}]})
        messages, found = mended(user("U1"), added, assistant("A1"), model="claude-haiku-4-5")
        assert messages == [("user", "U1"), ("assistant", [text("A1")])]
        assert found == [("system_unheard", 2)]


class TestCharacters:
    def test_half_of_one_is_replaced_wherever_it_stands(self) -> None:
        odd = {**call("t1"), "input": {"pa\ud800th": ["a\udfff", 2**70]}}
        messages, found = mended(user("half: \ud83d"), assistant(odd), result("t1", "\ud800 out"))
        assert messages[0] == ("user", "half: \ufffd")
        assert messages[1][1][0]["input"] == {"pa\ufffdth": ["a\ufffd", 2**70]}
        assert messages[2] == ("user", [answer("t1", "\ufffd out")])
        assert found == [("half_character", version) for version in (1, 2, 3)]

    def test_in_settings_too(self) -> None:
        view = project(log(EventDraft("system.set", {"system": "be \ud800"}), user("U1")))
        assert render(view)["system"] == "be \ufffd"

    def test_whole_ones_and_long_numbers_are_left_alone(self) -> None:
        plain = {**call("t1"), "input": {"n": 2**70, "text": "größer 🙂"}}
        messages, found = mended(user("日本 🙂"), assistant(plain), result("t1"))
        assert messages[1][1][0]["input"] is plain["input"]
        assert found == []


def test_every_rule_has_a_name_and_a_text() -> None:
    assert all(text and not text.endswith(".") for text in RULES.values())
