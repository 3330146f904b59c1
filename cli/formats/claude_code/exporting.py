"""From events to the lines they came from, in their order."""

from __future__ import annotations

from heapq import merge
from typing import TYPE_CHECKING, NamedTuple

from foldlog.cli.formats.claude_code import lines
from foldlog.eventstore.codec import dumps

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from foldlog.eventstore import EventStore
    from foldlog.eventstore.events import Event


class Exported(NamedTuple):
    """A line on its way out.

    Attributes:
        place: Its line number and offset; never less than that of the line before it in its log.
        touches: It stood on the line of the record before it.
        content: Its bytes, without a newline.
    """

    place: tuple[int, int]
    touches: bool
    content: bytes


def export_lines(store: EventStore, session: str, until: int | None = None) -> Iterator[bytes]:
    """The lines of a session, each with its newline: equal as JSON, in order.

    Lines that another session took up (sidechains inside the file) are put back between the others,
    and records that stood on one line stand on one line again.

    Args:
        until: Only the lines up to this version of the session.
    """
    end = None if until is None else _place_at(store, session, until)
    logs = [store.read(name) for name in (session, *_inline_children(store, session))]
    pending: bytes | None = None
    for line in merge(*map(_exported, logs), key=lambda line: line.place):
        if end is not None and line.place > end:
            break
        if pending is None:
            pending = line.content
        elif line.touches:
            pending += line.content
        else:
            yield pending + b"\n"
            pending = line.content
    if pending is not None:
        yield pending + b"\n"


def _place_at(store: EventStore, session: str, version: int) -> tuple[int, int]:
    """Where the last line stood that was recorded up to a version."""
    places = [line.place for line in _exported(store.read(session, until=version))]
    return places[-1] if places else (0, 0)


def is_line(event: Event) -> bool:
    """Whether the event is a line of a transcript, and not derived from one."""
    return "source" in event.meta and "of" not in event.meta


def line_bytes(event: Event) -> bytes:
    """The line that an event came from, as compact JSON; what was no JSON as it was."""
    if event.type == "source.unreadable":
        return str(event.data["text"]).encode("utf-8", "surrogateescape")
    return dumps(lines.join(event.type, event.data, event.meta.get("line"))).lstrip()


def _exported(events: Iterable[Event]) -> Iterator[Exported]:
    place = (0, 0)
    for event in events:
        if is_line(event):
            source = event.meta["source"]
            place = max(place, (source["line"], source["offset"]))
            yield Exported(place, source.get("touches", False), line_bytes(event))


def _inline_children(store: EventStore, session: str) -> list[str]:
    """The subagents whose lines stand in the session's own file."""
    return [
        info.session
        for info in store.sessions()
        if info.parent == session
        and info.parent_kind == "subagent"
        and isinstance(info.origin, dict)
        and info.origin.get("inline")
    ]
