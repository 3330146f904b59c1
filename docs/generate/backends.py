"""What a backend has to do and the tests for it: docs/backends.md."""

from __future__ import annotations

import inspect
from itertools import takewhile
from textwrap import dedent

from docs.generate.markdown import fence, table
from docs.generate.signatures import member_of, summary
from foldlog.eventstore import Store, testing


def conformance() -> None:
    """Each class of tests that a backend can inherit, what it promises, how many tests it has."""
    classes = [
        found
        for found in vars(testing).values()
        if inspect.isclass(found) and issubclass(found, testing.Conformance)
        if found is not testing.Conformance
    ]
    table(
        ("class", "promise", "tests"),
        *((f"`{found.__name__}`", summary(found), _tests(found)) for found in classes),
    )


def conformance_example() -> None:
    """How the classes are inherited, as their module shows it."""
    code = (testing.__doc__ or "").partition("::\n")[2]
    shown = takewhile(lambda line: line[:1] in ("", " "), code.split("\n"))
    fence(dedent("\n".join(shown)), "python")


def protocol() -> None:
    """The methods of a backend and what ``Store`` says of each."""
    lines: list[str] = []
    for name, method in vars(Store).items():
        if inspect.isfunction(method) and not name.startswith("_"):
            lines += member_of(name, getattr(Store, name))
    fence("\n".join(lines), "python")


def _tests(found: type) -> int:
    return sum(name.startswith("test_") for name in dir(found))
