"""``glob``: the files of a folder that a pattern names."""

from __future__ import annotations

from itertools import islice

from foldlog.cli.agent.tool import Arguments, Context, Tool, ToolFailed, path_argument
from foldlog.cli.agent.workspace.file_search import LOOKED_AT, Search

FILES = 200
"""How many files are named at the most."""


def glob(arguments: Arguments, context: Context) -> str:
    """Name the files, a line each."""
    folder = context.path(arguments.get("path", "."))
    if not folder.is_dir():
        raise ToolFailed(f"{context.shown(folder)} is not a folder.")
    search = Search(folder, arguments["pattern"], context.hidden)
    found = list(islice(search, FILES + 1))
    lines = [context.shown(path) for path in found[:FILES]]
    if len(found) > FILES:
        lines.append(f"[There are more than {FILES}: name fewer with a longer pattern or a path]")
    if search.unfinished:
        lines.append(f"[Only {LOOKED_AT:,} files were looked at: name a folder with path]")
    return "\n".join(lines) or "[No file has such a name]"


GLOB = Tool(
    name="glob",
    description=(
        "List the files of a folder by their names: *.py at any depth, src/**/*.py from the folder,"
        " {a,b} one of them. Hidden folders are left out unless the pattern names one, as in"
        " .github/**; .git and node_modules always are."
    ),
    input_schema={
        "type": "object",
        "properties": {
            "pattern": {"type": "string", "minLength": 1, "description": "Which files."},
            "path": {
                "type": "string",
                "minLength": 1,
                "description": "The folder; that of the session without.",
            },
        },
        "required": ["pattern"],
        "additionalProperties": False,
    },
    run=glob,
    touches=path_argument,
)
