"""Attempts and failures are folded from the log, so that they survive a restart."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from foldlog.eventstore import EventStore
from foldlog.eventstore.events import EventDraft
from foldlog.projections.summaries.ledger import TYPES, Attempt, Ledger, ledger
from tests.projections.build import later, log, user


def requested(by: str = "anthropic") -> EventDraft:
    return EventDraft("summary.requested", {"covers": [[1, 1]], "by": by})


def failed(attempt: int | None, reason: str = "empty") -> EventDraft:
    given = {} if attempt is None else {"attempt": attempt}
    return EventDraft("summary.failed", {"reason": reason, "by": "anthropic", **given})


def written(**more: Any) -> EventDraft:
    return EventDraft("summary.written", {"text": "S", **more})


def test_an_attempt_is_spent_before_its_outcome_is_known() -> None:
    found = ledger(log(user("hi"), requested()))
    assert (found.spent("anthropic", since=1), found.open, found.failures) == (1, 2, {})


def test_attempts_count_from_the_newest_turn_and_for_each_summarizer() -> None:
    found = ledger(log(user("a"), requested(), failed(2), user("b"), requested("digest")))
    assert found.spent("anthropic", since=4) == 0
    assert found.spent("anthropic", since=1) == 1
    assert found.spent("digest", since=4) == 1


def test_failures_in_a_row_open_the_breaker_and_a_success_closes_it() -> None:
    bad = [requested(), failed(1), requested(), failed(3), requested(), failed(5)]
    assert not ledger(log(*bad[:4])).is_broken("anthropic", 3)
    assert ledger(log(*bad)).is_broken("anthropic", 3)
    assert not ledger(log(*bad, requested(), written(attempt=7))).is_broken("anthropic", 3)
    assert not ledger(log(*bad)).is_broken("anthropic", None)


def test_an_attempt_that_a_crash_ended_is_a_failure() -> None:
    found = ledger(log(requested(), requested(), requested()))
    assert (found.in_a_row("anthropic"), found.open) == (2, 3)


def test_a_note_that_nothing_was_tried_is_no_failure() -> None:
    found = ledger(log(requested(), failed(1), failed(None, "attempts_spent")))
    assert (found.in_a_row("anthropic"), found.skipped) == (1, 3)


drafts = st.lists(
    st.sampled_from(
        [requested(), requested("digest"), failed(1), failed(None), written(), user("hi")]
    ),
    max_size=30,
)


@given(drafts, st.data())
def test_a_fold_can_go_on_from_any_prefix(drafts: list[EventDraft], data: st.DataObject) -> None:
    events = log(*drafts)
    at = data.draw(st.integers(0, len(events)))
    found = ledger(events[:at])
    for event in events[at:]:
        found = found.then(event)
    assert found == ledger(events) == ledger(e for e in events if e.type in TYPES)


@given(drafts)
def test_the_ledger_is_what_can_be_counted(drafts: list[EventDraft]) -> None:
    events = log(*drafts)
    found = ledger(events)
    tried = [e.version for e in events if e.type == "summary.requested"]
    assert [made.version for made in found.attempts] == tried
    last_success = max((e.version for e in events if e.type == "summary.written"), default=0)
    since = ledger(e for e in events if e.version > last_success)
    assert found.failures == since.failures


def test_who_opens_the_store_again_finds_the_same(tmp_path: Any) -> None:
    path = tmp_path / "s.db"
    with EventStore(path) as store:
        store.append("s", [user("hi"), requested(), failed(2), requested()])
        before = ledger(store.read("s"))
    with EventStore(path) as store:
        after = ledger(store.read("s", types=TYPES))
    made = (Attempt(2, "anthropic"), Attempt(4, "anthropic"))
    assert (
        before
        == after
        == Ledger(made, open=4, failures={"anthropic": 1}, causes={"anthropic": "empty"})
    )


def test_requests_to_models_are_counted_by_turn() -> None:
    asked = EventDraft("summary.requested", {"covers": [], "by": "anthropic", "prompt": "p@1"})
    events = log(user("a"), asked, failed(2), user("b"), asked)
    events = later(events, written(attempt=5, requests=4), requested("digest"))
    found = ledger(events)
    assert found.requests(since=0) == 5
    assert found.requests(since=4) == 4
    assert ledger(events[:5]).requests(since=4) == 1
