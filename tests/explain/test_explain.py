"""What commands tell of views and logs: handles, rows, what is seen, tools, figures."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldlog.eventstore.events import EventDraft
from foldlog.projections.explain.listing import rows, text_of_item
from foldlog.projections.explain.statistics import statistics
from foldlog.projections.explain.tool_events import of_tool
from foldlog.projections.explain.why import sight
from foldlog.projections.render.items import items
from foldlog.projections.view.address import Handle
from foldlog.projections.view.open import project
from foldlog.projections.view.view import View
from tests.projections.build import (
    assistant,
    call,
    edit,
    log,
    moved,
    result,
    shown,
    summary,
    system,
    thinking,
    user,
)


class TestHandles:
    @pytest.mark.parametrize(
        ("text", "handle"),
        [
            ("foldlog:abc/12", Handle("abc", "12")),
            ("foldlog:abc/12#3", Handle("abc", "12", 3)),
            ("foldlog:a/b c/head", Handle("a/b c", "head")),
            (" foldlog:last/request:-1 ", Handle("last", "request:-1")),
        ],
    )
    def test_a_handle_is_read(self, text: str, handle: Handle) -> None:
        assert Handle.parse(text) == handle

    @pytest.mark.parametrize(
        "text", ["", "abc", "foldlog:abc", "foldlog:/1", "foldlog:a/1#0", "a/1"]
    )
    def test_other_text_is_none(self, text: str) -> None:
        assert Handle.parse(text) is None

    @given(st.text(min_size=1), st.integers(1, 10**6), st.none() | st.integers(1, 99))
    def test_what_is_written_is_read_again(
        self, name: str, version: int, block: int | None
    ) -> None:
        session = name + "s"
        assert Handle.parse(str(Handle(session, version, block))) == Handle(
            session, str(version), block
        )


EVENTS = log(
    system("be brief"),  # 1
    user("question"),  # 2
    assistant(thinking(), call("a"), call("b", "Read")),  # 3
    result("a", "0123456789"),  # 4
    result("b", [{"type": "text", "text": "x"}], is_error=True),  # 5
    assistant("answer"),  # 6
    user("more"),  # 7
    edit(  # 8
        shown(4, 4, "preview", chars=3, before="<", after=">"),
        shown(5, 5, "cleared", text="[gone]"),
        rule="shorten",
    ),
    system("be long"),  # 9
    user("left behind"),  # 10
    moved(9),  # 11
)
VIEW = project(EVENTS)


def test_the_rows_of_a_view_say_what_stands_there_by_which_rule() -> None:
    found = [(r.piece.first, r.piece.last, r.text, r.rule) for r in rows(VIEW)]
    assert found == [
        (1, 3, None, None),
        (4, 4, "<012>", "shorten"),
        (5, 5, "[gone]", "shorten"),
        (6, 9, None, None),
        (11, 11, None, None),
    ]
    assert all(r.tokens > 0 for r in rows(VIEW) if r.piece.first < 11)


def test_the_row_of_a_summary_has_its_text() -> None:
    events = log(user("a"), user("b"), summary("short"), edit(shown(1, 2, "summary", summary=3)))
    assert [row.text for row in rows(project(events))] == ["short", None]


def test_the_text_of_an_item_is_that_of_its_results_too() -> None:
    assert [text_of_item(item) for item in items(VIEW)] == [
        *("question", "", "<012>", "[gone]", "answer", "more")
    ]


def is_seen(view: View, version: int) -> bool:
    return sight(view, view.event(version)).seen != "no"


@pytest.mark.parametrize(
    ("version", "seen"),
    [(1, False), (2, True), (3, True), (4, True), (5, False), (8, False), (9, True), (10, False)],
)
def test_what_the_model_still_sees(version: int, seen: bool) -> None:
    assert is_seen(VIEW, version) is seen


def test_a_summary_is_seen_where_a_piece_shows_it() -> None:
    events = log(
        user("a"), summary("used"), summary("not"), edit(shown(1, 1, "summary", summary=2))
    )
    view = project(events)
    assert [is_seen(view, version) for version in (1, 2, 3)] == [False, True, False]


def test_content_that_cannot_be_reproduced_is_not_seen() -> None:
    view = project(log(EventDraft("attachment.added", {"kind": "x", "content": None})))
    assert not is_seen(view, 1)


def test_the_events_of_a_tool_are_its_calls_and_their_results() -> None:
    assert [event.version for event in of_tool(EVENTS, "bash")] == [3, 4]
    assert [event.version for event in of_tool(EVENTS, "Read")] == [3, 5]
    assert list(of_tool(EVENTS, "nobody")) == []


def test_results_within_imported_user_messages_belong_to_their_tool() -> None:
    block = {"type": "tool_result", "tool_use_id": "a", "content": "x"}
    events = log(assistant(call("a")), user([block, {"type": "text", "text": "and"}]))
    assert [event.version for event in of_tool(events, "bash")] == [1, 2]


class TestStatistics:
    def reply(self, id: str, output: int, **more: int) -> EventDraft:
        usage = {"input_tokens": 5, "output_tokens": output, **more}
        content = [{"type": "text", "text": "x"}]
        return EventDraft(
            "message.assistant", {"content": content, "id": id, "model": "m", "usage": usage}
        )

    def test_usage_counts_once_a_reply_by_its_final_figure(self) -> None:
        events = log(self.reply("1", 3), self.reply("1", 9), self.reply("1", 1), self.reply("2", 4))
        found = statistics(events)
        assert (found.total.requests, found.total.output, found.total.input) == (2, 13, 10)

    @pytest.mark.parametrize(
        ("one", "other", "replies"),
        [
            ({"request_id": "r1"}, {"request_id": "r1"}, 1),
            ({"request_id": "r1"}, {"request_id": "r2"}, 2),
            ({"request_id": "r1"}, {}, 1),
            ({}, {}, 1),
        ],
    )
    def test_a_reply_in_two_sessions_counts_once(
        self, one: dict[str, str], other: dict[str, str], replies: int
    ) -> None:
        """A copy, a branch, an import of what was recorded: the lines of a reply come with it."""
        events = [
            *log(*(self.again(output, one) for output in (3, 9))),
            *log(*(self.again(output, other) for output in (3, 9)), session="other"),
        ]
        found = statistics(events)
        assert (found.total.requests, found.total.output) == (replies, 9 * replies)
        assert list(found.sessions) == ["s", "other"][:replies]

    def test_ids_that_a_gateway_uses_again_are_other_replies(self) -> None:
        events = [*log(self.reply("1", 3)), *log(self.reply("1", 4), session="other")]
        assert statistics(events).total.requests == 2
        events = log(self.again(3, {"request_id": "a"}), self.again(3, {"request_id": "b"}))
        assert statistics(events).total.requests == 2

    def test_advice_counts_under_the_model_that_gave_it(self) -> None:
        step = {"type": "advisor_message", "model": "claude-opus-4-5", "input_tokens": 1_000}
        message = {"type": "message", "input_tokens": 5, "output_tokens": 2}
        data = {"content": [], "id": "1", "model": "claude-haiku-4-5"}
        usage = {"input_tokens": 5, "output_tokens": 2, "iterations": [message, step]}
        found = statistics(log(EventDraft("message.assistant", {**data, "usage": usage})))
        advisor = found.usage["claude-opus-4-5"]
        assert (advisor.requests, advisor.input, advisor.cost) == (0, 1_000, 0.005)
        assert (found.total.requests, found.total.input) == (1, 1_005)

    def again(self, output: int, more: dict[str, str]) -> EventDraft:
        reply = self.reply("1", output)
        return EventDraft(reply.type, {**reply.data, **more})

    def test_the_share_of_the_cache(self) -> None:
        events = log(self.reply("1", 1, cache_read_input_tokens=15))
        assert statistics(events).total.cache_hit == 0.75
        assert statistics([]).total.cache_hit is None

    def test_tools_and_their_failures(self) -> None:
        tools = statistics(EVENTS).tools
        assert (tools["bash"].calls, tools["bash"].results, tools["bash"].errors) == (1, 1, 0)
        assert (tools["Read"].calls, tools["Read"].results, tools["Read"].errors) == (1, 1, 1)

    def test_what_takes_the_room(self) -> None:
        causes = statistics(EVENTS).causes
        assert {name: size.count for name, size in causes.items()} == {
            "system": 2,
            "user": 3,
            "thinking": 1,
            "calls": 2,
            "results": 2,
            "replies": 1,
        }

    def test_figures_that_are_none_count_nothing(self) -> None:
        events = log(
            EventDraft("message.assistant", {"content": [], "usage": {"input_tokens": "x"}})
        )
        assert statistics(events).total.input == 0


class TestCosts:
    """Dollars by the prices of each reply's model; what has no price is told, and is not 0."""

    def reply(self, model: str, usage: Any, at: str = "") -> EventDraft:
        data = {"content": [], "model": model, "usage": usage}
        return EventDraft("message.assistant", data, meta={"occurred": at} if at else {})

    def test_each_reply_has_the_price_of_its_model(self) -> None:
        """Input, cache read and write, output of Sonnet 4.5: 3, 0.3, 3.75, 15 dollars a million."""
        million = dict.fromkeys(_KINDS, 1_000)
        (sonnet, haiku) = (
            statistics(log(self.reply(model, million)))
            for model in ("claude-sonnet-4-5", "claude-haiku-4-5")
        )
        assert sonnet.total.cost == pytest.approx(0.003 + 0.0003 + 0.00375 + 0.015)
        assert haiku.total.cost == pytest.approx(sonnet.total.cost / 3)
        both = statistics(log(*(self.reply(m, million) for m in _MODELS)))
        assert both.total.cost == pytest.approx(sonnet.total.cost + haiku.total.cost)

    def test_each_reply_has_the_price_of_its_time(self, monkeypatch: pytest.MonkeyPatch) -> None:
        asked: list[str | None] = []

        def cost(usage: Any, model: str, at: str | None) -> Decimal:
            asked.append(at)
            return Decimal(1)

        monkeypatch.setattr("foldlog.projections.tokens.prices.cost", cost)
        used = {"output_tokens": 1}
        times = ["2025-01-02T03:04:05Z", "", "not a time", "9" * 99]
        events = log(*(self.reply("m", used, at) for at in times))
        statistics(events)
        assert asked == [times[0], *(event.at for event in events[1:])]

    def test_an_unknown_model_is_named_and_costs_not_nothing(self) -> None:
        used = {"input_tokens": 1000, "output_tokens": 1}
        unknown = self.reply("mystery-1", used)
        found = statistics(log(unknown, unknown))
        assert (found.total.cost, found.unpriced) == (None, {"mystery-1": 2})
        found = statistics(log(unknown, self.reply("claude-sonnet-4-5", used)))
        assert found.total.cost == pytest.approx(0.003015)
        assert (found.total.unpriced, found.usage["mystery-1"].cost) == (1, None)

    def test_what_a_harness_wrote_itself_is_free(self) -> None:
        synthetic = self.reply("<synthetic>", {"input_tokens": 0, "output_tokens": 0})
        found = statistics(log(synthetic))
        assert (found.total.requests, found.usage, found.unpriced) == (0, {}, {})
        assert statistics(log(assistant("no usage"))).total.cost is None

    def test_figures_that_cannot_be_have_no_price(self) -> None:
        found = statistics(log(self.reply("claude-sonnet-4-5", {"input_tokens": -5})))
        assert (found.total.cost, found.unpriced) == (None, {"claude-sonnet-4-5": 1})

    def test_what_compaction_took_counts_too(self) -> None:
        used = {"input_tokens": 1000, "output_tokens": 0}
        told = {"model": "claude-sonnet-4-5", "usage": used}
        twice = {"reason": "refused", **told, "usage": [used, used]}
        written = {"text": "x", "covers": [[1, 1]], **told}
        found = statistics(
            log(
                user("x"),
                EventDraft("summary.written", written),
                EventDraft("summary.failed", twice),
            )
        )
        assert (found.total.requests, found.total.cost) == (3, pytest.approx(0.009))

    def test_each_session_has_its_own(self) -> None:
        used = {"input_tokens": 1000, "output_tokens": 0}
        reply = self.reply("claude-sonnet-4-5", used)
        found = statistics([*log(reply, reply), *log(reply, session="other")])
        costs = {name: usage.cost for name, usage in found.sessions.items()}
        assert sorted(costs.values()) == [pytest.approx(0.003), pytest.approx(0.006)]
        assert costs["other"] == pytest.approx(0.003)


_MODELS = ("claude-sonnet-4-5", "claude-haiku-4-5")
_KINDS = (
    *("input_tokens", "output_tokens"),
    *("cache_read_input_tokens", "cache_creation_input_tokens"),
)
