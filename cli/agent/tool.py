"""Tools: a description for the model, and a function that does the work.

A tool returns text or blocks; what it cannot do it reports with ``ToolFailed``, in words that help
the model to do better. Permission, hooks and recording are the executor's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from foldlog.projections.session import Session

Arguments: TypeAlias = Mapping[str, Any]
"""The input of a call, when it obeys the tool's schema."""

Output: TypeAlias = "str | Sequence[Mapping[str, Any]]"
"""What a tool gives: a text, or content blocks of the Messages API."""


class ToolFailed(Exception):
    """A call that did not work; its words are the result that the model reads."""


class Stopped(KeyboardInterrupt):
    """A person stopped a call that was running.

    Attributes:
        output: What it had given until then.
    """

    def __init__(self, output: str = "") -> None:
        super().__init__()
        self.output = output


@dataclass(frozen=True, slots=True)
class Context:
    """What a tool knows of the session that it works for.

    Attributes:
        session: The session.
        cwd: The folder that it works in; symbolic links are resolved.
        call: The id of the call that runs.
        seen: What each file held when it was read or written last, by its path: a fingerprint.
        hidden: Whether a file may not be read by anybody (it was denied).
    """

    session: Session
    cwd: Path
    call: str = ""
    seen: dict[Path, str] = field(default_factory=dict)
    hidden: Callable[[Path], bool] = lambda path: False

    def path(self, given: object) -> Path:
        """Return the path that an argument names, from ``cwd``; links and ``..`` resolved."""
        try:
            return self.named(given).resolve()
        except (OSError, RuntimeError, ValueError) as error:
            raise ToolFailed(f"{given!r} is not a path: {error}.") from error

    def named(self, given: object) -> Path:
        """Return the same, with its links as they are."""
        try:
            return self.cwd / Path(str(given)).expanduser()
        except RuntimeError as error:
            raise ToolFailed(f"{given!r} is not a path: {error}.") from error

    def shown(self, path: Path) -> str:
        """Return a path as the model reads it: from ``cwd`` where it lies in it."""
        inside = path.relative_to(self.cwd) if path.is_relative_to(self.cwd) else path
        return inside.as_posix().encode(errors="replace").decode()


def nothing(arguments: Arguments, context: Context) -> None:
    """Return None: the tool touches neither files nor commands."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool.

    Attributes:
        name: Its name.
        description: What the model reads about it.
        input_schema: JSON Schema of its arguments; the executor holds calls against it.
        run: Does the work. Whatever it raises becomes a result that says so.
        writes: It changes something or runs something: permission is asked for each call.
        touches: What a permission is about: a command, or the path of a file or folder (then the
            path as it was given too). A path outside of the session's folder needs permission in
            any case.
    """

    name: str
    description: str
    input_schema: Mapping[str, Any]
    run: Callable[[Arguments, Context], Output]
    writes: bool = False
    touches: Callable[[Arguments, Context], str | Touched | None] = nothing

    def definition(self) -> dict[str, Any]:
        """Return the tool, as ``tools`` of a request holds it."""
        return {
            "name": self.name,
            "description": self.description,
            "input_schema": dict(self.input_schema),
        }


@dataclass(frozen=True, slots=True)
class Touched:
    """A file or folder that a call is about.

    Attributes:
        path: Where it really is: links resolved.
        named: Where it was said to be: links as they are, ``..`` taken away.
    """

    path: Path
    named: Path


def path_argument(arguments: Arguments, context: Context) -> Touched:
    """Return the file that the argument ``path`` names; without one, the session's folder."""
    import os.path

    given = arguments.get("path", ".")
    return Touched(context.path(given), Path(os.path.normpath(context.named(given))))
