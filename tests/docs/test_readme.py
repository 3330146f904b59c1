"""The examples in the README run as they stand there, and each first use fits on a screen."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from foldlog import EventStore, Session
from tests.server import call, reply, serving

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")

SHOWN = re.sub(r"<!--\[cog.*?cog\]-->", "", README, flags=re.DOTALL)
"""As a reader sees it."""

SCREEN = 40
"""Lines of a screen."""


def example(section: str) -> tuple[str, str]:
    """The code of a section, and what it is said to print."""
    found = SHOWN.partition(f"## {section}\n")[2].partition("\n## ")[0]
    code, printed = re.findall(r"```(?:python|text)\n(.*?)```", found, re.DOTALL)
    return code, printed


def test_the_examples_print_what_the_readme_says(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "test")
    monkeypatch.setenv("NO_PROXY", "*")
    with serving() as api:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", api.url)
        api.script(
            reply(call("build", "toolu_1")), reply("I see only the beginning of its output.")
        )
        code, printed = example("Record your harness")
        exec(compile(code, "README.md", "exec"), {})
        assert capsys.readouterr().out == printed

    with EventStore("sessions.db") as store:
        killed = Session(store, "red-build")
        killed.user("Build it once more.")
        killed.assistant([call("build", "toolu_2")])
    code, printed = example("Resume after a crash")
    exec(compile(code, "README.md", "exec"), {})
    assert capsys.readouterr().out == printed


def test_each_first_use_fits_on_a_screen() -> None:
    before, _, _ = SHOWN.partition("\n## The ideas")
    sections = before.split("\n## ")[1:]
    assert len(sections) >= 5
    for section in sections:
        assert section.count("\n") <= SCREEN, section.partition("\n")[0]
