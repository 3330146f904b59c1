"""The summarizer that asks a model, through the real SDK: what is sent, what comes back."""

from __future__ import annotations

import json
from typing import Any

import pytest

from foldlog.projections.compaction.decision import Summarize
from foldlog.projections.render.api_rules import check
from foldlog.projections.summaries import (
    AnthropicSummarizer,
    ChunkedSummarizer,
    Prompt,
    SummaryFailed,
    SummaryTask,
    prompt,
    prompts,
)
from tests.compaction.talk import (
    PLAIN,
    Api,
    Scripted,
    reason_of,
    refuses,
    replies,
    says,
    task_of,
    too_long,
    too_long_over,
    view_of,
    work,
)
from tests.projections.build import (
    assistant,
    call,
    edit,
    result,
    shown,
    summary,
    system,
    thinking,
    tools,
    user,
)

IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}
PDF = {
    "type": "document",
    "source": {"type": "base64", "media_type": "application/pdf", "data": "aGk="},
}
TALK = Prompt("talk", ask="Summarize.", form="conversation")


def asked(api: Api, task: SummaryTask, **more: Any) -> str:
    return AnthropicSummarizer("m", client=api.client, **more).summarize(task).text


def sent(task: SummaryTask) -> dict[str, Any]:
    """The request that a task makes."""
    api = Api(says("S"))
    asked(api, task)
    return api.requests[0]


class TestReply:
    def test_draft_and_tags_are_taken_off(self) -> None:
        api = Api(says("<analysis>hm</analysis><summary>It works.</summary>"))
        task = task_of(prompt=prompt("claude-code"))
        reply = AnthropicSummarizer("m", client=api.client).summarize(task)
        assert reply.text == "Summary:\nIt works."
        assert reply.raw == "<analysis>hm</analysis><summary>It works.</summary>"
        assert (reply.model, reply.stop_reason, reply.requests) == ("m", "end_turn", 1)
        assert reply.usage == {"input_tokens": 10, "output_tokens": 5}
        assert str(reply.prompt).startswith("claude-code@")

    def test_a_tool_call_is_told(self) -> None:
        answer = replies([{"type": "tool_use", "id": "x", "name": "Bash", "input": {}}], "tool_use")
        reply = AnthropicSummarizer("m", client=Api(answer).client).summarize(task_of())
        assert reply.calls == ("Bash",)

    def test_the_log_writes_which_files_were_touched(self) -> None:
        api = Api(says("## Goal\nFix it."))
        drafts = [*work(2), assistant(call("e", "Edit", file_path="f0.py")), result("e")]
        text = asked(api, task_of(*drafts, prompt=prompt("adaptive")))
        assert text.endswith("## Files\n- `f0.py` (edited, read)\n- `f1.py` (read)")
        assert "## Files" not in api.asked

    def test_a_second_request_reads_the_first_reply_again(self) -> None:
        api = Api(says("draft"), says("better"))
        reply = AnthropicSummarizer("m", client=api.client).summarize(task_of(review=True))
        assert (reply.text, reply.requests) == ("better", 2)
        assert api.requests[1]["messages"][-2] == {"role": "assistant", "content": "draft"}


class TestQuestion:
    @pytest.mark.parametrize("name", prompts())
    def test_tools_are_forbidden_first_and_last(self, name: str) -> None:
        api = Api(says("S"))
        asked(api, task_of(prompt=prompt(name)))
        question = api.asked.partition("</conversation>")[2].strip() or api.asked
        assert question.startswith("Answer with text only. Do not call any tool")
        assert question.endswith("Remember: do not call any tool. Answer with the summary as text.")

    @pytest.mark.parametrize("name", prompts())
    def test_every_prompt_makes_a_valid_request(self, name: str) -> None:
        drafts = [system("be brief"), tools("Read"), *work(3)]
        request = sent(task_of(*drafts, prompt=prompt(name)))
        assert check(request) == []
        assert request["max_tokens"] == prompt(name).max_tokens

    def test_headings_instructions_and_room_are_told(self) -> None:
        api = Api(says("S"))
        task = task_of(
            prompt=prompt("opencode"), instructions=("Keep the test code.",), at_most=1_000
        )
        asked(api, task)
        assert "## Constraints & Preferences\n" in api.asked
        assert "- Keep the test code." in api.asked
        assert "less than 700 words" in api.asked

    def test_a_policy_may_name_other_headings(self) -> None:
        api = Api(says("S"))
        asked(api, task_of(prompt=prompt("opencode"), sections=("Goal", "Risks")))
        assert "## Goal\nwhat the user wants" in api.asked
        assert "## Risks" in api.asked
        assert "## Progress" not in api.asked

    def test_a_reminder_says_what_was_wrong(self) -> None:
        api = Api(says("S"))
        asked(api, task_of(reminder="these headings are missing: Goal."))
        assert "Your last answer was refused: these headings are missing: Goal." in api.asked

    def test_an_earlier_summary_is_carried_on(self) -> None:
        drafts = [
            *(user("a"), assistant("b")),
            summary("[frame]\nEarlier facts.", raw="Earlier facts.", prompt="facts@1"),
            edit(shown(1, 2, "summary", summary=3)),
            user("more"),
        ]
        text = str(sent(task_of(*drafts, prompt=prompt("pi")))["messages"])
        assert "<previous-summary>\\nEarlier facts.\\n</previous-summary>" in text
        assert text.count("Earlier facts.") == 1
        assert "Update the previous summary" in text
        assert "Update the previous summary" not in str(sent(task_of(prompt=prompt("pi"))))


class TestInput:
    def test_images_and_documents_are_named_not_sent(self) -> None:
        drafts = [
            user([IMAGE, {"type": "text", "text": "look"}]),
            assistant(call("a")),
            result("a", [PDF, IMAGE]),
            assistant("seen"),
        ]
        for prompt_ in (TALK, PLAIN, prompt("learn-claude-code")):
            text = json.dumps(sent(task_of(*drafts, prompt=prompt_)))
            assert "base64" not in text
            assert text.count("[image]") == 2
            assert text.count("[document]") == 1

    def test_what_comes_again_anyhow_is_taken_out(self) -> None:
        from foldlog.eventstore.events import EventDraft

        def attached(text: str, **more: Any) -> EventDraft:
            return EventDraft("attachment.added", {"content": text, **more})

        drafts = [
            user("hi"),
            attached("given by the user", kind="file"),
            attached("put back by us", kind="file", restored=True),
            attached("a list of skills", kind="skill_listing"),
            assistant("ok"),
        ]
        text = json.dumps(sent(task_of(*drafts, prompt=TALK)))
        assert "given by the user" in text
        assert "put back by us" not in text
        assert "a list of skills" not in text

    def test_the_middle_is_left_out_where_the_input_is_limited(self) -> None:
        api = Api(says("S"))
        asked(api, task_of(*work(20, 2_000), input_chars=(1_000, 3_000)))
        given = api.asked.partition("<conversation>\n")[2].partition("\n</conversation>")[0]
        assert 4_000 < len(given) < 4_100
        assert "characters left out" in given
        assert "fix the login" in given
        assert "I found the cause." in given

    def test_the_prefix_is_shared_where_nothing_had_to_change(self) -> None:
        """System, tools and messages as in any turn: the prompt cache can be read."""
        drafts = [
            system("be brief"),
            tools("Read"),
            user("hi"),
            assistant(thinking(), call("a")),
            result("a"),
            assistant("ok"),
        ]
        request = sent(task_of(*drafts, prompt=prompt("adaptive")))
        assert request["system"] == "be brief"
        assert request["tools"] == [{"name": "Read"}]
        assert request["messages"][1]["content"][0]["type"] == "thinking"
        mark = {"cache_control": {"type": "ephemeral"}}
        assert mark.items() <= request["messages"][-2]["content"][-1].items()
        other = sent(task_of(*drafts, prompt=TALK))
        assert "system" not in other
        assert "thinking" not in json.dumps(other)

    def test_outputs_that_were_cleared_are_recalled_from_the_log(self) -> None:
        """No summary of what was already cut."""
        drafts = [
            *work(2),
            edit(shown(3, 3, "cleared", text="[cleared]")),
        ]
        with_recall = sent(task_of(*drafts, prompt=prompt("adaptive")))
        assert "[cleared]" in str(with_recall)
        assert "line of f0" in str(with_recall)
        assert "line of f0" not in str(sent(task_of(*drafts, prompt=TALK)))

    def test_an_open_call_is_closed_as_interrupted(self) -> None:
        request = sent(task_of(user("hi"), assistant(call("a")), prompt=TALK))
        assert check(request) == []
        assert "interrupted" in str(request)

    def test_a_recent_part_is_asked_for_as_such(self) -> None:
        view = view_of(user("one"), assistant("two"), user("three"), assistant("four"))
        asked = Summarize(((3, 4),), "test", "{summary}", prompt="claude-code")
        assert asked.task(view).prompt.name == "claude-code-recent"
        asked = Summarize(((1, 2),), "test", "{summary}", prompt="claude-code")
        assert asked.task(view).prompt.name == "claude-code"

    def test_what_stands_before_is_sent_but_not_summarized(self) -> None:
        view = view_of(user("one"), assistant("two"), user("three"), assistant("four"))
        task = SummaryTask.of(view, [(3, 4)], TALK)
        assert [item.version for item in task.before] == [1, 2]
        assert [item.version for item in task.items] == [3, 4]
        assert "one" in str(sent(task))
        assert "one" not in str(sent(SummaryTask.of(view, [(3, 4)], PLAIN)))


class TestOverflow:
    CLAUDE = Prompt("c", ask="Summarize.", form="conversation", drop="fifth", retries=3)

    def test_the_oldest_rounds_are_left_out_until_it_fits(self) -> None:
        api = Api(too_long, too_long, says("S"))
        task = task_of(*work(10), prompt=self.CLAUDE)
        reply = AnthropicSummarizer("m", client=api.client).summarize(task)
        assert (reply.text, reply.requests, reply.dropped) == ("S", 3, 4)
        sizes = [len(request["messages"]) for request in api.requests]
        assert sizes == sorted(sizes, reverse=True)
        for request in api.requests:
            assert check(request) == []
        assert "earlier rounds are left out" in str(api.requests[-1]["messages"][0])

    def test_after_three_retries_it_is_a_typed_error(self) -> None:
        api = Api(too_long)
        task = task_of(*work(10), prompt=self.CLAUDE)
        assert reason_of(lambda: asked(api, task)) == "too_long"
        assert len(api.requests) == 4

    def test_fewer_than_two_rounds_cannot_be_compacted(self) -> None:
        api = Api(too_long)
        with pytest.raises(SummaryFailed, match="Conversation too long, cannot compact"):
            asked(api, task_of(user("x" * 1_000), prompt=self.CLAUDE))
        assert len(api.requests) == 1

    @pytest.mark.parametrize(
        "answer",
        [
            refuses("input length and `max_tokens` exceed context limit: 1 + 2 > 3"),
            refuses("request_too_large", status=413),
            refuses("something else", code="prompt_too_long"),
            says("cut", "model_context_window_exceeded"),
        ],
    )
    def test_every_overflow_is_known(self, answer: Any) -> None:
        api = Api(answer, says("S"))
        assert asked(api, task_of(*work(4), prompt=self.CLAUDE)) == "S"

    def test_other_refusals_are_told_and_not_repeated(self) -> None:
        api = Api(refuses("no such model", status=404, code="model_not_found"))
        with pytest.raises(SummaryFailed) as failed:
            asked(api, task_of())
        assert (failed.value.reason, len(api.requests)) == ("api_error", 1)
        assert failed.value.details == {"code": "model_not_found", "status": 404, "requests": 1}

    def test_a_turn_has_so_many_requests_and_no_more(self) -> None:
        api = Api(too_long)
        task = task_of(*work(10), prompt=self.CLAUDE, requests=2)
        with pytest.raises(SummaryFailed) as failed:
            asked(api, task)
        assert (len(api.requests), failed.value.details["requests"]) == (2, 2)

    def test_the_next_model_is_asked_where_one_cannot(self) -> None:
        api = Api(refuses("overloaded", status=529), says("S"))
        summarizer = AnthropicSummarizer(["a", "b"], client=api.client)
        assert summarizer.summarize(task_of()).model == "b"

    def test_without_a_name_the_sessions_own_model_is_asked(self) -> None:
        api = Api(says("S"))
        reply = assistant("b")
        own = type(reply)("message.assistant", {**reply.data, "model": "claude-opus-5-5"})
        task = task_of(user("a"), own)
        assert AnthropicSummarizer(client=api.client).summarize(task).model == "claude-opus-5-5"

    def test_without_credentials_the_failure_says_so(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_PROFILE"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("HOME", "/nonexistent")
        assert reason_of(lambda: AnthropicSummarizer("m").summarize(task_of())) == "api_error"

    def test_nothing_is_nothing(self) -> None:
        api = Api(says("S"))
        task = SummaryTask.of(view_of(system("x"), user("hi")), [(1, 1)], PLAIN)
        assert reason_of(lambda: asked(api, task)) == "nothing"
        assert api.requests == []


class TestChunks:
    def test_each_chunk_carries_on_the_one_before(self) -> None:
        inner = Scripted("first", "second", "third")
        task = task_of(*work(9, 900))
        reply = ChunkedSummarizer(inner, tokens=task.replaces // 3 + 50).summarize(task)
        assert reply.text == "third"
        assert [part.previous for part in inner.tasks] == [None, "first", "second"]
        seen = [item.version for part in inner.tasks for item in part.items]
        assert seen == [item.version for item in task.items]

    def test_there_are_so_many_chunks_and_no_more(self) -> None:
        inner = Scripted()
        chunked = ChunkedSummarizer(inner, tokens=10, most=3)
        assert reason_of(lambda: chunked.summarize(task_of())) == "too_long"
        assert inner.tasks == []

    def test_an_input_too_long_for_the_model_fits_in_chunks(self) -> None:
        api = Api(too_long_over(6_000, says("S")))
        task = task_of(*work(20, 900), prompt=PLAIN)
        model = AnthropicSummarizer("m", client=api.client)
        assert reason_of(lambda: model.summarize(task)) == "too_long"
        reply = ChunkedSummarizer(model, tokens=1_000, most=20).summarize(task)
        assert reply.text == "S"
        assert reply.requests == len(api.requests) - 2

    def test_more_chunks_than_requests_are_not_begun(self) -> None:
        inner = Scripted("first", "second", "third")
        task = task_of(*work(9, 900), requests=2)
        chunked = ChunkedSummarizer(inner, tokens=task.replaces // 3 + 50)
        assert reason_of(lambda: chunked.summarize(task)) == "too_long"
        assert inner.tasks == []

    def test_a_chunk_that_fails_ends_it(self) -> None:
        inner = Scripted("first", "", "third")
        task = task_of(*work(9, 900))
        assert ChunkedSummarizer(inner, tokens=task.replaces // 3 + 50).summarize(task).text == ""
        assert len(inner.tasks) == 2
