"""Blocks, tables and examples that run: what all generated parts are made of."""

from __future__ import annotations

import io
from contextlib import redirect_stdout
from textwrap import dedent
from typing import Any


def fence(text: str, language: str = "text") -> None:
    """Print text as a block of code."""
    print(f"\n```{language}\n{text.strip()}\n```")


def table(*rows: tuple[Any, ...]) -> None:
    """Print rows as a table; the first one is its heading."""
    head, *body = rows
    print()
    for row in (head, ("---",) * len(head), *body):
        print("|", " | ".join(str(cell) for cell in row), "|")


def example(code: str, names: dict[str, Any] | None = None) -> dict[str, Any]:
    """Print code and what it prints when it is run; the names that it defines are returned.

    Args:
        names: What the code finds defined: the names of an earlier example on the page.
    """
    code = dedent(code).strip()
    names = {} if names is None else names
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(compile(code, "<example>", "exec"), names)
    fence(code, "python")
    if printed.getvalue():
        fence(printed.getvalue())
    return names
