"""Search finds what was said: in any language, in code, in what is compressed or inherited."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from unicodedata import normalize

import pytest

from foldlog.eventstore import EventDraft, EventStore, StoreError
from foldlog.eventstore.testing import said, talk

FILLER = "nothing of interest\n" * 500
"""Makes a text large enough to be a compressed payload."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "sessions.db"


@pytest.fixture
def store(path: Path) -> Iterator[EventStore]:
    with EventStore(path, synchronous="NORMAL") as store:
        yield store


def found(store: EventStore, text: str, **filters: Any) -> list[int]:
    """The versions that a search finds, ascending."""
    return sorted(hit.version for hit in store.search(text, **filters))


def call(id: str, name: str, **arguments: Any) -> EventDraft:
    block = {"type": "tool_use", "id": id, "name": name, "input": arguments}
    return EventDraft("message.assistant", {"content": [block]})


def result(id: str, content: Any) -> EventDraft:
    return EventDraft("tool.result", {"tool_use_id": id, "content": content})


class TestLanguages:
    @pytest.mark.parametrize(
        ("text", "word"),
        [
            ("请修复这个错误，然后运行测试", "错误"),
            ("请修复这个错误，然后运行测试", "测试"),
            ("請修復這個錯誤", "錯誤"),
            ("テストを実行してください", "実行"),
            ("テストを実行してください", "テスト"),
            ("それはひらがなです", "がな"),
            ("오류를 수정해 주세요", "오류"),
            ("오류를 수정해 주세요", "수정"),
            ("mixed中文and English", "中文"),
            ("𠮷野家に行く", "𠮷野"),
            ("Ein schönes Café", "cafe"),
            ("Ошибка в тесте", "ошибка"),
            ("ERROR: disk full", "error"),
            ("Am Ende der Straße", "STRASSE"),
            ("AM ENDE DER STRASSE", "straße"),
            ("caf\u00e9.txt", "cafe\u0301.txt"),
            ("cafe\u0301.txt", "caf\u00e9.txt"),
            ("\u1112\u1161\u11ab\u1100\u1173\u11af.md", "한글"),
            ("ＡＢＣ１２３ ｶﾀｶﾅ", "abc123"),
            ("ＡＢＣ１２３ ｶﾀｶﾅ", "カタカナ"),
            ("the file’s ﬁnal line", "final"),
            ("แก้ไขข้อผิดพลาดแล้วรันเทสต์", "ผิดพลาด"),
            ("ກະລຸນາແກ້ໄຂ", "ແກ້"),
            ("कृपया हिन्दी में लिखें", "हिन्दी"),
            ("مَرْحَبًا بالعالم", "مرحبا"),
            ("All tests pass🎉", "🎉"),
            ("All tests pass🎉", "pass"),
            ("well done 👍🏽!", "👍"),
        ],
    )
    def test_a_word_is_found(self, store: EventStore, text: str, word: str) -> None:
        store.append("s", [said("another message"), said(text), said(FILLER + text)])
        assert found(store, word) == [2, 3]

    def test_the_text_around_it_is_shown_whatever_its_form(self, store: EventStore) -> None:
        for text in ("Straße", "cafe\u0301", "ﬁnal", "ข้อผิดพลาด", "🎉"):
            said_before = "x " * 100 + "ß ﬁ e\u0301 " * 50
            store.append("s", [said(f"{said_before} here: {text}.")])
            (hit,) = store.search(f'here "{text}"', limit=1)
            assert hit.snippet.endswith(f"here: {normalize('NFC', text)}.")

    @pytest.mark.parametrize("word", ["误错", "错试", "修错"])
    def test_characters_apart_are_no_word(self, store: EventStore, word: str) -> None:
        store.append("s", [said("请修复这个错误，然后运行测试")])
        assert found(store, word) == []

    def test_words_in_two_languages_must_both_occur(self, store: EventStore) -> None:
        store.append("s", [said("修复 parser"), said("修复 lexer"), said("fix the parser")])
        assert found(store, "修复 parser") == [1]


class TestCode:
    @pytest.mark.parametrize(
        ("text", "query"),
        [
            ("def parse_config_file(path):", "parse_config_file"),
            ("def parse_config_file(path):", "config"),
            ("const parseConfigFile = () => 1", "parseConfigFile"),
            ("const parseConfigFile = () => 1", "parseconfigfile"),
            ("const parseConfigFile = () => 1", "config"),
            ("const parseConfigFile = () => 1", "config file"),
            ("class HTTPServerError(Exception)", "server"),
            ("class HTTPServerError(Exception)", "HTTPServerError"),
            ("import os.path", "os.path"),
            ("see src/eventstore/search.py:12", "search.py"),
            ("see src/eventstore/search.py:12", "src/eventstore"),
            ("x = a->b && c", "a->b"),
            ("ENOENT: no such file", "ENOENT"),
            ("sha256:deadbeef42", "deadbeef42"),
            ('say "hello"', '"hello'),
            ("C++ and C#", "C++"),
        ],
    )
    def test_it_is_found(self, store: EventStore, text: str, query: str) -> None:
        store.append("s", [said("another message"), said(text)])
        assert found(store, query) == [2]


class TestQueries:
    def test_all_words_must_occur(self, store: EventStore) -> None:
        store.append("s", [said("red green"), said("green blue"), said("blue green red")])
        assert found(store, "red green") == [1, 3]
        assert found(store, "green  red") == [1, 3]
        assert found(store, "red yellow") == []

    def test_a_phrase_keeps_its_order(self, store: EventStore) -> None:
        store.append("s", [said("the disk is full"), said("full is the disk")])
        assert found(store, '"disk is full"') == [1]
        assert found(store, '"disk is full" the') == [1]

    def test_a_star_means_begins_with(self, store: EventStore) -> None:
        store.append("s", [said("compaction"), said("compact"), said("uncompacted")])
        assert found(store, "compact*") == [1, 2]
        assert found(store, "compact") == [2]

    @pytest.mark.parametrize("query", ["AND", "OR", "NOT", "NEAR", "text:", "-", "a AND (b"])
    def test_a_query_is_words_and_no_program(self, store: EventStore, query: str) -> None:
        store.append("s", [said(f"before {query} after")])
        if any(letter.isalnum() for letter in query):
            assert found(store, query) == [1]

    @pytest.mark.parametrize("query", ["", "  ", "!?", '""', "*"])
    def test_no_word_is_an_error(self, store: EventStore, query: str) -> None:
        with pytest.raises(StoreError, match="no word"):
            store.search(query)

    def test_nothing_found_is_none(self, store: EventStore) -> None:
        assert store.search("anything") == []

    def test_the_newest_come_first_up_to_a_limit(self, store: EventStore) -> None:
        store.append("s", talk(300))
        assert [hit.version for hit in store.search("message", limit=3)] == [300, 299, 298]
        assert len(store.search("message", limit=1000)) == 300

    def test_a_hit_tells_where_and_what(self, store: EventStore) -> None:
        text = f"{FILLER}Here   is the\nNeedle that one looks for. {FILLER}"
        store.append("s", [call("t", "bash", command="ls"), result("t", text)])
        (hit,) = store.search("needle")
        assert (hit.session, hit.version, hit.type, hit.tool) == ("s", 2, "tool.result", "bash")
        assert hit.at == store.get("s", 2).at
        assert "Here is the Needle that one looks for." in hit.snippet
        assert hit.snippet[0] == hit.snippet[-1] == "…"
        assert len(hit.snippet) < 250

    @pytest.mark.parametrize(
        ("text", "query", "snippet"),
        [
            ("ß" * 400 + " far behind: the kestrel", "kestrel", "far behind: the kestrel"),
            (FILLER + "ein Café am Platz", "cafe", "ein Café am Platz"),
            (FILLER + "İstanbul", "istanbul", "İstanbul"),
            (FILLER + "the red\nkestrel", '"red kestrel"', "the red kestrel"),
            (FILLER + "parseConfigFile()", '"config file"', "parseConfigFile()"),
            (FILLER + "请修复这个错误", "错误", "请修复这个错误"),
        ],
    )
    def test_a_snippet_shows_what_was_found(
        self, store: EventStore, text: str, query: str, snippet: str
    ) -> None:
        store.append("s", [said(text)])
        (hit,) = store.search(query)
        assert snippet in hit.snippet

    def test_a_search_goes_on_behind_the_last_hit(self, store: EventStore) -> None:
        store.append("s", [said(f"message {n}") for n in range(1, 8)])
        first = store.search("message", limit=3)
        store.append("s", [said("another message")])
        rest = store.search("message", before=first[-1].position)
        assert [hit.version for hit in (*first, *rest)] == [7, 6, 5, 4, 3, 2, 1]

    def test_what_stands_between_words_is_no_word(self, store: EventStore) -> None:
        store.append("s", [said("the plover_nest")])
        assert found(store, "_ plover") == [1]
        with pytest.raises(StoreError, match="no word"):
            store.search("_")


class TestWhatIsSearched:
    @pytest.mark.parametrize(
        "draft",
        [
            said("needle"),
            EventDraft("message.user", {"content": [{"type": "text", "text": "needle"}]}),
            EventDraft(
                "message.assistant", {"content": [{"type": "thinking", "thinking": "needle"}]}
            ),
            call("t", "bash", command="grep needle *.txt"),
            call("t", "needle"),
            result("t", "needle"),
            result("t", [{"type": "text", "text": "needle"}]),
            EventDraft("system.set", {"system": "needle"}),
            EventDraft("summary.written", {"text": "needle"}),
            EventDraft("attachment.added", {"kind": "file", "content": "needle"}),
            EventDraft("state.set", {"key": "plan", "value": {"steps": ["needle"]}}),
            EventDraft("session.renamed", {"title": "needle"}),
            EventDraft("view.edited", {"rule": "r", "reason": "needle", "edits": []}),
            EventDraft("source.unreadable", {"text": "{needle", "reason": "no JSON"}),
        ],
        ids=lambda draft: draft.type,
    )
    def test_what_is_said(self, store: EventStore, draft: EventDraft) -> None:
        store.append("s", [draft])
        assert found(store, "needle") == [1]

    @pytest.mark.parametrize(
        "draft",
        [
            EventDraft("message.user", {"content": "x"}, meta={"line": "needle"}, key="needle"),
            EventDraft(
                "message.assistant",
                {"content": [{"type": "thinking", "thinking": "", "signature": "needle"}]},
            ),
            EventDraft(
                "message.user",
                {"content": [{"type": "image", "source": {"type": "base64", "data": "needle"}}]},
            ),
        ],
    )
    def test_not_what_is_no_text_for_people(self, store: EventStore, draft: EventDraft) -> None:
        store.append("s", [draft])
        assert found(store, "needle") == []


class TestFilters:
    @pytest.fixture(autouse=True)
    def three_sessions(self, store: EventStore) -> None:
        store.append("a", [said("needle"), call("t1", "read_file", path="needle.txt")])
        store.append("a", [result("t1", "needle"), call("t2", "readXfile", path="needle.txt")])
        store.append("b", [said("needle")])

    def test_by_session(self, store: EventStore) -> None:
        assert found(store, "needle", session="a") == [1, 2, 3, 4]
        assert found(store, "needle", session="b") == [1]
        assert found(store, "needle", session="none") == []

    def test_by_type(self, store: EventStore) -> None:
        hits = store.search("needle", types=["message.user"])
        assert sorted((hit.session, hit.version) for hit in hits) == [("a", 1), ("b", 1)]
        assert found(store, "needle", types={"tool.result", "system.set"}) == [3]

    def test_by_tool(self, store: EventStore) -> None:
        assert found(store, "needle", tool="read_file") == [2, 3]
        assert found(store, "needle", tool="read") == []

    def test_all_at_once(self, store: EventStore) -> None:
        assert found(store, "needle", session="a", types=["tool.result"], tool="read_file") == [3]

    def test_a_fork_is_searched_with_what_it_inherits(self, store: EventStore) -> None:
        store.fork("a", at=2, new="fork")
        store.append("fork", [said("another needle")])
        assert found(store, "needle", session="fork") == [1, 2, 4]
        assert found(store, "needle") == [1, 1, 2, 3, 4, 4]


class TestCatchingUp:
    def test_what_is_appended_later_is_found(self, store: EventStore) -> None:
        for number in range(1, 4):
            store.append("s", [said(f"needle {number}")])
            assert found(store, "needle") == list(range(1, number + 1))

    def test_what_another_handle_appended_is_found(self, store: EventStore, path: Path) -> None:
        store.append("s", [said("needle")])
        assert found(store, "needle") == [1]
        with EventStore(path) as other:
            other.append("s", [said("needle")])
            assert found(other, "needle") == found(store, "needle") == [1, 2]

    def test_another_may_be_faster(self, store: EventStore, path: Path) -> None:
        """It indexes everything just when this one is about to."""
        store.append("s", talk(3))
        store.search("message")
        store.append("s", [said("needle")])
        with EventStore(path) as other:
            hits = store.search("needle", progress=lambda done, all: other.search("x") and None)
            assert [hit.version for hit in hits] == [4]
        _, rows = store.sql("SELECT rowid FROM search WHERE search MATCH 'needle'")
        assert list(rows) == [(4,)]

    def test_it_tells_how_far_it_has_come(self, store: EventStore) -> None:
        store.append("s", talk(2500))
        told: list[tuple[int, int]] = []
        store.search("message", progress=lambda done, all: told.append((done, all)))
        assert told[0] == (0, 2500)
        assert told[-1] == (2500, 2500)
        assert told == sorted(told)

    @pytest.mark.parametrize(
        "sql", ["DROP TABLE search", "DELETE FROM checkpoints WHERE name = 'search'"]
    )
    def test_an_index_that_was_dropped_is_made_again(self, store: EventStore, sql: str) -> None:
        store.append("s", [said("needle")])
        assert found(store, "needle") == [1]
        store.db.execute(sql)
        store.append("s", [said("needle")])
        assert found(store, "needle") == [1, 2]

    def test_an_up_to_date_index_is_not_written(self, store: EventStore, path: Path) -> None:
        store.append("s", [said("needle")])
        store.search("needle")
        with EventStore(path, timeout=0) as other:
            other.db.execute("BEGIN IMMEDIATE")
            assert found(store, "needle") == [1]

    def test_a_store_opened_for_reading(self, store: EventStore, path: Path) -> None:
        store.append("s", [said("needle")])
        with EventStore(path, read_only=True) as reader:
            assert found(reader, "needle") == [1]  # nothing is indexed yet
            store.search("needle")
            store.append("s", [said("needle again")])
            assert found(reader, "needle") == [1, 2]  # one is, one is not
            store.search("needle")
            assert found(reader, "needle") == [1, 2]


DAMAGE = {
    "emptied": "INSERT INTO search (search) VALUES ('delete-all')",
    "a row too many": "INSERT INTO search (rowid, text, parts) VALUES (99, 'needle', '')",
    "words of another text": "INSERT INTO search (rowid, text, parts) VALUES (2, 'needle', '')",
    "a row less": "DELETE FROM search_docsize WHERE id = 2",
    "zeros": "UPDATE search_data SET block = zeroblob(length(block))",
    "pages gone": "DELETE FROM search_data WHERE id > 10",
    "a changed word": "UPDATE search_data SET block = replace(block, 'needle', 'noodle')",
}
"""What other programs and bad disks do to an index."""


class TestDamagedIndex:
    @pytest.fixture(params=DAMAGE)
    def damaged(self, path: Path, request: pytest.FixtureRequest) -> str:
        with EventStore(path) as store:
            store.append("s", [said(f"hay {n}") for n in range(4)] + [said("the needle")])
            assert found(store, "needle") == [5]
            assert not [verdict.problems for verdict in store.verify() if verdict.problems]
        with closing(sqlite3.connect(path)) as db:
            db.execute(DAMAGE[request.param])
            db.commit()
        return str(request.param)

    @pytest.mark.parametrize("read_only", [True, False])
    def test_verify_says_so_and_what_to_do(self, path: Path, damaged: str, read_only: bool) -> None:
        with EventStore(path, read_only=read_only) as store:
            *_, verdict = store.verify()
        assert (verdict.session, verdict.ok) == ("", False)
        assert all("the search index" in problem for _, problem in verdict.problems)
        assert "foldlog search WORD --rebuild" in verdict.problems[0][1]

    @pytest.mark.parametrize("read_only", [True, False])
    def test_a_search_finds_what_the_log_says(
        self, path: Path, damaged: str, read_only: bool
    ) -> None:
        with EventStore(path, read_only=read_only) as store:
            assert found(store, "hay") == [1, 2, 3, 4]
            if damaged != "a changed word":  # what an index does not know, a search cannot miss
                assert found(store, "needle") == [5]

    def test_it_can_be_made_again(self, path: Path, damaged: str) -> None:
        with EventStore(path) as store:
            assert store.rebuild_index()
            assert found(store, "needle") == [5]
            assert all(verdict.ok for verdict in store.verify())


def test_an_index_that_has_not_caught_up_is_no_damage(store: EventStore) -> None:
    store.append("s", [said("needle")])
    store.search("needle")
    store.append("s", [said("needle"), EventDraft("message.user", {"content": ""})])
    assert all(verdict.ok for verdict in store.verify())
    store.search("needle")
    assert all(verdict.ok for verdict in store.verify())
