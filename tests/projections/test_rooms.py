"""Rooms of projections that others build on import nothing from above them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PROJECTIONS = Path(__file__).parents[2] / "projections"

BELOW = {
    "tokens": {"tokens", "render", "view", "wire"},
    "tasks": {"tasks", "view", "wire"},
    "summaries": {"summaries", "tasks", "tokens", "render", "view", "wire", "registry"},
}
"""The rooms that each of these may import from."""


def imported(room: str) -> Iterator[tuple[str, str]]:
    """(file, room) of each import from another place in projections."""
    for path in sorted((PROJECTIONS / room).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            module = node.module or "" if isinstance(node, ast.ImportFrom) else ""
            if module.startswith("foldlog.projections."):
                yield path.name, module.split(".")[2]


@pytest.mark.parametrize("room", BELOW)
def test_a_room_imports_only_what_is_below_it(room: str) -> None:
    found = list(imported(room))
    assert found
    assert [place for place in found if place[1] not in BELOW[room]] == []
