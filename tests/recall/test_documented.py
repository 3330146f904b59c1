"""What docs/recall.md tells people to write is what the program takes."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from foldlog.cli.main import foldlog
from foldlog.eventstore.codec import loads
from foldlog.projections.recall import PAGE
from foldlog.projections.recall.recall import FOUND
from foldlog.projections.recall.tool import TOOL

PAGE_TEXT = (Path(__file__).parents[2] / "docs" / "recall.md").read_text(encoding="utf-8")
CONFIGURATIONS = [loads(found) for found in re.findall(r"```json\n(.*?)```", PAGE_TEXT, re.DOTALL)]
COMMANDS = re.findall(r"^claude mcp add foldlog -- (.*)$", PAGE_TEXT, re.MULTILINE)


def understood(arguments: list[str]) -> bool:
    """Whether the command line takes them: it gets as far as its help."""
    result = CliRunner().invoke(foldlog, [*arguments, "--help"])
    return result.exit_code == 0 and "Usage: foldlog mcp" in result.stdout


@pytest.mark.parametrize("configuration", CONFIGURATIONS)
def test_a_configuration_starts_the_server(configuration: dict[str, Any]) -> None:
    ((_, servers),) = configuration.items()
    server = servers["foldlog"]
    assert Path(server["command"]).name == "foldlog"
    assert understood(server["args"])


def test_the_command_for_claude_code_starts_the_server() -> None:
    (command,) = COMMANDS
    program, *arguments = shlex.split(command)
    assert program == "foldlog"
    assert understood(arguments)


def test_there_are_configurations_for_several_clients() -> None:
    assert len(CONFIGURATIONS) == 3


def test_the_figures_and_arguments_are_those_of_the_program() -> None:
    assert f"A page has {PAGE:,} characters" in PAGE_TEXT
    assert f"most\n  {FOUND} hits" in PAGE_TEXT
    for name in TOOL["input_schema"]["properties"]:
        assert f"`{name}" in PAGE_TEXT
