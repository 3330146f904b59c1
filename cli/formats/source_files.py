"""The files at a path, looked at once for all formats: what is there, and how each begins."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cached_property
from pathlib import Path
from stat import S_ISREG
from typing import TYPE_CHECKING, Any

import orjson

from foldlog.cli.formats.jsonl_source import decoded

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from foldlog.eventstore.events import Json

HEAD_BYTES = 1 << 16
"""Bytes of a file that detection reads, and then to the end of the line that they end in."""

LINE_BYTES = 1 << 26
"""The longest line that detection reads: 64 MB, more than a request of the API can hold."""

_MAGIC = {
    b"\x1f\x8b": "it is compressed with gzip: unpack it first",
    b"\x28\xb5\x2f\xfd": "it is compressed with zstd: unpack it first",
    b"PK\x03\x04": "it is a zip archive: unpack it first",
    b"\xff\xfe": "it is UTF-16 text: convert it to UTF-8 first",
    b"\xfe\xff": "it is UTF-16 text: convert it to UTF-8 first",
    b"SQLite format 3\0": "it is an SQLite database of an unknown program",
}

TEXT_SUFFIXES = (".jsonl", ".json")
"""Files that hold text, if they are what their name says."""

LEADS_OUT = "a symbolic link that leads out of the folder"


@dataclass(frozen=True)
class Head:
    """How a file begins.

    Attributes:
        content: The first HEAD_BYTES, and the rest of the line that they end in.
        is_whole: It is the whole file.
        problem: Why the file cannot be read; None when it can.
    """

    content: bytes
    is_whole: bool = True
    problem: str | None = None

    @cached_property
    def lines(self) -> list[dict[str, Any]]:
        """The JSON objects among the first lines; what is not one is left out."""
        return [value for value in map(_decoded, self.content.split(b"\n")) if value is not None]


def _decoded(line: bytes) -> dict[str, Any] | None:
    try:
        value = orjson.loads(line.strip(b"\0\r\t \xef\xbb\xbf"))
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, dict) else None


Stamp = tuple[int, int]
"""Size and time of a file: a file with the same stamp is not read again."""


class SourceFiles:
    """The files at a path.

    Args:
        root: A file or a folder.
        name: What a file is called where that is not its path.
        before: An earlier look at the same place; what did not change is not read again.

    Attributes:
        root: The file or folder.
        name: As given.
    """

    def __init__(
        self, root: Path, *, name: str | None = None, before: SourceFiles | None = None
    ) -> None:
        self.root = root
        self.name = name
        self.problems: dict[Path, str] = {}
        """Folders that cannot be read, and links that are not followed, with why."""
        self._heads: dict[tuple[Path, Stamp | None], Head] = {}
        self._known = before._heads if before else {}

    @cached_property
    def all(self) -> list[Path]:
        """Every file, sorted by path; the file itself where the root is one."""
        return sorted(self._walk()) if self.root.is_dir() else [self.root]

    def named(self, *patterns: str) -> list[Path]:
        """Return the files whose name matches one of these patterns (``*.jsonl``)."""
        return [file for file in self.all if any(fnmatch(file.name, p) for p in patterns)]

    def head(self, path: Path) -> Head:
        """Return how a file begins. One that cannot be read begins with nothing."""
        key = (path, stamp(path))
        if key not in self._heads:
            self._heads[key] = self._known.get(key) or _read_head(path)
        return self._heads[key]

    def lines(self, path: Path) -> list[dict[str, Any]]:
        """Return the JSON objects among a file's first lines."""
        return self.head(path).lines

    def _walk(self) -> Iterator[Path]:
        inside = self.root.resolve()
        for folder, _, names in os.walk(self.root, onerror=self._note):
            for path in (Path(folder, name) for name in names):
                if path.is_symlink() and not is_inside(path, inside):
                    self.problems[path] = LEADS_OUT
                elif self._is_regular(path):
                    yield path

    def _is_regular(self, path: Path) -> bool:
        try:
            return S_ISREG(path.stat().st_mode)
        except FileNotFoundError:
            return False  # it is gone, or a link to nothing
        except OSError as error:
            self.problems[path] = f"it cannot be read: {error.strerror}"
            return False

    def _note(self, error: OSError) -> None:
        self.problems[Path(error.filename)] = f"the folder cannot be read: {error.strerror}"


def stamp(path: Path) -> Stamp | None:
    """Return the size and time of a file; None when it is gone."""
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_size, stat.st_mtime_ns


def is_inside(path: Path, folder: Path) -> bool:
    """Return whether a path, its links followed, is inside a folder (itself resolved)."""
    return path.resolve().is_relative_to(folder)


def read_file(path: Path, folder: Path | None = None) -> bytes:
    """Return what a file of a session holds.

    Args:
        path: The file.
        folder: Where it must be, its links followed; anywhere by default.

    Raises:
        OSError: It cannot be read; it is a pipe or a device, which may never end; a link leads out
            of the folder.
    """
    if folder is not None and not is_inside(path, folder.resolve()):
        raise OSError(errno.ELOOP, LEADS_OUT)
    _refuse_endless(path)
    return path.read_bytes()


def object_in(path: Path, folder: Path) -> dict[str, Json]:
    """Return the JSON object that a file beside a session holds; empty where none can be read.

    Args:
        path: The file.
        folder: Where it must be, its links followed.
    """
    try:
        value, _ = decoded(read_file(path, folder).decode("utf-8", "surrogateescape"))
    except OSError:
        return {}
    return value if isinstance(value, dict) else {}


def _refuse_endless(path: Path) -> None:
    """Raise OSError for what is no regular file: to open a pipe waits for who writes to it."""
    if not S_ISREG(path.stat().st_mode):
        raise OSError(errno.EINVAL, "it is a pipe or a device")


def _read_head(path: Path) -> Head:
    try:
        _refuse_endless(path)
        with path.open("rb") as file:
            begin = file.read(HEAD_BYTES)
            if len(begin) == HEAD_BYTES and not begin.endswith(b"\n"):
                begin += file.readline(LINE_BYTES)
            return Head(begin, not file.read(1))
    except OSError as error:
        return Head(b"", problem=f"it cannot be read: {error.strerror}")


@dataclass(frozen=True, slots=True)
class Unknown:
    """Why no format recognises a file.

    Attributes:
        reason: In a sentence without a capital or a full stop.
        is_damaged: It is unreadable, and not merely somebody else's file.
        is_torn: All that it holds is the beginning of a line: it is being written.
    """

    reason: str
    is_damaged: bool = False
    is_torn: bool = False


def explain(path: Path, head: Head, formats: Iterable[str]) -> Unknown:
    """Say why no format recognises a file."""
    if head.problem is not None:
        return Unknown(head.problem, is_damaged=True)
    named_text = path.suffix in TEXT_SUFFIXES
    wrong = _not_utf8(head.content)
    if wrong is not None:
        return Unknown(wrong, is_damaged=named_text)
    if path.suffix == ".jsonl" and _is_torn(head):
        return Unknown("its only line is still being written", is_torn=True)
    if named_text and head.content.strip() and not _is_json(path, head):
        return Unknown("it holds no JSON", is_damaged=True)
    return Unknown(f"its format is none of {', '.join(formats)}")


def _not_utf8(content: bytes) -> str | None:
    for magic, reason in _MAGIC.items():
        if content.startswith(magic):
            return reason
    if content[1:2] == b"\0" or (content[:1] == b"\0" and content[1:2].strip(b"\0")):
        return _MAGIC[b"\xff\xfe"]
    try:
        content.decode()
    except UnicodeDecodeError as error:
        if error.start >= LINE_BYTES:
            return None  # the head ends in the middle of a character
        return f"it is neither UTF-8 nor ASCII text (byte {error.start + 1})"
    return None


def _is_torn(head: Head) -> bool:
    line = head.content.strip(b"\0\r\t \xef\xbb\xbf")
    return head.is_whole and b"\n" not in line and line.startswith(b"{") and not head.lines


def _is_json(path: Path, head: Head) -> bool:
    if path.suffix == ".jsonl":
        return bool(head.lines)
    return head.content.lstrip(b"\xef\xbb\xbf \r\n\t")[:1] in (b"{", b"[")


def home(variable: str, default: str) -> Path:
    """Return a program's folder: what an environment variable names, else below the home folder.

    Args:
        variable: Such as ``CODEX_HOME``; an empty value counts as none.
        default: Such as ``.codex``.
    """
    named = os.environ.get(variable)
    return Path(named) if named else Path.home() / default
