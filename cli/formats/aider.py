"""aider: ``.aider.chat.history.md``, which holds every chat in a folder, one after the other.

It is Markdown for people, with neither ids nor calls: what a line begins with says whose it is, so
that text of the model which begins so is taken for something else. Each session says so:
``origin.confidence`` is ``low``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from hashlib import sha256
from itertools import zip_longest
from typing import TYPE_CHECKING, NamedTuple

from foldlog.cli.formats import openai_blocks
from foldlog.cli.formats.jsonl_source import KEY_DIGITS, Record
from foldlog.cli.formats.message_list import MessageList, Piece, digest_of
from foldlog.cli.formats.protocols import Source
from foldlog.cli.formats.source_files import read_file

if TYPE_CHECKING:
    from pathlib import Path

    from foldlog.cli.formats.import_run import ImportRun
    from foldlog.cli.formats.report import ImportReport
    from foldlog.cli.formats.source_files import SourceFiles
    from foldlog.eventstore.events import Json

STARTED = re.compile(r"# aider chat started at (\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)\s*")
"""The line that begins a chat; the time is that of the place."""

PERSON, PROGRAM, MODEL = "person", "program", "model"
"""Whose a line is: it begins with ``#### ``, with ``> ``, or with neither."""

_BEGINS = ((PERSON, "####"), (PROGRAM, ">"))

_VERSION = re.compile(r"^Aider v(\S+)", re.MULTILINE)
_MODEL = re.compile(r"^(?:Main model|Models?): (\S+) with ", re.MULTILINE)
_TOKENS = re.compile(
    r"^Tokens: (?P<prompt_tokens>[\d.,]+k?) sent"
    r"(?:, (?P<cache_write_input_tokens>[\d.,]+k?) cache write)?"
    r"(?:, (?P<cached_input_tokens>[\d.,]+k?) cache hit)?"
    r", (?P<completion_tokens>[\d.,]+k?) received",
    re.MULTILINE,
)


def default_locations() -> list[Path]:
    """Return nothing: a history is in the folder of each project."""
    return []


def find(files: SourceFiles) -> Iterator[Source]:
    """Yield the files in which a chat begins, and somebody says something."""
    for path in files.named("*.md"):
        lines = files.head(path).content.decode("utf-8", "replace").split("\n")
        if any(map(STARTED.fullmatch, lines)) and any(line[:2] in ("> ", "##") for line in lines):
            yield Source(path, files.name)


def import_source(source: Source, run: ImportRun) -> Iterator[ImportReport]:
    """Import a history and yield a report for each chat in it."""
    text = read_file(source.path).decode("utf-8", "surrogateescape")
    names: Counter[str] = Counter()
    chats = list(chats_of(text))
    for chat in chats:
        yield _import_chat(source, run, chat, names)
    if not chats:
        yield run.report(source)


class Said(NamedTuple):
    """Lines of one speaker.

    Attributes:
        speaker: PERSON, PROGRAM or MODEL.
        text: What they say, without what the lines begin with.
        line: The number of the first line.
    """

    speaker: str
    text: str
    line: int


class Chat(NamedTuple):
    """One chat.

    Attributes:
        began: When it began, as ``2026-11-30T12:00:00``; None for what is before the first chat.
        said: What was said, in order.
    """

    began: str | None
    said: list[Said]

    def find(self, pattern: re.Pattern[str]) -> str | None:
        """Return what the program said that matches."""
        texts = (part.text for part in self.said if part.speaker == PROGRAM)
        return next((found[1] for text in texts if (found := pattern.search(text))), None)


def chats_of(text: str) -> Iterator[Chat]:
    """Yield the chats of a history, in their order."""
    lines: list[tuple[int, str]] = []
    began: str | None = None
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), 1):
        match = STARTED.fullmatch(line)
        if match is None:
            lines.append((number, line))
            continue
        yield from _chat(began, lines)
        began, lines = f"{match[1]}T{match[2]}", []
    yield from _chat(began, lines)


def _chat(began: str | None, lines: list[tuple[int, str]]) -> Iterator[Chat]:
    said = list(_parts(lines))
    if began is not None or said:
        yield Chat(began, said)


def _parts(lines: list[tuple[int, str]]) -> Iterator[Said]:
    """Yield the lines of each speaker together, empty ones left out."""
    speaker, begun, texts = MODEL, 0, list[str]()
    for number, line in [*lines, (0, "\0")]:
        whose = "" if line == "\0" else _speaker(line)
        if whose != speaker:
            text = "\n".join(texts).strip("\r\n \t")
            if text:
                yield Said(speaker, text, begun)
            speaker, begun, texts = whose, number, []
        texts.append(_words(line, whose))


def _speaker(line: str) -> str:
    return next(
        (name for name, mark in _BEGINS if line.startswith(f"{mark} ") or line.rstrip() == mark),
        MODEL,
    )


def _words(line: str, speaker: str) -> str:
    mark = next((mark for name, mark in _BEGINS if name == speaker), None)
    return line if mark is None else line[len(mark) :].strip("\r ")


# -- into the log ------------------------------------------------------------------------------


def _import_chat(source: Source, run: ImportRun, chat: Chat, names: Counter[str]) -> ImportReport:
    folder = source.path.resolve().parent
    name = f"{folder.name}-{(chat.began or 'before').replace(':', '-')}"
    first = digest_of([chat.began or [part.text for part in chat.said[:1]], names[name]])
    names[name] += 1
    wanted = name if names[name] == 1 else f"{name}-{names[name]}"
    log = run.session(run.name_for(wanted, source.file, first), source)
    origin = {"harness": "aider", "file": source.file, "first": first, "confidence": "low"}
    version = chat.find(_VERSION)
    known = {"version": version} if version is not None else {}
    log.start(title=None, cwd=str(folder), origin={**origin, **known}, occurred=chat.began)
    held = MessageList(log, from_head=True)
    held.replace(list(_pieces(chat)))
    return run.report(source, log, notices=held.finish())


def _pieces(chat: Chat) -> Iterator[Piece]:
    """Yield an event for each part of a chat. What a reply took is said after it."""
    seen: Counter[str] = Counter()
    model = chat.find(_MODEL)
    for part, after in zip_longest(chat.said, chat.said[1:]):
        digest = digest_of([part.speaker, part.text])
        seen[digest] += 1
        yield Piece(f"{digest}/{seen[digest]}", *_event(part, after, model), _record(part))


def _event(part: Said, after: Said | None, model: str | None) -> tuple[str, dict[str, Json]]:
    if part.speaker == PROGRAM:
        return "aider.output", {"text": part.text}
    if part.speaker == PERSON:
        return "message.user", {"content": part.text}
    reply: dict[str, Json] = {"content": part.text}
    if model is not None:
        reply["model"] = model
    counted = _TOKENS.search(after.text) if after is not None else None
    if counted is not None:
        given = {key: _count(text) for key, text in counted.groupdict().items()}
        reply["usage"] = openai_blocks.usage(given)
    return "message.assistant", reply


def _count(text: str | None) -> int | None:
    """Return a number of tokens, which is rounded where it is written in thousands."""
    digits = (text or "").replace(",", "")
    try:
        return round(float(digits.removesuffix("k")) * (1000 if digits.endswith("k") else 1))
    except ValueError:
        return None


def _record(part: Said) -> Record:
    raw = part.text.encode("utf-8", "surrogateescape")
    digest = sha256(raw).hexdigest()[:KEY_DIGITS]
    return Record(part.line, 0, raw, None, digest=digest)
