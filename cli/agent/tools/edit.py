"""``edit``: one text of a file in place of another, exactly."""

from __future__ import annotations

from collections.abc import Iterator

from foldlog.cli.agent.tool import Arguments, Context, Tool, ToolFailed, path_argument
from foldlog.cli.agent.workspace.files import check_seen, encoded, load, replace, text_of
from foldlog.cli.agent.workspace.grep_process import SNIFFED

PLACES = 10
"""How many places of a text that is there more than once are named."""


def edit(arguments: Arguments, context: Context) -> str:
    """Replace a text that is there exactly once, or all of them."""
    path = context.path(arguments["path"])
    before, name = load(path, context), context.shown(path)
    check_seen(path, before, context)
    if b"\0" in before[:SNIFFED]:
        raise ToolFailed(f"{name} is binary. Change it with a command.")
    text = text_of(before)
    old, new = _ends_as_in(text, arguments["old_string"], arguments["new_string"])
    lines = list(_places(text, old))
    _check(lines, old, new, name, all_of_them=arguments.get("replace_all", False))
    replace(path, encoded(text.replace(old, new)), context)
    times = "once" if len(lines) == 1 else f"{len(lines)} times"
    return f"Replaced {times} in {name}, {_at(lines)}."


def _check(lines: list[int], old: str, new: str, name: str, *, all_of_them: bool) -> None:
    """Refuse an edit that cannot be done, or is not clear."""
    if old == new:
        raise ToolFailed("old_string and new_string are the same: nothing would change.")
    if not lines:
        raise ToolFailed(
            f"old_string is not in {name} (0 matches). Read the file and give its text exactly,"
            " with its white space and without line numbers."
        )
    if len(lines) > 1 and not all_of_them:
        raise ToolFailed(
            f"old_string is in {name} {len(lines)} times, {_at(lines)}. Give more of the text"
            " around the one you mean, or set replace_all."
        )


def _ends_as_in(text: str, old: str, new: str) -> tuple[str, str]:
    """Both texts with the line ends of the file: the model sees all of them as one."""
    if old in text or "\r\n" not in text:
        return old, new
    return old.replace("\n", "\r\n"), new.replace("\r\n", "\n").replace("\n", "\r\n")


def _places(text: str, wanted: str) -> Iterator[int]:
    """Yield the lines in which a text begins, as often as it is there."""
    at, line, counted = text.find(wanted), 1, 0
    while at >= 0:
        line += text.count("\n", counted, at)
        counted = at
        yield line
        at = text.find(wanted, at + len(wanted))


def _at(lines: list[int]) -> str:
    named = ", ".join(map(str, lines[:PLACES]))
    return f"at line{'s' if len(lines) > 1 else ''} {named}{' …' if len(lines) > PLACES else ''}"


EDIT = Tool(
    name="edit",
    description=(
        "Replace a text of a file by another one, exactly. The text has to be there once, unless"
        " replace_all is set. The file has to be read before."
    ),
    input_schema={
        "type": "object",
        "properties": {
            "path": {"type": "string", "minLength": 1, "description": "The file."},
            "old_string": {"type": "string", "minLength": 1, "description": "The text that goes."},
            "new_string": {"type": "string", "description": "The text that comes."},
            "replace_all": {"type": "boolean", "description": "Wherever it is; false without."},
        },
        "required": ["path", "old_string", "new_string"],
        "additionalProperties": False,
    },
    run=edit,
    writes=True,
    touches=path_argument,
)
