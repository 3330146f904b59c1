"""The exercises of the study of Claude Code's engine, and its walk-through of a full window."""

from __future__ import annotations

from typing import Any

import pytest

from foldlog.projections import Session
from foldlog.projections.compaction import Policy, SummaryFailed
from foldlog.projections.summaries import AnthropicSummarizer
from foldlog.projections.tokens.estimate import estimate
from tests.compaction.talk import Api, Scripted, says, too_long
from tests.projections.build import call
from tests.scenarios.told import HOUR, begun, events, messages, reads, results, rules, text_of

CLEARED = "[Old tool result content cleared]"
SECTIONS = (
    *("Primary Request and Intent", "Key Technical Concepts", "Files and Code Sections"),
    *("Errors and Fixes", "Problem Solving", "All User Messages", "Pending Tasks"),
    *("Current Work", "Optional Next Step"),
)
NINE = "\n".join(f"{n}. {name}:\n   said of {name}" for n, name in enumerate(SECTIONS, 1))
IMAGE: dict[str, Any] = {
    "type": "image",
    "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="},
}


class TestMicro:
    """Three ways of clearing: which tools, after how long, how many."""

    def test_by_count_more_than_twenty_leave_five(self) -> None:
        session = begun()
        reads(session, 22, 400)
        session.assistant("Read.")
        session.prepare("claude-code", window=200_000)
        shown = list(results(session).values())
        assert shown.count(CLEARED) == 17
        assert CLEARED not in shown[-5:]
        (edit,) = events(session, "view.edited")
        assert edit.data["via"] == "server"

    def test_twenty_stay(self) -> None:
        session = begun()
        reads(session, 20, 400)
        session.assistant("Read.")
        session.prepare("claude-code", window=200_000)
        assert rules(session) == []

    def test_by_time_an_hour_after_the_last_reply(self) -> None:
        session = begun()
        reads(session, 8, 400)
        session.assistant("Read.")
        session.user("I am back.")
        session.prepare("claude-code", window=200_000, now=HOUR)
        assert list(results(session).values()).count(CLEARED) == 3
        (edit,) = events(session, "view.edited")
        assert "via" not in edit.data

    def test_by_tool_only_those_whose_output_can_be_had_again(self) -> None:
        session = begun()
        reads(session, 22, 400, tool="Read")
        reads(session, 5, 400, tool="AskUser", name="q")
        session.assistant("Read.")
        session.prepare("claude-code", window=200_000)
        assert all(results(session)[f"q{n}"] != CLEARED for n in range(5))


class TestFull:
    """A summary: images stripped, both tags understood, its own overflow retried."""

    def asked(self, *answers: Any, turns: int = 12) -> tuple[Session, Api]:
        session = begun()
        session.user([{"type": "text", "text": "It looks like this:"}, IMAGE])
        for n in range(turns):
            session.assistant(f"Step {n}. " + "word " * 1_200)
            session.user(f"And then {n}?")
        api = Api(*answers)
        session.compact("claude-code", summarizer=AnthropicSummarizer("m", client=api.client))
        return session, api

    def test_images_are_named_not_sent(self) -> None:
        _, api = self.asked(says(f"<summary>{NINE}</summary>"))
        sent = str(api.requests[0]["messages"])
        assert "[image]" in sent
        assert "base64" not in sent

    def test_the_draft_is_thrown_away_and_the_tag_unwrapped(self) -> None:
        reply = f"<analysis>I think aloud.</analysis>\n\n\n<summary>\n{NINE}\n</summary>"
        session, _ = self.asked(says(reply))
        shown = text_of(messages(session)[0]["content"]) + str(messages(session))
        assert "I think aloud." not in shown
        assert "<summary>" not in shown
        assert "Summary:" in shown
        assert events(session, "summary.written")[0].data["raw"] == reply

    def test_tools_are_forbidden_first_and_last(self) -> None:
        _, api = self.asked(says(f"<summary>{NINE}</summary>"))
        asked = api.asked
        assert "Do not call any tool" in asked[:120]
        assert "do not call any tool" in asked[-160:]

    def test_too_long_it_is_asked_again_without_the_oldest_fifth(self) -> None:
        session, api = self.asked(too_long, too_long, says(f"<summary>{NINE}</summary>"))
        lengths = [len(str(request["messages"])) for request in api.requests]
        assert lengths[0] > lengths[1] > lengths[2]
        (written,) = events(session, "summary.written")
        assert (written.data["requests"], written.data["dropped"] > 0) == (3, True)

    def test_after_three_retries_it_is_a_typed_error(self) -> None:
        with pytest.raises(SummaryFailed, match="too long") as failure:
            self.asked(too_long)
        assert failure.value.reason == "too_long"

    def test_an_automatic_one_tells_the_model_to_go_on(self) -> None:
        go_on = "without asking the user any further questions"
        session = begun()
        for n in range(12):
            session.assistant(f"Step {n}. " + "word " * 1_200)
            session.user(f"And then {n}?")
        session.prepare("claude-code", summarizer=Scripted(NINE), window=20_000)
        assert go_on in str(messages(session))
        by_hand, _ = self.asked(says(NINE))
        assert go_on not in str(messages(by_hand))


class TestRestore:
    """What comes back behind the summary keeps to each of its budgets."""

    def test_files_skills_and_plan(self) -> None:
        session = begun()
        for n in range(9):
            session.assistant([call(f"r{n}", "Read", file_path=f"src/{n}.py")])
            session.tool_result(f"r{n}", f"def f{n}(): pass\n" * 1_500)
        for n in range(8):
            session.attach("skill", f"Skill {n}. " + "do it well " * 3_000)
        session.state("plan", [{"step": "mend it", "status": "pending"}])
        session.assistant("Now I know.")
        session.user("Go on.")
        session.compact("claude-code", summarizer=Scripted(NINE), window=400_000)
        back = [e.data for e in events(session, "attachment.added") if e.data.get("restored")]
        files = [data for data in back if data["kind"] == "files"]
        skills = [data for data in back if data["kind"] == "skills"]
        assert len(files) == 5
        assert [data["name"] for data in files] == [f"src/{n}.py" for n in (8, 7, 6, 5, 4)]
        assert all(estimate(data["content"]) <= 5_000 for data in back)
        assert sum(estimate(data["content"]) for data in files) <= 50_000
        assert sum(estimate(data["content"]) for data in skills) <= 25_000
        assert any("mend it" in text_of(data["content"]) for data in back)


def test_the_walk_through_of_a_window_of_80_000_tokens() -> None:
    """72,000 tokens in rounds of 4,000; a summary of 6,000; the last three rounds stay: 18,000."""
    rule = {
        "rule": "summarize",
        "trigger": 70_000,
        "keep": "100%",
        "keep_exchanges": 3,
        "max_tokens": 8_000,
        "target": 20_000,
    }
    session = begun()
    reads(session, 18, 12_800)
    session.assistant("So much for that.")
    session.user("Go on.")
    summary = "They read many files and found the cause of it. " * 570
    session.prepare(
        Policy.read({"name": "walk-through", "rules": [rule]}),
        summarizer=Scripted(summary),
        window=80_000,
        reserve=8_000,
    )
    (edit,) = events(session, "view.edited")
    assert edit.data["tokens_before"] == pytest.approx(72_000, rel=0.1)
    assert edit.data["tokens_after"] == pytest.approx(18_000, rel=0.2)
    assert list(results(session)) == ["f16", "f17"]
