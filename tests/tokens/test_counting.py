"""What the next request takes: the last real usage, and an estimate of what came since."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldlog.eventstore import EventStore
from foldlog.eventstore.events import Event, EventDraft
from foldlog.projections import Session, View, project
from foldlog.projections.compaction import Budget, Circumstances, ViewReader
from foldlog.projections.tokens.counting import Count, ask_count, count
from foldlog.projections.tokens.estimate import estimate
from foldlog.projections.tokens.usage import measured
from tests.projections.build import (
    call,
    edit,
    log,
    moved,
    result,
    shown,
    summary,
    system,
    thinking,
    tools,
    user,
)
from tests.projections.logs import logs
from tests.server import Server, reply
from tests.server import call as calls
from tests.server.fixtures import api as api

MODEL = "claude-opus-5-5"
PROSE = "The log is what happened, and a view is what the model sees of it. " * 60
CODE = "def add(a: int, b: int) -> int:\n    return (a + b) * [1, 2][0]\n" * 60
CHINESE = "一个会话里发生的一切都记录在日志中。" * 60


def used(input: int = 10, output: int = 50, read: int = 0, write: int = 0) -> dict[str, int]:
    return {
        "input_tokens": input,
        "output_tokens": output,
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": write,
    }


def said(*blocks: Any, id: str = "m1", usage: Any = None, **more: Any) -> EventDraft:
    """A reply with its usage; a string is a text block."""
    content = [{"type": "text", "text": b} if isinstance(b, str) else b for b in blocks]
    data = {"content": content, "id": id, "model": MODEL, "usage": usage, **more}
    return EventDraft("message.assistant", data)


def counted(*drafts: EventDraft, **more: Any) -> Count:
    return count(project(log(*drafts)), more or None)


class TestUsage:
    def test_it_is_the_base_and_what_came_since_is_estimated(self) -> None:
        usage = used(10, output=500, read=40_000, write=2_000)
        found = counted(user("Go."), said("Yes.", usage=usage), user(PROSE))
        assert found.tokens - found.estimated == 10 + 500 + 40_000 + 2_000
        assert found.estimated == pytest.approx(estimate(PROSE), abs=8)
        assert found.reply == 2

    def test_cache_reads_are_counted_once(self) -> None:
        turns = [
            draft
            for n in range(5)
            for draft in (user("More."), said("Yes.", id=f"m{n}", usage=used(5, 5, read=50_000)))
        ]
        assert counted(*turns).tokens == 50_010

    def test_without_one_all_that_is_visible_is_estimated(self) -> None:
        found = counted(system(PROSE), tools("bash"), user(CODE), said(CHINESE))
        expected = sum(map(estimate, (PROSE, [{"name": "bash"}], CODE, CHINESE)))
        assert found.tokens == found.estimated == pytest.approx(expected, rel=0.02)
        assert found.reply is None

    def test_the_newest_one_counts(self) -> None:
        found = counted(
            user("Go."),
            said("A", id="m1", usage=used(1_000)),
            user("On."),
            said("B", id="m2", usage=used(2_000)),
        )
        assert (found.tokens, found.reply) == (2_050, 4)

    def test_a_harness_that_writes_in_the_models_name_counted_nothing(self) -> None:
        note = said("API Error", id="m2", usage=used(0, 0), model="<synthetic>")
        assert counted(user("Go."), said("A", usage=used(1_000)), note).reply == 2

    def test_a_reply_that_broke_off_is_not_smaller_than_what_it_says(self) -> None:
        found = counted(user("Go."), said(PROSE, usage=used(1_000, output=1), partial=True))
        assert found.tokens == pytest.approx(1_000 + estimate(PROSE), rel=0.01)

    def test_what_it_thought_is_in_its_output(self) -> None:
        found = counted(user("Go."), said(thinking(PROSE), "Yes.", usage=used(1_000, output=700)))
        assert found.tokens == 1_700


class TestOneReplyInParts:
    """A harness may write a reply block by block, results between them, one usage on all."""

    USAGE = used(1_000, output=90)

    def test_results_between_its_parts_came_after_its_input(self) -> None:
        found = counted(
            user("Go."),
            said(call("a"), usage=self.USAGE),
            result("a", PROSE),
            said(call("b"), usage=self.USAGE),
            result("b", PROSE),
        )
        assert found.tokens - found.estimated == 1_090
        assert found.estimated == pytest.approx(2 * estimate(PROSE), rel=0.03)

    def test_its_usage_may_stand_on_the_last_part_only(self) -> None:
        parts = [said(call("a")), result("a", PROSE), said(call("b"), usage=self.USAGE)]
        found = counted(user("Go."), said("Hm.", id="m0", usage=used(500)), user("On."), *parts)
        assert found.reply == 4
        assert found.estimated == pytest.approx(estimate(PROSE), rel=0.03)

    def test_the_output_of_the_last_part_is_the_final_one(self) -> None:
        early = said("A", usage=used(1_000, output=2))
        assert counted(user("Go."), early, said("B", usage=self.USAGE)).tokens == 1_090


class TestDistrust:
    TALK = (user(PROSE), said("A", usage=used(90_000)), user("On."))

    def test_usage_from_before_the_newest_edit(self) -> None:
        found = counted(*self.TALK, edit(shown(1, 1, "cleared", text="[gone]")))
        assert found.reply is None
        assert found.tokens < 100

    def test_usage_from_behind_it_is_trusted_again(self) -> None:
        again = said("B", id="m2", usage=used(3_000))
        found = counted(*self.TALK, edit(shown(1, 1, "cleared", text="[gone]")), again)
        assert (found.tokens, found.reply) == (3_050, 5)

    def test_usage_from_before_a_summary(self) -> None:
        found = counted(
            *self.TALK, summary("Short."), edit(shown(1, 2, "summary", summary=4)), user("Next.")
        )
        assert (found.reply, found.tokens < 100) == (None, True)

    def test_a_rewind_before_the_edit_trusts_it_again(self) -> None:
        edited = edit(shown(1, 1, "cleared", text="[gone]"))
        assert counted(*self.TALK, edited, moved(3)).reply == 2

    def test_usage_of_what_was_left_behind_does_not_count(self) -> None:
        found = counted(
            *self.TALK, said("B", id="m2", usage=used(99_000)), moved(3), user("Otherwise.")
        )
        assert found.reply == 2

    def test_usage_from_before_other_tools(self) -> None:
        assert counted(*self.TALK, tools("bash")).reply is None


class TestSteps:
    """``usage.iterations``: the window is in the last step that sampled the model."""

    def test_the_last_message_step_counts(self) -> None:
        steps = [{"type": "message", **used(9_000)}, {"type": "message", **used(9_500, 20)}]
        assert measured({**used(18_500, 70), "iterations": steps}) == (9_500, 20)

    def test_a_compaction_step_is_no_measure(self) -> None:
        steps = [{"type": "compaction", **used(180_000)}, {"type": "message", **used(900, 20)}]
        assert measured({**used(900, 20), "iterations": steps}) == (900, 20)
        assert measured({**used(0, 0), "iterations": steps[:1]}) is None

    @pytest.mark.parametrize("usage", [None, {}, [], {"input_tokens": None}, {"input_tokens": "9"}])
    def test_what_says_nothing_says_nothing(self, usage: Any) -> None:
        assert measured(usage) is None


class TestRequest:
    """What is sent and is not in the log."""

    def test_system_and_tools_of_a_log_that_has_none(self) -> None:
        bare = counted(user("Go."))
        found = counted(user("Go."), system=PROSE, tools=[{"name": "bash", "description": CODE}])
        added = estimate(PROSE) + estimate(CODE)
        assert found.tokens - bare.tokens == pytest.approx(added, rel=0.05)

    def test_messages_that_come_next(self) -> None:
        found = counted(
            user("Go."),
            said("A", usage=used(1_000)),
            messages=[{"role": "user", "content": PROSE}],
        )
        assert found.tokens == pytest.approx(1_050 + estimate(PROSE), abs=9)


class TestLearning:
    """Successive replies tell what the messages between them really took."""

    def turns(self, text: str, factor: float, count: int = 8) -> list[EventDraft]:
        total, drafts = 5_000.0, list[EventDraft]()
        for n in range(count):
            drafts.append(user(text))
            total += estimate(text) * factor
            drafts.append(said("Ok.", id=f"m{n}", usage=used(round(total), output=10)))
            total += 10
        return drafts

    @pytest.mark.parametrize("text", [PROSE, CODE, CHINESE], ids=["prose", "code", "chinese"])
    @pytest.mark.parametrize("factor", [0.7, 1.5])
    def test_the_tail_is_estimated_by_what_was_learned(self, text: str, factor: float) -> None:
        found = counted(*self.turns(text, factor), user(text))
        assert found.estimated == pytest.approx(estimate(text) * factor, rel=0.1)
        assert found.rates.scale == pytest.approx(factor, rel=0.1)

    def test_also_after_an_edit(self) -> None:
        cleared = edit(*(shown(v, v, "cleared", text="[gone]") for v in range(1, 9, 2)))
        found = counted(*self.turns(CODE, 1.5, count=16), cleared)
        assert found.reply is None
        assert found.tokens == pytest.approx(12 * estimate(CODE) * 1.5, rel=0.1)

    def test_nothing_is_learned_across_a_change(self) -> None:
        drafts = self.turns(CODE, 2.0, count=2)
        changed = [*drafts[:2], edit(shown(1, 1, "cleared", text="x")), *drafts[2:]]
        assert counted(*changed).rates.scale == 1.0
        assert counted(*drafts).rates.scale > 1.2

    def test_nothing_is_learned_across_what_is_not_seen_any_more(self) -> None:
        taken = round(3 * estimate(CODE))
        talk = (said("A", id="m1", usage=used(900, 10)), user(CODE), user(CODE), user(CODE))
        then = said("B", id="m2", usage=used(910 + taken))
        assert counted(user("Go."), *talk, then).rates.scale == pytest.approx(1, rel=0.02)
        for kind in ({"shown": "hidden"}, {"shown": "marker", "text": "[gone]"}):
            gone = edit({"first": 4, "last": 5, **kind})
            assert counted(user("Go."), *talk, then, gone).rates.scale == 1.0

    def test_another_model_has_another_tokenizer(self) -> None:
        first, reply_to_it, second, reply_to_that = self.turns(CODE, 2.0, count=2)
        other = EventDraft("message.assistant", {**reply_to_that.data, "model": "claude-opus-5"})
        assert counted(first, reply_to_it, second, other).rates.scale == 1.0


class Talk:
    """A session in which all that changes what is counted can happen."""

    def __init__(self, store: EventStore) -> None:
        self.session = Session(store, "s")
        self.turns: list[tuple[int, int]] = []

    def turn(self, n: int) -> None:
        first = self.session.user((PROSE, CODE, CHINESE)[n % 3]).version
        usage = used(900 * n) if n % 4 else None
        self.session.assistant([call(f"t{first}")], id=f"m{n}", model=MODEL, usage=usage)
        result = self.session.tool_result(f"t{first}", CODE).version
        self.turns.append((first, result))

    def tools(self, n: int) -> None:
        self.session.tools([{"name": f"tool {n}"}])

    def clear(self, n: int) -> None:
        for _, last in self.turns[n % 5 : n % 5 + 1]:
            self.session.edit("test", "because", [shown(last, last, "cleared", text=f"[{n}]")])

    def hide(self, n: int) -> None:
        for first, last in self.turns[n % 3 : n % 3 + 1]:
            self.turns.remove((first, last))
            self.session.edit("test", "because", [shown(first, last, "marker", text=f"[{n}]")])

    def rewind(self, n: int) -> None:
        if self.turns:
            self.turns = self.turns[: 1 + n % len(self.turns)]
            self.session.rewind(self.turns[-1][1], keep_edits=bool(n % 2))


class TestGrowing:
    """However a view came to be known, its count is the same."""

    @given(
        st.lists(
            st.tuples(
                st.sampled_from(["turn", "turn", "turn", "tools", "clear", "hide", "rewind"]),
                st.integers(0, 20),
            ),
            max_size=20,
        )
    )
    def test_any_session(self, steps: list[tuple[str, int]]) -> None:
        with EventStore(":memory:") as store:
            talk, growing = Talk(store), ViewReader()
            talk.turn(1)
            for name, n in steps:
                getattr(talk, name)(n)
                view = talk.session.view()
                assert growing.count(view) == count(view) == ViewReader().count(view)

    @given(logs())
    def test_any_log(self, events: list[Event]) -> None:
        growing = ViewReader()
        for until in range(1, len(events) + 1):
            view = project(events, until)
            assert growing.count(view) == count(view)


def budget_of(view: View, **known: Any) -> Budget:
    return ViewReader().budget(view, Circumstances(**known))


class TestBudget:
    def test_each_session_is_measured_against_its_own_window(self, store: EventStore) -> None:
        parent, child = Session(store, "parent"), Session(store, "child")
        for session, model in ((parent, "claude-opus-5-5"), (child, "claude-haiku-4-5")):
            session.user("Go.")
            session.assistant("Yes.", id="m", model=model, usage=used(150_000))
        budgets = [budget_of(session.view()) for session in (parent, child)]
        assert [budget.window for budget in budgets] == [1_000_000, 200_000]
        assert [budget.model for budget in budgets] == ["claude-opus-5-5", "claude-haiku-4-5"]
        assert [budget.used for budget in budgets] == [150_050, 150_050]

    def test_the_reserve_is_kept_out_of_the_room(self) -> None:
        budget = budget_of(project(log(user("Go."))), window=100_000, reserve=16_000)
        assert budget.room == 84_000

    def test_it_tells_how_long_the_session_was_idle(self) -> None:
        view = project(log(user("Go."), said("A", usage=used())))
        later = "2026-11-29T12:10:02.000000Z"
        assert budget_of(view, now=later).circumstances.idle_seconds == 600
        assert budget_of(view, now=later).cold
        assert not budget_of(view, now=later, cache_ttl=3_600).cold
        assert budget_of(view).circumstances.idle_seconds is None


class TestApi:
    """Against a server with a tokenizer of its own."""

    def test_the_api_can_be_asked(self, api: Server, store: EventStore) -> None:
        session = Session(store, "s")
        session.system(PROSE)
        session.user(CODE)
        session.assistant([call("open")])
        asked = ask_count(api.client(), session.view(), MODEL)
        assert asked > 1_000
        assert api.last.path == "/v1/messages/count_tokens"

    def test_the_count_meets_what_the_next_request_is_charged(
        self, api: Server, store: EventStore
    ) -> None:
        api.script(*[reply("Let me see.", calls("bash", command="ls"))] * 12)
        client, session, counting = api.client(), Session(store, "s"), ViewReader()
        session.system("Be brief.")
        session.user("Begin.")
        errors = []
        for n in range(12):
            expected = counting.count(session.view()).tokens
            rendered = session.render()
            message = client.messages.create(
                model=MODEL,
                max_tokens=500,
                system=rendered["system"],
                messages=rendered["messages"],
            )
            sent: dict[str, Any] = message.to_dict()
            errors.append(abs(sent["usage"]["input_tokens"] - expected) / expected)
            session.assistant(sent["content"], **_known(sent))
            for block in session.view().event(session.version).data["content"]:
                if block["type"] == "tool_use":
                    session.tool_result(block["id"], (CODE, PROSE, CHINESE)[n % 3])
        assert max(errors[6:]) < 0.05
        assert errors[11] < 0.02


def _known(message: dict[str, Any]) -> dict[str, Any]:
    return {name: message[name] for name in ("model", "id", "usage", "stop_reason")}
