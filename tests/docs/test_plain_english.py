"""Docstrings, comments, help and pages are in the English of today: no word of the list below."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CODE = [
    path
    for folder in ("eventstore", "projections", "cli", "foldlog", "benchmarks", "demo")
    for path in sorted((ROOT / folder).rglob("*.py"))
    if not path.is_symlink() and ".venv" not in str(path)
]
PAGES = [ROOT / "README.md", ROOT / "ARCHITECTURE.md", *sorted((ROOT / "docs").glob("*.md"))]

ODD = {
    "anew": "again, recompute",
    "whoever": "the person who, a program that",
    "thereby": "this",
    "wherewith": "with",
    "of which": "whose",
    "lest": "so that … not",
    "is none": "unknown, not a",
    "tells apart": "distinguishes",
    "told apart": "distinguished",
    "told": "reported, passed, said",
    "stands behind": "comes after",
    "standing behind": "after",
    "what became of": "the outcome of",
    "came to nothing": "failed",
    "at hand": "available",
}
"""Words that readers stumble over, and what to say instead."""

FOUND = re.compile(rf"(?<![\w-])(?<!there )({'|'.join(ODD)})(?![\w:-])", re.IGNORECASE)


def prose(path: Path) -> Iterator[tuple[int, str]]:
    """(line, text) of each docstring and comment of a module."""
    source = path.read_text(encoding="utf-8")
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            text = node.value.value
            if isinstance(text, str):
                yield node.lineno, text


def paragraphs(path: Path) -> Iterator[tuple[int, str]]:
    """(line, text) of each line of a page, code and generated output left out."""
    fenced = False
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("```"):
            fenced = not fenced
        elif not fenced:
            yield number, line


def odd(path: Path) -> list[str]:
    """Each odd word of a file, with its line and what to say instead."""
    read = paragraphs if path.suffix == ".md" else prose
    return [
        f"{path.relative_to(ROOT)}:{line}: {word[0]!r}: {ODD[word[0].lower()]}"
        for line, text in read(path)
        for word in FOUND.finditer(text)
    ]


@pytest.mark.parametrize("path", [*CODE, *PAGES], ids=lambda path: str(path.relative_to(ROOT)))
def test_no_word_is_odd(path: Path) -> None:
    assert odd(path) == []
