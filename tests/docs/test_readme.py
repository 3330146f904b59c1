"""The examples in the README run as they stand there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")


def test_the_python_example_prints_what_the_readme_says(
    capsys: pytest.CaptureFixture[str],
) -> None:
    section = README.partition("## In Python")[2].partition("cog]-->")[2].partition("## ")[0]
    code, printed = re.findall(r"```\w+\n(.*?)```", section, re.DOTALL)
    assert code.count("\n") <= 16
    exec(compile(code, "README.md", "exec"), {})
    assert capsys.readouterr().out == printed
