"""Sessions of goose: what the model still sees, whatever goose did to the rows."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from foldlog.cli.formats import ImportReport, goose, import_path
from foldlog.cli.formats.testing import ImporterTests, Sample
from foldlog.eventstore import EventStore
from foldlog.projections.explain.statistics import statistics
from tests.formats.wire import shown

DATA = Path(__file__).parent / "data"

SESSION = "20261129_1"


class TestGoose(ImporterTests):
    format = "goose"
    samples = (
        Sample(
            DATA / "sessions_v13.db",
            {"message.user": 2, "message.assistant": 5, "tool.result": 3, "summary.written": 1},
            broken=None,
        ),
        Sample(
            DATA / "20251001_101010.jsonl",
            {"message.user": 1, "message.assistant": 2, "tool.result": 2, "goose.line": 1},
        ),
    )


class Goose:
    """Writes rows as goose does.

    Args:
        path: The database.
    """

    def __init__(self, path: Path) -> None:
        self.db = sqlite3.connect(path, isolation_level=None)
        self.time = 2_000_000_000

    def say(self, role: str, *content: Any, agent: bool = True, user: bool = True) -> None:
        """Add a message of one second later."""
        self.time += 1
        parts = [{"type": "text", "text": c} if isinstance(c, str) else c for c in content]
        seen = {"agentVisible": agent, "userVisible": user}
        self._insert(role, json.dumps(parts), self.time, json.dumps(seen))

    def compact(self, summary: str) -> None:
        """Write all rows again, out of the model's sight, and a summary after them."""
        rows = self.db.execute(
            "SELECT role, content_json, created_timestamp, metadata_json FROM messages ORDER BY id"
        ).fetchall()
        self.db.execute("DELETE FROM messages")
        for role, content, created, metadata in rows:
            seen = {**json.loads(metadata or "{}"), "agentVisible": False}
            self._insert(role, content, created, json.dumps(seen))
        self.say("assistant", {"type": "systemNotification", "msg": "compacted"}, agent=False)
        self.say("user", summary, user=False)
        self.say("assistant", "I go on from the summary.", user=False)

    def _insert(self, role: str, content: str, created: int, metadata: str) -> None:
        self.db.execute(
            "INSERT INTO messages(session_id, role, content_json, created_timestamp,"
            " metadata_json) VALUES(?, ?, ?, ?, ?)",
            (SESSION, role, content, created, metadata),
        )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return Path(shutil.copy(DATA / "sessions_v13.db", tmp_path / "sessions.db"))


@pytest.fixture
def writer(path: Path) -> Iterator[Goose]:
    """goose, in the middle of a session that is empty so far."""
    found = Goose(path)
    found.db.execute("DELETE FROM messages")
    yield found
    found.db.close()


def imported(store: EventStore, path: Path) -> list[ImportReport]:
    reports = list(import_path(store, path))
    assert {report.format for report in reports} == {"goose"}
    return reports


def texts(store: EventStore, at: int | None = None) -> list[Any]:
    """What a view shows: each text."""
    return [b["text"] for _, blocks in shown(store, SESSION, at) for b in blocks if "text" in b]


def test_the_view_is_what_the_model_still_sees(store: EventStore, path: Path) -> None:
    imported(store, path)
    with closing(sqlite3.connect(path)) as db:
        rows = db.execute(
            "SELECT content_json FROM messages WHERE json_extract(metadata_json, '$.agentVisible')"
            " ORDER BY created_timestamp, id"
        ).fetchall()
    visible = [part for (content,) in rows for part in json.loads(content)]
    assert texts(store) == [part["text"] for part in visible if part["type"] == "text"]
    result = shown(store, SESSION)[-2][1][0]
    assert (result["content"], result["is_error"]) == ("exit status 3", True)
    (edit,) = store.read(SESSION, types=["view.edited"])
    assert edit.data["via"] == "goose"
    assert "Read both files" in texts(store, edit.version - 1)


def test_rows_that_are_written_again_are_the_same_events(
    store: EventStore, path: Path, writer: Goose
) -> None:
    writer.say("user", "one")
    writer.say("assistant", "two")
    imported(store, path)
    writer.compact("a summary")
    writer.say("user", "three")
    imported(store, path)
    assert texts(store) == ["a summary", "I go on from the summary.", "three"]
    said = [
        event.data["content"][0]["text"] for event in store.read(SESSION, types=["message.user"])
    ]
    assert said == ["one", "three"]
    (edit,) = store.read(SESSION, types=["view.edited"])
    assert texts(store, edit.version - 1) == ["one", "two"]
    assert [report.new for report in imported(store, path)] == [0]


@pytest.mark.parametrize("often", [True, False], ids=["followed", "at once"])
def test_a_second_compaction_takes_the_place_of_the_first(
    store: EventStore, path: Path, writer: Goose, often: bool
) -> None:
    for number in (1, 2):
        writer.say("user", f"question {number}")
        if often:
            imported(store, path)
        writer.compact(f"summary {number}")
    writer.say("user", "last")
    imported(store, path)
    assert texts(store) == ["summary 2", "I go on from the summary.", "last"]
    first, _ = store.read(SESSION, types=["view.edited"])
    assert texts(store, first.version) == ["summary 1"]


def test_what_is_hidden_without_a_summary_is_hidden(
    store: EventStore, path: Path, writer: Goose
) -> None:
    writer.say("user", "one")
    writer.say("assistant", "for the screen", agent=False)
    writer.say("user", "two")
    imported(store, path)
    assert texts(store) == ["one", "two"]
    (edit,) = store.read(SESSION, types=["view.edited"])
    assert edit.data["rule"] == "goose/hidden"


def test_a_conversation_that_was_cut_is_a_rewind(
    store: EventStore, path: Path, writer: Goose
) -> None:
    for words in ("one", "two", "three"):
        writer.say("user", words)
    imported(store, path)
    writer.db.execute("DELETE FROM messages WHERE content_json LIKE '%three%'")
    (report,) = imported(store, path)
    assert [note.reason for note in report.notices] == [
        "1 recorded event is no longer in it: kept in the log, and not shown"
    ]
    assert texts(store) == ["one", "two"]


def test_a_database_of_an_older_schema_is_read(store: EventStore, path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("DROP INDEX idx_messages_message_id")
        db.execute("ALTER TABLE messages DROP COLUMN message_id")
        db.execute("ALTER TABLE messages DROP COLUMN metadata_json")
        db.execute("ALTER TABLE sessions DROP COLUMN model_config_json")
    imported(store, path)
    assert texts(store)[0] == "Read both files"
    assert not list(store.read(SESSION, types=["view.edited"]))


def test_the_file_of_a_session_that_was_migrated_adds_nothing(
    store: EventStore, path: Path, tmp_path: Path, writer: Goose
) -> None:
    file = tmp_path / f"{SESSION}.jsonl"
    content = [{"type": "text", "text": "one"}]
    line = {"id": None, "role": "user", "created": writer.time + 1, "content": content}
    file.write_text(json.dumps(line) + "\n")
    writer.say("user", "one")
    writer.say("user", "two")
    database, legacy = imported(store, tmp_path)
    assert (database.session, legacy.session, legacy.new) == (SESSION, SESSION, 0)
    assert texts(store) == ["one", "two"]


def test_what_the_session_took_is_counted_once(
    store: EventStore, path: Path, writer: Goose
) -> None:
    writer.say("user", "one")
    for taken in (10, 25):
        writer.db.execute(
            "UPDATE sessions SET accumulated_input_tokens = ?, accumulated_output_tokens = ?,"
            ' model_config_json = \'{"model_name": "m"}\'',
            (taken * 10, taken),
        )
        imported(store, path)
    figures = statistics(store.events())
    assert (figures.total.input, figures.total.output) == (250, 25)
    assert list(figures.usage) == ["m"]


def test_the_usual_places_are_those_of_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable, folder in (
        ("XDG_DATA_HOME", "goose/sessions"),
        ("GOOSE_PATH_ROOT", "data/sessions"),
    ):
        (tmp_path / folder).mkdir(parents=True)
        monkeypatch.setenv(variable, str(tmp_path))
        assert goose.default_locations() == [tmp_path / folder]
