"""The prompt cache: what a request reads, writes and pays in full."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.server.cache import Figures, PromptCache
from tests.server.models import MODELS
from tests.server.talk import HOUR, MARK, a, s, text, u
from tests.server.tokens import count
from tests.server.wire import Call

MODEL = MODELS["claude-opus-5"]
LONG = "word " * 1_000


def paid(cache: PromptCache, *messages: Any, now: float = 0, **more: Any) -> Figures:
    return cache.use(Call({"messages": list(messages), **more}), MODEL, now)


def marked(words: str = LONG, mark: dict[str, Any] = MARK) -> dict[str, Any]:
    return text(words, **mark)


@pytest.fixture
def cache() -> PromptCache:
    return PromptCache()


class TestReading:
    def test_without_a_mark_nothing_is_cached(self, cache: PromptCache) -> None:
        for _ in range(2):
            figures = paid(cache, u(text(LONG)))
            assert figures == Figures(rest=figures.total)

    def test_a_marked_prefix_is_written_then_read(self, cache: PromptCache) -> None:
        first = paid(cache, u(marked()))
        second = paid(cache, u(marked()), a(), u(text("more")))
        assert first.minutes == second.read > 1_000
        assert (first.read, first.rest, second.minutes) == (0, 0, 0)
        assert 0 < second.rest < 50

    def test_a_moving_mark_writes_only_what_is_new(self, cache: PromptCache) -> None:
        first = paid(cache, u(marked()))
        second = paid(cache, u(text(LONG)), a(text(LONG)), u(marked()))
        assert second.read == first.total
        assert second.minutes == pytest.approx(2 * first.total, rel=0.02)

    def test_a_change_before_it_is_a_miss(self, cache: PromptCache) -> None:
        paid(cache, u(marked()))
        assert paid(cache, u(text("x"), marked())).read == 0
        assert paid(cache, u(marked()), system="Be kind.").read == 0
        assert paid(cache, u(marked()), tool_choice={"type": "any"}).read == 0

    def test_system_and_tools_are_read_though_the_messages_changed(
        self, cache: PromptCache
    ) -> None:
        system = [marked()]
        paid(cache, u(marked()), system=system)
        second = paid(cache, u(marked("other " * 1_000)), system=system)
        assert second.read == pytest.approx(1_000, abs=20)
        assert second.minutes > 1_000

    def test_another_model_has_a_cache_of_its_own(self, cache: PromptCache) -> None:
        long = Call({"messages": [u(marked(2 * LONG))]})
        cache.use(long, MODEL, 0)
        assert cache.use(long, MODELS["claude-sonnet-5"], 0).read == 0
        assert cache.use(long, MODEL, 0).read == count(long)

    def test_short_prefixes_are_not_cached(self, cache: PromptCache) -> None:
        short = "word " * (MODEL.least_cached - 50)
        for _ in range(2):
            assert paid(cache, u(marked(short))).rest > 0

    def test_it_looks_back_twenty_blocks(self, cache: PromptCache) -> None:
        paid(cache, u(marked()))
        more = [text(f"block {n}") for n in range(30)]
        assert paid(cache, u(text(LONG), *more[:18], marked("end"))).read > 0
        assert paid(cache, u(text(LONG), *more, marked("far"))).read == 0

    def test_a_mark_on_the_request_stands_at_its_last_block(self, cache: PromptCache) -> None:
        whole: dict[str, Any] = {"cache_control": {"type": "ephemeral"}}
        first = paid(cache, u(text(LONG)), **whole)
        second = paid(cache, u(text(LONG)), a(text(LONG)), u(), **whole)
        assert (first.minutes, second.read) == (first.total, first.total)


class TestLifetime:
    def test_five_minutes_from_the_last_use(self, cache: PromptCache) -> None:
        paid(cache, u(marked()), now=0)
        assert paid(cache, u(marked()), now=299).read > 0
        assert paid(cache, u(marked()), now=598).read > 0
        assert paid(cache, u(marked()), now=899).read == 0

    def test_also_when_it_was_used_for_a_longer_prefix(self, cache: PromptCache) -> None:
        paid(cache, u(marked()), now=0)
        assert paid(cache, u(text(LONG), marked("more")), now=299).read > 0
        assert paid(cache, u(marked()), now=598).read > 0

    def test_an_hour_where_asked_for(self, cache: PromptCache) -> None:
        first = paid(cache, u(marked(mark=HOUR)), now=0)
        assert (first.hour, first.minutes) == (first.total, 0)
        assert paid(cache, u(marked(mark=HOUR)), now=3_599).read == first.total

    def test_both_in_one_request(self, cache: PromptCache) -> None:
        figures = paid(cache, u(marked(mark=HOUR), marked("other " * 1_000)))
        assert figures.hour == pytest.approx(1_000, abs=20)
        assert figures.minutes > 1_000


turns = st.lists(st.tuples(st.text("ab ", min_size=1, max_size=400), st.booleans()), min_size=1)


@given(st.lists(turns, min_size=1, max_size=6), st.lists(st.floats(0, 500), min_size=6))
def test_the_figures_add_up_to_the_count(requests: Any, waits: list[float]) -> None:
    cache, now = PromptCache(), 0.0
    for turn, wait in zip(requests, waits, strict=False):
        now += wait
        blocks = [text(words * 20, **(MARK if mark else {})) for words, mark in turn]
        call = Call({"messages": [u(*blocks), a(), u(), s()]})
        figures = cache.use(call, MODEL, now)
        assert figures.total == count(call)
        assert min(figures.read, figures.minutes, figures.hour, figures.rest) >= 0
