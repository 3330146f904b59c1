"""What prepare keeps to, for any session in a store, under every preset and every trigger.

The rules alone are put to the same test without a store in ``test_properties``. Here it is the
whole: count, attempts, what comes back, the append; and what the log says of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from foldlog.cli.formats import import_path
from foldlog.eventstore import Event, EventDraft, EventStore
from foldlog.eventstore.errors import ContextError
from foldlog.projections import Session, View, problems, render
from foldlog.projections.compaction import SummaryFailed, Window, policy, presets
from foldlog.projections.compaction import compact_tool as called
from foldlog.projections.compaction.prepare import Prepared
from foldlog.projections.render.api_rules import check
from tests.compaction.run import budget_of
from tests.compaction.sessions import sessions
from tests.compaction.talk import Scripted, work
from tests.projections.build import call, later, user
from tests.server import Api, Refusal

FIXTURES = Path(__file__).parents[1] / "fixtures" / "claude"
REAL = ("entire_compact_2.0.76.jsonl", "ccl_claude_p_errors_2.1.17.jsonl")
MODEL = "claude-opus-5"
WINDOWS = st.sampled_from([8_000, 20_000, 200_000])
SUMMARIZERS: dict[str, Callable[[], Scripted | str]] = {
    "digest": lambda: "digest",
    "broken": lambda: Scripted(*[SummaryFailed("api_error", "down")] * 20),
    "empty": lambda: Scripted(*[" \n"] * 20),
    "too long": lambda: Scripted(*["A long summary. " * 9_000] * 20),
    "overflowing": lambda: Scripted(*[SummaryFailed("too_long", "too long")] * 40),
}
WHOLE = ("learn-claude-code",)
"""Presets that mean to take what the model has not read yet."""

UNASKED = ("aider", "api-native")
"""Presets that do nothing more: what is left is half of its own small limit; the API does it."""

FEW = settings(
    max_examples=3,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)

Step = Callable[[Session, str, str | Scripted, int], View]

TRIGGERS: dict[str, Step] = {
    "proactive": lambda s, name, who, size: s.prepare(name, summarizer=who, window=size),
    "model": lambda s, name, who, size: s.prepare(name, summarizer=who, window=size),
    "reactive": lambda s, name, who, size: s.overflowed(
        "prompt is too long", name, summarizer=who, window=size
    ),
    "person": lambda s, name, who, size: s.compact(name, summarizer=who, window=size),
}


def recorded(store: EventStore, events: list[Event]) -> Session:
    """A session that holds these events."""
    store.append("s", [EventDraft(event.type, event.data) for event in events])
    return Session(store, "s")


def ask_for_it(session: Session) -> None:
    """The model calls its ``compact`` tool, beside another one; both are answered."""
    session.recover()
    session.assistant([call("toolu_ask", "compact"), call("toolu_last", "Read", path="last.py")])
    session.tool_result("toolu_ask", called.ANSWER)
    session.tool_result("toolu_last", "the last lines")


def refused(view: View) -> Refusal | None:
    """What the server says of the next request: it shares no code with the project's checker."""
    shown = render(view.then([user("Go on.")]), open="recover", model=MODEL)
    api = Api()
    api.checks_signatures = False
    return api.refusal({"model": MODEL, **{k: v for k, v in shown.items() if v is not None}})


def attempts(session: Session) -> Counter[str]:
    found = session.store.read(session.id, types=("summary.requested",))
    return Counter(str(event.data["by"]) for event in found)


def window(session: Session, name: str, size: int) -> Window:
    return policy(name).reader().window(session.view(), budget_of(window=size))


def assert_kept(old: Window, new: Window, name: str) -> None:
    """The promises of a view that was made smaller."""
    assert [v for p in new.view.pieces for v in range(p.first, p.last + 1)] == list(
        new.view.layout.lineage
    )
    assert not list(problems(new.view))
    broken = Counter(v.rule for v in check(render(old.view, open="recover")))
    assert not Counter(v.rule for v in check(render(new.view, open="recover"))) - broken
    assert refused(new.view) is None or refused(old.view) is not None
    if old.request is not None and old.shows_request(old.parts):
        assert sum(new.shows_request([part]) for part in new.parts) == 1
    for pin in old.view.pins:
        there, now = old.view.piece(pin), new.view.piece(pin)
        assert there is None or (now is not None and now.shown == there.shown)
    failed = {part.version for part in old.results if part.is_error}
    assert all(part.is_error for part in new.results if part.version in failed)
    visible = {part.version for part in new.parts}
    for step in old.steps:
        if step.open or (old.is_unseen(step) and name not in WHOLE and not step.stands_in):
            assert set(step.versions) <= visible


@pytest.mark.parametrize("trigger", TRIGGERS)
@pytest.mark.parametrize("name", presets())
@FEW
@given(events=sessions(), size=WINDOWS, who=st.sampled_from(sorted(SUMMARIZERS)))
def test_whatever_happens_the_view_is_smaller_or_as_it_was(
    name: str, trigger: str, events: list[Event], size: int, who: str
) -> None:
    with EventStore(":memory:") as store:
        session = recorded(store, events)
        if trigger == "model":
            ask_for_it(session)
        old, before = window(session, name, size), render(session.view(), open="keep")
        try:
            TRIGGERS[trigger](session, name, SUMMARIZERS[who](), size)
        except ContextError:
            assert render(session.view(), open="keep") == before
        else:
            assert session.prepared is not None
            check_outcome(session, session.prepared, old, name, size)
        assert all(count <= 2 for count in attempts(session).values())
        assert all(verdict.ok for verdict in store.verify())


def check_outcome(session: Session, done: Prepared, old: Window, name: str, size: int) -> None:
    if not done.edits:
        assert render(done.view, open="keep") == render(old.view, open="keep")
        return
    new = window(session, name, size)
    by_hand = done.edits[-1].data["trigger"] == "person"
    assert_kept(old, new, name)
    assert new.tokens < old.tokens or by_hand
    assert {e.type for e in done.recorded} <= {
        *("snapshot.taken", "policy.set", "summary.written", "view.edited", "attachment.added"),
    }


@pytest.mark.parametrize("name", presets())
def test_what_the_model_asks_for_is_done_though_nothing_else_wants_it(name: str) -> None:
    with EventStore(":memory:") as store:
        session = recorded(store, later([], *work(rounds=14, size=1_400)))
        session.prepare(name, window=14_000)
        session.prepare(name, window=14_000)
        assert session.prepared is not None
        assert not session.prepared.edits
        ask_for_it(session)
        session.prepare(name, window=14_000)
        assert session.prepared is not None
        triggers = {event.data["trigger"] for event in session.prepared.edits}
        assert triggers == (set() if name in UNASKED else {"model"})


@pytest.mark.parametrize("name", presets())
@FEW
@given(events=sessions(), size=WINDOWS)
def test_it_comes_to_rest(name: str, events: list[Event], size: int) -> None:
    """Prepared again and again, a view that nobody adds to stops changing."""
    with EventStore(":memory:") as store:
        session = recorded(store, events)
        versions = []
        for _ in range(5):
            with suppress(ContextError):
                session.prepare(name, window=size)
            versions.append(len(list(store.read("s", types=("view.edited",)))))
        assert versions[-1] == versions[-2]


@pytest.mark.parametrize("transcript", REAL)
@pytest.mark.parametrize("name", presets())
def test_real_sessions(name: str, transcript: str) -> None:
    """Recorded sessions of Claude Code, each in a window of a third of its size."""
    with EventStore(":memory:") as store:
        list(import_path(store, FIXTURES / transcript))
        session = Session(store, max(store.sessions(), key=lambda info: info.messages).session)
        session.recover()
        tokens = window(session, name, 1_000_000).tokens
        size = max(8_000, tokens // 3)
        old = window(session, name, size)
        before = render(session.view(), open="keep")
        try:
            session.prepare(name, window=size)
        except ContextError:
            assert render(session.view(), open="keep") == before
        else:
            assert session.prepared is not None
            check_outcome(session, session.prepared, old, name, size)
