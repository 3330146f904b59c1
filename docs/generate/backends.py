"""What a backend must do, and the tests for it: docs/backends.md."""

from __future__ import annotations

import inspect
from itertools import takewhile
from textwrap import dedent
from types import ModuleType

from docs.generate.markdown import fence, table
from docs.generate.signatures import described, member_of, summary
from foldlog.eventstore import Copyable, Queryable, Searchable, Store, testing
from foldlog.projections import testing as sessions
from tests.eventstore.shelf import Shelf, open_shelf


def conformance() -> None:
    """Print each class of tests of a store, what it promises, and how many tests it has."""
    _classes(testing)


def session_conformance() -> None:
    """Print the same for the classes of tests of sessions over a store."""
    _classes(sessions)


def _classes(module: ModuleType) -> None:
    classes = [
        found
        for found in vars(module).values()
        if inspect.isclass(found) and issubclass(found, testing.Conformance)
        if found is not testing.Conformance
    ]
    table(
        ("class", "promise", "tests"),
        *((f"`{found.__name__}`", summary(found), _tests(found)) for found in classes),
    )


def conformance_example() -> None:
    """Print how the classes are inherited, as their module shows it."""
    code = (sessions.__doc__ or "").partition("::\n")[2]
    shown = takewhile(lambda line: line[:1] in ("", " "), code.split("\n"))
    fence(dedent("\n".join(shown)), "python")


def shelf_append() -> None:
    """Print how the smallest backend appends."""
    methods = (Shelf.append, Shelf._known, Shelf._put)
    fence("\n".join(dedent(inspect.getsource(method)) for method in methods), "python")


def shelf_open() -> None:
    """Print how the smallest backend is opened by its URL."""
    first = "from copy import copy\n\nfrom foldlog.eventstore import StoreNotFound\n"
    shelves = "SHELVES: dict[str, Shelf] = {}\n"
    fence("\n".join((first, shelves, inspect.getsource(open_shelf))), "python")


def abilities() -> None:
    """Print the optional protocols and their methods."""
    found = (Searchable, Queryable, Copyable)
    fence("\n".join(line for one in found for line in described(one.__name__, one)), "python")


def protocol() -> None:
    """Print the methods of a backend and what ``Store`` says of each."""
    lines: list[str] = []
    for name, method in vars(Store).items():
        if not name.startswith("_"):
            lines += member_of(name, method)
    fence("\n".join(lines), "python")


def _tests(found: type) -> int:
    return sum(name.startswith("test_") for name in dir(found))
