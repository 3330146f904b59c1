"""Sessions of OpenCode: what it sent, what it took back, and where else it keeps them."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from foldlog.cli.formats import ImportReport, import_path, opencode
from foldlog.cli.formats.testing import ImporterTests, Sample
from foldlog.eventstore import EventStore
from foldlog.projections import Session
from foldlog.projections.explain.statistics import statistics
from tests.formats.wire import every_view, shown, turns

DATA = Path(__file__).parent / "data"

DATABASE = DATA / "opencode_1.18.33.db"

REQUESTS = DATA / "opencode_1.18.33_requests.jsonl"


class TestOpenCode(ImporterTests):
    format = "opencode"
    samples = (
        Sample(
            DATABASE,
            {"message.user": 14, "message.assistant": 60, "tool.result": 8, "view.edited": 4},
            broken=None,
        ),
        Sample(
            DATA / "casr_old_go_opencode.db",
            {"message.user": 2, "message.assistant": 2},
            broken=None,
        ),
        Sample(
            DATA / "bestcodes_errors.export.json",
            {"message.user": 1, "message.assistant": 14, "tool.result": 6},
            broken=None,
        ),
        Sample(
            DATA / "legacy_storage",
            {"message.assistant": 1, "opencode.message": 2},
            main="part/msg-002/part-002.json",
            broken=None,
        ),
    )


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """OpenCode's data folder with a database."""
    folder = tmp_path / "opencode"
    folder.mkdir()
    shutil.copy(DATABASE, folder / "opencode.db")
    return folder


@pytest.fixture
def db(data: Path) -> Iterator[sqlite3.Connection]:
    """A connection as OpenCode has it."""
    with closing(sqlite3.connect(data / "opencode.db", isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        yield connection


def imported(store: EventStore, path: Path) -> list[ImportReport]:
    reports = [report for report in import_path(store, path) if report.format == "opencode"]
    assert all(not report.rejected for report in reports)
    return reports


def sessions(store: EventStore) -> list[str]:
    """The session that was forked, and the fork."""
    infos = sorted(store.sessions(), key=lambda info: "fork" in str(info.title))
    return [info.session for info in infos]


def messages(db: sqlite3.Connection, session: str) -> list[tuple[str, dict[str, Any]]]:
    rows = db.execute(
        "SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id", (session,)
    )
    return [(id_, json.loads(data)) for id_, data in rows]


# -- what it sent ----------------------------------------------------------------------------


def test_every_request_that_it_sent_is_a_view(store: EventStore) -> None:
    imported(store, DATABASE)
    views = every_view(store)
    requests = [json.loads(line)["messages"] for line in REQUESTS.read_text().splitlines()]
    assert len(requests) == 11
    assert all(turns(request) in views for request in requests)


def test_the_head_is_what_is_sent_next(store: EventStore) -> None:
    imported(store, DATABASE)
    session, fork = sessions(store)
    requests = [json.loads(line)["messages"] for line in REQUESTS.read_text().splitlines()]
    assert shown(store, session)[: len(requests[-2])] == turns(requests[-2])
    assert shown(store, fork)[: len(requests[-1])] == turns(requests[-1])


def test_a_compaction_can_be_looked_behind(store: EventStore) -> None:
    imported(store, DATABASE)
    session, _ = sessions(store)
    edits = [event for event in store.read(session) if event.type == "view.edited"]
    assert [edit.data["via"] for edit in edits] == ["opencode", "opencode"]
    before = shown(store, session, edits[0].version - 1)
    assert before[0] == ("user", [{"type": "text", "text": "hello"}])
    assert shown(store, session)[0] == (
        "user",
        [{"type": "text", "text": "What did we do so far?"}],
    )


def test_pruned_results_are_cleared_from_when_they_were(
    store: EventStore, data: Path, db: sqlite3.Connection
) -> None:
    """As 1.18.33 writes it: ``state.time.compacted``, and the output stays."""
    ((id_, text, at),) = db.execute(
        "SELECT part.id, part.data, message.time_created FROM part JOIN message"
        " ON message.id = message_id WHERE part.data LIKE '%\"1\\n2\\n3\\n%' ORDER BY 3 LIMIT 1"
    ).fetchall()
    imported(store, data)
    session, _ = sessions(store)
    part = json.loads(text)
    part["state"]["time"]["compacted"] = at + 60_000_000
    db.execute("UPDATE part SET data = ? WHERE id = ?", (json.dumps(part), id_))
    whole = shown(store, session)
    imported(store, data)
    cleared = json.dumps(whole).replace(r"1\n2\n3\n", "[Old tool result content cleared]")
    assert json.dumps(shown(store, session)) == cleared != json.dumps(whole)
    edit = [event for event in store.read(session) if event.type == "view.edited"][-1]
    assert edit.data["rule"] == "opencode/prune"


def test_usage_is_counted_once_though_the_fork_repeats_it(store: EventStore) -> None:
    imported(store, DATABASE)
    with closing(sqlite3.connect(DATABASE)) as db:
        session, fork = sessions(store)
        rows = [info for _, info in messages(db, session) if info["role"] == "assistant"]
        removed = 1
        own = messages(db, fork)[-1][1]
    total = statistics(store.events()).total
    assert total.requests == len(rows) + removed + 1
    assert total.input >= sum(info["tokens"]["input"] for info in [*rows, own])


# -- what it took back -----------------------------------------------------------------------


def test_a_removed_message_is_known_from_the_event_table(store: EventStore) -> None:
    imported(store, DATABASE)
    session, fork = sessions(store)
    said = [event.data["content"] for event in store.read(session) if event.type == "message.user"]
    assert [{"type": "text", "text": "take me back"}] in said
    assert "take me back" not in json.dumps(shown(store, session))
    assert store.get(fork, 1).data["parent"] == {"session": session, "kind": "fork"}


def test_rows_that_are_deleted_become_a_rewind_with_a_notice(
    store: EventStore, data: Path, db: sqlite3.Connection
) -> None:
    imported(store, data)
    session, _ = sessions(store)
    whole = shown(store, session)
    last, _ = [found for found in messages(db, session) if found[1]["role"] == "user"][-1]
    db.execute("DELETE FROM message WHERE session_id = ? AND id >= ?", (session, last))
    db.execute("DELETE FROM part WHERE message_id NOT IN (SELECT id FROM message)")
    report = next(found for found in imported(store, data) if found.session == session)
    assert report.notices[0].reason.endswith("no longer in it: kept in the log, and not shown")
    assert shown(store, session) == whole[:-2]
    assert [found.new for found in imported(store, data)] == [0, 0]


def test_a_revert_hides_what_the_next_prompt_deletes_and_can_be_undone(
    store: EventStore, data: Path, db: sqlite3.Connection
) -> None:
    imported(store, data)
    session, _ = sessions(store)
    whole = shown(store, session)
    last, _ = [found for found in messages(db, session) if found[1]["role"] == "user"][-1]
    db.execute(
        "UPDATE session SET revert = ? WHERE id = ?", (json.dumps({"messageID": last}), session)
    )
    imported(store, data)
    assert shown(store, session) == whole[:-2]
    db.execute("UPDATE session SET revert = NULL")
    imported(store, data)
    assert shown(store, session) == whole


def test_a_title_that_changes_changes(
    store: EventStore, data: Path, db: sqlite3.Connection
) -> None:
    imported(store, data)
    session, _ = sessions(store)
    db.execute("UPDATE session SET title = 'Another' WHERE id = ?", (session,))
    imported(store, data)
    assert {info.session: info.title for info in store.sessions()}[session] == "Another"


# -- a session that goes on ------------------------------------------------------------------


class Writer:
    """Writes rows as OpenCode does.

    Args:
        db: Its connection.
        session: The session that goes on.
    """

    def __init__(self, db: sqlite3.Connection, session: str) -> None:
        self.db, self.session, self.time = db, session, 1_900_000_000_000

    def message(self, id_: str, **data: Any) -> None:
        self.time += 1
        info = {"time": {"created": self.time}, **data}
        row = (id_, self.session, self.time, self.time, json.dumps(info))
        self.db.execute("INSERT OR REPLACE INTO message VALUES(?, ?, ?, ?, ?)", row)

    def part(self, id_: str, message: str, **data: Any) -> None:
        row = (id_, message, self.session, 1, 1, json.dumps(data))
        self.db.execute("INSERT OR REPLACE INTO part VALUES(?, ?, ?, ?, ?, ?)", row)


@pytest.fixture
def writer(db: sqlite3.Connection) -> Writer:
    (session,) = db.execute("SELECT id FROM session ORDER BY time_created LIMIT 1").fetchone()
    return Writer(db, session)


def test_a_reply_is_followed_while_it_is_written(
    store: EventStore, data: Path, writer: Writer
) -> None:
    call = {"type": "tool", "tool": "bash", "callID": "c1"}
    writer.message("msg_y1", role="user")
    writer.part("prt_y1", "msg_y1", type="text", text="go on")
    writer.message("msg_y2", role="assistant", modelID="m", parentID="msg_y1")
    writer.part("prt_y2", "msg_y2", type="text", text="I r", time={"start": 1})
    (report, _) = imported(store, data)
    assert report.pending
    assert shown(store, writer.session)[-1][1] == [{"type": "text", "text": "go on"}]
    writer.part("prt_y2", "msg_y2", type="text", text="I run", time={"start": 1, "end": 2})
    writer.part("prt_y3", "msg_y2", **call, state={"status": "running", "input": {"a": 1}})
    imported(store, data)
    before = [event.type for event in store.read(writer.session)]
    done = {"status": "completed", "input": {"a": 1}, "output": "done"}
    writer.part("prt_y3", "msg_y2", **call, state=done)
    tokens = {"input": 5, "output": 2, "reasoning": 1, "cache": {"read": 3, "write": 0}}
    writer.part("prt_y4", "msg_y2", type="step-finish", reason="tool-calls", tokens=tokens)
    times = {"created": writer.time, "completed": writer.time + 1}
    writer.db.execute(
        "UPDATE message SET data = json_set(data, '$.time', json(?)) WHERE id = 'msg_y2'",
        (json.dumps(times),),
    )
    (report, _) = imported(store, data)
    assert not report.pending
    after = [event.type for event in store.read(writer.session)]
    assert after.count("head.moved") == before.count("head.moved")
    reply, result = shown(store, writer.session)[-2:]
    assert [block["type"] for block in reply[1]] == ["text", "tool_use"]
    assert result[1] == [{"type": "tool_result", "tool_use_id": "c1", "content": "done"}]
    with EventStore(":memory:") as at_once:
        imported(at_once, data)
        assert shown(at_once, writer.session) == shown(store, writer.session)


def test_replies_that_failed_are_not_sent_and_stopped_ones_are(
    store: EventStore, data: Path, writer: Writer
) -> None:
    failed = {"name": "APIError", "data": {"message": "no"}}
    stopped = {"name": "MessageAbortedError", "data": {"message": "stopped"}}
    for number, error in enumerate((failed, stopped)):
        writer.message(f"msg_y{number}a", role="user")
        writer.part(f"prt_y{number}a", f"msg_y{number}a", type="text", text="go on")
        writer.message(f"msg_y{number}b", role="assistant", error=error)
        writer.part(f"prt_y{number}b", f"msg_y{number}b", type="text", text=error["name"])
    state = {"status": "running", "input": {}}
    part = {"type": "tool", "tool": "bash", "callID": "c1", "state": state}
    writer.part("prt_y1c", "msg_y1b", **part)
    imported(store, data)
    *_, prompts, reply, result = shown(store, writer.session)
    assert [block["text"] for block in prompts[1]] == ["go on", "go on"]
    assert reply[1][0]["text"] == "MessageAbortedError"
    assert result[1][0]["content"] == "[Tool execution was interrupted]"


def test_a_subagent_is_a_child_of_the_call_that_started_it(
    store: EventStore, data: Path, db: sqlite3.Connection, writer: Writer
) -> None:
    db.execute(
        "INSERT INTO session(id, project_id, parent_id, slug, directory, title, version,"
        " time_created, time_updated) VALUES('ses_a', 'global', ?, 's', '/', 'Sub', '1', 1, 1)",
        (writer.session,),
    )
    writer.message("msg_y1", role="assistant")
    state = {"status": "completed", "input": {}, "output": "x", "metadata": {"sessionId": "ses_a"}}
    writer.part("prt_y1", "msg_y1", type="tool", tool="task", callID="c1", state=state)
    imported(store, data)
    expected = {"session": writer.session, "kind": "subagent", "tool_use_id": "c1"}
    assert store.get("ses_a", 1).data["parent"] == expected


# -- where else it keeps them ----------------------------------------------------------------


def exported(db: sqlite3.Connection, session: str, path: Path, *, but: int = 0) -> Path:
    """Write what ``opencode export`` prints, without the last messages."""
    listed = []
    found = messages(db, session)
    for id_, info in found[: len(found) - but]:
        rows = db.execute("SELECT id, data FROM part WHERE message_id = ? ORDER BY id", (id_,))
        ids = {"messageID": id_, "sessionID": session}
        parts = [{**json.loads(d), "id": i, **ids} for i, d in rows]
        listed.append({"info": {**info, "id": id_, "sessionID": session}, "parts": parts})
    info = {"id": session, "projectID": "global", "directory": "/tmp", "title": "T"}
    path.write_text(json.dumps({"info": info, "messages": listed}, indent=2))
    return path


def test_an_export_of_a_session_that_is_there_takes_nothing_back(
    store: EventStore, data: Path, db: sqlite3.Connection, tmp_path: Path
) -> None:
    imported(store, data)
    session, _ = sessions(store)
    whole = shown(store, session)
    (report,) = imported(store, exported(db, session, tmp_path / "old.json", but=2))
    assert (report.session, report.new) == (session, 0)
    assert shown(store, session) == whole


def test_a_session_that_was_migrated_is_read_from_the_database_only(
    store: EventStore, data: Path, db: sqlite3.Connection
) -> None:
    (session,) = db.execute("SELECT id FROM session LIMIT 1").fetchone()
    shutil.copytree(DATA / "legacy_storage", data / "storage")
    folder = data / "storage/session/test-project"
    info = json.loads((folder / "test-session.json").read_text())
    (folder / f"{session}.json").write_text(json.dumps({**info, "id": session}))
    reports = imported(store, data)
    assert [r.session for r in reports if r.session == "test-session"] == ["test-session"]
    notes = [note.reason for report in reports for note in report.notices]
    assert notes == ["the session is in the database next to the folder, which is newer"]
    assert {info.session for info in store.sessions()} >= {session, "test-session"}


def test_a_row_that_is_no_json_is_reported_and_the_others_go_in(
    store: EventStore, data: Path, db: sqlite3.Connection, writer: Writer
) -> None:
    (id_,) = db.execute("SELECT id FROM part ORDER BY id LIMIT 1").fetchone()
    db.execute("UPDATE part SET data = '{\"broken' WHERE id = ?", (id_,))
    reports = list(import_path(store, data))
    (note,) = [note for report in reports for note in report.rejected]
    assert note.reason.startswith(f"part/{id_}: no JSON")
    assert [e.data["text"] for e in store.events() if e.type == "source.unreadable"] == ['{"broken']


def test_the_usual_places_are_those_of_the_data_folder(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(data.parent))
    (data / "storage").mkdir()
    found = opencode.default_locations()
    assert found == [data / "opencode.db", data / "storage"]


def test_the_older_program_sends_its_summary_in_the_place_of_the_past(
    store: EventStore, tmp_path: Path
) -> None:
    path = Path(shutil.copy(DATA / "casr_old_go_opencode.db", tmp_path / "opencode.db"))
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("UPDATE sessions SET summary_message_id = 'msg-002'")
    imported(store, path)
    (first, *_) = shown(store, "opc-session-001")
    assert first[0] == "user"
    assert first[1][0]["text"].startswith("I will create a GitHub Actions workflow")
    assert Session(store, "opc-session-001").view(at=3).pieces
