"""The fold: from events to what any view is made of.

No message is touched. Five types of events need more than a counter: ``head.moved`` bends the
lineage, ``view.edited`` paints it, and ``system.set``, ``tools.set`` and ``state.set`` are
settings; the newest of each on the lineage is in force. The fold keeps their numbers; texts stay
in the events.

The newest layout is kept up to date: an edit is painted over it, a move makes it stale. What is
older is only unpacked when it is needed, so that a resumed fold costs what the view costs.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

from foldlog.eventstore.errors import InvalidView
from foldlog.eventstore.events import Event
from foldlog.projections.view.lineage import Lineage, Move, Moves, Range, is_version
from foldlog.projections.view.pieces import Stroke, Summary, paint, shown_from_json

CONTROL = frozenset({"head.moved", "view.edited", "system.set", "tools.set", "state.set"})
"""The types of events that a fold needs to see; of all others it needs only the version."""

FORMAT = 1
"""The format of a dump. A dump of another format is not used: the log is folded again."""


@dataclass(frozen=True, slots=True)
class Layout:
    """What one view is made of, as numbers.

    Attributes:
        version: The view is of ``L(version)``.
        head: The tip of the lineage, not counting moves that end it.
        lineage: ``L(version)``.
        painted: What is visible of the edits on the lineage, ascending; the rest is whole.
        settings: The version in force of ``system``, ``tools`` and each ``state:KEY``.
    """

    version: int
    head: int
    lineage: Lineage
    painted: list[Stroke]
    settings: dict[str, int]


@dataclass(slots=True)
class _History:
    """All edits and settings, on any lineage, in version order.

    An edit that cannot be folded is kept as the reason: only a lineage that holds it has no view.
    """

    edits: dict[int, tuple[Range, ...] | str] = field(default_factory=dict)
    settings: dict[str, list[int]] = field(default_factory=dict)

    def strokes(self, lineage: Lineage, after: int = 0) -> list[Stroke]:
        """Return the strokes of all edits on a lineage, oldest first."""
        found: list[Stroke] = []
        later = takewhile(lambda edit: edit > after, reversed(self.edits))
        for edit in reversed(list(later)):
            ranges = self.edits[edit]
            if edit in lineage:
                if isinstance(ranges, str):
                    raise bad_edit(edit, ranges)
                found += [Stroke(*ends, edit, entry) for entry, ends in enumerate(ranges)]
        return found

    def newest(self, lineage: Lineage) -> dict[str, int]:
        """Return the version in force of each setting."""
        found = ((name, lineage.newest(versions)) for name, versions in self.settings.items())
        return {name: version for name, version in found if version is not None}

    def between(self, after: int, until: int) -> dict[str, int]:
        """Return the last version of each setting after one version, up to another."""
        last = {
            name: versions[at - 1]
            for name, versions in self.settings.items()
            if (at := bisect_right(versions, until))
        }
        return {name: version for name, version in last.items() if version > after}

    def before(self, later: _History) -> _History:
        """Return this history followed by a later one."""
        settings = {name: list(versions) for name, versions in self.settings.items()}
        for name, versions in later.settings.items():
            settings.setdefault(name, []).extend(versions)
        return _History({**self.edits, **later.edits}, settings)


class Fold:
    """All views of one session, from the events that shape them.

    ``add`` takes events in version order; those that are not of a ``CONTROL`` type may be left out,
    and ``reach`` then says how far the log goes.
    """

    def __init__(self) -> None:
        self.version = 0
        self.moves = Moves()
        self._history = _History()
        self._packed: str | None = None
        self._newest = Layout(0, 0, Lineage(()), [], {})

    def copy(self) -> Fold:
        """Return a copy: what is added to one of the two is not seen by the other."""
        other = Fold()
        other.version, other.moves = self.version, Moves(self.moves)
        other._history, other._packed = _History().before(self._history), self._packed
        other._newest = self._newest
        return other

    def reach(self, version: int) -> None:
        """Note that the log reaches a version; what was not added is not a control event."""
        self.version = max(self.version, version)

    def add(self, event: Event) -> None:
        """Add the next event.

        Raises:
            ValueError: Its version is not higher than those that were added.
        """
        if event.version <= self.version:
            raise ValueError(
                f"version {event.version} was added after {self.version}; add events in order"
            )
        take = _TAKERS.get(event.type)
        if take:
            take(self, event)
        self.version = event.version

    def layout(self, until: int | None = None) -> Layout:
        """Return what the view at a version is made of; at the newest by default.

        Raises:
            InvalidView: A move or an edit on its lineage cannot be folded; the error names it.
        """
        version = self.version if until is None else min(until, self.version)
        if version < self._newest.version or self.moves.latest > self._newest.version:
            layout = self._derive(version)
        else:
            layout = self._extend_newest(version)
        if version == self.version:
            self._newest = layout
        return layout

    def strokes(self, layout: Layout) -> list[Stroke]:
        """Return the entries of all edits that count in a layout, the oldest first."""
        return self._unpack().strokes(layout.lineage)

    def setting_at(self, name: str, version: int) -> int | None:
        """Return the version in force of a setting, as of ``L(version)``."""
        if version == self._newest.version:
            return self._newest.settings.get(name)
        versions = self._unpack().settings.get(name)
        return self.moves.lineage(version).newest(versions) if versions else None

    def dump(self) -> dict[str, Any]:
        """Return the fold as JSON: the newest layout ready for use, the history packed in one text.

        Raises:
            InvalidView: There is no view at the newest version; the error names what is wrong.
        """
        layout, history = self.layout(), self._unpack()
        return {
            "format": FORMAT,
            "version": layout.version,
            "lineage": layout.lineage.ranges,
            "painted": [tuple(stroke) for stroke in layout.painted],
            "settings": layout.settings,
            "moves": [tuple(move) for move in self.moves],
            "history": json.dumps([list(history.edits.items()), history.settings]),
        }

    @classmethod
    def load(cls, state: Mapping[str, Any]) -> Fold | None:
        """Return the fold of a dump; None if the dump has another format."""
        if state.get("format") != FORMAT:
            return None
        fold = cls()
        fold.version = state["version"]
        fold.moves = Moves(
            Move(version, to, None if path is None else _ranges(path), problem)
            for version, to, path, problem in state["moves"]
        )
        fold._packed = state["history"]
        lineage = Lineage(_ranges(state["lineage"]))
        painted = [Stroke(*stroke) for stroke in state["painted"]]
        head = fold.moves.head(lineage)
        fold._newest = Layout(fold.version, head, lineage, painted, dict(state["settings"]))
        return fold

    def _derive(self, version: int) -> Layout:
        """Return a layout from the whole history: painted once, when all its edits are known."""
        history, lineage = self._unpack(), self.moves.lineage(version)
        painted = paint(history.strokes(lineage))
        return Layout(version, self.moves.head(lineage), lineage, painted, history.newest(lineage))

    def _extend_newest(self, version: int) -> Layout:
        """Return the newest layout with what was added since, if nothing moved."""
        since = self._newest
        if version == since.version:
            return since
        lineage = since.lineage.extended(version)
        strokes = self._history.strokes(lineage, after=since.version)
        painted = paint([*since.painted, *strokes]) if strokes else since.painted
        settings = since.settings | self._history.between(since.version, version)
        return Layout(version, self.moves.head(lineage), lineage, painted, settings)

    def _unpack(self) -> _History:
        if self._packed is not None:
            edits, settings = json.loads(self._packed)
            older = _History(
                {edit: r if isinstance(r, str) else _ranges(r) for edit, r in edits}, settings
            )
            self._history, self._packed = older.before(self._history), None
        return self._history

    def _take_move(self, event: Event) -> None:
        self.moves.add(event.version, event.data)

    def _take_edit(self, event: Event) -> None:
        self._history.edits[event.version] = self._ranges(event)

    def _take_setting(self, event: Event) -> None:
        name = _SETTINGS.get(event.type) or f"state:{event.data.get('key')}"
        self._history.settings.setdefault(name, []).append(event.version)

    def _ranges(self, event: Event) -> tuple[Range, ...] | str:
        """Return the ranges of an edit's entries; or why they cannot be folded."""
        edits = event.data.get("edits")
        if not isinstance(edits, list):
            return f"its edits are {edits!r}, not a list"
        problems = (self.problem(event.version, entry) for entry in edits)
        problem = next(filter(None, problems), None)
        return problem or tuple((entry["first"], entry["last"]) for entry in edits)

    def problem(self, version: int, entry: Any) -> str | None:
        """Return why an entry cannot be folded if its edit were recorded as that version."""
        try:
            shown = shown_from_json(entry)
            first, last = entry["first"], entry["last"]
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            return f"the entry {entry!r} is not valid: {error}"
        if not (is_version(first) and is_version(last)):
            return f"the range {first!r} to {last!r} is not valid: its ends are not versions"
        if not 0 < first <= last < version:
            return (
                f"the range {first} to {last} is outside the lineage, which ends at {version - 1}"
            )
        tip = version - 1
        if not self.moves.meets(tip, first, last):
            return f"the range {first} to {last} was left behind by a head.moved"
        if isinstance(shown, Summary) and not self.moves.holds(tip, shown.version):
            return f"the summary {shown.version} is not there"
        return None


def bad_edit(version: int, problem: str) -> InvalidView:
    """Return the error for an edit in the log that cannot be folded; it names its version."""
    return InvalidView(
        f"version {version} (view.edited) cannot be folded: {problem}."
        f" Views up to {version - 1} are sound; a rewind to {version - 1} leaves the edit behind.",
        version,
    )


def _ranges(pairs: Iterable[Any]) -> tuple[Range, ...]:
    return tuple((first, last) for first, last in pairs)


_SETTINGS = {"system.set": "system", "tools.set": "tools"}
_TAKERS = {
    "head.moved": Fold._take_move,
    "view.edited": Fold._take_edit,
    "system.set": Fold._take_setting,
    "tools.set": Fold._take_setting,
    "state.set": Fold._take_setting,
}
