"""Find out what an agent did: files read and changed, commands run, calls that failed.

Tools are recognised by the names that harnesses give them. What a call did follows from its
arguments, whether it worked from its result.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, TypeAlias

from foldlog.eventstore.events import Event, Json
from foldlog.projections.wire.blocks import CALL, RESULT, content_of, kind, plain_text
from foldlog.projections.wire.pairing import Pairing

How: TypeAlias = Literal["read", "written", "edited"]


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split())


READING = _names("read read_file readfile read_many_files view view_file cat open_file")
WRITING = _names("write write_file writefile create create_file save_file write_to_file")
EDITING = _names(
    "edit edit_file multiedit multi_edit replace str_replace replace_in_file insert apply_patch"
    " applypatch patch notebookedit update_file search_replace"
)
EDITORS = _names("str_replace_based_edit_tool str_replace_editor text_editor")
"""Tools with a ``command`` argument that says what they do."""
SHELLS = _names(
    "bash shell exec exec_command run_command run_shell_command execute_command execute_bash"
    " local_shell container.exec terminal powershell run_terminal_cmd"
)
"""Names of tools, in lower case: those of Claude Code, Codex, Gemini CLI, Cline, opencode, pi,
OpenHands, Cursor and the Messages API, as their public code has them (November 2026)."""

PATHS = _names(
    "file_path path filePath notebook_path absolute_path target_file filename file paths"
)
"""The arguments that name a file, the likeliest first."""

FILES = 60
"""The most files that are listed: such a list takes about 1,000 tokens."""

_PATCHED = re.compile(r"^\*\*\* (Add|Update|Delete) File: (.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a tool and its result.

    Attributes:
        id: Its id.
        version: The version of the message that made it.
        name: The name of the tool.
        input: Its arguments.
        result: The content of its result; None without one.
        answered: The version of the result; None without one.
        failed: Whether the result is an error.
        nth: Which of the calls of its event it is, from 0.
    """

    id: str
    version: int
    name: str
    input: Mapping[str, Any]
    result: Json = None
    answered: int | None = None
    failed: bool = False
    nth: int = 0

    @property
    def place(self) -> tuple[int, int]:
        """What tells it from all other calls: an id may be used again."""
        return self.version, self.nth

    @property
    def text(self) -> str:
        """The text of its result."""
        return plain_text(content_of(self.result))

    @property
    def command(self) -> str | None:
        """The command that it ran in a shell; None if it ran none."""
        if self.name.lower() not in SHELLS:
            return None
        given = self.input.get("command", self.input.get("cmd"))
        if isinstance(given, list):
            return " ".join(map(str, given))
        return given if isinstance(given, str) else None


class Touch(NamedTuple):
    """A file that a call read or changed."""

    path: str
    how: How


class Calls:
    """Collects the calls that events make, and returns them when their results come."""

    def __init__(self) -> None:
        self._pairing = Pairing[Call]()

    def add(self, event: Event) -> Iterator[Call]:
        """Yield the calls that an event answers; a second result yields its call again."""
        if event.type == "message.assistant":
            for nth, block in enumerate(_blocks(event, CALL)):
                id, name, given = str(block.get("id")), str(block.get("name")), block.get("input")
                call = Call(id, event.version, name, _object(given), nth=nth)
                self._pairing.made(id, call, event.version, event.data.get("id"))
        for result in _results(event):
            made = self._pairing.answer(str(result.get("tool_use_id")))
            if made is not None:
                yield _with_result(made, event.version, result)

    def open(self) -> Iterator[Call]:
        """Yield the calls that were not answered."""
        yield from sorted(self._pairing.waiting(), key=lambda call: call.place)


def calls(events: Iterable[Event]) -> Iterator[Call]:
    """Yield the calls of events, each when its result comes, those without one at the end."""
    made = Calls()
    for event in events:
        yield from made.add(event)
    yield from made.open()


def touched_files(call: Call) -> tuple[Touch, ...]:
    """Return the files that a call read or changed, according to its arguments."""
    how = _how(call)
    patched = _PATCHED.findall(str(call.input.get("input", call.input.get("patch", ""))))
    if how == "edited" and patched:
        return tuple(Touch(path.strip(), _PATCHES[verb]) for verb, path in patched)
    found = next((call.input[name] for name in PATHS if call.input.get(name)), None)
    if how is None or found is None:
        return ()
    paths = found if isinstance(found, list) else [found]
    return tuple(Touch(path, how) for path in paths if isinstance(path, str))


def touch(known: dict[str, set[How]], call: Call) -> None:
    """Add what a call did to files to what is known of them; the files it touched go last."""
    for path, how in touched_files(call) if not call.failed else ():
        known[path] = known.pop(path, set()) | {how}


def files(made: Iterable[Call]) -> dict[str, set[How]]:
    """Return what calls that did not fail did to each file; the file touched last comes last."""
    found: dict[str, set[How]] = {}
    for call in made:
        touch(found, call)
    return found


def file_lines(touched: Mapping[str, set[How]], most: int = FILES) -> list[str]:
    """Return a line for each file, those touched last first; a last line counts those left out."""
    lines = [
        f"- `{path}` ({', '.join(sorted(how))})" for path, how in reversed(list(touched.items()))
    ]
    more = len(lines) - most
    return [*lines[:most], f"- {more} more, touched earlier: see the log"] if more > 0 else lines


_PATCHES: dict[str, How] = {"Add": "written", "Update": "edited", "Delete": "edited"}
_COMMANDS: dict[str, How] = {"view": "read", "create": "written"}


def _how(call: Call) -> How | None:
    name = call.name.lower()
    if name in EDITORS:
        return _COMMANDS.get(str(call.input.get("command")), "edited")
    if name in READING:
        return "read"
    if name in WRITING:
        return "written"
    return "edited" if name in EDITING else None


def _with_result(call: Call, version: int, result: Mapping[str, Any]) -> Call:
    failed = bool(result.get("is_error"))
    return replace(call, result=result.get("content"), answered=version, failed=failed)


def _results(event: Event) -> Iterator[Mapping[str, Any]]:
    if event.type == "tool.result":
        yield event.data
    elif event.type == "message.user":
        yield from _blocks(event, RESULT)


def _blocks(event: Event, type: str) -> Iterator[Mapping[str, Any]]:
    content = event.data.get("content")
    for block in content if isinstance(content, list) else ():
        if kind(block) == type:
            yield block


def _object(value: Json) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
