"""What a transcript may be and a reader may want to know: no errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foldlog.cli.formats.report import LineNote

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from foldlog.cli.formats.jsonl_source import Record


def notices_of(records: Sequence[Record]) -> Iterator[LineNote]:
    """Yield the notices of a file, in the order of its lines."""
    uuids = {_text(record, "uuid") for record in records}
    seen: set[str | None] = set()
    for record in records:
        if record.touches:
            yield LineNote(record.line, "it begins on the line of the record before it")
        if record.value is None:
            continue
        uuid, parent = _text(record, "uuid"), _text(record, "parentUuid")
        if uuid is not None and uuid in seen:
            yield LineNote(record.line, f"uuid {uuid} was used before: the later line counts")
        if parent is not None and parent not in uuids:
            yield LineNote(record.line, f"its parent {parent} is not in the file")
        seen.add(uuid)


def _text(record: Record, key: str) -> str | None:
    """Return what a line says under a key, where that is text."""
    value = record.value.get(key) if record.value else None
    return value if isinstance(value, str) else None
