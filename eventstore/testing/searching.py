"""The promises of a store that can be searched."""

from __future__ import annotations

from typing import Any

import pytest

from foldlog.eventstore.errors import StoreError
from foldlog.eventstore.events import EventDraft
from foldlog.eventstore.store import Searchable
from foldlog.eventstore.testing.backend import Conformance, said, talk


class Searching(Conformance):
    """Search finds what was said, in any language, the newest first; for backends that have it."""

    def test_the_store_is_searchable(self, store: Any) -> None:
        assert isinstance(store, Searchable)

    @pytest.mark.parametrize(
        ("text", "query"),
        [
            ("Fix the Failing tests", "failing"),
            ("Fix the failing tests", "tests fix"),
            ("the failing tests", '"failing tests"'),
            ("call parseConfigFile now", "config"),
            ("call parse_config_file now", "config"),
            ("我们修复了会话存储", "会话"),
            ("ein schönes Café", "schones cafe"),
            ("x" * 3000 + " needle " + "y" * 3000, "needle"),
            ("reticulating splines", "retic*"),
        ],
    )
    def test_it_finds(self, store: Any, text: str, query: str) -> None:
        store.append("s", [said("something else"), said(text)])
        (hit,) = store.search(query)
        assert (hit.session, hit.version, hit.type) == ("s", 2, "message.user")
        assert len(hit.snippet) < 300

    @pytest.mark.parametrize("query", ["missing", '"tests failing"', "fail", "会话"])
    def test_it_finds_nothing_else(self, store: Any, query: str) -> None:
        store.append("s", [said("the failing tests"), said("会 话")])
        found = store.search(query)
        assert [hit.version for hit in found] == ([2] if query == "会话" else [])

    def test_the_newest_come_first_a_page_at_a_time(self, store: Any) -> None:
        store.append("s", talk(5))
        first = store.search("message", limit=3)
        assert [hit.version for hit in first] == [5, 4, 3]
        rest = store.search("message", limit=3, before=first[-1].position)
        assert [hit.version for hit in rest] == [2, 1]

    def test_what_is_appended_is_found_at_once(self, store: Any) -> None:
        store.append("s", talk(1))
        assert store.search("later") == []
        store.append("s", [said("later")])
        assert [hit.version for hit in store.search("later")] == [2]

    def test_a_session_is_searched_with_what_it_inherits(self, store: Any) -> None:
        store.append("s", talk(3))
        store.append("other", talk(1))
        store.fork("s", at=2, new="fork")
        store.append("fork", [said("a message of its own")])
        found = [(hit.session, hit.version) for hit in store.search("message", session="fork")]
        assert found == [("fork", 4), ("s", 2), ("s", 1)]

    def test_types_and_tools_narrow_it(self, store: Any) -> None:
        call = {"type": "tool_use", "id": "t", "name": "bash", "input": {"command": "make clock"}}
        result = {"tool_use_id": "t", "content": "the clock is made"}
        store.append("s", [said("a clock"), EventDraft("message.assistant", {"content": [call]})])
        store.append("s", [EventDraft("tool.result", result)])
        by_type = store.search("clock", types=["message.user"])
        by_tool = store.search("clock", tool="bash")
        assert [hit.version for hit in by_type] == [1]
        assert [(hit.version, hit.tool) for hit in by_tool] == [(3, "bash"), (2, "bash")]
        assert store.search("clock", tool="read") == []

    @pytest.mark.parametrize("query", ["", "  ", "!?", '""', "*"])
    def test_a_query_without_a_word_is_refused(self, store: Any, query: str) -> None:
        with pytest.raises(StoreError, match="no word"):
            store.search(query)
