"""From bytes to records: the lines of a JSON Lines file, whatever happened to the file.

Lines are split on 0x0A only: U+2028 and the like occur raw inside strings. Around the records there
may be bytes without meaning: a byte order mark, carriage returns, blank lines, runs of NUL that a
crash left. Inside a line two records may touch (``}{``: a lost newline), or the end of one may be
lost and the next begin in the middle of it. All of that is read here, and nothing is dropped: what
cannot be decoded is a record too, with the reason.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from contextlib import suppress
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

import orjson

from foldlog.eventstore.codec import dumps, has_long_number, is_deep

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from foldlog.eventstore.events import Json

    IsRecord = Callable[[Mapping[str, Json]], bool]

BOM = b"\xef\xbb\xbf"

KEY_DIGITS = 32
"""Digits of a record's SHA-256 in its key: enough that no two lines of a store share one."""

_MARGIN = b"\0\r\t "
"""Bytes at either end of a line that carry no meaning."""

NO_OBJECT = "no JSON object"

_OBJECT_START = re.compile(r'\{\s*"')


def never(value: Mapping[str, Json]) -> bool:
    """Keep all that follows a damaged record on its line with it: the default of ``is_record``."""
    return False


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
        offset: The offset of its first byte in the file.
        raw: Its bytes, without what surrounds it.
        value: The object; None when it cannot be decoded.
        reason: Why it cannot be decoded; None when it can.
        touches: It begins on the line on which the record before it ended.
        digest: The first KEY_DIGITS digits of the SHA-256 of ``raw``.
        occurrence: How often these bytes occurred in the file so far, this time included.
    """

    line: int
    offset: int
    raw: bytes
    value: dict[str, Json] | None
    reason: str | None = None
    touches: bool = False
    digest: str = ""
    occurrence: int = 1

    @property
    def key(self) -> str:
        """What names the record within its file, however the file grows or moves."""
        return f"{self.digest}/{self.occurrence}"


class Reading(NamedTuple):
    """The records of a file, and whether its last line is torn (still being written)."""

    records: Sequence[Record]
    pending: bool


class RecordReader:
    """Reads records from bytes as they come.

    Args:
        is_record: Whether an object that follows a damaged record on the same line is a record of
            its own, by traits that no object inside a record has.

    Attributes:
        records: What was read so far.
        pending: The last line was torn.
    """

    def __init__(self, is_record: IsRecord = never) -> None:
        self.records: list[Record] = []
        self.pending = False
        self._is_record = is_record
        self._rest = b""
        self._offset = 0
        self._line = 1
        self._seen: Counter[str] = Counter()

    def feed(self, content: bytes) -> list[Record]:
        """Take the next bytes and return the records of the lines that they end."""
        content = self._rest + content
        whole = content.rfind(b"\n") + 1
        self._rest = content[whole:]
        return self._read(content[:whole], is_end=False)

    def end(self) -> list[Record]:
        """Return the records of a last line without a newline.

        It counts when it is whole; otherwise it is pending, and nothing else is: whole records
        before it on the same line count as well.
        """
        rest, self._rest = self._rest, b""
        return self._read(rest, is_end=True)

    def _read(self, content: bytes, *, is_end: bool) -> list[Record]:
        found: list[Record] = []
        for number, start, line in self._lines(content):
            try:
                value = _decoded(line)
            except (ValueError, RecursionError):
                self._read_damaged(found, number, start, line, is_last=is_end)
                continue
            found.append(_record(number, start, line, value))
        self._line += content.count(b"\n")
        self._offset += len(content)
        new = [self._keyed(record) for record in found]
        self.records += new
        return new

    def _keyed(self, record: Record) -> Record:
        digest = sha256(record.raw).hexdigest()[:KEY_DIGITS]
        self._seen[digest] += 1
        return record._replace(digest=digest, occurrence=self._seen[digest])

    def _lines(self, content: bytes) -> Iterator[tuple[int, int, bytes]]:
        """(number, offset, bytes) of each line that is not blank, without its newline or a BOM."""
        position = len(BOM) if self._offset == 0 and content.startswith(BOM) else 0
        number = self._line
        while position < len(content):
            end = content.find(b"\n", position)
            end = len(content) if end < 0 else end
            line = content[position:end]
            if line.strip(_MARGIN):
                yield number, self._offset + position, line
            position = end + 1
            number += 1

    def _read_damaged(
        self, found: list[Record], number: int, offset: int, line: bytes, *, is_last: bool
    ) -> None:
        """Read a line that is not one JSON value; at the end of a file it may be torn."""
        rest, before = line.lstrip(_MARGIN), len(found)
        while rest:
            start = offset + len(line) - len(rest)
            size, value = _first_object(rest)
            if value is not None:
                record = _record(number, start, rest[:size], value)
            elif is_last:
                self.pending = True
                return
            else:
                size = _next_record(rest, self._is_record)
                half = rest[:size].rstrip(_MARGIN)
                record = Record(number, start, half, None, _reason(half))
            found.append(record._replace(touches=len(found) > before))
            rest = rest[size:].lstrip(_MARGIN)


def read(content: bytes, is_record: IsRecord = never) -> Reading:
    """Read all records of a file."""
    reader = RecordReader(is_record)
    reader.feed(content)
    reader.end()
    return Reading(reader.records, reader.pending)


def decoded(text: str) -> tuple[Json, str | None]:
    """Return the JSON value that a text holds, and None; or None, and why it holds none.

    Args:
        text: What a database keeps as text; bytes that are no UTF-8 are in it as lone surrogates.
    """
    raw = text.encode("utf-8", "surrogateescape")
    try:
        return _decoded(raw), None
    except (ValueError, RecursionError):
        return None, _reason(raw)


def records_of(values: Iterable[Json]) -> list[Record]:
    """Return the items of a list in a JSON document as records; ``line`` is the item's place."""
    seen: Counter[str] = Counter()
    found = []
    for number, item in enumerate(values, 1):
        raw = dumps(item)
        value = item if isinstance(item, dict) else None
        digest = sha256(raw).hexdigest()[:KEY_DIGITS]
        seen[digest] += 1
        reason = None if value is not None else NO_OBJECT
        found.append(Record(number, 0, raw, value, reason, False, digest, seen[digest]))
    return found


def _decoded(line: bytes) -> Json:
    try:
        value = orjson.loads(line)
        if orjson.dumps(value) == line or not has_long_number(line):
            return value
    except orjson.JSONDecodeError:
        pass  # an escaped lone surrogate, or not JSON: the other decoder knows
    except TypeError:  # orjson reads what it does not write
        raise RecursionError from None
    return _exactly(_DECODER.decode(line.decode().strip()))


def _exactly(value: Json) -> Json:
    """Return what the exact decoder read, unless it is deeper than can be recorded."""
    if is_deep(value, NESTING):
        raise RecursionError
    return value


def _record(line: int, offset: int, raw: bytes, value: Json) -> Record:
    start = len(raw) - len(raw.lstrip(_MARGIN))
    raw = raw.strip(_MARGIN)
    if isinstance(value, dict):
        return Record(line, offset + start, raw, value)
    return Record(line, offset + start, raw, None, NO_OBJECT)


def _first_object(line: bytes) -> tuple[int, dict[str, Json] | None]:
    """Return the object that the line begins with and its size in bytes; (0, None) without one."""
    try:
        text = line.decode()
        value, end = _DECODER.raw_decode(text)
        _exactly(value)
    except (ValueError, RecursionError):
        return 0, None
    return (len(text[:end].encode()), value) if isinstance(value, dict) else (0, None)


def _next_record(line: bytes, is_record: IsRecord) -> int:
    """Return the offset after the first byte from which the line is nothing but whole records.

    It is the length of the line when there is none. An object inside the half record is not a
    record, though it may be the last that was written of it: ``is_record`` tells them apart. After
    something nested too deeply no record is looked for: each object in it would be tried again.
    """
    text = line.decode("utf-8", "surrogateescape")
    with suppress(RecursionError):
        for match in _OBJECT_START.finditer(text, 1):
            if _are_records(text, match.start(), is_record):
                return len(text[: match.start()].encode("utf-8", "surrogateescape"))
    return len(line)


def _are_records(text: str, position: int, is_record: IsRecord) -> bool:
    """Return whether the text from there on is nothing but whole records."""
    while position < len(text):
        try:
            value, end = _DECODER.raw_decode(text, position)
        except ValueError:
            return False
        if not is_record(value):
            return False
        position = _after_gap(text, end)
        if not text.startswith("{", position) and position < len(text):
            return False
    return True


def _after_gap(text: str, position: int) -> int:
    gap = _GAP.match(text, position)
    return gap.end() if gap else position


def _reason(line: bytes) -> str:
    """Say what is wrong with the bytes, in one short sentence."""
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
