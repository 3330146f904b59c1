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
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TypeAlias

from foldlog.cli.agent.tool import Touched
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
        *("builtin", "command", "exec", "eval", "env", "sudo", "doas", "nohup", "nice", "setsid"),
        *("stdbuf", "xargs", "busybox", "bash", "sh", "dash", "zsh"),
    )
)
"""Words of the shell, and programs, that start the command behind them. A command can be hidden all
the same (``$(echo rm)``): a denial holds off a model that errs, permission holds off all others."""

SUBCOMMANDS = ("cargo", "docker", "gh", "git", "go", "kubectl", "npm", "pip", "poetry", "uv")
"""Programs whose first argument says what is done: ``git status *`` is worth offering."""

_PATTERN = re.compile(r"(?P<tool>[A-Za-z0-9_.:-]{1,128})(\((?P<text>.*)\))?", re.DOTALL)


class PatternError(FoldlogError):
    """A text is no pattern."""


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
        """A pattern as a person writes it.

        Raises:
            PatternError: It is none; the error says how one looks.
        """
        found = _PATTERN.fullmatch(text.strip())
        if not found:
            raise PatternError(
                f"{text!r} is no pattern. Write a tool, as in bash, or a tool and what it is about,"
                " as in bash(git status *) or write(src/**)."
            )
        pattern = cls(found["tool"], found["text"])
        try:
            _path(_absolute(pattern.text or "", Path("/")))
        except re.error as error:
            raise PatternError(f"{text!r} is no pattern: {error}.") from error
        return pattern

    def __str__(self) -> str:
        return self.tool if self.text is None else f"{self.tool}({self.text})"

    def allows(self, tool: str, subject: Subject, cwd: Path) -> bool:
        """Whether what it allows includes a call: in doubt it does not."""
        if tool != self.tool:
            return False
        if self.text is None:
            return True
        if isinstance(subject, Touched):
            return bool(_path(_absolute(self.text, cwd)).fullmatch(str(subject.path)))
        return isinstance(subject, str) and _command_allowed(self.text, subject)

    def denies(self, tool: str, subject: Subject, cwd: Path) -> bool:
        """Whether what it denies includes a call: in doubt it does.

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
    """The patterns that would allow a call, the narrowest first."""
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
    asked = _command(text, re.IGNORECASE)
    parts = [command, *PARTS.split(command.replace("\\\n", ""))]
    plain = [" ".join(part.split()) for part in parts]
    bare = [_bare(part) for part in plain]
    return text.replace("[*]", "*") == command or any(map(asked.fullmatch, [*plain, *bare]))


def _bare(part: str) -> str:
    """A command without quotes, the variables it is given, the words that only start it, and the
    folder of its program."""
    words = re.sub(r"[\\'\"]", "", part).split()
    started = False
    while words and (re.match(r"\w+=", words[0]) or _starts(words[0], started)):
        started = started or words[0].rpartition("/")[2] in STARTERS
        del words[0]
    return " ".join([words[0].rpartition("/")[2], *words[1:]]) if words else ""


def _starts(word: str, started: bool) -> bool:
    """Whether a word only starts what comes behind it, or is an option of one that does."""
    return word.rpartition("/")[2] in STARTERS or (started and word.startswith("-"))


@lru_cache(maxsize=1024)
def _command(text: str, flags: int = 0) -> re.Pattern[str]:
    """The expression of a pattern. What a star but the last took is not given back, as in
    ``fnmatch``: no pattern is slow, whatever the command."""
    bare = text.removesuffix(" *")
    first, *rest = [re.escape(p.replace("[*]", "*")) for p in re.split(r"(?<!\[)\*|\*(?!\])", bare)]
    held = "".join(f"(?>.*?{part})" for part in rest[:-1])
    last = f".*{rest[-1]}" if rest else ""
    end = r"(?:[ \t].*)?" if bare != text else ""
    return re.compile(first + held + last + end, re.DOTALL | flags)


def _absolute(text: str, cwd: Path) -> str:
    """A pattern of a path, from the root; ``..`` and ``.`` taken away."""
    below = f"{text}**" if text.endswith("/") else text
    return os.path.normpath(os.path.join(_literal(cwd), os.path.expanduser(below)))


def _path_denied(text: str, subject: Touched) -> bool:
    """A path is compared under each name that it, and the pattern's beginning, has.

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
    return re.compile(glob_expression(text), re.DOTALL | flags)


def glob_expression(text: str) -> str:
    """The regular expression of a glob: ``*``, ``**``, ``?``, ``[a-z]``, ``{a,b}``.

    ``**/`` stands for any folders, none too; ``/**`` at the end for a folder and all below it.
    """
    text = re.sub(r"(\*\*/)+", "**/", text)  # each would be tried against each: slow
    found, at, braces = "", 0, 0
    while at < len(text):
        char = text[at]
        if text.startswith("**/", at) and (at == 0 or text[at - 1] == "/"):
            found, at = found + "(?:[^/]+/)*", at + 3
            continue
        if text[at:] == "/**":
            return found + ")" * braces + "(?:/.*)?"
        if text.startswith("**", at):
            found, at = found + ".*", at + 2
            continue
        chosen = re.compile(r"\[(!?)(\]?[^\]]*)\]").match(text, at) if char == "[" else None
        if chosen:
            inner = re.sub(r"([\\\[\]^&~|])", r"\\\1", chosen[2])
            found += f"(?!/)[{'^' if chosen[1] else ''}{inner}]"
            at = chosen.end()
            continue
        if char == "{" and "}" in text[at:]:
            found, braces = found + "(?:", braces + 1
        elif char == "}" and braces:
            found, braces = found + ")", braces - 1
        elif char == "," and braces:
            found += "|"
        else:
            found += {"*": "[^/]*", "?": "[^/]"}.get(char) or re.escape(char)
        at += 1
    return found + ")" * braces


def _paths_offered(path: Path, cwd: Path) -> list[str]:
    """The path itself, and all that is in its folder; nobody is offered the whole disk."""
    inside = path.relative_to(cwd) if path.is_relative_to(cwd) else path
    folder = inside if path.is_dir() else inside.parent
    below = "**" if folder == Path() else f"{_literal(folder)}/**"
    return [_literal(inside), below] if folder != Path("/") else [_literal(inside)]


def _literal(path: Path) -> str:
    return re.sub(r"([*?\[{])", r"[\1]", path.as_posix())
