"""Globs mean what they say: compared with a matcher that tries everything."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldlog.cli.agent.workspace.globs import TooManyGlobs, expression

PIECES = st.sampled_from(["a", "b", "/", "*", "/**/", "?", "[ab]", "[!a]", "."])
GLOBS = st.lists(PIECES, max_size=7).map("".join)
PATHS = st.lists(st.sampled_from(["a", "b", ".", "/"]), max_size=8).map(
    lambda parts: re.sub("/+", "/", "".join(parts))
)


def matches(glob: str, path: str) -> bool:
    return re.compile(expression(glob), re.DOTALL).fullmatch(path) is not None


def tried(glob: str, path: str) -> bool:
    """Match by trying each possibility of each star."""
    if not glob:
        return not path
    if glob.startswith("**/"):
        folders = [
            at + 1 for at in range(len(path)) if path[at] == "/" and path[at - 1 : at] != "/"
        ]
        return any(tried(glob[3:], path[at:]) for at in (0, *(f for f in folders if f > 1)))
    if glob.startswith("*"):
        name = path.split("/")[0]
        return any(tried(glob[1:], path[at:]) for at in range(len(name) + 1))
    one = re.match(r"\[!?[^]]*\]|.", glob)
    assert one is not None
    if not path or (path[0] == "/") != (one[0] == "/"):
        return False
    chosen = one[0].replace("[!", "[^") if len(one[0]) > 1 else re.escape(one[0])
    fits = one[0] == "?" or re.fullmatch(chosen, path[0]) is not None
    return fits and tried(glob[one.end() :], path[1:])


@given(GLOBS.filter(lambda glob: "**" not in glob.replace("/**/", "")), PATHS)
def test_as_if_each_possibility_were_tried(glob: str, path: str) -> None:
    glob = re.sub(r"/+", "/", glob)
    assert matches(glob, path) == tried(glob, path)


@pytest.mark.parametrize(
    ("glob", "path", "holds"),
    [
        ("src/**", "src", True),
        ("src/**", "src/a/b", True),
        ("**", "any/thing", True),
        ("a**b", "axb", True),
        ("a**b", "a/x/b", True),
        ("{a,b/{c,d}}*", "b/dx", True),
        ("{a*,b}*", "ax", True),
        ("{a*,b}*", "a/x", False),
        ("{a", "{a", True),
        ("[{]a", "{a", True),
        ("[/]", "/", False),
    ],
)
def test_special_cases(glob: str, path: str, holds: bool) -> None:
    assert matches(glob, path) == holds


def test_too_many_alternatives() -> None:
    with pytest.raises(TooManyGlobs):
        expression("{a,b}" * 9)
