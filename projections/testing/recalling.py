"""The promises of the recall tool."""

from __future__ import annotations

from typing import Any

from foldlog.eventstore import Searchable
from foldlog.eventstore.testing import Conformance
from foldlog.projections.recall import Recall
from foldlog.projections.testing.talk import work


class Recalling(Conformance):
    """What left the view can be had back by the model."""

    def test_what_was_cleared_comes_back(self, store: Any) -> None:
        session = work(store, 2)
        entry = {"first": 3, "last": 3, "shown": "cleared", "text": "[cleared]"}
        session.edit("clear", "old", [entry])
        answer = Recall(session).answer({"show": "3"})
        assert not answer.is_error
        assert "0007 a line of the build log" in str(answer.content)

    def test_what_was_summarized_is_listed(self, store: Any) -> None:
        session = work(store, 8)
        session.compact("claude-code")
        answer = Recall(session).answer({})
        assert not answer.is_error
        assert "replaced by summary" in str(answer.content)

    def test_it_searches_or_says_that_the_store_cannot(self, store: Any) -> None:
        session = work(store, 2)
        answer = Recall(session).answer({"search": "attempt"})
        if isinstance(store, Searchable):
            assert not answer.is_error
            assert "Attempt 2." in str(answer.content)
        else:
            assert answer.is_error
            assert "cannot be searched" in str(answer.content)
