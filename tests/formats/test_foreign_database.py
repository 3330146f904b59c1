"""Databases of other programs: read while they are in use, and left exactly as they are."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from foldlog.cli.formats import SourceFiles, database_copy, foreign_database
from foldlog.cli.formats.foreign_database import (
    Row,
    find,
    has_columns,
    opened,
    tables_of,
    utc_time,
)
from foldlog.cli.formats.protocols import Place
from foldlog.cli.formats.watching import Watcher
from foldlog.eventstore.errors import SourceError

OPENCODE = Path(__file__).parent / "opencode/data/opencode_1.18.33.db"

SCHEMA = "CREATE TABLE said(id INTEGER PRIMARY KEY, chat TEXT, text TEXT)"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    folder = tmp_path / "their own"
    folder.mkdir()
    return folder / "a %20 #?.db"


def connected(path: Path, *statements: str, mode: str = "delete") -> sqlite3.Connection:
    """Connect to a database as its program would; ``with`` alone does not close it."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute(f"PRAGMA journal_mode={mode}")
    connection.execute("PRAGMA synchronous=OFF")
    for statement in statements:
        connection.execute(statement)
    return connection


def made(path: Path, *statements: str) -> None:
    """Make a database that no program has open."""
    connected(path, *statements).close()


def contents(folder: Path) -> dict[str, tuple[str, int]]:
    """The files of a folder: what is in them and when they changed, and that of the folder."""
    files = {
        file.name: (sha256(file.read_bytes()).hexdigest(), file.stat().st_mtime_ns)
        for file in folder.iterdir()
    }
    return {**files, "": ("", folder.stat().st_mtime_ns)}


def texts(path: Path, **where: Any) -> list[Any]:
    with opened(path) as database:
        return [row.values["text"] for row in database.rows("said", order=["id"], **where)]


def problems(path: Path, table: str = "said") -> list[str | None]:
    with opened(path) as database:
        return [row.problem for row in database.rows(table, order=["id"])]


def insert(number: int, text: str = "x", chat: str = "c") -> str:
    return f"INSERT INTO said VALUES({number}, '{chat}', '{text}')"


# -- rows ------------------------------------------------------------------------------------


def test_rows_come_in_order_with_their_place(path: Path) -> None:
    made(path, SCHEMA, insert(2, "b"), insert(1, "a"), insert(3, "c", chat="d"))
    with opened(path) as database:
        rows = list(database.rows("said", order=["nothing", "text"], chat="c"))
    assert rows == [
        Row("said", 1, {"id": 1, "chat": "c", "text": "a"}),
        Row("said", 2, {"id": 2, "chat": "c", "text": "b"}),
    ]
    assert rows[0].place == {"table": "said", "row": 1}


def test_what_is_not_there_has_no_rows(path: Path) -> None:
    made(path, SCHEMA, insert(1))
    with opened(path) as database:
        assert list(database.rows("other")) == []
        assert list(database.rows("said", user="me")) == []


def test_a_table_without_row_ids_is_read_too(path: Path) -> None:
    made(path, "CREATE TABLE said(id TEXT PRIMARY KEY, text) WITHOUT ROWID")
    made(path, "INSERT INTO said VALUES('b', 2), ('a', 1)")
    assert texts(path) == [1, 2]


def test_columns_called_like_row_ids_do_not_confuse(path: Path) -> None:
    made(path, "CREATE TABLE said(rowid TEXT, text TEXT)", "INSERT INTO said VALUES('7', 'x')")
    with opened(path) as database:
        assert list(database.rows("said")) == [Row("said", 1, {"rowid": "7", "text": "x"})]


def test_values_that_json_does_not_have_are_written_in_it() -> None:
    row = Row("t", 1, {"a": b"\0\1", "b": float("inf"), "c": 1.5, "d": None})
    assert row.plain == {"a": {"base64": "AAE="}, "b": "inf", "c": 1.5, "d": None}


def test_times_of_sqlite_are_utc() -> None:
    assert utc_time("2026-11-30 10:00:00") == "2026-11-30T10:00:00Z"
    assert utc_time(1_796_039_226) == 1_796_039_226


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ('{"a": [1]}', ({"a": [1]}, None)),
        (b'{"a": 1}', ({"a": 1}, None)),
        (None, (None, "no JSON in data")),
        (7, (None, "no JSON in data")),
        ("{", (None, "no JSON: Expecting property name enclosed in double quotes at character 2")),
        ('{"a": NaN}', (None, "no JSON: NaN is no number of JSON")),
        ("[" * 9999, (None, "nested too deeply")),
        (b'"\xff"', (None, "no UTF-8 at byte 2")),
    ],
    ids=repr,
)
def test_json_is_read_exactly_or_refused_with_why(value: Any, expected: Any) -> None:
    assert Row("t", 1, {"data": value}).json("data") == expected


# -- a program that is using it --------------------------------------------------------------


@pytest.mark.parametrize("mode", ["wal", "delete", "truncate", "persist"])
def test_an_open_database_is_read_and_left_as_it_is(path: Path, mode: str) -> None:
    with closing(connected(path, SCHEMA, insert(1, "a"), mode=mode)) as program:
        program.execute(insert(2, "b"))
        before = contents(path.parent)
        assert texts(path) == ["a", "b"]
        assert has_columns(tables_of(path), said=["id", "text"])
        assert contents(path.parent) == before


def test_what_is_not_committed_is_not_read(path: Path) -> None:
    with closing(connected(path, SCHEMA, insert(1, "a"), mode="wal")) as program:
        program.execute("PRAGMA cache_size=1")
        program.execute("BEGIN")
        for number in range(2, 400):
            program.execute(insert(number, "y" * 999))  # it spills into the log
        assert texts(path) == ["a"]


@pytest.mark.parametrize("mode", ["delete", "truncate", "persist"])
def test_a_locked_database_in_the_middle_of_a_transaction_is_read(path: Path, mode: str) -> None:
    with closing(connected(path, SCHEMA, insert(1, "a"), mode=mode)) as program:
        for number in range(2, 400):
            program.execute(insert(number, "b" * 999))
        program.execute("PRAGMA cache_size=1")
        program.execute("BEGIN EXCLUSIVE")
        program.execute("UPDATE said SET text = 'gone' || text")  # it spills into the database
        before = contents(path.parent)
        assert texts(path)[:2] == ["a", "b" * 999]
        assert contents(path.parent) == before


def test_a_write_ahead_log_without_its_program_is_read_and_stays(path: Path) -> None:
    with closing(connected(path, SCHEMA, insert(1, "a"), mode="wal")) as program:
        program.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        program.execute(insert(2, "b"))
        kept = {f: f.read_bytes() for f in path.parent.iterdir() if not f.name.endswith("-shm")}
    for file in path.parent.iterdir():
        file.unlink()
    for file, content in kept.items():
        file.write_bytes(content)
    before = contents(path.parent)
    assert texts(path) == ["a", "b"]
    assert contents(path.parent) == before


def test_a_new_database_whose_tables_are_only_in_the_log_is_found(path: Path) -> None:
    with closing(connected(path, "PRAGMA wal_autocheckpoint=0", SCHEMA, mode="wal")):
        assert has_columns(tables_of(path), said=["text"])


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_is_read_only_does(path: Path) -> None:
    with closing(connected(path, SCHEMA, insert(1, "a"), mode="wal")):
        path.parent.chmod(0o500)
        try:
            assert texts(path) == ["a"]
        finally:
            path.parent.chmod(0o700)


WRITER = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("PRAGMA journal_mode=" + sys.argv[2])
db.execute("PRAGMA wal_autocheckpoint=5")
db.execute("CREATE TABLE said(id INTEGER PRIMARY KEY, text TEXT)")
db.execute("CREATE TABLE counted(id INTEGER PRIMARY KEY, many INTEGER)")
db.execute("INSERT INTO counted VALUES(1, 0)")
print("ready", flush=True)
for number in range(1, 4000):
    db.execute("BEGIN IMMEDIATE")
    db.execute("INSERT INTO said VALUES(?, ?)", (number, "x" * 2000))
    db.execute("UPDATE counted SET many = many + 1")
    db.execute("COMMIT")
print("done", flush=True)
"""


@pytest.fixture(params=["wal", "delete"])
def writer(path: Path, request: pytest.FixtureRequest) -> Iterator[subprocess.Popen[str]]:
    """A program that writes as fast as it can, in transactions that belong together."""
    command = [sys.executable, "-c", WRITER, str(path), request.param]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process
        process.kill()


def test_a_database_that_is_written_to_is_seen_as_it_was_at_one_moment(
    path: Path, writer: subprocess.Popen[str]
) -> None:
    seen = []
    while writer.poll() is None and len(seen) < 12:
        with suppress(SourceError), opened(path) as database:  # it may be written to all the time
            (counted,) = database.rows("counted")
            seen.append(counted.values["many"])
            assert sum(1 for _ in database.rows("said")) == seen[-1]
    assert seen == sorted(seen)


# -- what somebody may have put there --------------------------------------------------------


def test_views_virtual_tables_and_computed_columns_are_not_read(path: Path) -> None:
    made(
        path,
        SCHEMA,
        "CREATE TABLE sum(id INTEGER, made AS (hex(zeroblob(99))))",
        "INSERT INTO sum VALUES(1)",
        "CREATE VIEW session AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x FROM n)"
        " SELECT x AS id FROM n",
        "CREATE VIRTUAL TABLE message USING fts5(id)",
        "CREATE TRIGGER t AFTER INSERT ON said BEGIN DELETE FROM said; END",
    )
    with opened(path) as database:
        assert database.tables["sum"] == {"id"}
        assert not {"session", "message"} & database.tables.keys()
        assert [row.values for row in database.rows("sum")] == [{"id": 1}]
        assert list(database.rows("session")) == []


def test_names_are_names_and_no_sql(path: Path) -> None:
    name = 'x" WHERE 0; --'
    quoted = name.replace('"', '""')
    made(path, f'CREATE TABLE "{quoted}"("{quoted}" TEXT)', f"INSERT INTO \"{quoted}\" VALUES('a')")
    with opened(path) as database:
        assert [row.values for row in database.rows(name, order=[name], **{name: "a"})] == [
            {name: "a"}
        ]


def test_a_value_that_is_too_long_is_left_out_and_reported(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made(path, SCHEMA, insert(1, "a"), insert(2, "b" * 5000), insert(3, "c"))
    monkeypatch.setattr(foreign_database, "VALUE_BYTES", 2000)
    with opened(path) as database:
        rows = list(database.rows("said", order=["id"]))
    assert [row.values.get("text") for row in rows] == ["a", None, "c"]
    assert [row.problem for row in rows] == [None, "text: string or blob too big", None]
    assert rows[1].values["chat"] == "c"


def test_a_damaged_page_hides_only_the_rows_that_are_on_it(path: Path) -> None:
    made(path, SCHEMA, *(insert(n, f"{n:04}" + "x" * 900) for n in range(1, 200)))
    content = bytearray(path.read_bytes())
    place = content.index(b"0100" + b"x" * 900) // 4096 * 4096
    content[place : place + 4096] = b"\xff" * 4096
    path.write_bytes(content)
    with opened(path) as database:
        rows = list(database.rows("said", order=["id"]))
    assert [row.values["text"][:4] for row in rows[:50]] == [f"{n:04}" for n in range(1, 51)]
    assert any("malformed" in row.problem for row in rows if row.problem)


@pytest.mark.parametrize("size", [0, 7, 100, 1000, 4096, 5000])
def test_a_cut_database_is_an_error_or_has_fewer_rows(path: Path, size: int) -> None:
    made(path, SCHEMA, *(insert(n, "x" * 900) for n in range(1, 50)))
    path.write_bytes(path.read_bytes()[:size])
    tables_of(path)
    with suppress(SourceError), opened(path) as database:
        assert len(list(database.rows("said"))) < 49


def test_an_encrypted_database_says_what_it_may_be(path: Path) -> None:
    path.write_bytes(bytes(range(256)) * 32)
    with pytest.raises(SourceError, match="no SQLite database, or an encrypted one"), opened(path):
        pass


def test_a_transaction_over_several_databases_is_refused(path: Path) -> None:
    """SQLite would remove the file that such a journal names."""
    made(path, SCHEMA, insert(1))
    magic = b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"
    Path(f"{path}-journal").write_bytes(magic + bytes(504) + magic)
    with pytest.raises(SourceError, match="over several databases"), opened(path):
        pass


def test_links_and_pipes_in_place_of_a_journal_are_not_followed(path: Path, tmp_path: Path) -> None:
    made(path, SCHEMA, insert(1, "a"))
    Path(f"{path}-wal").symlink_to("/dev/zero")
    os.mkfifo(f"{path}-journal")
    assert texts(path) == ["a"]


def test_a_database_that_never_rests_is_an_error(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made(path, SCHEMA, insert(1, "a"))
    monkeypatch.setattr(database_copy, "PAUSE_SECONDS", 0)
    copy = database_copy.shutil.copyfile

    def meanwhile(source: Path, target: Path) -> None:
        copy(source, target)
        made(path, "UPDATE said SET text = text || 'a'")

    monkeypatch.setattr(database_copy.shutil, "copyfile", meanwhile)
    with pytest.raises(SourceError, match="without a pause"), opened(path):
        pass


def test_nothing_is_left_in_the_temporary_folder(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made(path, SCHEMA, insert(1, "a"))
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    with opened(path) as database:
        assert os.name != "posix" or list(scratch.iterdir()) == []
        assert len(list(database.rows("said"))) == 1
    assert list(scratch.iterdir()) == []


# -- finding ---------------------------------------------------------------------------------


def test_databases_are_found_by_their_tables_whatever_their_name(tmp_path: Path) -> None:
    made(tmp_path / "theirs.sqlite3", SCHEMA)
    made(tmp_path / "other.db", "CREATE TABLE x(id)")
    (tmp_path / "text.db").write_text("hello")
    (source,) = find(SourceFiles(tmp_path), lambda tables: has_columns(tables, said=["text"]))
    assert source.path == tmp_path / "theirs.sqlite3"
    assert tmp_path / "theirs.sqlite3-wal" in source.parts


def test_what_is_only_in_the_log_is_noticed_by_who_watches(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    path.write_bytes(OPENCODE.read_bytes())
    with closing(sqlite3.connect(path, isolation_level=None)) as program:
        program.execute("PRAGMA journal_mode=WAL")
        watcher = Watcher([Place(tmp_path)])
        assert [source.path for _, source in watcher.changed()] == [path]
        assert watcher.changed() == []
        before = path.read_bytes()
        program.execute("UPDATE session SET title = 'another'")
        assert path.read_bytes() == before
        assert [source.path for _, source in watcher.changed()] == [path]
