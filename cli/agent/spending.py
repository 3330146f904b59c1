"""What sessions cost, folded from their logs, and the limit before the next request."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

from foldlog.eventstore import Event, FoldlogError, Store
from foldlog.eventstore.events import Json
from foldlog.projections.tokens.prices import cost

PAID = ("message.assistant", "summary.written", "summary.failed", "request.answered")
"""The events that hold the usage of a request."""


class LimitReached(FoldlogError):
    """The next request is not sent: the session has cost what it may."""


class Spending:
    """What a session and its subagents cost in dollars.

    Attributes:
        limit: What they may cost; None for any sum.
        dollars: What they cost, as far as the prices are known.
        unknown: The models whose prices are not known.
    """

    def __init__(self, limit: Decimal | None = None) -> None:
        self.limit = limit
        self.dollars = Decimal(0)
        self.unknown: set[str] = set()
        self._seen: dict[str, int] = {}

    def watch(self, store: Store, session: str) -> None:
        """Count a session in, with the subagents that it had."""
        self._seen.setdefault(session, 0)
        if self.limit is None:
            return
        for info in store.sessions():
            if info.parent == session and info.parent_kind == "subagent":
                self.watch(store, info.session)

    def check(self, store: Store, tell: Callable[[str], None]) -> None:
        """Before a request.

        Raises:
            LimitReached: The limit is reached.
        """
        if self.limit is None:
            return
        known = len(self.unknown)
        self.count(store)
        if len(self.unknown) > known:
            models = ", ".join(sorted(self.unknown))
            tell(f"The prices of {models} are not known: what it costs does not count.")
        if self.dollars >= self.limit:
            raise LimitReached(
                f"the session has cost ${self.dollars:.4f} of ${self.limit}; the next request is"
                " not sent. Go on with a higher --max-cost."
            )

    def count(self, store: Store) -> Decimal:
        """Return what was spent until now; each event is read once."""
        for session, seen in self._seen.items():
            for event in store.read(session, after=seen, types=PAID):
                self._seen[session] = event.version
                self._pay(event)
        return self.dollars

    def _pay(self, event: Event) -> None:
        model = event.data.get("model")
        usages = event.data.get("usage")
        for usage in usages if isinstance(usages, list) else [usages]:
            if isinstance(usage, dict):
                self._add(usage, str(model), event.at)

    def _add(self, usage: dict[str, Json], model: str, at: str) -> None:
        dollars = cost(usage, model, at)
        if dollars is None:
            self.unknown.add(model)
        else:
            self.dollars += dollars
