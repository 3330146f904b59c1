"""Sources that are a list of messages: grown, cut and rewritten, without saying what was replaced.

A message becomes *pieces*, one for each event. A piece is named by what it says: in a list that was
rewritten, what is still there is known again, and only what is new is written. A new summary is
shown for what the list lost with it. For a log that says itself where it goes back, see
``shown_events``; for rows that have ids, ``rewritten``.
"""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from foldlog.cli.formats.report import LineNote
from foldlog.cli.formats.session_log import ON_LINEAGE
from foldlog.eventstore.codec import dumps

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from foldlog.cli.formats.jsonl_source import Record
    from foldlog.cli.formats.protocols import Source
    from foldlog.cli.formats.session_log import SessionLog
    from foldlog.eventstore.events import Json

DIGITS = 16
"""Digits of a SHA-256 in the key of a piece: it names one among those of one message."""

LONGEST_ID = 200
"""Characters of the longest id that is part of a key as it is: a key has 500 at most."""

COPY = "the session is from another file and holds more: what is new here is recorded, not shown"


class Piece(NamedTuple):
    """One event of a message.

    Attributes:
        key: What names it within its session.
        type: The event's type.
        data: Its data.
        record: The record that it comes from.
        occurred: When it happened, as the source writes it.
        line: The message as the source has it, where no other event keeps it.
        is_summary: It stands for what the list lost with it.
    """

    key: str
    type: str
    data: dict[str, Json]
    record: Record
    occurred: Json = None
    line: dict[str, Json] | None = None
    is_summary: bool = False


def is_copy(source: Source, origin: dict[str, Json] | None) -> bool:
    """Return whether a session that is in the store came from another file."""
    return origin is not None and Path(str(origin.get("file"))).resolve() != source.path.resolve()


def digest_of(value: Json) -> str:
    """Return the digits that name a JSON value."""
    return sha256(dumps(value)).hexdigest()[:DIGITS]


def name_in_key(id: str) -> str:
    """Return an id as it can be part of a key: itself, or what names it where it is odd."""
    return id if len(id) <= LONGEST_ID and id.isprintable() else digest_of(id)


class MessageList:
    """What a list of messages holds now, as events of a log.

    Args:
        log: The session's log, begun.
        from_head: What the list held before is what the head shows: where only the last state of a
            list is on disk. Otherwise the list is empty, and all that happened to it follows.
    """

    def __init__(self, log: SessionLog, *, from_head: bool = False) -> None:
        self._log = log
        self._began = log.version
        self._before = log.shown()
        self._seen: set[int] = set()
        self._shown = [*self._before] if from_head else []
        self._held = set(self._shown)
        self._follows = self._shown == self._before
        self._covered: dict[str, list[int]] = {}

    def extend(self, pieces: Iterable[Piece]) -> None:
        """Append messages; what the list holds already is not there twice."""
        for piece in pieces:
            self._hold(piece)

    def replace(self, pieces: Sequence[Piece]) -> int:
        """Hold these messages from here on, in this order.

        A summary that is new stands for those that were in the list and no longer are.

        Returns:
            How many events of the list it holds no longer.
        """
        count, end = self._agreement(pieces)
        before, rest, gone = self._shown, pieces[count:], self._shown[end:]
        self._shown = before[:end]
        self._held = set(self._shown)
        self._follows = self._follows and not gone
        self._seen |= self._held
        kept = {self._version_of(piece) for piece in rest}
        lost = [version for version in gone if version not in kept]
        for piece in rest:
            if piece.is_summary and lost:
                covered = self._covered.setdefault(piece.key, lost)
                self._append([*covered, *self._summarize(piece, covered, before)])
            else:
                self._hold(piece)
        return len(set(gone) - self._held)

    def finish(self, *, is_copy: bool = False) -> list[LineNote]:
        """Bring the head to what the list holds, if that is not what it was.

        What somebody did to the session in foldlog stays while the source says nothing new.

        Args:
            is_copy: The list is from another file than the session. It is shown where it goes on
                from what the session held; an older state, or another ending, is only recorded.

        Returns:
            What a reader may want to know.
        """
        if is_copy and not self._held.issuperset(self._before):
            self._log.show(self._before)
            return [LineNote(0, COPY)]
        if self._log.version > self._began or not self._seen.issuperset(self._before):
            self._log.show(self._shown)
        return []

    def _hold(self, piece: Piece) -> None:
        """Write a piece, and hold it where it is part of the conversation."""
        version = self._write(piece)
        if piece.type in ON_LINEAGE:
            self._append([version])

    def _append(self, versions: Iterable[int]) -> None:
        new = [version for version in versions if version not in self._held]
        self._shown += new
        self._held.update(new)
        self._seen.update(new)

    def _agreement(self, pieces: Sequence[Piece]) -> tuple[int, int]:
        """Return how many pieces are at the beginning of the list, and where there they end."""
        end = 0
        for count, piece in enumerate(pieces):
            after = self._after(piece, end)
            if after is None:
                return count, end
            end = after
        return len(pieces), end

    def _after(self, piece: Piece, place: int) -> int | None:
        """Return the place after a piece that is next in the list; None if something else is."""
        version = self._version_of(piece)
        if version is not None and piece.type not in ON_LINEAGE:
            return place
        if version is None or version not in self._held:
            return None
        edit = self._log.version_of(f"{_summary(piece)}/shown")
        if edit is not None and edit in self._held:
            return self._shown.index(edit) + 1
        return place + 1 if self._shown[place : place + 1] == [version] else None

    def _version_of(self, piece: Piece) -> int | None:
        """Return the version of a piece: of the summary that it is, if it stands for others."""
        summary = self._log.version_of(_summary(piece)) if piece.is_summary else None
        return self._log.version_of(piece.key) if summary is None else summary

    def _write(self, piece: Piece) -> int:
        """Write a piece, unless it is known; what is new hangs on what the list holds."""
        known = self._log.version_of(piece.key)
        if piece.type in ON_LINEAGE and known not in self._held:
            if known is None and not self._follows:
                self._log.show(self._shown)
            self._follows = known is None
        return self._log.write(
            piece.type,
            piece.data,
            piece.key,
            source=self._log.source_of(piece.record),
            occurred=piece.occurred,
            line=piece.line,
        )

    def _summarize(self, piece: Piece, lost: Sequence[int], before: Sequence[int]) -> list[int]:
        """Write a summary after all that the list held before, shown for what was lost of it."""
        self._follows = False
        if _summary(piece) not in self._log:
            self._log.show(before)
        content, more = piece.data.get("content"), {**piece.data}
        del more["content"]
        return self._log.summarize(
            content, lost, _summary(piece), occurred=piece.occurred, line=piece.line, **more
        )


def _summary(piece: Piece) -> str:
    """Return the key under which a piece is recorded as a summary."""
    return f"{piece.key}/summary"
