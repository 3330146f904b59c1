"""The headings of a summary: which are there, and whether anything stands below them."""

from __future__ import annotations

import re
from collections.abc import Iterable

_MARKS = re.compile(r"^[\s#>*\d.)(-]+|[\s*:#]+$")
_NOTHING = re.compile(
    r"[\s\W]*(?:(?:none|nothing|n/?a|tbd|todo|unknown|empty|not applicable|无|没有)[\s\W]*)*", re.I
)
_ELEMENT = re.compile(r"\s*<(\w+)>(.*?)(?:</\1>)?\s*$")
_MARKED = re.compile(r"\s*(?:#{1,6}\s|\*\*|\d+[.)]\s|[-*]\s)")
_FILLED_IN = re.compile(r"\[[^\]\n]*\]|<[^>\n]*>|\.\.\.|…")
"""What a template has where something should be filled in."""


def sections(text: str, names: Iterable[str]) -> dict[str, str]:
    """The body below each of these headings that is there, by its name."""
    known = {_plain(name): name for name in names}
    found: dict[str, list[str]] = {}
    body: list[str] | None = None
    for line in text.splitlines():
        name, rest = _heading(line, known)
        if name is not None:
            body = found.setdefault(name, [])
            body.extend([rest] if rest else [])
        elif body is not None:
            body.append(line)
    return {name: "\n".join(lines).strip() for name, lines in found.items()}


def says_something(body: str) -> bool:
    """Whether a body holds more than "none" or the brackets of a template."""
    return not _NOTHING.fullmatch(_FILLED_IN.sub("", body))


def _heading(line: str, known: dict[str, str]) -> tuple[str | None, str]:
    """The heading that a line is, and what stands behind it on the line."""
    element = _ELEMENT.match(line)
    if element and element[1].casefold() in known:
        return known[element[1].casefold()], element[2]
    whole = known.get(_plain(line))
    if whole is not None:
        return whole, ""
    before, colon, rest = line.partition(":")
    name = known.get(_plain(before)) if colon and _is_marked(line, before) else None
    return name, rest.strip(" *_")


def _is_marked(line: str, before: str) -> bool:
    """Whether a line that begins like a heading is one: it is marked as such, or in capitals."""
    return bool(_MARKED.match(line)) or before.isupper()


def _plain(line: str) -> str:
    return _MARKS.sub("", line).casefold()
