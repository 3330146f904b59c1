"""``write``: a file, whole."""

from __future__ import annotations

from foldlog.cli.agent.tool import Arguments, Context, Tool, path_argument
from foldlog.cli.agent.workspace.files import check_seen, encoded, like, load, replace


def write(arguments: Arguments, context: Context) -> str:
    """Write a new file, or one in place of what was read."""
    path, content = context.path(arguments["path"]), str(arguments["content"])
    if path.exists():
        before = load(path, context)
        check_seen(path, before, context)
        content = like(before, content)
    data = encoded(content)
    replace(path, data, context)
    lines = len(content.splitlines())
    return f"Wrote {context.shown(path)}: {lines:,} lines, {len(data):,} bytes."


WRITE = Tool(
    name="write",
    description=(
        "Write a file, with all that it is to hold. Folders that are missing are made. A file that"
        " is there has to be read before. To change a part of it, edit is better."
    ),
    input_schema={
        "type": "object",
        "properties": {
            "path": {"type": "string", "minLength": 1, "description": "The file."},
            "content": {"type": "string", "description": "All of its text."},
        },
        "required": ["path", "content"],
        "additionalProperties": False,
    },
    run=write,
    writes=True,
    touches=path_argument,
)
