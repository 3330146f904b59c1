"""The help: grouped by what people want to do, complete, and as quick as importing click."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from foldlog.cli.main import COMMANDS, SECTIONS, foldlog

ROOT = Path(__file__).parents[2]

CONTRACT = {
    *("import", "sessions", "log", "show", "view", "diff", "why", "search", "sql", "stats"),
    *("export", "verify", "fork", "rewind", "expand", "pin", "unpin", "recover", "rename", "tag"),
    "backup",
}

OPTIONS = {
    "import": {"--format", "--dry-run", "--watch", "--json"},
    "sessions": {"--since", "--until", "--limit", "--json"},
    "log": {
        *("--type", "--tool", "--from", "--to", "--full", "--follow"),
        *("--since", "--until", "--limit", "--json"),
    },
    "show": {"--raw", "-o", "--json"},
    "view": {"--at", "--recover", "--as", "--json"},
    "diff": {"--json"},
    "why": {"--json"},
    "search": {"--session", "--type", "--tool", "--since", "--until", "--limit", "--json"},
    "sql": {"--json"},
    "stats": {"--json"},
    "export": {"--to", "--at", "-o"},
    "verify": {"--views", "--expect", "--json"},
    "fork": {"--at", "--title", "--json"},
    "rewind": {"--keep-edits", "--json"},
    "expand": {"--whole", "--json"},
}


def command(name: str) -> click.Command:
    found = foldlog.get_command(click.Context(foldlog), name)
    assert found is not None
    return found


def test_every_command_of_the_contract_is_there() -> None:
    assert set(COMMANDS) >= CONTRACT


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_has_help_and_the_options_of_the_contract(name: str) -> None:
    result = CliRunner().invoke(foldlog, [name, "--help"])
    assert result.exit_code == 0
    given = {option for param in command(name).params for option in param.opts}
    assert given >= OPTIONS.get(name, set())
    options = [param for param in command(name).params if isinstance(param, click.Option)]
    assert all(option.help for option in options)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_summary_in_the_group_is_the_first_sentence_of_the_command(name: str) -> None:
    paragraph = (command(name).help or "").partition("\n\n")[0]
    assert re.split(r"[.;:]", paragraph)[0] == re.split(r"[.;:]", COMMANDS[name][1])[0]


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_is_in_the_documentation(name: str) -> None:
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    assert f"foldlog {name}" in page


def test_the_group_is_shown_by_what_people_want_to_do() -> None:
    result = CliRunner().invoke(foldlog, [])
    assert result.exit_code == 0
    for title, commands in SECTIONS.items():
        section = result.stdout.partition(f"{title}:\n")[2].partition("\n\n")[0]
        assert [line.split()[0] for line in section.splitlines()] == list(commands)
    assert "_FOLDLOG_COMPLETE" in result.stdout


def test_the_help_imports_nothing_but_click() -> None:
    code = (
        "import sys, click; before = set(sys.modules); sys.argv = ['foldlog', '--help'];"
        "from foldlog.cli.main import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print(*(set(sys.modules) - before), file=sys.stderr)"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True
    )
    loaded = {name for name in result.stderr.split() if not name.startswith("click")}
    ours = {name for name in loaded if name.startswith("foldlog")}
    assert ours == {"foldlog", "foldlog.cli", "foldlog.cli.main"}
    others = {name.partition(".")[0] for name in loaded - ours}
    assert others <= set(sys.stdlib_module_names), others


def test_a_misspelt_command_is_told_what_there_is() -> None:
    result = CliRunner().invoke(foldlog, ["sesions"])
    assert result.exit_code == 2
    assert "sessions" in result.stderr
