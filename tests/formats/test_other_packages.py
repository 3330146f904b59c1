"""Formats that other packages bring: found by their entry points, and never in the way."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from foldlog.cli.formats import EXPORTERS, IMPORTERS, problems
from foldlog.cli.formats.testing import ImporterTests, Sample
from foldlog.cli.main import foldlog
from foldlog.eventstore import EventStore
from foldlog.projections import Session
from tests.formats.claude_code.cases import FIXTURES
from tests.formats.conftest import Install
from tests.projections.build import call

ROOT = Path(__file__).parents[2]
PARLEY = (ROOT / "docs" / "examples" / "parley.py").read_text(encoding="utf-8")
PARLEY_EXPORT = (ROOT / "docs" / "examples" / "parley_export.py").read_text(encoding="utf-8")
CHAT = FIXTURES / "parley" / "lunch.parley"

EXPORTER = """
def export_lines(store, session, until=None):
    yield b"one file"

class Folder:
    def export_files(self, store, session, until=None):
        yield "a/b.txt", [b"many ", b"files"]

class Thief:
    def export_files(self, store, session, until=None):
        yield "../stolen.txt", [b"x"]

folder, thief = Folder(), Thief()
"""


def run(tmp_path: Path, *arguments: str | Path) -> Result:
    return CliRunner().invoke(foldlog, ["--db", str(tmp_path / "s.db"), *map(str, arguments)])


def test_an_exporter_of_the_view_is_one_function(install: Install, tmp_path: Path) -> None:
    install("foldlog_parley_export", PARLEY_EXPORT, parley="foldlog_parley_export")
    with EventStore(tmp_path / "s.db") as store:
        session = Session(store, "lunch")
        session.user("What is there to eat?")
        session.assistant([{"type": "text", "text": "I look."}, call("toolu_1", "menu")])
        session.tool_result("toolu_1", "soup")
        session.assistant([{"type": "text", "text": "Soup."}])
    done = run(tmp_path, "export", "lunch", "--to", "parley")
    assert done.exit_code == 0, done.output
    said = [(line["speaker"], line["text"]) for line in map(json.loads, done.stdout.splitlines())]
    assert said == [("me", "What is there to eat?"), ("bot", "I look."), ("bot", "Soup.")]
    assert done.stderr == "Not carried: call: Parley knows no tools.\n"


class TestParley(ImporterTests):
    """The importer of docs/formats.md, installed by a package of its own."""

    format = "parley"
    samples = (
        Sample(CHAT, {"message.user": 3, "message.assistant": 2, "parley.line": 1}),
        Sample(FIXTURES / "parley", {"message.user": 3}, main="lunch.parley"),
    )

    @pytest.fixture(autouse=True)
    def installed(self, install: Install) -> None:
        install("foldlog_parley", PARLEY, parley="foldlog_parley")


def test_the_program_reads_and_lists_it(install: Install, tmp_path: Path) -> None:
    """The real program, in a process of its own, with nothing but the package installed."""
    site = install("foldlog_parley", PARLEY, parley="foldlog_parley")
    path = os.pathsep.join([str(site), str(ROOT)])
    home = tmp_path / "home"
    (home / "chats").mkdir(parents=True)
    (home / "chats" / "lunch.parley").write_bytes(CHAT.read_bytes())

    def program(*arguments: str) -> str:
        command = [sys.executable, "-m", "foldlog", "--db", str(tmp_path / "s.db"), *arguments]
        environment = {**os.environ, "PYTHONPATH": path, "PARLEY_HOME": str(home)}
        environment |= {"HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": str(tmp_path / "none")}
        done = subprocess.run(command, env=environment, capture_output=True, encoding="utf-8")
        assert done.returncode == 0, done.stderr
        return done.stdout

    report = json.loads(program("import", "--json"))
    assert (report["format"], report["session"], report["new"]) == ("parley", "lunch", 7)
    assert ", parley." in program("import", "--help")
    assert "parley" not in program("export", "--help")


class TestExporters:
    @pytest.fixture(autouse=True)
    def installed(self, install: Install) -> None:
        points = {"flat": "paper", "tree": "paper:folder", "thief": "paper:thief"}
        install("paper", EXPORTER, **points)

    @pytest.fixture
    def db(self, tmp_path: Path) -> Path:
        line = '{"type": "mode", "mode": "normal"}\n'
        (tmp_path / "s.jsonl").write_text(line)
        assert run(tmp_path, "import", tmp_path / "s.jsonl").exit_code == 0
        return tmp_path

    def test_a_format_may_be_an_exporter_only(self, db: Path) -> None:
        assert {"flat", "tree", "thief"} <= {*EXPORTERS}
        assert not {"flat", "tree", "thief"} & {*IMPORTERS}
        assert run(db, "export", "s", "--to", "flat").stdout == "one file"

    def test_several_files_go_into_a_folder(self, db: Path) -> None:
        result = run(db, "export", "s", "--to", "tree", "-o", f"{db}/out/")
        assert result.exit_code == 0, result.stderr
        assert (db / "out/a/b.txt").read_text() == "many files"
        assert (db / "out/a/b.txt").stat().st_mode & 0o777 == 0o600
        again = run(db, "export", "s", "--to", "tree", "-o", str(db / "out"))
        assert again.exit_code == 2
        assert "exists already" in again.stderr

    def test_a_format_of_one_file_needs_a_file_and_one_of_several_a_folder(self, db: Path) -> None:
        one = run(db, "export", "s", "--to", "flat", "-o", str(db))
        several = run(db, "export", "s", "--to", "tree")
        assert "flat makes one file. Name a file" in one.stderr
        assert "tree makes several files. Name a folder" in several.stderr

    def test_no_file_is_written_outside_of_the_folder(self, db: Path) -> None:
        result = run(db, "export", "s", "--to", "thief", "-o", f"{db}/out/")
        assert result.exit_code == 2
        assert "not in the folder" in result.stderr
        assert not (db / "stolen.txt").exists()


class TestBroken:
    BROKEN: Any = (
        ("raises", "raise RuntimeError('out of order')", "RuntimeError: out of order"),
        ("empty", "", "neither the functions of an importer nor of an exporter"),
        ("markdown", PARLEY, "foldlog has a format of that name itself"),
    )

    @pytest.mark.parametrize(("name", "source", "why"), BROKEN)
    def test_it_is_reported_by_name_and_the_rest_works(
        self, install: Install, tmp_path: Path, name: str, source: str, why: str
    ) -> None:
        install("foldlog_broken", source, **{name: "foldlog_broken"})
        (tmp_path / "s.jsonl").write_text('{"type": "mode", "mode": "normal"}\n')
        result = run(tmp_path, "import", tmp_path / "s.jsonl")
        assert result.exit_code == 0
        assert f"The format '{name}' cannot be used: " in result.stderr
        assert "foldlog_broken" in result.stderr
        assert why in result.stderr
        assert why in " ".join(run(tmp_path, "import", "--help").stdout.split())
        assert run(tmp_path, "export", "s", "--to", "markdown").exit_code == 0

    def test_one_that_is_named_says_why_it_cannot_be_used(
        self, install: Install, tmp_path: Path
    ) -> None:
        install("foldlog_broken", "raise RuntimeError('out of order')", broken="foldlog_broken")
        result = run(tmp_path, "import", tmp_path, "--format", "broken")
        assert result.exit_code == 2
        assert "RuntimeError: out of order" in result.stderr
        assert "'broken' of foldlog_broken (foldlog_broken," in problems()["broken"]

    def test_one_that_fails_at_work_does_not_keep_others_out(
        self, install: Install, tmp_path: Path
    ) -> None:
        source = PARLEY.replace("    reading = run.read(source)", "    reading = 1 / 0")
        install("foldlog_parley", source, parley="foldlog_parley")
        (tmp_path / "in").mkdir()
        (tmp_path / "in/a.parley").write_bytes(CHAT.read_bytes())
        (tmp_path / "in/s.jsonl").write_text('{"type": "mode", "mode": "normal"}\n')
        result = run(tmp_path, "import", tmp_path / "in")
        assert result.exit_code == 1
        assert "the importer of parley failed with ZeroDivisionError" in result.stdout
        assert "s  2 new of 2 events" in result.stdout
