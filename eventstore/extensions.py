"""What other packages add to foldlog: entry points, found by group and name, loaded when asked for.

A package that cannot be loaded is an error that names it, raised where its thing is asked for by
name. Everything else works.
"""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from typing import Any

from foldlog.eventstore.errors import BrokenExtension


def names(group: str) -> list[str]:
    """Return the names that packages add to a group, sorted; nothing is loaded."""
    return sorted(entry_points(group=group).names)


def find(group: str, name: str) -> Any | None:
    """Load what a package adds to a group under a name; return None where there is nothing.

    Raises:
        BrokenExtension: It cannot be loaded, or two packages add something under that name.
    """
    found = list(entry_points(group=group, name=name))
    if len({point.value for point in found}) > 1:
        raise BrokenExtension(
            f"{package(group, name)} both add {name!r} to {group}. Uninstall one of them."
        )
    return _load(found[0]) if found else None


def package(group: str, name: str) -> str:
    """Return the name of the package that adds something to a group under a name."""
    return " and ".join(map(_package, entry_points(group=group, name=name)))


def _load(point: EntryPoint) -> Any:
    try:
        return point.load()
    except Exception as error:
        raise BrokenExtension(
            f"{point.name!r} of {_package(point)} ({point.value}, in {point.group}) cannot be"
            f" loaded: {type(error).__name__}: {error}. Upgrade or uninstall that package."
        ) from error


def _package(point: EntryPoint) -> str:
    return point.dist.name if point.dist else "a package"
