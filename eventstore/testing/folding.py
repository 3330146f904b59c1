"""The promises of the cache of folds."""

from __future__ import annotations

from typing import Any

from foldlog.eventstore.testing.backend import Conformance, talk


class Folding(Conformance):
    """A fold is cached by its session, the newest version counts; a cache may also forget."""

    def test_without_one_there_is_none(self, store: Any) -> None:
        store.append("s", talk(1))
        assert store.load_fold("s") is None

    def test_what_was_saved_is_loaded_or_forgotten(self, store: Any) -> None:
        state = {"pins": [1, 2], "text": "字 and \ud800", "deep": [[{"a": None}]]}
        store.save_fold("s", 3, state)
        assert store.load_fold("s") in ((3, state), None)
        assert store.load_fold("other") is None

    def test_an_older_one_does_not_take_the_place_of_a_newer(self, store: Any) -> None:
        for version in (5, 3):
            store.save_fold("s", version, {"version": version})
        assert store.load_fold("s") in ((5, {"version": 5}), None)
