"""What requests cost; what an edit costs once, saves each time, and when it has paid."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldlog.eventstore import EventStore
from foldlog.projections import Session
from foldlog.projections.compaction import Budget, EditPrice, ViewReader, edit_price
from foldlog.projections.tokens.prices import (
    NEWEST,
    Prices,
    _asked,
    _moment,
    _priced,
    cost,
    prices,
)
from foldlog.projections.wire.models import family
from tests.compaction.run import budget_of
from tests.projections.build import shown
from tests.server import Server, call, reply
from tests.server.fixtures import api as api

MODEL = "claude-opus-5-5"
"""Four dollars a million tokens of input, 0.05 of that for cache reads, twenty for output."""

MILLION = Decimal(1_000_000)


def used(**counts: Any) -> dict[str, Any]:
    return {"input_tokens": 0, "output_tokens": 0, **counts}


MODELS = [MODEL, "claude-haiku-5-5", "claude-sonnet-4-5", "gpt-5.2", "gemini-3-pro-preview", "none"]
COUNTS = st.integers(0, 300_000)


@given(
    st.sampled_from(MODELS),
    st.tuples(COUNTS, COUNTS, COUNTS, COUNTS, st.integers(0, 3)),
    st.integers(-1, 300_000),
    st.sampled_from([None, "2025-03-01T00:00:00Z", "2026-11-30T12:00:00Z"]),
)
def test_a_cost_is_what_the_list_says_of_that_request(
    model: str, counts: tuple[int, ...], hour: int, at: str | None
) -> None:
    """Rates are asked for once; each sum is the one that genai-prices would compute."""
    plain, read, write, output, searches = counts
    counted = {
        "input_tokens": plain + read + write,
        "cache_read_tokens": read,
        "cache_write_tokens": write,
        "cache_write_1h_tokens": min(hour, write),
        "output_tokens": output,
        "web_searches": searches,
    }
    moment = _moment(at) if at else NEWEST
    assert _priced(counted, model, at) == _asked(counted, family(model), moment)


class TestCost:
    def test_cached_input_is_input_and_paid_once(self) -> None:
        usage = used(
            input_tokens=1_000,
            cache_creation_input_tokens=2_000,
            cache_read_input_tokens=100_000,
            output_tokens=500,
        )
        expected = (1_000 * 4 + 2_000 * 5 + 100_000 * Decimal("0.2") + 500 * 20) / MILLION
        assert cost(usage, MODEL) == expected

    def test_an_hour_of_cache_costs_more(self) -> None:
        split = {"ephemeral_5m_input_tokens": 1_000, "ephemeral_1h_input_tokens": 1_000}
        usage = used(cache_creation_input_tokens=2_000, cache_creation=split)
        assert cost(usage, MODEL) == (1_000 * 5 + 1_000 * 8) / MILLION

    def test_a_compaction_on_the_way_is_billed_apart(self) -> None:
        step = {"type": "compaction", **used(input_tokens=180_000, output_tokens=3_000)}
        message = {"type": "message", **used(input_tokens=1_000)}
        usage = used(input_tokens=1_000, iterations=[step, message])
        assert cost(usage, MODEL) == (181_000 * 4 + 3_000 * 20) / MILLION

    def test_speed_has_its_price_and_batches_a_discount(self) -> None:
        plain = cost(used(input_tokens=1_000), MODEL)
        assert plain is not None
        assert cost(used(input_tokens=1_000, speed="fast"), MODEL) == 2 * plain
        assert cost(used(input_tokens=1_000, service_tier="batch"), MODEL) == plain / 2

    def test_long_requests_of_some_models_are_dearer(self) -> None:
        short = cost(used(input_tokens=100_000), "claude-haiku-5-5")
        long = cost(used(input_tokens=200_000), "claude-haiku-5-5")
        assert short is not None
        assert long == 10 * short

    def test_dates_and_marks_in_a_name_are_no_other_model(self) -> None:
        plain = cost(used(input_tokens=1_000), "claude-sonnet-4-5")
        for name in ("claude-sonnet-4-5-20250929", "claude-sonnet-4-5[1m]"):
            assert cost(used(input_tokens=1_000), name) == plain

    @pytest.mark.parametrize("model", ["<synthetic>", "my-finetune", "claude-none"])
    def test_an_unknown_model_has_no_price(self, model: str) -> None:
        assert cost(used(input_tokens=1_000), model) is None
        assert prices(model) is None

    def test_what_was_not_counted_costs_nothing(self) -> None:
        assert cost({"input_tokens": None, "cache_creation": None}, MODEL) == 0


class TestPrices:
    def test_by_kind_and_lifetime(self) -> None:
        per = [Decimal(price) / MILLION for price in ("4", "5", "0.2", "20")]
        assert prices(MODEL, 1_000) == Prices(*per)
        hour = prices(MODEL, 1_000, ttl=3_600)
        assert hour is not None
        assert hour.write == Decimal(8) / MILLION

    def test_by_size(self) -> None:
        small, large = prices("claude-haiku-5-5", 1_000), prices("claude-haiku-5-5", 150_000)
        assert small is not None
        assert large is not None
        assert large.read == 5 * small.read


class TestFormula:
    def test_warm_it_costs_what_is_behind_and_saves_what_is_gone(self) -> None:
        price = EditPrice(40_000, 20_000, write=1.25, read=0.1, dollar=Decimal("0.000004"))
        assert price.penalty == pytest.approx(40_000 * 1.15)
        assert price.saving == pytest.approx(2_000)
        assert price.break_even == pytest.approx(23)
        assert price.dollars(price.penalty) == pytest.approx(0.184)

    def test_cold_it_is_free(self) -> None:
        assert EditPrice(40_000, 20_000, cold=True).penalty == 0
        assert EditPrice(40_000, 20_000, cold=True).break_even == 0

    def test_what_saves_nothing_never_pays(self) -> None:
        assert EditPrice(40_000, 0).break_even is None
        assert EditPrice(40_000, -10).break_even is None

    @given(
        st.integers(1, 10**6),
        st.integers(1, 10**6),
        st.sampled_from([1.25, 2.0]),
        st.sampled_from([0.025, 0.05, 0.1]),
    )
    def test_at_break_even_it_has_paid(self, behind: int, removed: int, w: float, r: float) -> None:
        price = EditPrice(behind, removed, w, r)
        assert price.break_even is not None
        assert price.break_even * price.saving == pytest.approx(price.penalty)
        more = EditPrice(behind, removed * 2, w, r)
        assert more.break_even is not None
        assert more.break_even < price.break_even
        assert price.to_json()["dollars_once"] is None


def worked(store: EventStore, turns: int, words: int = 400) -> Session:
    """A session of some tool calls with results of some words."""
    session = Session(store, "s")
    session.system("You are careful. " * 20)
    session.user("Begin.")
    for n in range(turns):
        session.assistant([{"type": "tool_use", "id": f"t{n}", "name": "bash", "input": {"n": n}}])
        session.tool_result(f"t{n}", f"line {n} " * words)
    return session


def cleared(session: Session, keep: int, text: str = "[cleared]") -> list[dict[str, Any]]:
    """Edits that clear all results but the newest ones, those that are cleared left out."""
    view = session.view()
    results = [
        event.version
        for piece in view.pieces
        if piece.shown.kind == "whole"
        for event in view.events(piece)
        if event.type == "tool.result"
    ]
    return [shown(v, v, "cleared", text=text) for v in results[: max(0, len(results) - keep)]]


class TestOfAnEdit:
    def priced(self, session: Session, keep: int, **known: Any) -> EditPrice:
        view, reading = session.view(), ViewReader()
        window = reading.window(view, budget_of(model=MODEL, **known))
        session.edit("test", "because", cleared(session, keep))
        return edit_price(window, reading.edited(window, session.view()))

    def test_the_tokens_behind_begin_at_the_first_change(self, store: EventStore) -> None:
        session = worked(store, 10)
        whole = ViewReader().window(session.view(), Budget()).tokens
        price = self.priced(session, keep=4)
        assert price.removed == pytest.approx(whole * 0.6, rel=0.1)
        assert price.behind == pytest.approx(whole * 0.4, rel=0.15)

    def test_what_stands_before_it_is_read_as_before(self, store: EventStore) -> None:
        session = worked(store, 40, words=40)
        self.priced(session, keep=8)
        price = self.priced(session, keep=4)
        assert 0 < price.behind < 0.6 * ViewReader().window(session.view(), Budget()).tokens

    def test_it_knows_the_model_and_the_cache(self, store: EventStore) -> None:
        price = self.priced(worked(store, 5), keep=1)
        assert (price.write, price.read) == (1.25, 0.05)
        assert price.dollar == Decimal("0.000004")
        hour = self.priced(worked(EventStore(":memory:"), 5), keep=1, cache_ttl=3_600)
        assert hour.write == 2

    def test_a_cold_cache_makes_it_free(self, store: EventStore) -> None:
        price = self.priced(worked(store, 5), keep=1, idle_seconds=301.0)
        assert (price.cold, price.penalty) == (True, 0)

    def test_it_is_recorded_as_it_is(self, store: EventStore) -> None:
        recorded = self.priced(worked(store, 10), keep=4).to_json()
        assert recorded.keys() >= {"behind", "removed", "break_even", "dollars_once"}
        assert recorded["dollars_once"] > recorded["dollars_saved"] > 0

    def test_it_is_what_is_paid(self, api: Server, store: EventStore) -> None:
        session, meter = worked(store, 30), Meter(api)
        meter.pay(session)
        warm = deepcopy(api.cache)
        session.user("Go on.")
        kept = meter.pay(session)
        api.cache = warm
        price = self.priced(session, keep=4)
        more = meter.pay(session) - kept
        expected = price.dollars(price.penalty - price.saving)
        assert float(more) == pytest.approx(expected, rel=0.35)


MARK: Any = {"cache_control": {"type": "ephemeral"}}


class Meter:
    """Sends views with the real SDK, the system prompt and the end marked, and adds up the price.

    Attributes:
        said: What the newest reply said.
        read, total: The input tokens that the cache had, and all.
    """

    def __init__(self, api: Server) -> None:
        self._client = api.client()
        self.said: list[dict[str, Any]] = []
        self.read = self.total = 0

    def pay(self, session: Session) -> Decimal:
        """Send what a session shows; what that cost in dollars."""
        rendered = session.render()
        *earlier, last = rendered["messages"]
        *before, end = _blocks(last["content"])
        messages: Any = self._client.messages
        sent = messages.create(
            model=MODEL,
            max_tokens=4_000,
            system=[{"type": "text", "text": rendered["system"], **MARK}],
            messages=[*earlier, {**last, "content": [*before, {**end, **MARK}]}],
        ).to_dict()
        self.said = sent["content"]
        self.read += sent["usage"]["cache_read_input_tokens"]
        self.total += sum(sent["usage"][f"{kind}input_tokens"] for kind in KINDS)
        paid = cost(sent["usage"], MODEL)
        assert paid is not None
        return paid


KINDS = ("", "cache_creation_", "cache_read_")


def _blocks(content: Any) -> list[Any]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


class TestHundredTurns:
    """A session of 100 turns of 3,000 tokens each: appended to only, cleared now and then, always.

    Simulated with turns of a third, so prices are three times as high: each turn the model writes
    142 tokens of a call, and reads a result of 858. The newest 5 results are kept.
    """

    SMALLER = 3

    def run(self, api: Server, clears: Callable[[int], bool]) -> tuple[float, float]:
        """Dollars, and the share of the input that the cache had."""
        api.reset()
        api.respond = lambda received: reply(call("bash", command="word " * 122))
        with EventStore(":memory:") as store:
            session, meter, dollars = Session(store, "s"), Meter(api), Decimal(0)
            session.system("You are careful. " * 150)
            session.user("Begin.")
            for turn in range(100):
                if clears(turn) and (edits := cleared(session, keep=5)):
                    session.edit("test", "because", edits)
                dollars += meter.pay(session)
                session.assistant(meter.said)
                session.tool_result(meter.said[0]["id"], "word " * 832)
            return float(dollars) * self.SMALLER, meter.read / meter.total

    def test_to_clear_in_batches_is_cheapest_and_to_clear_always_dearest(self, api: Server) -> None:
        appended, appended_hits = self.run(api, lambda turn: False)
        batched, batched_hits = self.run(api, lambda turn: turn % 10 == 0)
        always, always_hits = self.run(api, lambda turn: True)
        assert batched < appended < always / 2.5
        assert appended == pytest.approx(5.32, rel=0.05)
        assert batched == pytest.approx(4.06, rel=0.25)
        assert always == pytest.approx(18.96, rel=0.15)
        assert (appended_hits > 0.95, batched_hits > 0.8, always_hits < 0.1) == (True, True, True)
