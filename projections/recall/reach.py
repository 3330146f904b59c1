"""Which sessions a reader may read, and what a name means there."""

from __future__ import annotations

from contextlib import suppress

from foldlog.eventstore import Event, FoldlogError, InvalidView, Store
from foldlog.projections.explain.why import Sight, sight
from foldlog.projections.recall.quoted import one_line
from foldlog.projections.recall.tool import Mistake, Named
from foldlog.projections.view.address import Handle
from foldlog.projections.view.open import Resumed
from foldlog.projections.view.view import View
from foldlog.projections.wire.blocks import CALLS, blocks, call_id, content_of, kind
from foldlog.projections.wire.pairing import Pairing

FIRST_LOOK = 64
"""How many versions before a result are first searched for its call; each further look doubles."""

FARTHEST = 4_096
"""The farthest before a result that its call is looked for, in versions."""


class Reach:
    """What one reader may read: its own session with what that inherits, or all of a store.

    Args:
        store: Where everything is.
        own: The session whose view the reader sees.
        everything: Whether other sessions may be read, too.
    """

    def __init__(self, store: Store, own: str, everything: bool) -> None:
        self.store = store
        self.own = own
        self.everything = everything
        self._resumed = Resumed(store, own)

    def session(self, named: Named, within: str) -> str:
        """Return the session in which to read what is named.

        An event of another session may be read if this session has it, too, because one of the two
        inherited it.

        Raises:
            Mistake: It is another session's. The error does not reveal whether that one exists.
        """
        name = within if named.session is None else named.session
        if name in (self.own, within):
            return name
        if self.everything:
            return name if self.store.exists(name) else self.store.find_session(name)
        last = named.version if named.last is None else named.last
        if isinstance(last, int) and self._shares(name, last):
            return self.own
        raise Mistake(
            f"{one_line(name, 80)!r} is another session; this tool reads its own and no other."
            ' Name a version of this session ({"show": "12"}), or search.'
        )

    def owns(self, event: Event) -> bool:
        """Tell if an event is one of the own session, recorded there or inherited."""
        return event.session == self.own or self._at(self.own, event.version) == event.position

    def name(self, session: str, version: int, block: int | None = None) -> str:
        """Return the name by which a reader gets at an event: short in its own session."""
        if session == self.own:
            return f"{version}#{block}" if block else str(version)
        return str(Handle(session, version, block))

    def view(self, session: str, until: int | None = None) -> View | None:
        """Return the view of a session; None if it cannot be folded."""
        resumed = self._resumed if session == self.own else Resumed(self.store, session)
        with suppress(InvalidView):
            return resumed.view(until)
        return None

    def call(self, session: str, result: Event) -> dict[str, object] | None:
        """Return the call that a result answers; None if it is not found near the result."""
        id, look, first = call_id(result.data) or "", FIRST_LOOK, result.version
        pairing = Pairing[dict[str, object]]()
        while id and first > 1 and result.version - first < FARTHEST:
            first, look = max(1, result.version - look), 2 * look
            pairing = self._calls(session, first, result.version - 1)
            if pairing.next(id) is not None:
                break
        return pairing.answer(id)

    def _calls(self, session: str, first: int, last: int) -> Pairing[dict[str, object]]:
        """Return the calls of a range, those that are answered in it taken."""
        found = Pairing[dict[str, object]]()
        types = ["message.assistant", "tool.result"]
        for event in self.store.read_ranges(session, [(first, last)], types):
            if event.type == "tool.result":
                found.answer(call_id(event.data) or "")
                continue
            for block in blocks(content_of(event.data.get("content"))):
                if kind(block) in CALLS:
                    found.made(call_id(block) or "", block, event.version, event.data.get("id"))
        return found

    def _shares(self, other: str, version: int) -> bool:
        place = self._at(self.own, version)
        return place is not None and place == self._at(other, version)

    def _at(self, session: str, version: int) -> int | None:
        """Return the position of an event; None if there is none that can be read."""
        with suppress(FoldlogError):
            return self.store.get(session, version).position
        return None


def sight_in(view: View | None, event: Event) -> Sight:
    """Return how a model sees an event in a view; that it is not known if there is no view."""
    if view is None or event.version > view.version:
        return Sight("no", "not known how it is shown")
    return sight(view, event)
