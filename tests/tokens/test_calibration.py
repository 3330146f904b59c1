"""Rates learn what the estimate got wrong, kind by kind, and believe nothing that cannot be."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldlog.projections.tokens.calibration import BELIEVED, COLD, KINDS, LEAST, Rates
from foldlog.projections.tokens.estimate import Kind, Shares, shares

TRUE: dict[Kind, float] = {"prose": 0.8, "code": 1.3, "data": 1.6, "cjk": 1.1, "frame": 1.0}

some_shares = st.dictionaries(st.sampled_from(KINDS), st.floats(0, 20_000), min_size=1)
observations = st.lists(st.tuples(some_shares, st.floats(-1_000, 200_000)), max_size=30)


def observed(random: Random) -> tuple[Shares, float]:
    """Mixed content, and what it takes where the true rates hold."""
    seen: Shares = {kind: random.uniform(0, 3_000) for kind in random.sample(list(TRUE), 2)}
    return seen, sum(tokens * TRUE[kind] for kind, tokens in seen.items())


def learned(count: int) -> Rates:
    random, rates = Random(7), COLD
    for _ in range(count):
        rates = rates.learned(*observed(random))
    return rates


def test_cold_they_change_nothing() -> None:
    assert COLD.of({"prose": 10.0, "cjk": 5.0}) == 15
    assert COLD.scale == 1.0


@pytest.mark.parametrize("kind", TRUE)
def test_each_kind_is_learned_from_mixed_content(kind: Kind) -> None:
    assert learned(200).by_kind[kind] == pytest.approx(TRUE[kind], rel=0.05)


def test_what_is_learned_predicts_better() -> None:
    random, rates = Random(8), learned(30)
    cold = hot = 0.0
    for _ in range(50):
        seen, real = observed(random)
        cold += abs(COLD.of(seen) - real)
        hot += abs(rates.of(seen) - real)
    assert hot < cold / 3


def test_content_of_one_kind_teaches_that_kind_alone() -> None:
    rates = COLD.learned({"code": 5_000.0}, 10_000)
    assert rates.by_kind.keys() == {"code"}
    assert 1.5 < rates.by_kind["code"] < 2
    assert rates.of({"prose": 100.0}) == 100


def test_another_model_is_learned_in_the_place_of_the_old_one() -> None:
    rates = COLD
    for _ in range(100):
        rates = rates.learned({"code": 2_000.0}, 3_000)
    for _ in range(100):
        rates = rates.learned({"code": 2_000.0}, 1_600)
    assert rates.by_kind["code"] == pytest.approx(0.8, rel=0.05)


@pytest.mark.parametrize("real", [-500, 0, 100, 40_000])
def test_what_cannot_be_is_not_believed(real: float) -> None:
    assert COLD.learned({"prose": 1_000.0}, real) is COLD


def test_little_tells_nothing() -> None:
    assert COLD.learned({"prose": LEAST / 2}, LEAST) is COLD


@given(observations)
def test_rates_stay_within_what_is_believed(seen: list[tuple[Shares, float]]) -> None:
    rates = COLD
    for what, real in seen:
        rates = rates.learned(what, real)
    assert all(1 / BELIEVED <= rate <= BELIEVED for rate in rates.by_kind.values())
    assert 1 / BELIEVED <= rates.scale <= BELIEVED


@given(some_shares, st.floats(0.4, 2.5))
def test_learning_moves_towards_what_was_seen(what: Shares, factor: float) -> None:
    before = COLD.of(what)
    real = before * factor
    after = COLD.learned(what, real).of(what)
    assert abs(after - real) <= abs(before - real) + 1e-6 * before


def test_the_shares_of_a_text_are_its_kinds() -> None:
    assert shares("The log is what happened, and a view is what is seen. " * 9).keys() == {"prose"}
    assert {"cjk", "prose"} <= shares("一切都记录在日志中。 The log is what happened.").keys()
    assert "media" in shares({"type": "image", "source": {"type": "url", "url": "https://x"}})
