"""The promises of ``prepare`` and its siblings."""

from __future__ import annotations

from typing import Any

import pytest

from foldlog.eventstore.testing import Conformance, is_sound
from foldlog.projections.render.digest import digest
from foldlog.projections.render.render import render
from foldlog.projections.session import Session
from foldlog.projections.testing.talk import is_valid, work
from foldlog.projections.tokens.estimate import estimate

WINDOW = 16_000
"""A context window that the sessions of these tests do not fit into, in tokens."""


class Preparing(Conformance):
    """A view is brought under its budget, and what was decided is in the log."""

    def test_what_fits_is_left_alone(self, store: Any) -> None:
        session = work(store, 1)
        version = session.version
        session.prepare(window=200_000)
        assert store.last("work") == version

    @pytest.mark.parametrize("policy", ["adaptive", "claude-code"])
    def test_what_is_too_large_is_made_smaller(self, store: Any, policy: str) -> None:
        session = work(store, 20)
        before = estimate(session.render())
        view = session.prepare(policy, window=WINDOW)
        assert before > WINDOW > estimate(render(view))
        assert is_valid(view)
        assert list(store.read("work", types=["view.edited"]))
        assert is_sound(store)

    def test_a_session_that_is_resumed_sees_the_same(self, store: Any) -> None:
        view = work(store, 20).prepare(window=WINDOW)
        resumed = Session(store, "work")
        assert digest(resumed.render()) == digest(render(view))
        version = resumed.version
        resumed.prepare(window=WINDOW)
        assert store.last("work") == version, "nothing more is to be decided"

    def test_it_is_compacted_by_hand_and_expanded_again(self, store: Any) -> None:
        session = work(store, 8)
        before = digest(session.render())
        view = session.compact("claude-code")
        assert list(store.read("work", types=["summary.written"]))
        assert is_valid(view)
        assert digest(session.render("before-compaction:1")) == before

    def test_a_fork_is_prepared_by_itself(self, store: Any) -> None:
        session = work(store, 20)
        before = digest(session.render())
        fork = session.fork()
        assert is_valid(fork.prepare(window=WINDOW))
        assert digest(session.render()) == before
