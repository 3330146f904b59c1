"""Globs as regular expressions that never backtrack for long.

    *  part of a name      ?  one character      [a-z] [!a]  one of these, none of these
    **/  any folders, or none      /** at the end: a folder and all below it      {a,b}  either

A glob with alternatives becomes several without. In one of those, the leftmost place where the text
between two stars fits is always good enough, so what a star took is never given back (atomic
groups): the time grows with the length of the path, not with a power of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

MOST = 256
"""How many globs without alternatives one glob may stand for."""

_TOKEN = re.compile(r"\*+|\?|\[!?\]?[^\]]*\]|.", re.DOTALL)
_ANY_FOLDERS, _BELOW = "**/", "/**"


class TooManyGlobs(ValueError):
    """A glob has more alternatives than can be tried."""

    def __init__(self) -> None:
        super().__init__(f"it has more than {MOST} alternatives")


def expression(glob: str) -> str:
    """Return the regular expression of a glob, to be matched in full.

    Raises:
        TooManyGlobs: Its braces stand for more than ``MOST`` globs.
        re.error: When it is compiled: a range such as ``[z-a]`` is empty.
    """
    return "|".join(f"(?:{_plain(one)})" for one in _alternatives(glob))


def _alternatives(glob: str) -> list[str]:
    """Return globs without braces, and without ``**`` inside of a name, that mean the same."""
    done, left = list[str](), [re.sub(r"\*{3,}", "**", glob)]
    while left:
        if len(done) + len(left) > MOST:
            raise TooManyGlobs
        one = left.pop()
        split = _split(one)
        if split:
            left.extend(split)
        else:
            one = re.sub(r"(?:/\*\*){2,}$", _BELOW, one)
            done.append(re.sub(r"(?:\*\*/)+", _ANY_FOLDERS, one))
    return done


def _split(glob: str) -> list[str]:
    """Return the globs that the first alternative of a glob stands for; none where it has none."""
    at = 0
    while at < len(glob):
        token = _token(glob, at)
        end = at + len(token)
        if token == "{" and (parts := _parts(glob, at)):
            inner, end = parts
            return [_joined(_joined(glob[:at], part), glob[end:]) for part in inner]
        if token == "**" and not _is_folders(glob, at, end):
            return [f"{glob[:at]}{between}{glob[end:]}" for between in ("*", "*/**/*")]
        at = end
    return []


def _joined(one: str, other: str) -> str:
    """Join two globs: a star at the end and one at the beginning are no ``**``."""
    if one.endswith("*") and other.startswith("*") and "**" not in (one[-2:], other[:2]):
        return one + other[1:]
    return re.sub(r"\*{3,}", "**", one + other)


def _is_folders(glob: str, at: int, end: int) -> bool:
    """Return whether ``**`` is a whole part of the path."""
    return glob[at - 1 : at] in ("", "/") and glob[end : end + 1] in ("", "/")


def _parts(glob: str, at: int) -> tuple[list[str], int] | None:
    """Return what braces hold, and where they end; None where nothing closes them."""
    depth, start, found = 0, at + 1, list[str]()
    while at < len(glob):
        token = _token(glob, at)
        depth += (token == "{") - (token == "}")
        if depth == 0 or (token == "," and depth == 1):
            found.append(glob[start:at])
            start = at + 1
        at += len(token)
        if depth == 0:
            return found, at
    return None


def _token(glob: str, at: int) -> str:
    match = _TOKEN.match(glob, at)
    assert match is not None
    return match[0]


def _plain(glob: str) -> str:
    """Return the expression of a glob without alternatives."""
    below = glob.endswith(_BELOW)
    glob = glob.removesuffix(_BELOW) if below else glob
    if glob == "**":
        return ".*"
    first, *rest = _between_folders(glob)
    found = _names(first)
    found += "".join(f"(?>(?:[^/]+/)*?{_names(part)})" for part in rest[:-1])
    found += f"(?:[^/]+/)*{_names(rest[-1])}" if rest else ""
    return found + ("(?:/.*)?" if below else "")


def _between_folders(glob: str) -> list[str]:
    """Split a glob at each ``**/``."""
    marks = [m.start() for m in re.finditer(r"(?:^|(?<=/))\*\*/", glob)]
    edges = [-len(_ANY_FOLDERS), *marks, len(glob)]
    return [glob[first + len(_ANY_FOLDERS) : end] for first, end in pairwise(edges)]


def _names(text: str) -> str:
    """Return the expression of names and slashes: stars stay within a name."""
    return "/".join(_name(part) for part in _at_slashes(text))


def _at_slashes(text: str) -> Iterator[list[str]]:
    """Yield the tokens of each name."""
    name = list[str]()
    for token in _TOKEN.findall(text):
        if token == "/":
            yield name
            name = []
        else:
            name.append(token)
    yield name


def _name(tokens: list[str]) -> str:
    """Return the expression of one name: what each star takes is settled at once."""
    runs = [""]
    for token in tokens:
        if token.startswith("*"):
            runs.append("")
        else:
            runs[-1] += _one(token)
    first, *rest = runs
    middle = "".join(f"(?>[^/]*?{run})" for run in rest[:-1])
    return first + middle + (f"[^/]*{rest[-1]}" if rest else "")


def _one(token: str) -> str:
    """Return the expression of one character."""
    if token == "?":
        return "[^/]"
    if len(token) > 1:
        inner = token[1:-1]
        negated = inner.startswith("!")
        inner = re.sub(r"([\\\[\]^&~|])", r"\\\1", inner[negated:])
        return f"(?!/)[{'^' if negated else ''}{inner}]"
    return re.escape(token)
