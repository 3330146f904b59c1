"""Patterns of permissions: which calls one decision is about.

    bash                  every command            bash(git status *)   that, with any arguments
    write(src/**)         every file below src     read(/etc/hosts)     a file outside

In a command ``*`` stands for any text, and a pattern that ends in a blank and ``*`` holds for the
command without arguments too. A command in which the shell would do more than start one program
(``;``, ``&&``, ``|``, a newline, ``$``, a backtick, a redirection) matches only itself, written
out. In a path ``*`` stands for a part of a name and ``**`` for folders, as in ``glob``. ``[*]`` is
a star.
"""

from __future__ import annotations

import os.path
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TypeAlias

from foldlog.cli.agent.tool import Touched
from foldlog.cli.agent.workspace.globs import TooManyGlobs, expression
from foldlog.eventstore import FoldlogError

Subject: TypeAlias = "str | Touched | None"
"""What a call is about: a command, a path, or nothing of that kind."""

SHELL = re.compile(r"[;&|<>()$`\n\r\0]")
"""What makes a shell do more than start one program, or another one than is written. Quoting is
not looked at: a quoted semicolon only means that the command has to be allowed as a whole."""

PARTS = re.compile(r"[;&|<>()`\n\r\0]+|\$")
"""Where one command of a line ends and another may begin."""

STARTERS = frozenset(
    (
        *("!", "{", "if", "then", "elif", "else", "while", "until", "do", "time", "coproc"),
        *("builtin", "command", "exec", "eval", "env", "sudo", "doas", "nohup", "nice", "ionice"),
        *("chrt", "setsid", "timeout", "stdbuf", "unbuffer", "xargs", "watch", "strace", "ltrace"),
        *("busybox", "toybox", "systemd-run", "bash", "sh", "dash", "zsh", "ksh", "ash", "fish"),
    )
)
"""Words of the shell, and programs, that start the command after their options and numbers."""

HOLDERS = frozenset(
    (
        *("find", "fd", "parallel", "entr", "flock", "script", "taskset", "trap", "su", "runuser"),
        *("chroot", "unshare", "nsenter", "ssh", "docker", "podman", "kubectl"),
    )
)
"""Programs that start a command which any of their words may begin. A command can be hidden all the
same (``$(echo rm)``): a denial stops a model that errs, permission stops all others."""

REDIRECTION = re.compile(r"(?:\d+|\{\w+\})?&?[<>]+[|&]?\s*[^\s;&|<>()]*")
"""Where output goes or input comes from: it may come before the command, and between its words."""

SUBCOMMANDS = ("cargo", "docker", "gh", "git", "go", "kubectl", "npm", "pip", "poetry", "uv")
"""Programs whose first argument says what is done: ``git status *`` is worth offering."""

_PATTERN = re.compile(r"(?P<tool>[A-Za-z0-9_.:-]{1,128})(\((?P<text>.*)\))?", re.DOTALL)


class PatternError(FoldlogError):
    """A text is not a pattern."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """Which calls a decision is about.

    Attributes:
        tool: The name of the tool.
        text: The command or the path; None: whatever the call is about.
    """

    tool: str
    text: str | None = None

    @classmethod
    def parse(cls, text: str) -> Pattern:
        """Return a pattern as a person writes it.

        Raises:
            PatternError: It is not a pattern; the error says how to write one.
        """
        found = _PATTERN.fullmatch(text.strip())
        if not found:
            raise PatternError(
                f"{text!r} is not a pattern. Write a tool, as in bash, or a tool and what it is"
                " about, as in bash(git status *) or write(src/**)."
            )
        pattern = cls(found["tool"], found["text"])
        try:
            _path(_absolute(pattern.text or "", Path("/")))
        except (re.error, TooManyGlobs) as error:
            raise PatternError(f"{text!r} is not a pattern: {error}.") from error
        return pattern

    def __str__(self) -> str:
        return self.tool if self.text is None else f"{self.tool}({self.text})"

    def allows(self, tool: str, subject: Subject, cwd: Path) -> bool:
        """Return whether what it allows includes a call: in doubt it does not."""
        if tool != self.tool:
            return False
        if self.text is None:
            return True
        if isinstance(subject, Touched):
            return bool(_path(_absolute(self.text, cwd)).fullmatch(str(subject.path)))
        return isinstance(subject, str) and _command_allowed(self.text, subject)

    def denies(self, tool: str, subject: Subject, cwd: Path) -> bool:
        """Return whether what it denies includes a call: in doubt it does.

        A path is denied by either of its names, a line by any command in it.
        """
        if tool != self.tool:
            return False
        if self.text is None:
            return True
        if isinstance(subject, Touched):
            return _path_denied(_absolute(self.text, cwd), subject)
        return isinstance(subject, str) and _command_denied(self.text, subject)


def offered(tool: str, subject: Subject, cwd: Path) -> tuple[Pattern, ...]:
    """Return the patterns that would allow a call, the narrowest first."""
    if isinstance(subject, Touched):
        return tuple(Pattern(tool, text) for text in _paths_offered(subject.path, cwd))
    if not isinstance(subject, str):
        return (Pattern(tool),)
    exact = Pattern(tool, subject.replace("*", "[*]"))
    words = subject.split()
    if SHELL.search(subject) or len(words) < 2 or words[0] not in SUBCOMMANDS:
        return (exact,)
    plain = re.fullmatch(r"[a-z][a-z-]*", words[1])
    return (exact, Pattern(tool, f"{words[0]} {words[1]} *")) if plain else (exact,)


def _command_allowed(text: str, command: str) -> bool:
    if text.replace("[*]", "*") == command:
        return True
    return not SHELL.search(command) and bool(_command(text).fullmatch(command.strip(" \t")))


def _command_denied(text: str, command: str) -> bool:
    if text.replace("[*]", "*") == command:
        return True
    asked = _command(text, re.IGNORECASE)
    joined = command.replace("\\\n", "")
    lines = (joined, REDIRECTION.sub(" ", joined))
    parts = [command, *(part for line in lines for part in PARTS.split(line))]
    return any(asked.fullmatch(one) for part in parts for one in _commands(part))


def _commands(part: str) -> Iterator[str]:
    """Yield what a part of a line may run: as it is, and from each word that may be its program.

    Those come without quotes, the variables set for them, and the folder of the program.
    """
    yield " ".join(part.split())
    words = re.sub(r"[\\'\"]", "", part).split()
    while words and re.match(r"\w+\+?=", words[0]):
        del words[0]
    for at in _beginnings(words):
        yield " ".join([_program(words[at]), *words[at + 1 :]])


def _beginnings(words: Sequence[str]) -> Iterator[int]:
    """Yield where in the words of a command a program may be named."""
    anywhere, after_option = False, False
    for at, word in enumerate(words):
        program = _program(word)
        yield at
        anywhere = anywhere or program in HOLDERS
        skipped = re.match(r"-|\w+=|\d", word) or program in STARTERS
        if not (anywhere or skipped or after_option):
            return
        after_option = word.startswith("-")


def _program(word: str) -> str:
    """Return the name of a program without its folder."""
    return word.rpartition("/")[2]


@lru_cache(maxsize=1024)
def _command(text: str, flags: int = 0) -> re.Pattern[str]:
    """Return the expression of a pattern. What a star but the last took is not given back, as in
    ``fnmatch``: no pattern is slow, whatever the command."""
    bare = text.removesuffix(" *")
    first, *rest = [re.escape(p.replace("[*]", "*")) for p in re.split(r"(?<!\[)\*|\*(?!\])", bare)]
    held = "".join(f"(?>.*?{part})" for part in rest[:-1])
    last = f".*{rest[-1]}" if rest else ""
    end = r"(?:[ \t].*)?" if bare != text else ""
    return re.compile(first + held + last + end, re.DOTALL | flags)


def _absolute(text: str, cwd: Path) -> str:
    """Return a pattern of a path, from the root; ``..`` and ``.`` taken away."""
    below = f"{text}**" if text.endswith("/") else text
    return os.path.normpath(os.path.join(_literal(cwd), os.path.expanduser(below)))


def _path_denied(text: str, subject: Touched) -> bool:
    """Return whether a pattern denies a path under any name of it, or of the pattern's beginning.

    A folder that is named without stars is meant with all that is below it.
    """
    literal = re.split(r"[*?\[{]", text)[0]
    if literal == text:
        text = f"{text.rstrip('/')}/**"
    folder = literal if text.startswith(f"{literal}/") else literal[: literal.rfind("/")]
    patterns = {text, _literal(Path(os.path.realpath(folder or "/"))) + text[len(folder) :]}
    names = {str(subject.path), str(subject.named)}
    return any(_path(p, re.IGNORECASE).fullmatch(name) for p in patterns for name in names)


@lru_cache(maxsize=1024)
def _path(text: str, flags: int = 0) -> re.Pattern[str]:
    return re.compile(expression(text), re.DOTALL | flags)


def _paths_offered(path: Path, cwd: Path) -> list[str]:
    """Return the path itself, and all that is in its folder; nobody is offered the whole disk."""
    inside = path.relative_to(cwd) if path.is_relative_to(cwd) else path
    folder = inside if path.is_dir() else inside.parent
    below = "**" if folder == Path() else f"{_literal(folder)}/**"
    return [_literal(inside), below] if folder != Path("/") else [_literal(inside)]


def _literal(path: Path) -> str:
    return re.sub(r"([*?\[{])", r"[\1]", path.as_posix())
