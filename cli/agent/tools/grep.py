"""``grep``: the lines of files in which an expression is found."""

from __future__ import annotations

import json
import re
import tempfile
import warnings
from itertools import groupby
from pathlib import Path

from foldlog.cli.agent.processes import Interrupted, Kept, run
from foldlog.cli.agent.tool import Arguments, Context, Stopped, Tool, ToolFailed, path_argument
from foldlog.cli.agent.workspace.file_search import LOOKED_AT, Search
from foldlog.cli.agent.workspace.grep_process import command

LINES = 200
"""How many lines are given at the most."""

SECONDS = 30.0
"""How long one search may take."""

PRINTED = 1024 * 1024
"""Bytes that the lines take at the most, as JSON: 200 lines with room to spare."""


def grep(arguments: Arguments, context: Context) -> str:
    """Give the lines, below the name of their file."""
    expression, flags = arguments["pattern"], re.IGNORECASE * arguments.get("ignore_case", False)
    try:
        with warnings.catch_warnings(action="ignore"):
            re.compile(expression, flags)
    except (re.error, OverflowError, RecursionError) as error:
        raise ToolFailed(
            f"{expression!r} is not a regular expression of Python: {error}."
        ) from error
    where = context.path(arguments.get("path", "."))
    search = Search(where, arguments.get("glob"), context.hidden)
    if where.is_dir():
        paths = [str(path) for path in search]
    elif where.is_file() and not context.hidden(where):
        paths = [str(where)]
    else:
        raise ToolFailed(f"{context.shown(where)} is neither a file nor a folder.")
    found = _found(expression, int(flags), paths, context.cwd)
    lines = list[str]()
    for path, rows in groupby(found[:LINES], key=lambda row: row[0]):
        lines += [context.shown(Path(path)), *(f"{number:>6}\t{line}" for _, number, line in rows)]
    if len(found) > LINES:
        lines.append(f"[There are more than {LINES} lines: look for less, or in fewer files]")
    if search.unfinished:
        lines.append(f"[Only {LOOKED_AT:,} files were looked at: name a folder with path]")
    return "\n".join(lines) or f"[Found in none of {len(paths):,} files]"


def _found(expression: str, flags: int, paths: list[str], cwd: Path) -> list[tuple[str, int, str]]:
    """Search in a process that can be ended."""
    output = Kept(PRINTED, 0)
    with tempfile.NamedTemporaryFile("w", suffix=".json") as listed:
        json.dump(paths, listed)
        listed.flush()
        asked = command(expression, flags, LINES + 1, Path(listed.name))
        try:
            ran = run(asked, cwd=cwd, timeout=SECONDS, output=output)
        except Interrupted as stop:
            raise Stopped() from stop
    if ran.timed_out:
        raise ToolFailed(
            f"The search took longer than {SECONDS:g} seconds and was ended. Look in fewer files,"
            " or for a simpler expression: one without repetitions within repetitions."
        )
    printed = output.ends()[0].decode(errors="replace")
    if ran.code:
        raise ToolFailed(f"The search broke: {printed[-500:]}")
    return [tuple(json.loads(line)) for line in printed.split("\n")[:-1]]


GREP = Tool(
    name="grep",
    description=(
        "Find the lines of text files in which a regular expression of Python matches, below the"
        " name of their file and numbered. Hidden folders, .git and node_modules are left out as in"
        " glob."
    ),
    input_schema={
        "type": "object",
        "properties": {
            "pattern": {"type": "string", "minLength": 1, "description": "The expression."},
            "path": {
                "type": "string",
                "minLength": 1,
                "description": "A folder or a file; the folder of the session without.",
            },
            "glob": {"type": "string", "description": "Only in files of such names, as in glob."},
            "ignore_case": {"type": "boolean", "description": "False without."},
        },
        "required": ["pattern"],
        "additionalProperties": False,
    },
    run=grep,
    touches=path_argument,
)
