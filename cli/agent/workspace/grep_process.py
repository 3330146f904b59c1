"""Search files for an expression, in a process of its own.

Some patterns backtrack for ever, so the search runs in a subprocess that can be killed. Both sides
of it are here.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

LINE_CHARS = 300
"""How much of a line is shown."""

LINE_BYTES = 1024 * 1024
"""How much of a line is looked at: a file may be one line of gigabytes."""

SNIFFED = 8192
"""Bytes at the beginning of a file that tell whether it is text, as in git."""

START = "import sys, json; sys.path[:] = json.loads(sys.argv[1]); from {name} import main; main()"


def command(expression: str, flags: int, limit: int, files: Path) -> list[str]:
    """Return the command that looks for an expression.

    Args:
        flags: Those of ``re``.
        limit: How many lines are printed at the most.
        files: A file that holds the paths to look into, as a JSON list.
    """
    # Neither the folder that it runs in nor the environment says what is imported.
    known = json.dumps([path for path in sys.path if path])
    asked = json.dumps([expression, flags, limit, str(files)])
    return [sys.executable, "-I", "-W", "ignore", "-c", START.format(name=__name__), known, asked]


def main() -> None:
    """Print each line that matches: a JSON list of the file, the number and the line."""
    expression, flags, limit, listed = json.loads(sys.argv[2])
    paths = json.loads(Path(listed).read_text(encoding="utf-8"))
    for count, found in enumerate(matches(re.compile(expression, flags), paths)):
        if count == limit:
            break
        print(json.dumps(found))


def matches(expression: re.Pattern[str], paths: Iterable[str]) -> Iterator[tuple[str, int, str]]:
    """Yield the lines of text files in which an expression is found, with their file and number."""
    for path in paths:
        try:
            with open(path, "rb") as file:
                if b"\0" in file.read(SNIFFED):
                    continue
                file.seek(0)
                for number, line in enumerate(_lines(file), 1):
                    if found := expression.search(line):
                        yield path, number, _around(line, found.start())
        except OSError:
            continue  # it is gone, or nobody may read it


def _lines(file: IO[bytes]) -> Iterator[str]:
    while line := file.readline(LINE_BYTES):
        rest = line
        while rest and not rest.endswith(b"\n"):
            rest = file.readline(LINE_BYTES)
        yield line.decode("utf-8", "replace").rstrip("\r\n")


def _around(line: str, at: int) -> str:
    """Return a long line, from a little before what was found."""
    if len(line) <= LINE_CHARS:
        return line
    first = max(0, min(at - LINE_CHARS // 3, len(line) - LINE_CHARS))
    last = first + LINE_CHARS
    return f"{'…' if first else ''}{line[first:last]}{'…' if last < len(line) else ''}"
