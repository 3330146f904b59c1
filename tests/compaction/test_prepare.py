"""Preparing a view: what is decided is judged, recorded in one append, and can be undone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from foldlog.eventstore import Event, EventDraft, EventStore, VersionConflict
from foldlog.eventstore.errors import ContextError
from foldlog.projections import Session, render
from foldlog.projections.compaction import MessageTooLarge, Policy, SummaryFailed, policy
from foldlog.projections.compaction import compact_tool as called
from foldlog.projections.summaries import SummaryReply, SummaryTask
from foldlog.projections.wire.blocks import blocks, kind, text
from tests.compaction.talk import Scripted
from tests.projections.build import call, thinking

SUMMARY = "The login reads the clock; f0 to f9 were read. Next: fix it."


@pytest.fixture
def session(store: EventStore) -> Session:
    """A session of about 28,000 tokens, all its results read but the newest."""
    return worked(Session(store, "s"))


def worked(session: Session, rounds: int = 40, tool: str = "Read") -> Session:
    session.user("Fix the login. Never touch the billing code.")
    for n in range(rounds):
        session.assistant([call(f"t{n}", tool, file_path=f"f{n}.py")])
        session.tool_result(f"t{n}", f"line of f{n} " * 200)
    return session


def summarizing(**more: Any) -> Policy:
    """A policy that only summarizes: from 60 % on, all but the newest exchange."""
    rule = {"rule": "summarize", "trigger": "60%", "keep": "20%", "max_tokens": 500}
    return Policy.read({"name": "test", "rules": [rule], **more})


def types(session: Session, after: int = 0) -> list[str]:
    return [event.type for event in session.store.read(session.id, after=after)]


def events(session: Session, type: str) -> list[Event]:
    return list(session.store.read(session.id, types=(type,)))


class TestByHand:
    def test_a_reply_that_begins_with_a_blank_text_and_thinking_keeps_its_loop(
        self, session: Session
    ) -> None:
        """As Claude Code 2.1 records it; the blank text is not sent, so thinking comes first."""
        session.user("And now the logout.")
        for n in range(6):
            opening = [text("\n\n"), thinking()] if n == 0 else []
            session.assistant([*opening, call(f"u{n}", "Read", file_path=f"{n}.py")], id=f"m{n}")
            session.tool_result(f"u{n}", f"line of {n} " * 400)
        session.compact("aider", window=9_000)
        assert session.prepared is not None
        assert session.prepared.edits
        shown = render(session.view())["messages"]
        assert any(kind(block) == "thinking" for m in shown for block in blocks(m["content"]))

    def test_what_stays_is_known_where_it_does_not_fit(self, session: Session) -> None:
        session.compact("adaptive", asked=(2, 20), window=12_000)
        assert session.prepared is not None
        assert session.prepared.edits
        over = session.prepared.over
        assert over is not None
        assert over.tokens > over.room == 9_000
        assert over.blocks
        session.compact("adaptive", window=12_000)
        assert session.prepared.over is None


class TestNothingToDo:
    def test_below_the_trigger_nothing_is_recorded(self, session: Session) -> None:
        before = session.version
        view = session.prepare("adaptive", window=200_000)
        assert view.version == session.version == before

    def test_again_after_a_compaction(self, session: Session) -> None:
        once = session.prepare("adaptive", window=12_000)
        assert session.prepare("adaptive", window=12_000).version == once.version

    def test_what_the_api_should_do_is_told(self, session: Session) -> None:
        session.prepare("api-native", window=200_000)
        assert session.prepared is not None
        assert session.prepared.plan.ask is not None
        assert "context_management" in session.prepared.plan.ask.params


class TestOneAppend:
    def test_free_edits_go_with_receipt_and_policy(self, session: Session) -> None:
        before = session.version
        session.prepare("manus", window=12_000)
        assert types(session, before) == ["snapshot.taken", "policy.set", "view.edited"]

    def test_a_summary_goes_with_its_edit_behind_the_attempt(self, session: Session) -> None:
        before = session.version
        session.prepare(summarizing(), window=12_000)
        assert types(session, before) == [
            *("snapshot.taken", "policy.set", "summary.requested"),
            *("summary.written", "view.edited"),
        ]
        times = [event.at for event in session.store.read("s", after=before)]
        assert times[-2] == times[-1]

    def test_the_policy_is_recorded_when_it_changes(self, session: Session) -> None:
        session.prepare("manus", window=20_000)
        worked_on = [session.prepare("manus", window=12_000), session.compact("codex")]
        assert worked_on
        names = [event.data["name"] for event in events(session, "policy.set")]
        assert names == ["manus", "codex"]

    def test_the_edit_says_rule_reason_sizes_and_trigger(self, session: Session) -> None:
        session.prepare("manus", window=12_000)
        (edit,) = events(session, "view.edited")
        assert edit.data["rule"] == "clear_results"
        assert edit.data["reason"]
        assert (edit.data["policy"], edit.data["trigger"]) == ("manus", "proactive")
        assert edit.data["tokens_after"] < edit.data["tokens_before"]
        assert edit.data["digest_before"] != edit.data["digest_after"]

    def test_handles_name_the_receipt(self, session: Session) -> None:
        before = session.version
        session.compact("adaptive", window=12_000)
        shown = str(render(session.view())["messages"])
        receipt = session.store.get("s", before + 1)
        assert (receipt.type, receipt.data["version"]) == ("snapshot.taken", before)
        assert f"foldlog:s/{receipt.version}" in shown

    def test_who_appended_meanwhile_is_a_conflict(self, session: Session) -> None:
        class Slow(Scripted):
            def summarize(self, task: SummaryTask) -> SummaryReply:
                Session(session.store, "s").user("And one more thing.")
                return super().summarize(task)

        with pytest.raises(VersionConflict):
            session.prepare(summarizing(), summarizer=Slow(SUMMARY), window=12_000)
        assert events(session, "view.edited") == []
        assert events(session, "summary.failed")[-1].data["reason"] == "conflict"

    def test_two_programs_cannot_both_compact(self, session: Session) -> None:
        other = Session(session.store, "s")
        other.view()
        plans = [session, other]
        session.prepare("manus", window=12_000)
        assert all(len(events(one, "view.edited")) == 1 for one in plans)
        other.prepare("manus", window=12_000)
        assert len(events(session, "view.edited")) == 1


class TestFailure:
    def test_a_failed_summary_leaves_the_view_as_it_was(self, session: Session) -> None:
        before = render(session.view())
        with pytest.raises(SummaryFailed, match="empty"):
            session.prepare(summarizing(), summarizer=Scripted("", ""), window=12_000)
        assert render(session.view()) == before
        assert [e.data["reason"] for e in events(session, "summary.failed")] == ["empty", "empty"]

    def test_where_the_view_fits_it_goes_on(self, session: Session) -> None:
        before = render(session.view())
        broken = Scripted(SummaryFailed("api_error", "overloaded"))
        view = session.prepare(summarizing(), summarizer=broken, window=42_000)
        assert render(view) == before
        assert session.prepared is not None
        assert "overloaded" in str(session.prepared.refusal)

    def test_a_refused_candidate_is_an_event(self, session: Session) -> None:
        rule = {"rule": "clear_results", "trigger": "10%", "target": "5%", "keep": 38}
        with pytest.raises(ContextError, match="over_budget"):
            session.prepare(Policy.read({"name": "weak", "rules": [rule]}), window=12_000)
        assert events(session, "view.edited") == []
        (refused,) = events(session, "view.refused")
        assert (refused.data["why"], refused.data["rules"]) == ("over_budget", ["clear_results"])

    def test_it_is_told_once_a_turn(self, session: Session) -> None:
        rule = {"rule": "clear_results", "trigger": "10%", "target": "5%", "keep": 38}
        weak = Policy.read({"name": "weak", "rules": [rule]})
        for _ in range(3):
            with pytest.raises(ContextError):
                session.prepare(weak, window=12_000)
        assert len(events(session, "view.refused")) == 1

    def test_a_view_that_does_not_fit_and_cannot_be_made_to_is_an_error(
        self, store: EventStore
    ) -> None:
        session = Session(store, "s")
        session.user("word " * 40_000)
        with pytest.raises(MessageTooLarge, match=r"version 1, takes 62,\d\d\d tokens by itself"):
            session.prepare("codex", window=8_000)
        assert types(session) == ["message.user"]


class TestExits:
    def test_the_digest_steps_in(self, session: Session) -> None:
        broken = Scripted(SummaryFailed("api_error", "down"))
        session.prepare(summarizing(exits=["digest"]), summarizer=broken, window=12_000)
        (written,) = events(session, "summary.written")
        assert written.data["by"] == "digest"
        assert [e.data["by"] for e in events(session, "summary.requested")] == [
            "scripted",
            "digest",
        ]

    def test_what_was_too_long_is_asked_for_in_chunks(self, session: Session) -> None:
        long = Scripted(SummaryFailed("too_long", "too long"), *["Visible of it."] * 8)
        made = summarizing(exits=["chunked", "digest"], model_calls=12)
        session.prepare(made, summarizer=long, window=12_000)
        (written,) = events(session, "summary.written")
        assert written.data["by"] == "scripted"
        assert 2 <= len(long.tasks) <= 9

    def test_the_tail_is_what_the_other_rules_can_do(self, session: Session) -> None:
        rules = [
            {"rule": "summarize", "trigger": "60%", "keep": "20%", "max_tokens": 500},
            {"rule": "truncate", "trigger": "60%", "keep": "40%"},
        ]
        made = Policy.read({"name": "test", "rules": rules, "exits": ["tail"]})
        session.prepare(made, summarizer=Scripted("", ""), window=12_000)
        (edit,) = events(session, "view.edited")
        assert edit.data["rule"] == "truncate"

    def test_without_exits_nobody_else_is_asked(self, session: Session) -> None:
        with pytest.raises(SummaryFailed):
            session.prepare(summarizing(), summarizer=Scripted("", ""), window=12_000)
        assert {e.data["by"] for e in events(session, "summary.requested")} == {"scripted"}

    def test_the_breaker_stops_a_model_that_keeps_failing(self, session: Session) -> None:
        broken = Scripted(*[SummaryFailed("api_error", "down")] * 9)
        made = summarizing(breaker=2)
        for n in range(6):
            session.user(f"Go on, {n}.")
            with pytest.raises(SummaryFailed):
                session.prepare(made, summarizer=broken, window=12_000)
        assert len(broken.tasks) == 2

    def test_and_a_restart_does_not_close_it(self, session: Session) -> None:
        broken = Scripted(*[SummaryFailed("api_error", "down")] * 9)
        for _ in range(6):
            with pytest.raises(SummaryFailed):
                Session(session.store, "s").prepare(
                    summarizing(breaker=2), summarizer=broken, window=12_000
                )
        assert len(broken.tasks) == 2

    def test_an_open_breaker_is_recorded_once_though_every_call_is_prepared(
        self, session: Session
    ) -> None:
        broken = Scripted(*[SummaryFailed("api_error", "529 overloaded")] * 9)
        made = summarizing(breaker=2)
        for _ in range(3):
            assert session.prepare(made, summarizer=broken, window=45_000).version
        before = session.version
        for _ in range(4):
            session.prepare(made, summarizer=broken, window=45_000)
        assert session.version == before
        assert session.prepared is not None
        assert "529 overloaded" in str(session.prepared.refusal)
        assert "foldlog compact" in str(session.prepared.refusal)

    def test_a_person_ignores_the_breaker(self, session: Session) -> None:
        broken = Scripted(*[SummaryFailed("api_error", "down")] * 2, SUMMARY)
        for n in range(2):
            session.user(f"Go on, {n}.")
            with pytest.raises(SummaryFailed):
                session.prepare(summarizing(breaker=2), summarizer=broken, window=12_000)
        session.compact(summarizing(breaker=2), summarizer=broken, window=12_000)
        assert len(events(session, "summary.written")) == 1

    def test_an_agent_that_works_on_is_compacted_as_often_as_it_takes(
        self, session: Session
    ) -> None:
        for turn in range(5):
            session.prepare(summarizing(), window=12_000)
            for n in range(20):
                session.assistant([call(f"u{turn}_{n}", "Read", file_path=f"g{n}.py")])
                session.tool_result(f"u{turn}_{n}", f"line of g{n} " * 200)
        assert len(events(session, "summary.written")) == 5

    def test_attempts_may_be_counted_by_turns(self, session: Session) -> None:
        made = summarizing(attempts_in="turn")
        for turn in range(2):
            session.prepare(made, window=12_000)
            for n in range(20):
                session.assistant([call(f"u{turn}_{n}", "Read", file_path=f"g{n}.py")])
                session.tool_result(f"u{turn}_{n}", f"line of g{n} " * 200)
        with pytest.raises(SummaryFailed, match="attempts"):
            session.prepare(made, window=12_000)


REFUSALS: list[Any] = [
    "prompt is too long: 210000 tokens > 200000 maximum",
    "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
    "model_context_window_exceeded",
    "Error: prompt_too_long",
    "too many tokens",
    {"type": "error", "error": {"type": "request_too_large", "message": "Request too large"}},
    {
        "type": "error",
        "error": {
            "type": "invalid_request_error",
            "message": "other words",
            "details": {"error_code": "prompt_too_long"},
        },
    },
]


class TestReactive:
    def test_a_rule_may_ask_for_the_digest_whoever_summarizes(self, session: Session) -> None:
        """Cline: recovering from an overflow never needs a model."""
        rule = {"rule": "summarize", "keep": "20%", "max_tokens": 500, "prompt": "digest"}
        asked = Policy.read({"name": "test", "rules": [rule]})
        model = Scripted()
        session.overflowed("prompt is too long", asked, summarizer=model, window=40_000)
        (written,) = events(session, "summary.written")
        assert (written.data["by"], model.tasks) == ("digest", [])

    @pytest.mark.parametrize("refusal", REFUSALS, ids=lambda value: str(value)[:30])
    def test_every_refusal_leads_to_a_smaller_view(self, session: Session, refusal: Any) -> None:
        before = session.view()
        view = session.overflowed(refusal, "codex")
        assert len(str(render(view))) < len(str(render(before)))
        (failed,) = events(session, "request.failed")
        assert failed.data["error"]["message"] is not None

    def test_what_the_api_says_of_sizes_is_believed(self, session: Session) -> None:
        session.overflowed("prompt is too long: 30,000 tokens > 25,000 maximum", "codex")
        assert session.prepared is not None
        budget = session.prepared.plan.before.budget
        assert (budget.used, budget.window) == (30_000, 25_000)

    def test_once_then_the_error_goes_out(self, session: Session) -> None:
        session.overflowed("prompt is too long", "codex")
        with pytest.raises(ContextError, match="again"):
            session.overflowed("prompt is too long", "codex")
        assert len(events(session, "view.edited")) == 1

    def test_a_reply_resets_that(self, session: Session) -> None:
        session.overflowed("prompt is too long", "codex")
        session.assistant("I go on. " * 100)
        session.user("Good. " * 100)
        session.assistant("More. " * 100)
        session.overflowed("prompt is too long", "codex")
        assert len(events(session, "view.edited")) == 2

    def test_a_reply_that_overflowed_does_not(self, session: Session) -> None:
        session.overflowed("prompt is too long", "codex")
        session.assistant("Half a", stop_reason="model_context_window_exceeded")
        with pytest.raises(ContextError, match="again"):
            session.overflowed("model_context_window_exceeded", "codex")

    def test_another_error_is_raised_again(self, session: Session) -> None:
        error = RuntimeError("overloaded")
        with pytest.raises(RuntimeError, match="overloaded"):
            session.overflowed(error, "codex")
        with pytest.raises(ContextError, match="does not say"):
            session.overflowed("overloaded", "codex")
        assert events(session, "request.failed") == []

    def test_whoever_recorded_the_refusal_need_not_have_it_twice(self, session: Session) -> None:
        session.append(EventDraft("request.failed", {"error": {"message": "prompt is too long"}}))
        session.overflowed("prompt is too long", "codex")
        assert len(events(session, "request.failed")) == 1


class TestByTheModel:
    def ask(self, session: Session, **arguments: Any) -> None:
        session.assistant([call("c1", "compact", **arguments), call("c2", "Read", file_path="x")])

    def test_only_when_the_whole_batch_is_answered(self, session: Session) -> None:
        session.prepare("learn-claude-code", window=200_000)
        before = len(events(session, "view.edited"))
        self.ask(session)
        session.tool_result("c1", called.ANSWER)
        session.prepare("learn-claude-code", window=200_000)
        assert len(events(session, "view.edited")) == before
        session.tool_result("c2", "text of x")
        session.prepare("learn-claude-code", window=200_000)
        assert events(session, "view.edited")[-1].data["trigger"] == "model"

    def test_once(self, session: Session) -> None:
        self.ask(session)
        session.tool_result("c1", called.ANSWER)
        session.tool_result("c2", "text of x")
        made = summarizing()
        session.prepare(made, window=80_000)
        version = session.version
        session.prepare(made, window=80_000)
        assert session.version == version
        assert len(events(session, "summary.written")) == 1

    def test_with_its_instructions(self, session: Session) -> None:
        self.ask(session, instructions="Keep the test code.")
        session.tool_result("c1", called.ANSWER)
        session.tool_result("c2", "text of x")
        told = Scripted(SUMMARY)
        session.prepare(summarizing(), summarizer=told, window=80_000)
        assert "Keep the test code." in told.tasks[0].instructions

    def test_not_below_the_size_from_which_it_may(self, session: Session) -> None:
        self.ask(session)
        session.tool_result("c1", called.ANSWER)
        session.tool_result("c2", "text of x")
        session.prepare("adaptive", window=1_000_000)
        assert "summary.requested" not in types(session)


class TestByAPerson:
    def test_instructions_reach_the_summarizer(self, session: Session) -> None:
        told = Scripted(SUMMARY)
        session.compact("codex", instructions="Keep the test code.", summarizer=told)
        assert told.tasks[0].instructions == ("Keep the test code.",)

    def test_a_range_leaves_all_else_alone(self, session: Session) -> None:
        session.compact(summarizing(), asked=session.asked(before=20), summarizer=Scripted(SUMMARY))
        changed = [piece for piece in session.view().pieces if piece.edit]
        assert [(piece.first, piece.last) for piece in changed] == [(2, 19)]

    def test_a_plan_records_nothing(self, session: Session) -> None:
        before = session.version
        assert session.planned("codex").decides
        assert session.store.last("s") == before

    def test_nothing_to_compact_is_no_error(self, store: EventStore) -> None:
        session = Session(store, "s")
        session.user("hi")
        assert session.compact("codex").version == 1


class TestUndone:
    @pytest.mark.parametrize("name", ["codex", "claude-code", "adaptive", "learn-claude-code"])
    def test_expand_gives_the_exact_earlier_view_back(self, session: Session, name: str) -> None:
        before = session.view()
        session.prepare(name, window=12_000)
        while True:
            edited = [p for p in session.view().pieces if p.edit and p.shown.kind != "whole"]
            if not edited:
                break
            session.expand(edited[-1].first)
        shown = render(session.view(before.version))
        assert render(session.view(at=before.version)) == shown
        now = render(session.view(), open="keep")["messages"]
        assert now[: len(shown["messages"]) - 1] == shown["messages"][:-1]

    def test_rewind_to_before_it_too(self, session: Session) -> None:
        before = render(session.view())
        session.compact("codex")
        session.rewind("before-compaction:-1")
        assert render(session.view()) == before


class TestTheHost:
    def test_a_policy_that_was_set_is_used_where_none_is_named(self, session: Session) -> None:
        session.append(policy("codex").recorded())
        session.prepare(window=12_000)
        assert events(session, "view.edited")[-1].data["policy"] == "codex"

    def test_what_is_sent_beside_the_log_counts(self, session: Session) -> None:
        tools = [{"name": f"t{n}", "description": "words " * 200} for n in range(100)]
        session.prepare("codex", window=80_000)
        version = session.version
        session.prepare("codex", window=80_000, request={"tools": tools})
        assert session.version > version

    def test_files_are_written_before_they_are_named(self, session: Session, tmp_path: Any) -> None:
        made = policy("learn-claude-code").into(tmp_path)
        session.prepare(made, window=12_000)
        named = [
            line.split(" saved at ")[1].rstrip("]")
            for line in str(render(session.view())).split("'")
            if " saved at " in line
        ]
        assert named
        assert all(Path(path).read_text() for path in named)
