"""The promises of a lease."""

from __future__ import annotations

import os

import pytest

from foldlog.eventstore.errors import InvalidDraft, SessionHeld
from foldlog.eventstore.store import Store
from foldlog.eventstore.testing.backend import Conformance, talk, versions


class Leasing(Conformance):
    """One program at a time resumes a session; a second one gets the holder's name."""

    def test_the_second_is_told_who_has_it(self, store: Store) -> None:
        with store.lease("s", holder="the first") as holder:
            with pytest.raises(SessionHeld) as caught, store.lease("s"):
                pytest.fail("both have it")
            error = caught.value
            assert (error.session, error.program, error.pid) == ("s", "the first", os.getpid())
            assert (error.host, error.since) == (holder.host, holder.since)
        for part in ("the first", str(os.getpid()), holder.host, holder.since, "foldlog fork s"):
            assert part in str(error)

    def test_it_ends_with_the_block(self, store: Store) -> None:
        for _ in range(3):
            with store.lease("s"):
                pass

    def test_it_ends_with_an_error_in_the_block(self, store: Store) -> None:
        with pytest.raises(OSError, match="went away"), store.lease("s"):
            raise OSError("it went away")
        with store.lease("s"):
            pass

    def test_who_was_refused_ends_no_lease(self, store: Store) -> None:
        with store.lease("s"):
            for _ in range(2):
                with pytest.raises(SessionHeld), store.lease("s"):
                    pytest.fail("both have it")

    def test_a_fork_and_its_parent_have_their_own(self, store: Store) -> None:
        store.append("s", talk(1))
        with store.lease("s"):
            store.fork("s", new="fork")
            with store.lease("fork"), pytest.raises(SessionHeld), store.lease("s"):
                pytest.fail("both have it")

    def test_a_session_that_is_not_there_yet_can_be_held(self, store: Store) -> None:
        with store.lease("s"):
            assert not store.exists("s")
            assert store.sessions() == []

    def test_it_does_not_stop_an_append(self, store: Store) -> None:
        with store.lease("s"):
            assert versions(store.append("s", talk(2))) == [1, 2]

    def test_names_that_differ_are_different_sessions(self, store: Store) -> None:
        names = [
            "a",
            "A",
            "a ",
            "a/b",
            "../a",
            "\u00e9",
            "e\u0301",
            "a" * 500,
            "a" * 499,
            "🦊" * 125,
        ]
        for name in names:
            with store.lease(name):
                for other in names:
                    if other != name:
                        with store.lease(other):
                            pass

    @pytest.mark.parametrize("name", ["", "x" * 501, "a\0b", "\udfff"])
    def test_what_is_no_name_cannot_be_held(self, store: Store, name: str) -> None:
        with pytest.raises(InvalidDraft), store.lease(name):
            pytest.fail("it has a lease")
