"""Put text from a transcript into a Markdown document: it keeps its Markdown, and stays inside.

A reply is Markdown, so it is left to be rendered; but its HTML shows as text, its images show as
the addresses that they would load, and a fence that it leaves open is closed. CommonMark's blocks
can nest in ways that only a full parser follows. If it is not certain what is code and what is not,
the whole text is shown as code.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

from foldlog.cli.safe import safe

_TICKS = re.compile(r"`+")
_FENCE = re.compile(r"(?P<margin> *)(?P<fence>`{3,}|~{3,})(?P<info>.*)")
_NESTED_FENCE = re.compile(r"[ \t>*+\-0-9.)]*(?:```|~~~)")
_RUNS = re.compile(r"`{3,}|~{3,}")


class _Uncertain(Exception):
    """It is not certain where code begins or ends."""


def prose(text: str) -> str:
    """Return text that is Markdown, with its HTML and its images as text, and its fences closed."""
    clean = safe(text).strip("\n")
    try:
        return "\n".join(_lines(clean.split("\n")))
    except _Uncertain:
        return code_block(clean)


def code_block(text: str, language: str = "") -> str:
    """Return text as a block of code, in a fence longer than any in it."""
    clean = safe(text)
    longest = max((len(run) for run in _RUNS.findall(clean)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{clean}\n{fence}"


def in_html(text: str) -> str:
    """Return text for use within an HTML tag, on one line."""
    return html.escape(safe(" ".join(text.split())), quote=False)


def in_line(text: str) -> str:
    """Return text for use in a line of Markdown: it loads nothing and stays on the line."""
    return _inert(in_html(text))


def code_span(text: str) -> str:
    """Return text as code within a line."""
    clean = safe(" ".join(text.split()))
    ticks = "`" * (max(map(len, _TICKS.findall(clean)), default=0) + 1)
    blank = " " if clean.startswith("`") or clean.endswith("`") else ""
    return f"{ticks}{blank}{clean}{blank}{ticks}"


def details(summary: str, body: str) -> str:
    """Return a body that opens with a click on its summary, which is HTML already."""
    return f"<details><summary>{summary}</summary>\n\n{body}\n\n</details>"


def _lines(lines: list[str]) -> Iterator[str]:
    fence = margin = ""
    for line in lines:
        found = _FENCE.fullmatch(line)
        if fence:
            if line.strip() and not line.startswith(margin):
                raise _Uncertain  # a list or quote around it may have ended, and the fence with it
            if found and _closes(found, fence):
                fence = ""
            yield line
        elif found and _opens(found):
            fence, margin = found["fence"], found["margin"]
            yield line
        else:
            yield _escape_line(line)
    if fence:
        yield margin + fence


def _opens(found: re.Match[str]) -> bool:
    if len(found["margin"]) > 3:
        raise _Uncertain
    return not (found["fence"].startswith("`") and "`" in found["info"])


def _closes(found: re.Match[str], fence: str) -> bool:
    if not found["fence"].startswith(fence[0]) or len(found["fence"]) < len(fence):
        return False
    if found["info"].strip():
        return False
    if len(found["margin"]) > 3:
        raise _Uncertain  # within a list it closes the fence, elsewhere it is a line of the code
    return True


def _escape_line(line: str) -> str:
    """Return a line outside of fences with its HTML and images as text, except in code spans."""
    if _NESTED_FENCE.match(line):
        raise _Uncertain
    if "\\`" in line:
        raise _Uncertain  # an escaped tick opens no span, but it may close one
    return "".join(_spans(line))


def _spans(line: str) -> Iterator[str]:
    at = 0
    while opening := _TICKS.search(line, at):
        yield _inert(line[at : opening.start()])
        closing = next(
            (run for run in _TICKS.finditer(line, opening.end()) if run[0] == opening[0]), None
        )
        if closing is None:
            raise _Uncertain  # the span continues on another line, or is not a span
        span = line[opening.start() : closing.end()]
        if "<" in span and "|" in line:
            raise _Uncertain  # a cell of a table ends a span
        yield span
        at = closing.end()
    yield _inert(line[at:])


def _inert(text: str) -> str:
    """Return Markdown that loads nothing: tags and images show as they are written."""
    return text.replace("<", "&lt;").replace("![", "!\\[")
