"""The command in real processes: exit codes, pipes, Ctrl-C, missing stores, hostile terminals."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from foldlog.eventstore import EventDraft, EventStore, recording
from tests.cli.demo import DEMO, HOSTILE

ROOT = Path(__file__).parents[2]
POSIX = pytest.mark.skipif(os.name == "nt", reason="signals and terminals of POSIX")

LINE = '{"type":"user","uuid":"u-1","parentUuid":null,"message":{"role":"user","content":"hi"}}\n'


def command(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-m", "foldlog", *map(str, arguments)]


def environment(**more: str) -> dict[str, str]:
    known = {k: v for k, v in os.environ.items() if k not in ("FOLDLOG_DB", "PAGER", "LESS")}
    return {**known, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8", **more}


def run(*arguments: str | Path, **more: Any) -> subprocess.CompletedProcess[str]:
    options = {"env": environment(), "capture_output": True, "encoding": "utf-8", **more}
    return subprocess.run(command(*arguments), timeout=60, check=False, **options)


READING = [
    ("sessions",),
    ("log", "s"),
    ("show", "s", "1"),
    ("view", "s"),
    ("diff", "s", "1", "2"),
    ("why", "s", "1"),
    ("search", "x"),
    ("sql", "SELECT 1"),
    ("stats",),
    ("export", "s"),
    ("verify",),
    ("fork", "s"),
    ("rewind", "s", "1"),
    ("recover", "s"),
    ("expand", "s", "1"),
    ("pin", "s", "1"),
    ("unpin", "s", "1"),
    ("rename", "s", "t"),
    ("tag", "s", "t"),
    ("backup", "copy.db"),
]


@pytest.mark.parametrize("arguments", READING, ids=lambda arguments: arguments[0])
def test_a_missing_store_is_an_error_and_nothing_is_created(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    result = run("--db", tmp_path / "none.db", *arguments, cwd=tmp_path)
    assert_refused(result)
    assert "none.db" in result.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "arguments",
    [
        ("nonsense",),
        ("log",),
        ("log", DEMO, "--nonsense"),
        ("view", DEMO, "--as", "nonsense"),
        ("sessions", "--limit", "0"),
        ("sessions", "--since", "nonsense"),
        ("show", DEMO),
        ("show", DEMO, "4#0"),
        ("show", DEMO, "900"),
        ("show", f"foldlog:{DEMO}/8#9"),
        ("log", "nobody"),
        ("view", DEMO, "--at", "request:9"),
        ("view", DEMO, "--at", "yesterday-ish"),
        ("why", DEMO, "0"),
        ("expand", DEMO, "10"),
        ("unpin", DEMO, "4"),
        ("pin", DEMO, "17"),
        ("search", "!"),
        ("sql", "SELEC 1"),
        ("sql", "DROP TABLE events"),
        ("sql", "SELECT 1; SELECT 2"),
        ("verify", "--expect", "sha256:0"),
        ("export", DEMO, "-o", "/nowhere/at/all.md"),
        ("import", "/nowhere/at/all.jsonl"),
        ("import", "--format", "claude-code", "/nowhere/at/all.jsonl"),
        ("backup", "/nowhere/at/all.db"),
    ],
    ids=" ".join,
)
def test_what_cannot_be_done_is_told_in_one_line(db: Path, arguments: tuple[str, ...]) -> None:
    assert_refused(run("--db", db, *arguments))


def assert_refused(result: subprocess.CompletedProcess[str]) -> None:
    assert result.returncode == 2, result.stderr
    assert result.stdout == ""
    assert re.fullmatch(r"Error: .+\n", result.stderr), result.stderr


def test_a_foreign_file_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "notes.db"
    file.write_text("these are my notes, all of them, and no database\n" * 9)
    before = file.read_bytes()
    assert_refused(run("--db", file, "sessions"))
    assert_refused(run("--db", file, "import", file))
    assert file.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["notes.db"]


def test_nothing_found_is_no_error(db: Path) -> None:
    result = run("--db", db, "search", "xyzzy")
    assert (result.returncode, result.stdout) == (0, "")
    assert "Nothing found" in result.stderr


def test_the_store_is_named_by_the_environment_too(db: Path) -> None:
    result = run("sessions", "--json", env=environment(FOLDLOG_DB=str(db)))
    assert len(result.stdout.splitlines()) == 3


def test_without_a_name_the_store_is_in_the_application_folder(tmp_path: Path) -> None:
    source = tmp_path / "abc.jsonl"
    source.write_text(LINE)
    env = environment(
        HOME=str(tmp_path), XDG_CONFIG_HOME=str(tmp_path / "c"), APPDATA=str(tmp_path)
    )
    assert_refused(run("sessions", env=env))
    assert run("import", source, env=env).returncode == 0
    (made,) = tmp_path.rglob("sessions.db")
    assert made.parent.name in ("foldlog", ".foldlog")
    if os.name != "nt":
        assert made.stat().st_mode & 0o077 == 0
        assert made.parent.stat().st_mode & 0o077 == 0


@POSIX
def test_a_closed_pipe_is_quiet(db: Path) -> None:
    for arguments in (["log", DEMO, "--json"], ["log", DEMO, "--full"], ["export", DEMO]):
        piped = subprocess.Popen(
            command("--db", db, *arguments),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(),
        )
        assert piped.stdout is not None
        assert piped.stderr is not None
        piped.stdout.close()
        assert piped.stderr.read() == b""
        assert piped.wait(timeout=60) == 0
        piped.stderr.close()


@POSIX
def test_what_is_closed_is_not_written_to(db: Path) -> None:
    for closed in (">&-", "2>&-", "<&-", ">&- 2>&-"):
        script = ["sh", "-c", f'exec "$@" {closed}', "sh", *command("--db", db, "sessions")]
        result = subprocess.run(script, capture_output=True, text=True, env=environment())
        assert (result.returncode, result.stderr) == (0, "")


@POSIX
def test_closed_stdin_holds_nothing(tmp_path: Path) -> None:
    importing = command("--db", tmp_path / "s.db", "import", "-", "--format", "claude-code")
    script = ["sh", "-c", 'exec "$@" <&-', "sh", *importing]
    result = subprocess.run(script, capture_output=True, text=True, env=environment())
    assert (result.returncode, result.stderr) == (0, "")


@POSIX
def test_a_pipe_is_imported_as_stdin_is(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.jsonl"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=[LINE])
    writer.start()
    result = run("--db", tmp_path / "s.db", "import", pipe, "--json")
    writer.join()
    assert '"new":2' in result.stdout, result.stderr
    assert run("import", pipe, "--watch").returncode == 2


@POSIX
def test_a_full_disk_is_told(db: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full")
    with open("/dev/full", "wb") as full:
        result = run(
            "--db", db, "log", DEMO, capture_output=False, stdout=full, stderr=subprocess.PIPE
        )
    assert result.returncode == 2
    assert re.fullmatch(r"Error: .+\n", result.stderr)


@POSIX
def test_ctrl_c_ends_a_log_that_is_followed(db: Path) -> None:
    with started("--db", db, "log", DEMO, "--json", "--follow") as followed:
        lines = [followed.stdout.readline() for _ in range(19)]
        assert '"version":19' in lines[-1]
        run("--db", db, "rewind", DEMO, "9")
        assert '"head.moved"' in followed.stdout.readline()
        interrupt(followed)


@POSIX
def test_ctrl_c_ends_a_query_that_would_not_end(db: Path) -> None:
    numbers = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n)"
    query = f"{numbers} SELECT x FROM n WHERE x < 100000"
    with started("--db", db, "sql", query, "--json") as running:
        assert running.stdout.readline() == '{"x":1}\n'
        running.send_signal(signal.SIGINT)
        running.stdout.read()
        interrupt(running, signalled=True)


@POSIX
def test_ctrl_c_ends_an_import_that_watches(tmp_path: Path) -> None:
    source = tmp_path / "abc.jsonl"
    source.write_text(LINE)
    arguments = ("--db", tmp_path / "w.db", "import", source, "--watch", "--json")
    with started(*arguments) as watching:
        assert '"new":2' in watching.stdout.readline(), "the session's start and the line"
        watching.stderr.readline()
        with source.open("a") as file:
            file.write(LINE.replace("u-1", "u-2").replace("null", '"u-1"', 1))
        assert '"new":1' in watching.stdout.readline()
        interrupt(watching)


@POSIX
def test_an_import_that_watches_goes_on_past_files_that_cannot_be_read(tmp_path: Path) -> None:
    folder = tmp_path / "sessions"
    folder.mkdir()
    growing = folder / "abc.jsonl"
    growing.write_text(LINE)
    arguments = ("--db", tmp_path / "w.db", "import", folder, "--watch", "--json")
    with started(*arguments) as watching:
        assert '"new":2' in watching.stdout.readline()
        watching.stderr.readline()
        second = LINE.replace("u-1", "u-2").replace("null", '"u-1"', 1)
        (folder / "wide.jsonl").write_bytes(LINE.encode("utf-16"))
        assert "it is UTF-16 text" in watching.stdout.readline()
        with growing.open("a") as file:
            file.write('{"broken\n' + second[:40])
        assert '"line":2' in watching.stdout.readline()
        with growing.open("a") as file:
            file.write(second[40:])
        assert '"new":1' in watching.stdout.readline()
        (folder / "wide.jsonl").write_text(LINE.replace("u-1", "u-3"))
        assert '"new":2' in watching.stdout.readline(), "it can be read now"
        interrupt(watching)


class started:
    """A command that runs on, killed at the end if it still does."""

    def __init__(self, *arguments: str | Path) -> None:
        self._process: Any = subprocess.Popen(
            command(*arguments),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(),
            encoding="utf-8",
        )

        self._watchdog = threading.Timer(60, self._process.kill)

    def __enter__(self) -> Any:
        self._watchdog.start()
        return self._process

    def __exit__(self, *error: object) -> None:
        self._watchdog.cancel()
        with self._process:
            self._process.kill()


def interrupt(process: Any, *, signalled: bool = False) -> None:
    if not signalled:
        process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == 130
    assert "Traceback" not in process.stderr.read()


# -- terminals -------------------------------------------------------------------------------


HUMAN = [
    ("sessions",),
    ("log", HOSTILE),
    ("log", HOSTILE, "--full"),
    ("log", HOSTILE, "--json"),
    ("show", HOSTILE, "3"),
    ("show", HOSTILE, "4", "--raw"),
    ("view", HOSTILE),
    ("view", HOSTILE, "--json"),
    ("view", HOSTILE, "--as", "request"),
    ("view", HOSTILE, "--as", "pieces"),
    ("diff", HOSTILE, "4", "5"),
    ("why", HOSTILE, "2"),
    ("search", "owned"),
    ("sql", "SELECT foldlog_text(position), title, cwd FROM events JOIN sessions USING (session)"),
    ("stats", HOSTILE),
    ("export", HOSTILE),
    ("export", HOSTILE, "--to", "jsonl"),
    ("export", HOSTILE, "--to", "claude-code"),
    ("verify", HOSTILE),
    ("log", "\x1b]0;owned\x07"),
    ("fork", HOSTILE),
    ("rename", HOSTILE, "\x1b]0;owned\x07"),
]


@POSIX
@pytest.mark.parametrize("arguments", HUMAN, ids=lambda arguments: " ".join(arguments[:4])[:30])
def test_nothing_that_a_terminal_obeys_reaches_it(db: Path, arguments: tuple[str, ...]) -> None:
    shown = on_a_terminal("--db", str(db), *arguments)
    assert shown.strip()
    assert_harmless(shown)


def assert_harmless(shown: str) -> None:
    """Nothing but text, line ends, and what foldlog itself sends to a terminal."""
    ours = re.sub(r"\x1b\[(?:[0-9;]*m|\?25[lh]|2K|1A)", "", shown)  # colours and the bar's
    for character in ours:
        assert character.isprintable() or character in "\r\n\t", (character, ours)
    assert not re.search("[\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", ours)


@POSIX
@pytest.mark.parametrize("command", ["sessions", "log", "view", "stats", "verify", "tag", "export"])
def test_neither_does_a_sessions_id(
    tmp_path: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An old one: new ids with such characters are refused."""
    name = "\x1b]0;owned\x07\u202e\x9b31m"
    monkeypatch.setattr(recording, "check_new_session", lambda session: None)
    with EventStore(tmp_path / "s.db") as store:
        store.append(name, [EventDraft("message.user", {"content": "hi"})])
        store.append(name, [EventDraft("session.tagged", {"tags": [name]})])
    named = [] if command == "sessions" else [name]
    shown = on_a_terminal("--db", str(tmp_path / "s.db"), command, *named)
    assert shown.strip()
    assert_harmless(shown)


@POSIX
def test_a_table_on_a_terminal_has_one_line_a_row(db: Path) -> None:
    shown = on_a_terminal("--db", str(db), "sessions", columns="100")
    rows = [line for line in shown.splitlines() if line.strip()]
    assert len(rows) == 2 + 3, "head, rule and three sessions"
    assert all(len(re.sub(r"\x1b\[[0-9;]*m", "", row)) <= 100 for row in rows)


@POSIX
def test_colour_is_for_terminals_that_want_it(db: Path) -> None:
    assert "\x1b[" in on_a_terminal("--db", str(db), "log", DEMO)
    assert "\x1b[" not in on_a_terminal("--db", str(db), "log", DEMO, NO_COLOR="1")
    assert "\x1b[" not in run("--db", db, "log", DEMO).stdout


@POSIX
def test_a_long_answer_goes_through_the_pager_on_a_terminal_only(db: Path) -> None:
    paged = on_a_terminal("--db", str(db), "log", DEMO, "--full", PAGER="wc -l", lines="10")
    assert int(paged.strip()) > 19
    short = on_a_terminal("--db", str(db), "why", DEMO, "4", PAGER="wc -l", lines="50")
    assert "summarize" in short, "what fits is shown at once"
    piped = run("--db", db, "log", DEMO, "--full", env=environment(PAGER="wc -l"))
    assert "FAILED test_59" in piped.stdout


@POSIX
def test_bytes_that_are_no_text_are_kept_from_a_terminal(db: Path) -> None:
    assert "Error: " in on_a_terminal("--db", str(db), "show", DEMO, "8#1", "--raw")


def on_a_terminal(
    *arguments: str, columns: str = "120", lines: str = "200", **variables: str
) -> str:
    """What a command writes to a terminal that is its stdin, stdout and stderr."""
    import pty

    variables = {"PAGER": "cat", "TERM": "xterm-256color", **variables}
    env = environment(COLUMNS=columns, LINES=lines, **variables)
    terminal, end = pty.openpty()
    with subprocess.Popen(command(*arguments), stdin=end, stdout=end, stderr=end, env=env) as shown:
        os.close(end)
        content = b"".join(_read(terminal))
        shown.wait(timeout=60)
    os.close(terminal)
    return content.decode("utf-8").replace("\r\n", "\n")


def _read(terminal: int) -> Iterator[bytes]:
    while True:
        try:
            chunk = os.read(terminal, 65536)
        except OSError:  # Linux tells so that the other end is closed
            return
        if not chunk:
            return
        yield chunk
