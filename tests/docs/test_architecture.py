"""ARCHITECTURE.md names what is there: every room, every file, every way."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
PACKAGES = ("cli", "projections", "eventstore")
ROOMS = re.search(r"```\n(cli/.*?)```", PAGE, re.DOTALL)
ENTRY = re.compile(r"^(?P<indent> *)(?P<name>[\w/]+(?:\.py|/)) +\S", re.MULTILINE)


def listed() -> dict[str, list[str]]:
    """The entries of the picture of the rooms, for each package."""
    assert ROOMS is not None
    found: dict[str, list[str]] = {}
    package = ""
    for entry in ENTRY.finditer(ROOMS[1]):
        if not entry["indent"]:
            package = entry["name"].rstrip("/")
            found[package] = []
        else:
            found[package].append(entry["name"])
    return found


def test_the_picture_shows_the_three_packages() -> None:
    assert tuple(listed()) == PACKAGES


@pytest.mark.parametrize("package", PACKAGES)
def test_every_entry_of_the_picture_is_there(package: str) -> None:
    assert [name for name in listed()[package] if not (ROOT / package / name).exists()] == []


def test_every_room_of_projections_is_in_the_picture() -> None:
    folders = {f"{path.parent.name}/" for path in (ROOT / "projections").glob("*/__init__.py")}
    assert folders <= set(listed()["projections"])


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`([\w/]+(?:\.py|/))`", PAGE))))
def test_every_file_that_is_named_is_there(name: str) -> None:
    """A path, as seen from the project's top, from a package or, in a paragraph, from its room."""
    places = (ROOT, *(ROOT / package for package in PACKAGES))
    inner = [path for package in PACKAGES for path in (ROOT / package).rglob(name.rstrip("/"))]
    assert any((place / name).exists() for place in places) or inner
