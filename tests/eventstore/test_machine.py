"""Any history of writers: whatever they do, the file and the oracle tell the same story."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    multiple,
    precondition,
    rule,
)

from foldlog.eventstore import Event, EventDraft, EventStore, FoldlogError
from foldlog.eventstore.memory import MemoryStore
from foldlog.eventstore.store import Store

LARGE = [("x", 300), ("y", 3000), ("字", 800), ("\ud800", 800), ("z", 20_000), ("$payload", 1)]
TEXTS = st.text(max_size=20) | st.sampled_from(LARGE).map(lambda large: large[0] * large[1])
CALLS = st.sampled_from(["t1", "t2", "t3"])
KEYS = st.sampled_from(["k1", "k2", "k3", "k4"])
SECONDS = st.integers(0, 59).map(lambda second: {"occurred": f"2026-01-01T00:00:{second:02}Z"})
META = st.one_of(st.just({}), SECONDS, TEXTS.map(lambda text: {"line": {"raw": text}}))


def _draft(type: str, data: Any, meta: Any = META) -> st.SearchStrategy[EventDraft]:
    key = st.none() | KEYS
    return st.builds(EventDraft, st.just(type), data, key=key, meta=meta)


def _call(id: str, name: str, text: str) -> dict[str, Any]:
    block = {"type": "tool_use", "id": id, "name": name, "input": {"text": text}}
    return {"content": [{"type": "text", "text": text}, block], "usage": {"output_tokens": 7}}


def _result(id: str, text: str, is_error: bool) -> dict[str, Any]:
    return {"tool_use_id": id, "content": text, "is_error": is_error}


NAMES = st.sampled_from(["bash", "read_file", "a,b", ""])
DRAFTS = st.one_of(
    _draft("message.user", st.builds(lambda text: {"content": text}, TEXTS)),
    _draft("message.assistant", st.builds(_call, CALLS, NAMES, TEXTS)),
    _draft("tool.result", st.builds(_result, CALLS, TEXTS, st.booleans())),
    _draft("session.renamed", st.builds(lambda text: {"title": text}, TEXTS)),
    _draft("custom", st.dictionaries(TEXTS, TEXTS | st.lists(TEXTS, max_size=3), max_size=3)),
)


class Clock:
    """The same time for all stores, as long as a step takes."""

    step = 0

    def __call__(self) -> str:
        return f"2026-11-29T00:{self.step // 60:02}:{self.step % 60:02}.000000Z"


class Writers(RuleBasedStateMachine):
    """Two handles on one file, and the oracle; every step is taken by one handle and by it."""

    sessions = Bundle("sessions")

    @initialize()
    def begin(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.clock = Clock()
        self.oracle = MemoryStore(clock=self.clock)
        self.handles = [self._open(), self._open()]
        self.read_before: dict[tuple[str, int], list[Event]] = {}

    def _open(self) -> EventStore:
        path = Path(self.folder.name, "sessions.db")
        return EventStore(path, synchronous="NORMAL", clock=self.clock)

    def teardown(self) -> None:
        if not hasattr(self, "handles"):
            return
        for handle in self.handles:
            assert [verdict.problems for verdict in handle.verify() if not verdict.ok] == []
            heads = {verdict.session: verdict.head_hash for verdict in handle.verify()}
            assert heads == {v.session: v.head_hash for v in self.oracle.verify()}
            handle.close()
        self.folder.cleanup()

    def _both(self, handle: int, step: Callable[[Store], Any]) -> Any:
        """Take a step with a handle and with the oracle: same answer, or the same refusal."""
        self.clock.step += 1
        answers = [_outcome(store, step) for store in (self.handles[handle], self.oracle)]
        assert answers[0] == answers[1]
        return answers[0]

    @rule(target=sessions, name=st.sampled_from(["a", "会话", "c"]))
    def name(self, name: str) -> str:
        return name

    @rule(handle=st.integers(0, 1), session=sessions, drafts=st.lists(DRAFTS, max_size=5))
    def append(self, handle: int, session: str, drafts: list[EventDraft]) -> None:
        self._both(handle, lambda store: store.append(session, drafts))

    @rule(
        handle=st.integers(0, 1),
        session=sessions,
        drafts=st.lists(DRAFTS, min_size=1, max_size=3),
        off=st.sampled_from([0, 0, 0, -1, 1]),
    )
    def append_expecting(
        self, handle: int, session: str, drafts: list[EventDraft], off: int
    ) -> None:
        expected = max(0, self.oracle.last(session) + off)
        self._both(handle, lambda store: store.append(session, drafts, expected=expected))

    @rule(handle=st.integers(0, 1), session=sessions, data=st.data())
    def append_again(self, handle: int, session: str, data: st.DataObject) -> None:
        """A writer that lost its answer repeats itself, and has more to say."""
        known = [event for event in _events(self.oracle, session) if event.key]
        if known:
            event = data.draw(st.sampled_from(known))
            again = EventDraft(event.type, event.data, key=event.key)
            more = data.draw(st.lists(DRAFTS, max_size=2))
            self._both(handle, lambda store: store.append(session, [*more, again], expected=0))

    @rule(handle=st.integers(0, 1), session=sessions, data=st.data())
    def rewind(self, handle: int, session: str, data: st.DataObject) -> None:
        last = self.oracle.last(session)
        moved: dict[str, Any] = {"to": data.draw(st.integers(0, last))}
        if last > 1 and data.draw(st.booleans()):
            moved |= {"to": last - 1, "path": [[1, data.draw(st.integers(1, last - 1))]]}
        self._both(handle, lambda store: store.append(session, [EventDraft("head.moved", moved)]))

    @rule(
        target=sessions,
        handle=st.integers(0, 1),
        session=sessions,
        new=st.sampled_from(["fork 1", "fork 2", "fork 3", "a"]),
        data=st.data(),
    )
    def fork(self, handle: int, session: str, new: str, data: st.DataObject) -> Any:
        at = data.draw(st.none() | st.integers(0, self.oracle.last(session) + 1))
        outcome = self._both(handle, lambda store: store.fork(session, at=at, new=new))
        return new if isinstance(outcome, Event) else multiple()

    @rule(handle=st.integers(0, 1))
    def reopen(self, handle: int) -> None:
        self.handles[handle].close()
        self.handles[handle] = self._open()

    @rule(handle=st.integers(0, 1), session=sessions)
    def read(self, handle: int, session: str) -> None:
        events = self._both(handle, lambda store: list(store.read(session)))
        if isinstance(events, list):
            self.read_before[session, len(events)] = events

    @rule(handle=st.integers(0, 1), session=sessions, data=st.data())
    def read_parts(self, handle: int, session: str, data: st.DataObject) -> None:
        ends = st.integers(-1, self.oracle.last(session) + 2)
        ranges = data.draw(st.lists(st.tuples(ends, ends), max_size=3))
        kinds = st.sampled_from(["message.user", "custom", "head.moved", "session.started"])
        types = data.draw(st.none() | st.sets(kinds))
        self._both(handle, lambda store: list(store.read_ranges(session, ranges, types)))

    @rule(handle=st.integers(0, 1), after=st.integers(0, 30))
    def read_everything(self, handle: int, after: int) -> None:
        self._both(handle, lambda store: list(store.events(after=after)))

    @rule(handle=st.integers(0, 1))
    def list_sessions(self, handle: int) -> None:
        self._both(handle, lambda store: store.sessions())

    @precondition(lambda self: self.read_before)
    @invariant()
    def what_was_read_stays(self) -> None:
        for (session, last), events in list(self.read_before.items())[-3:]:
            for handle in self.handles:
                assert list(handle.read(session, until=last)) == events


def _outcome(store: Store, step: Callable[[Store], Any]) -> Any:
    try:
        return step(store)
    except FoldlogError as error:
        return type(error), [value for name, value in vars(error).items() if name != "problem"]


def _events(store: Store, session: str) -> list[Event]:
    return list(store.read(session)) if store.exists(session) else []


TestWriters = Writers.TestCase
TestWriters.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
