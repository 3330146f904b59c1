"""Managed: the view is sent in place of the list, and what is too long is made smaller."""

from __future__ import annotations

from typing import Any

import anthropic
import pytest

from foldlog.projections.live.recording import Recording
from tests.live.harness import MODEL, TOOLS, Harness, events, problems, session, texts, types
from tests.server import Refusal, Server, call, reply, thought
from tests.server.refusal import invalid, too_large

TOO_LONG = {
    "400": invalid("prompt is too long: 9000 tokens > 8000 maximum"),
    "400 with a code": invalid("the input does not fit", "prompt_too_long"),
    "an older model": invalid(
        "input length and `max_tokens` exceed context limit: 7900 + 500 > 8000, decrease input"
        " length or `max_tokens` and try again"
    ),
    "413": too_large(),
}


def managed(api: Server, **more: Any) -> Harness:
    given = {"policy": "adaptive", "window": 200_000, **more}
    return Harness(api, Recording(session(), **given), system="Be brief.", tools=TOOLS)


def worked(api: Server, harness: Harness, turns: int = 6) -> None:
    """Some turns with long results."""
    for turn in range(turns):
        api.script(reply(thought(), call("bash", f"toolu_{turn}")), reply(f"Done {turn}."))
        harness.results(harness.say(f"task {turn}"), f"line {turn} " * 600)
        harness.ask()
    api.script(*[reply("Understood.")] * 9)


class TestTheView:
    def test_is_sent_in_place_of_the_list(self, api: Server) -> None:
        harness = managed(api, window=9_000, reserve=1_000)
        worked(api, harness, 8)
        assert events(harness.session, "view.edited")
        assert len(str(api.last.body["messages"])) < len(str(harness.messages)) * 0.6
        assert problems(harness.session) == []
        assert all(received.refusal is None for received in api.requests)

    def test_new_messages_are_appended_behind_a_compaction(self, api: Server) -> None:
        harness = managed(api, window=9_000, reserve=1_000)
        worked(api, harness, 8)
        before = len(events(harness.session, "message.user"))
        harness.say("and now?")
        assert len(events(harness.session, "message.user")) == before + 1
        assert not events(harness.session, "head.moved")

    def test_an_edit_behind_a_compaction_keeps_it(self, api: Server) -> None:
        harness = managed(api, window=9_000, reserve=1_000)
        worked(api, harness, 8)
        harness.say("one")
        edits = len(events(harness.session, "view.edited"))
        harness.messages[-2] = {"role": "user", "content": "other"}
        harness.messages.pop()
        harness.ask()
        assert len(events(harness.session, "head.moved")) == 1
        assert len(events(harness.session, "view.edited")) == edits
        assert len(str(api.last.body["messages"])) < len(str(harness.messages)) * 0.6
        assert texts(harness.session)[-2] == "other"
        assert problems(harness.session) == []

    def test_the_head_before_a_summary_shows_what_was_said_there(self, api: Server) -> None:
        harness = managed(api, policy="lesson", window=4_000, reserve=500)
        worked(api, harness, 8)
        assert events(harness.session, "summary.written")
        harness.messages = harness.messages[:4]
        harness.say("other")
        shown = harness.session.render()["messages"]
        assert shown[-2]["content"] == "other"
        assert "task 7" not in str(shown)
        assert problems(harness.session) == []

    def test_is_sent_though_it_does_not_fit_by_our_own_count(self, api: Server) -> None:
        harness = managed(api, window=300, reserve=100)
        harness.say("word " * 900)
        assert api.last.refusal is None
        assert problems(harness.session) == []


class TestMarks:
    def test_keep_their_distance_from_the_end(self, api: Server) -> None:
        harness = managed(api)
        mark = {"type": "ephemeral"}
        harness.say("one")
        block = {"type": "text", "text": "two", "cache_control": mark}
        harness.say([block])
        [first, _, last] = api.last.body["messages"]
        assert last["content"] == [block]
        assert "cache_control" not in str(first)
        [_, recorded] = events(harness.session, "message.user")
        assert recorded.data["content"] == [{"type": "text", "text": "two"}]

    def test_are_never_set_on_thinking(self, api: Server) -> None:
        harness = managed(api)
        api.script(reply("Hm.", thought()), reply("Yes."))
        harness.say("one")
        harness.messages[-1] = {"role": "assistant", "content": [
            {"type": "text", "text": "Hm.", "cache_control": {"type": "ephemeral"}}
        ]}  # fmt: skip
        harness.say("two")
        assert api.last.refusal is None
        assert "cache_control" in str(api.last.body["messages"][1]["content"][0])

    def test_on_the_settings_stay_as_the_harness_set_them(self, api: Server) -> None:
        harness = managed(api)
        system = [{"type": "text", "text": "Hi.", "cache_control": {"type": "ephemeral"}}]
        harness.more["system"] = system
        harness.say("one")
        assert api.last.body["system"] == system


class TestTooLong:
    @pytest.mark.parametrize("refusal", TOO_LONG.values(), ids=TOO_LONG.keys())
    def test_a_smaller_request_takes_its_place(self, api: Server, refusal: Refusal) -> None:
        harness = managed(api)
        worked(api, harness)
        api.faults.append(refusal)
        harness.say("and now?")
        first, second = api.requests[-2:]
        assert len(str(second.body["messages"])) < len(str(first.body["messages"]))
        assert types(harness.session)[-6:].count("request.sent") == 1
        [failed] = events(harness.session, "request.failed")
        assert failed.data["error"]["message"] == refusal.args[0]
        assert problems(harness.session) == []

    def test_once_then_the_error_goes_out(self, api: Server) -> None:
        harness = managed(api)
        worked(api, harness)
        api.faults.extend([TOO_LONG["400"]] * 2)
        with pytest.raises(anthropic.BadRequestError, match="too long"):
            harness.say("and now?")
        assert len(events(harness.session, "request.failed")) == 2

    def test_the_error_goes_out_where_nothing_can_be_left_out(self, api: Server) -> None:
        harness = managed(api)
        api.faults.append(TOO_LONG["400"])
        with pytest.raises(anthropic.BadRequestError, match="too long"):
            harness.say("one")
        assert harness.session.render()["messages"] == [{"role": "user", "content": "one"}]

    def test_another_refusal_is_the_harness_s(self, api: Server) -> None:
        harness = managed(api)
        api.faults.append(invalid("max_tokens: too high"))
        with pytest.raises(anthropic.BadRequestError, match="too high"):
            harness.say("one")
        [failed] = events(harness.session, "request.failed")
        assert failed.data["error"]["type"] == "invalid_request_error"

    def test_a_reply_that_ended_so_is_acted_on_at_the_next_request(self, api: Server) -> None:
        harness = managed(api)
        worked(api, harness)
        api.script(reply("And th", stop="model_context_window_exceeded"), reply("Done."))
        harness.say("and now?")
        before = len(str(api.last.body["messages"]))
        harness.say("go on")
        assert len(str(api.last.body["messages"])) < before
        [failed] = events(harness.session, "request.failed")
        assert failed.data["error"]["code"] == "model_context_window_exceeded"
        api.script(reply("More."))
        harness.say("and on")
        assert len(events(harness.session, "request.failed")) == 1
        assert problems(harness.session) == []

    def test_the_window_that_the_api_told_is_kept(self, api: Server) -> None:
        harness = Harness(api, Recording(session(), policy="adaptive"), tools=TOOLS)
        worked(api, harness)
        api.faults.append(TOO_LONG["400"])
        harness.say("and now?")
        assert harness.recording.cache.windows == {MODEL: 8000}


class TestWhatAPolicyAsks:
    def test_goes_into_the_request(self, api: Server) -> None:
        harness = managed(api, policy="api-native")
        harness.more["thinking"] = {"type": "adaptive"}
        harness.say("one")
        assert "context-management-2025-06-27" in api.last.betas
        assert api.last.body["context_management"]["edits"]
        [sent] = events(harness.session, "request.sent")
        assert "context-management-2025-06-27" in sent.data["betas"]

    def test_what_the_harness_asks_itself_stays(self, api: Server) -> None:
        harness = managed(api, policy="api-native")
        own = {"edits": [{"type": "clear_tool_uses_20250919"}]}
        body = {**harness.body(), "messages": [{"role": "user", "content": "one"}]}
        body["context_management"] = own
        outgoing = harness.recording.begin(body, betas={"context-management-2025-06-27"})
        assert outgoing.body["context_management"] == own

    def test_thinking_behind_a_changed_prompt_is_dropped_by_the_api(self, api: Server) -> None:
        harness = managed(api)
        api.script(reply(thought(), "One."), reply("Two."))
        harness.say("one")
        harness.more["system"] = "Be kind."
        harness.say("two")
        assert api.last.refusal is None
        assert "thinking-binding-controls-2026-08-01" in api.last.betas


class TestPartialReplies:
    def test_one_at_the_end_is_left_behind_before_the_next_request(self, api: Server) -> None:
        harness = managed(api)
        harness.messages.append({"role": "user", "content": "one"})
        outgoing = harness.recording.begin(harness.body())
        content = [{"type": "text", "text": "Half a"}]
        outgoing.answered({"id": "msg_1", "model": MODEL, "content": content}, None, partial=True)
        harness.messages.append({"role": "assistant", "content": content})
        harness.session.state("plan", "the plan")
        harness.ask()
        assert [m["role"] for m in api.last.body["messages"]] == ["user"]
        assert harness.session.view().state("plan") == "the plan"
        assert problems(harness.session) == []
