"""Who is asked for a summary, and who next: by what the policy allows and why it failed."""

from __future__ import annotations

import pytest

from foldlog.projections.compaction import CandidateRefused, SummaryFailed
from foldlog.projections.summaries import ChunkedSummarizer, DigestSummarizer, Summarizer
from foldlog.projections.summaries.fallbacks import EXITS, Fallbacks
from tests.compaction.talk import Scripted

TOO_LONG = SummaryFailed("too_long", "too long")
DOWN = SummaryFailed("api_error", "down")
REFUSED = SummaryFailed("hook", "not now")


def asked(first: Summarizer, allowed: tuple[str, ...], failure: Exception) -> list[str]:
    """Who is asked, one after the other, when all of them fail alike."""
    exits, found = Fallbacks(first, allowed, room=10_000), []
    for summarizer in exits:
        chunked = isinstance(summarizer, ChunkedSummarizer)
        found.append("chunked" if chunked else summarizer.name)
        exits.failure = failure
    return found


@pytest.mark.parametrize(
    ("allowed", "failure", "who"),
    [
        (EXITS, TOO_LONG, ["scripted", "chunked", "digest"]),
        (EXITS, DOWN, ["scripted", "digest"]),
        (EXITS, CandidateRefused("over_budget", "too large"), ["scripted", "digest"]),
        (("chunked",), TOO_LONG, ["scripted", "chunked"]),
        (("digest",), TOO_LONG, ["scripted", "digest"]),
        ((), TOO_LONG, ["scripted"]),
        (EXITS, REFUSED, ["scripted"]),
    ],
)
def test_who_is_asked_next(allowed: tuple[str, ...], failure: Exception, who: list[str]) -> None:
    assert asked(Scripted(), allowed, failure) == who


def test_who_asks_no_model_is_not_asked_in_chunks() -> None:
    assert asked(Scripted(model=False), EXITS, TOO_LONG) == ["scripted", "digest"]


def test_the_digest_is_not_asked_twice() -> None:
    assert asked(DigestSummarizer(), EXITS, DOWN) == ["digest"]


def test_without_a_failure_nobody_else_has_to_be_asked() -> None:
    exits = Fallbacks(Scripted(), EXITS, room=10_000)
    assert next(iter(exits)).name == "scripted"
    assert exits.failure is None
