"""The view: the conversation as the model sees it at one version."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import cached_property
from types import MappingProxyType
from typing import Any, Protocol

from foldlog.eventstore.events import Event, EventDraft
from foldlog.projections.view.fold import Fold, Layout, bad_edit
from foldlog.projections.view.lineage import Range, join_ranges
from foldlog.projections.view.pieces import (
    Piece,
    Shown,
    Stroke,
    Summary,
    pieces_of,
    shown_from_json,
)

_NOTHING: Mapping[int, Event] = MappingProxyType({})


class Source(Protocol):
    """Where a view reads events."""

    def event(self, version: int) -> Event:
        """Return one event; raise VersionNotFound if there is none."""
        ...

    def load(self, ranges: Sequence[Range]) -> Iterator[Event]:
        """Yield the events of closed ranges, in the order given."""
        ...


class View:
    """The conversation as the model sees it at one version: an ordered list of pieces.

    A value: it never changes, whatever is appended later. Contents are loaded when they are first
    needed, those of all visible pieces together.

    Attributes:
        session: The session's id.
        version: The view shows ``L(version)``.
        head: The tip of the lineage, not counting moves that end it.
        lineage: The versions that it is made of, as closed ranges in conversation order.
        request: The ``request.sent`` that the view stands for: it is rendered as it was sent then.
            None for the view of a version.
    """

    request: Event | None = None

    def __init__(
        self,
        session: str,
        fold: Fold,
        source: Source,
        until: int | None = None,
        before: Mapping[int, Event] = _NOTHING,
    ) -> None:
        self.session = session
        self.layout: Layout = fold.layout(until)
        self.version = self.layout.version
        self.head = self.layout.head
        self.lineage: tuple[Range, ...] = self.layout.lineage.ranges
        self._fold = fold
        self._source = source
        self._before = before  # what an earlier view loaded: events never change
        self._loaded: dict[int, Event] = {}
        self._visible_loaded = False

    # -- pieces ------------------------------------------------------------------------------

    @cached_property
    def pieces(self) -> tuple[Piece, ...]:
        """The pieces in conversation order; together they are the lineage.

        Raises:
            InvalidView: An edit shows a summary that is not there; the error names its version.
        """
        edits = {stroke.edit for stroke in self.layout.painted}
        self._load((edit, edit) for edit in sorted(edits))
        pieces = pieces_of(self.layout.lineage, self.layout.painted, self.shown)
        self._check_summaries(pieces)
        return pieces

    def piece(self, version: int) -> Piece | None:
        """Return the piece that holds a version; None if it is not on the lineage."""
        at = bisect_left(self._ascending, version, key=lambda piece: piece.last)
        found = self._ascending[at] if at < len(self._ascending) else None
        return found if found and found.first <= version else None

    def shown(self, stroke: Stroke) -> Shown:
        """Return how an edit's entry shows its range; its texts are read from the edit's event."""
        return shown_from_json(self.event(stroke.edit).data["edits"][stroke.entry])

    def strokes(self) -> list[Stroke]:
        """Return the entries of all edits that count, the oldest first."""
        return self._fold.strokes(self.layout)

    def strokes_over(self, version: int) -> list[Stroke]:
        """Return those of them that cover a version."""
        return [stroke for stroke in self.strokes() if stroke.first <= version <= stroke.last]

    # -- settings ----------------------------------------------------------------------------

    @property
    def system(self) -> dict[str, Any] | None:
        """The data of the ``system.set`` in force; None without one."""
        return self._setting("system")

    @property
    def tools(self) -> dict[str, Any] | None:
        """The data of the ``tools.set`` in force; None without one."""
        return self._setting("tools")

    def state(self, key: str) -> Any:
        """Return the value of the ``state.set`` in force for a key; None without one."""
        data = self._setting(f"state:{key}")
        return data.get("value") if data else None

    @property
    def pins(self) -> tuple[int, ...]:
        """The versions that no edit may touch, ascending."""
        return self.pins_at(self.version)

    def pins_at(self, version: int) -> tuple[int, ...]:
        """Return the versions that were pinned at an earlier version."""
        setting = self._fold.setting_at("state:pins", version)
        value = self.event(setting).data.get("value") if setting else None
        found = value if isinstance(value, list) else []
        return tuple(sorted(version for version in found if isinstance(version, int)))

    # -- events ------------------------------------------------------------------------------

    def as_sent(self, request: Event) -> View:
        """Return the view as it stands for a ``request.sent`` that saw it."""
        view = copy(self)
        view.request = request
        return view

    def event(self, version: int) -> Event:
        """Return an event of the session, on the lineage or not.

        Raises:
            VersionNotFound: There is no such version.
        """
        known = self._known(version)
        return known if known is not None else self._source.event(version)

    def events(self, piece: Piece) -> Iterator[Event]:
        """Yield the events of a piece, ascending."""
        if not piece.hides:
            self._load_visible()
        return self.load([(piece.first, piece.last)])

    def behind(self, version: int) -> Iterator[Event]:
        """Yield the events of the lineage after a version, ascending; load nothing else."""
        wanted = self.layout.lineage.within(version + 1, self.version)
        return self.load(sorted(wanted))

    def load(self, ranges: Sequence[Range]) -> Iterator[Event]:
        """Yield the events of closed ranges, in the order given; read only unknown ones."""
        for first, last in ranges:
            known = [self._known(version) for version in range(first, last + 1)]
            found = [event for event in known if event is not None]
            yield from found if len(found) == len(known) else self._source.load([(first, last)])

    def edit_events(self) -> list[Event]:
        """Return the events of all edits that count, ascending."""
        edits = sorted({stroke.edit for stroke in self.strokes()})
        self._load((edit, edit) for edit in edits)
        return [self.event(edit) for edit in edits]

    @property
    def loaded(self) -> Mapping[int, Event]:
        """The events that were loaded to show the view; empty if it was not shown yet."""
        return self._loaded if self._visible_loaded else _NOTHING

    # -- other views -------------------------------------------------------------------------

    def at(self, version: int) -> View:
        """Return the view at an earlier version of the same log."""
        return View(self.session, self._fold, self._source, version, self._before)

    def then(self, drafts: Sequence[EventDraft]) -> View:
        """Return the view as it would be if these drafts were recorded next; record nothing.

        Only for the view at the session's last version.

        Raises:
            InvalidView: A move or an edit among them cannot be folded.
        """
        fold, ahead = self._fold.copy(), DraftSource(self, self.session, self.version, drafts)
        for event in ahead.events:
            fold.add(event)
        self._load_visible()  # most of it is shown there, too
        return View(self.session, fold, ahead, before=self._loaded)

    def problem(self, entry: Mapping[str, Any], coming: int = 0) -> str | None:
        """Return why an edit's entry could not be folded if it were recorded next; None if it can.

        This looks at ranges and numbers only; ``edits.check_edit`` looks at events too.

        Args:
            entry: The entry, as ``view.edited`` holds it.
            coming: How many events are recorded before the edit in the same append.
        """
        return self._fold.problem(self.version + 1 + coming, entry)

    @property
    def moves(self) -> list[int]:
        """The versions of all moves of the head up to this view, on its lineage or not."""
        return self._fold.moves.until(self.version)

    def left_by(self, version: int) -> int | None:
        """Return the ``head.moved`` that left a version behind; None if it is on the lineage."""
        return self._fold.moves.left_by(self.version, version)

    # -- loading -----------------------------------------------------------------------------

    def _setting(self, name: str) -> dict[str, Any] | None:
        version = self.layout.settings.get(name)
        return None if version is None else self.event(version).data

    def _check_summaries(self, pieces: Iterable[Piece]) -> None:
        shown = {p.shown.version: p.edit for p in pieces if isinstance(p.shown, Summary)}
        self._load((version, version) for version in sorted(shown))
        for version, edit in shown.items():
            there = version in self.layout.lineage
            if edit and not (there and self.event(version).type == "summary.written"):
                raise bad_edit(edit, f"the summary {version} is not there")

    @cached_property
    def _ascending(self) -> list[Piece]:
        return sorted(self.pieces, key=lambda piece: piece.first)

    def _known(self, version: int) -> Event | None:
        return self._loaded.get(version) or self._before.get(version)

    def _load_visible(self) -> None:
        if not self._visible_loaded:
            self._visible_loaded = True
            self._load((piece.first, piece.last) for piece in self.pieces if not piece.hides)

    def _load(self, ranges: Iterable[Range]) -> None:
        unknown = []
        for first, last in join_ranges(ranges):
            for version in range(first, last + 1):
                known = self._known(version)
                if known is None:
                    unknown.append((version, version))
                else:
                    self._loaded[version] = known
        if unknown:
            wanted = join_ranges(unknown)
            self._loaded.update((event.version, event) for event in self._source.load(wanted))


class DraftSource:
    """Another source and, after its last version, drafts that are not recorded."""

    def __init__(
        self, source: Source, session: str, version: int, drafts: Sequence[EventDraft]
    ) -> None:
        self._source = source
        self._version = version
        self.events = [
            Event(0, session, at, draft.type, draft.schema, "", {**draft.data}, {**draft.meta}, "")
            for at, draft in enumerate(drafts, version + 1)
        ]

    def event(self, version: int) -> Event:
        ahead = version - self._version
        return self.events[ahead - 1] if ahead > 0 else self._source.event(version)

    def load(self, ranges: Sequence[Range]) -> Iterator[Event]:
        for first, last in ranges:
            if first <= self._version:
                yield from self._source.load([(first, min(last, self._version))])
            yield from self.events[max(0, first - self._version - 1) : max(0, last - self._version)]
