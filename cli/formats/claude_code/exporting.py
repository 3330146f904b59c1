"""From events to the lines they came from, in their order."""

from __future__ import annotations

from heapq import merge
from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple

from foldlog.cli.formats.claude_code import lines
from foldlog.cli.formats.claude_code.from_view import lines_of
from foldlog.cli.formats.claude_code.shown import ShownLines
from foldlog.cli.formats.claude_code.writing import Writer
from foldlog.cli.formats.losses import Losses
from foldlog.eventstore.codec import dumps

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from foldlog.cli.formats.conversation import Conversation
    from foldlog.eventstore import Store
    from foldlog.eventstore.events import Event


UNWRITTEN = {
    "system.set": "system prompt",
    "tools.set": "set of tools",
    "message.system": "system message",
}
"""The types of live events that become no line, though the model sees them."""


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


def export_view(conversation: Conversation) -> Iterator[bytes]:
    """Yield the lines of a session, each with its newline.

    The lines of a transcript that was imported are given back. What was recorded live is written as
    the program would have kept it, and what another program kept as a transcript of its view.
    """
    if _is_of_another_program(conversation):
        return lines_of(conversation)
    version = conversation.view.version
    until = None if version >= conversation.session.head else version
    conversation.losses.take(_not_carried(conversation.store, conversation.id, until))
    write = export_whole if conversation.whole else export_lines
    return write(conversation.store, conversation.id, until)


def _is_of_another_program(conversation: Conversation) -> bool:
    """Return whether a session was imported from another program's files."""
    origin = conversation.harness
    is_own = (origin.get("harness"), origin.get("importer")) == ("claude-code", "foldlog")
    return "file" in origin and not is_own


def export_lines(store: Store, session: str, until: int | None = None) -> Iterator[bytes]:
    """Yield the lines of a session as its view shows it, each with its newline.

    What foldlog cleared, previewed, hid or marked is written as it is shown, so that the program
    sends that when it resumes. All else is as in ``export_whole``.

    Args:
        store: The store that holds the session.
        session: Its id.
        until: Only what was recorded up to this version of the session.
    """
    return _export(store, session, until, ShownLines.of(store, session, until))


def export_whole(store: Store, session: str, until: int | None = None) -> Iterator[bytes]:
    """Yield the lines of a session with all of their content: equal as JSON, in order.

    Lines that another session took up (sidechains inside the file) are put back between the others,
    and records that stood on one line stand on one line again. Events that were recorded live are
    written as that program would have kept them.

    Args:
        store: The store that holds the session.
        session: Its id.
        until: Only what was recorded up to this version of the session.
    """
    return _export(store, session, until, ShownLines())


def _export(store: Store, session: str, until: int | None, shown: ShownLines) -> Iterator[bytes]:
    end = None if until is None else _end(store, session, until)
    logs = [_exported(store.read(session, until=until), Writer(session, shown), shown)]
    for child in _inline_children(store, session):
        whole = ShownLines()
        side = _exported(store.read(child), Writer(child, whole), whole)
        logs.append(takewhile(lambda line: end is None or line.place <= end, side))
    pending: bytes | None = None
    for line in merge(*logs, key=lambda line: line.place):
        if pending is None:
            pending = line.content
        elif line.touches:
            pending += line.content
        else:
            yield pending + b"\n"
            pending = line.content
    if pending is not None:
        yield pending + b"\n"


def _not_carried(store: Store, session: str, until: int | None) -> Losses:
    """Return what a transcript has no line for: settings and system messages recorded live."""
    losses = Losses()
    for event in store.read(session, until=until, types=[*UNWRITTEN]):
        if not is_line(event) and "of" not in event.meta:
            losses.add(UNWRITTEN[event.type], "a transcript has no line for it")
    return losses


def is_line(event: Event) -> bool:
    """Return whether the event is a line of a transcript, and not derived from one."""
    source = event.meta.get("source")
    numbers = [source.get("line"), source.get("offset")] if isinstance(source, dict) else [None]
    return "of" not in event.meta and all(isinstance(number, int) for number in numbers)


def _exported(events: Iterable[Event], writer: Writer, shown: ShownLines) -> Iterator[Exported]:
    place = (0, 0)
    for recorded in events:
        event = shown.event(recorded)
        if event is None:
            place = max(place, _place(recorded)) if is_line(recorded) else place
            line = _stand_in(recorded, writer, shown)
            if line is not None:
                yield Exported(place, False, _json(line))
            continue
        if event.type == "source.unreadable" and is_line(event):
            place = max(place, _place(event))
            content = str(event.data["text"]).encode("utf-8", "surrogateescape")
            yield Exported(place, event.meta["source"].get("touches", False), content)
        elif is_line(event):
            place = max(place, _place(event))
            line = shown.placed(lines.join(event.type, event.data, event.meta.get("line")), event)
            writer.know(event, line)
            yield Exported(place, event.meta["source"].get("touches", False), _json(line))
        else:
            yield from (Exported(place, False, _json(line)) for line in writer.lines(event))
    yield from (Exported(place, False, _json(line)) for line in writer.end())


def _stand_in(event: Event, writer: Writer, shown: ShownLines) -> lines.Line | None:
    """Return the line in place of an event that the view does not show: a marker, or none."""
    text = shown.marker(event)
    marker = None if text is None else writer.marker(event, text)
    if is_line(event):
        line = lines.join(event.type, event.data, event.meta.get("line"))
        if marker is not None:
            marker = shown.placed({**marker, "parentUuid": line.get("parentUuid")}, event)
        shown.leave_out(line, event, marker)
    return marker


def _end(store: Store, session: str, version: int) -> tuple[int, int]:
    """Return where the last line stood that was recorded up to a version."""
    events = store.read(session, until=version)
    return max((_place(event) for event in events if is_line(event)), default=(0, 0))


def _place(event: Event) -> tuple[int, int]:
    source = event.meta["source"]
    return source["line"], source["offset"]


def _json(line: lines.Line) -> bytes:
    """Return compact JSON, every character as it is: the bytes that the program wrote.

    Spaced JSON hides a compaction from the program's own scanner, and a line whose characters are
    escaped would be another line when it is imported again.
    """
    return dumps(line).lstrip()


def _inline_children(store: Store, session: str) -> list[str]:
    """Return the subagents whose lines stand in the session's own file."""
    return [
        info.session
        for info in store.sessions()
        if info.parent == session
        and info.parent_kind == "subagent"
        and isinstance(info.origin, dict)
        and info.origin.get("inline")
    ]
