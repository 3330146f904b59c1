"""What a call changes in files, as a diff of the lines that it names.

Known are the arguments of the editing tools of public harnesses: old and new text, several of them,
a whole new file, a patch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, Literal, NamedTuple

from foldlog.eventstore.events import Json
from foldlog.projections.wire.tool_calls import PATHS

OLD = ("old_string", "old_str", "oldText", "old_text", "search")
NEW = ("new_string", "new_str", "newText", "new_text", "replace")
CONTENT = ("content", "file_text", "contents")
PATCH = ("patch", "input", "diff")

AROUND = 3
"""Lines of an unchanged stretch that are shown around a change."""

COMPARED = 2_000
"""The most lines on either side that are compared; more show as all taken out and all put in."""

Sign = Literal["+", "-", " ", "@"]


class Line(NamedTuple):
    """A line of a diff.

    Attributes:
        sign: ``+`` put in, ``-`` taken out, a blank for unchanged, ``@`` for a gap.
        before, changed, after: Its text; ``changed`` is what differs from the line it replaces.
    """

    sign: Sign
    before: str
    changed: str = ""
    after: str = ""


@dataclass(frozen=True, slots=True)
class FileEdit:
    """What a call changes in one file.

    Attributes:
        path: The file; empty if the call names none.
        lines: The diff; None for a whole new file.
        content: The whole new file; None for a diff.
    """

    path: str
    lines: tuple[Line, ...] | None = None
    content: str | None = None


def edits_of(arguments: Json) -> list[FileEdit]:
    """Return what the arguments of a call change; nothing if they are not those of an edit."""
    if not isinstance(arguments, Mapping):
        return []
    path = next((str(arguments[name]) for name in PATHS if arguments.get(name)), "")
    several = arguments.get("edits")
    changes = several if isinstance(several, list) else [arguments]
    found = [edit for change in changes if (edit := _replacement(path, change)) is not None]
    return found or [*_whole(path, arguments), *_patch(path, arguments)]


def diff_lines(old: str, new: str) -> tuple[Line, ...]:
    """Compare two texts line by line; within lines that replace one another, mark what differs."""
    before, after = old.splitlines(), new.splitlines()
    if max(len(before), len(after)) > COMPARED:
        return (*(Line("-", line) for line in before), *(Line("+", line) for line in after))
    return tuple(_compared(before, after))


def _replacement(path: str, change: Any) -> FileEdit | None:
    if not isinstance(change, Mapping):
        return None
    old = next((change[name] for name in OLD if isinstance(change.get(name), str)), None)
    new = next((change[name] for name in NEW if isinstance(change.get(name), str)), None)
    if old is None or new is None:
        return None
    return FileEdit(path, diff_lines(old, new))


def _whole(path: str, arguments: Mapping[str, Any]) -> Iterator[FileEdit]:
    content = next((arguments[n] for n in CONTENT if isinstance(arguments.get(n), str)), None)
    if path and content is not None:
        yield FileEdit(path, content=content)


def _patch(path: str, arguments: Mapping[str, Any]) -> Iterator[FileEdit]:
    for name in PATCH:
        patch = arguments.get(name)
        if isinstance(patch, str) and patch.lstrip().startswith(("*** Begin", "--- ", "diff ")):
            yield FileEdit(path, tuple(map(_patch_line, patch.splitlines())))


def _patch_line(line: str) -> Line:
    if line.startswith(("***", "---", "+++", "@@", "diff ")):
        return Line("@", line)
    return Line("+" if line[:1] == "+" else "-" if line[:1] == "-" else " ", line[1:])


def _compared(before: Sequence[str], after: Sequence[str]) -> Iterator[Line]:
    groups = SequenceMatcher(None, before, after, autojunk=False).get_grouped_opcodes(AROUND)
    for number, group in enumerate(groups):
        if number:
            yield Line("@", "")
        for verb, i1, i2, j1, j2 in group:
            if verb == "equal":
                yield from (Line(" ", line) for line in before[i1:i2])
            elif i2 - i1 == j2 - j1:
                pairs = [_marked(*pair) for pair in zip(before[i1:i2], after[j1:j2], strict=True)]
                yield from (old for old, _ in pairs)
                yield from (new for _, new in pairs)
            else:
                yield from (Line("-", line) for line in before[i1:i2])
                yield from (Line("+", line) for line in after[j1:j2])


def _marked(old: str, new: str) -> tuple[Line, Line]:
    """Mark what differs between two lines, unless little of them is the same."""
    head = _same(old, new)
    tail = _same(old[head:][::-1], new[head:][::-1])
    if 3 * (head + tail) < max(len(old), len(new)):
        return Line("-", old), Line("+", new)
    return _cut("-", old, head, tail), _cut("+", new, head, tail)


def _same(one: str, other: str) -> int:
    """Return how many characters two texts have in common at their beginning."""
    pairs = zip(one, other, strict=False)
    return next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def _cut(sign: Sign, line: str, head: int, tail: int) -> Line:
    end = len(line) - tail
    return Line(sign, line[:head], line[head:end], line[end:])
