"""From bytes to records: the lines of a transcript, whatever happened to the file.

A transcript is JSON Lines, split on 0x0A only: U+2028 and its kin occur raw inside strings. Around
the records stand things that carry no meaning: a byte order mark, carriage returns, blank lines,
runs of NUL that a crash left. Inside a line two records may touch (``}{``: a lost newline), or the
end of one may be lost and the next begin in the middle of it. All of that is read here, and nothing
is dropped: what cannot be decoded is a record too, with the reason.
"""

from __future__ import annotations

import json
import math
import re
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

import orjson

from foldlog.eventstore.codec import has_long_number, is_deep

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foldlog.eventstore.events import Json

BOM = b"\xef\xbb\xbf"

_MARGIN = b"\0\r\t "
"""Bytes at either end of a line that carry no meaning."""

_OBJECT_START = re.compile(r'\{\s*"')

_IDENTITY = frozenset({"uuid", "sessionId", "leafUuid", "messageId"})
"""Every record has a type and one of these; the objects inside it do not."""


def _refuse(constant: str) -> Json:
    raise ValueError(f"{constant} is no number of JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    return number if math.isfinite(number) else _refuse(digits)


_DECODER = json.JSONDecoder(parse_constant=_refuse, parse_float=_finite)
"""Exact, and as strict as the store: what it reads can be recorded."""


NESTING = 254
"""How deeply a record may be nested: as far as orjson writes it. A deeper one is kept as text."""

_GAP = re.compile(r"[\0\r\t ]*")


class Record(NamedTuple):
    """One record of a file.

    Attributes:
        line: Its line, counted from 1. Two records that touch have the same.
        offset: Where its first byte stands in the file.
        raw: Its bytes, without what stands around it.
        value: What it says; None when it cannot be decoded.
        reason: Why it cannot be decoded; None when it can.
        touches: It begins on the line on which the record before it ended.
    """

    line: int
    offset: int
    raw: bytes
    value: dict[str, Json] | None
    reason: str | None = None
    touches: bool = False


class Reading(NamedTuple):
    """The records of a file, and whether its last line is torn (still being written)."""

    records: list[Record]
    pending: bool


def read(content: bytes) -> Reading:
    """Read all records of a file.

    A last line without its newline counts when it is whole; otherwise it is pending, and so is
    nothing else: what stands before it on the same line and is whole counts as well.
    """
    records: list[Record] = []
    pending = False
    for number, start, line in _lines(content):
        try:
            value = _decoded(line)
        except (ValueError, RecursionError):
            is_last = start + len(line) == len(content)
            pending = _read_damaged(records, number, start, line, is_last)
            continue
        records.append(_record(number, start, line, value))
    return Reading(records, pending)


def _decoded(line: bytes) -> Json:
    try:
        value = orjson.loads(line)
        if orjson.dumps(value) == line or not has_long_number(line):
            return value
    except orjson.JSONDecodeError:
        pass  # an escaped lone surrogate, or no JSON: the other knows
    except TypeError:  # orjson reads what it does not write
        raise RecursionError from None
    return _exactly(_DECODER.decode(line.decode().strip()))


def _exactly(value: Json) -> Json:
    """What the exact decoder read, which may be deeper than can be recorded."""
    if is_deep(value, NESTING):
        raise RecursionError
    return value


def _lines(content: bytes) -> Iterator[tuple[int, int, bytes]]:
    """(number, offset, bytes) of each line that is not blank, without its newline or a BOM."""
    position = len(BOM) if content.startswith(BOM) else 0
    number = 1
    while position < len(content):
        end = content.find(b"\n", position)
        end = len(content) if end < 0 else end
        line = content[position:end]
        if line.strip(_MARGIN):
            yield number, position, line
        position = end + 1
        number += 1


def _record(line: int, offset: int, raw: bytes, value: Json) -> Record:
    start = len(raw) - len(raw.lstrip(_MARGIN))
    raw = raw.strip(_MARGIN)
    if isinstance(value, dict):
        return Record(line, offset + start, raw, value)
    return Record(line, offset + start, raw, None, "no JSON object")


def _read_damaged(
    records: list[Record], number: int, offset: int, line: bytes, is_last: bool
) -> bool:
    """Read a line that is not one JSON value; say whether its end is still to be written."""
    rest, before = line.lstrip(_MARGIN), len(records)
    while rest:
        start = offset + len(line) - len(rest)
        size, value = _first_object(rest)
        if value is not None:
            record = _record(number, start, rest[:size], value)
        elif is_last:
            return True
        else:
            size = _next_record(rest)
            half = rest[:size].rstrip(_MARGIN)
            record = Record(number, start, half, None, _reason(half))
        records.append(record._replace(touches=len(records) > before))
        rest = rest[size:].lstrip(_MARGIN)
    return False


def _first_object(line: bytes) -> tuple[int, dict[str, Json] | None]:
    """The object that the line begins with, and its size in bytes; (0, None) without one."""
    try:
        text = line.decode()
        value, end = _DECODER.raw_decode(text)
        _exactly(value)
    except (ValueError, RecursionError):
        return 0, None
    return (len(text[:end].encode()), value) if isinstance(value, dict) else (0, None)


def _next_record(line: bytes) -> int:
    """Where whole records begin, behind the first byte, and reach to the end of the line.

    The length of the line when they do nowhere. An object inside the half record is no record,
    though it may be the last that was written of it: records say who they are. Behind something
    without end (each object in it would be tried anew) none is looked for.
    """
    text = line.decode("utf-8", "surrogateescape")
    with suppress(RecursionError):
        for match in _OBJECT_START.finditer(text, 1):
            if _are_records(text, match.start()):
                return len(text[: match.start()].encode("utf-8", "surrogateescape"))
    return len(line)


def _are_records(text: str, position: int) -> bool:
    """Whether the text from there on is nothing but whole records."""
    while position < len(text):
        try:
            value, end = _DECODER.raw_decode(text, position)
        except ValueError:
            return False
        if "type" not in value or _IDENTITY.isdisjoint(value):
            return False
        position = _behind_gap(text, end)
        if not text.startswith("{", position) and position < len(text):
            return False
    return True


def _behind_gap(text: str, position: int) -> int:
    gap = _GAP.match(text, position)
    return gap.end() if gap else position


def _reason(line: bytes) -> str:
    """What is wrong with the bytes, in one short sentence."""
    try:
        _exactly(_DECODER.decode(line.decode()))
    except RecursionError:
        return "nested too deeply"
    except UnicodeDecodeError as error:
        return f"no UTF-8 at byte {error.start + 1}"
    except json.JSONDecodeError as error:
        return f"no JSON: {error.msg.removesuffix(' at')} at character {error.pos + 1}"
    except ValueError as error:
        return f"no JSON: {error}"
    return "no JSON"
