"""The ledger: attempts and failures, folded from the log.

Because it is a fold, it survives a restart: who opens the session again finds the same attempts
spent and the same circuit breaker open.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from foldlog.eventstore.events import Event

TYPES = ("summary.requested", "summary.written", "summary.failed")
"""The types of events that the ledger is made of; all others may be left out."""

DIED = "the program ended before an answer came"
"""Why an attempt failed that another one follows without an outcome."""


class Attempt(NamedTuple):
    """One attempt.

    Attributes:
        version: Its ``summary.requested``.
        by: Who made it.
        requests: How many requests to a model it took; 1 while nothing is known of its outcome.
    """

    version: int
    by: str
    requests: int = 0


@dataclass(frozen=True, slots=True)
class Ledger:
    """The outcomes of the attempts to summarize.

    Attributes:
        attempts: All of them, ascending.
        open: The newest attempt, while nothing is known of its outcome.
        failures: How many attempts in a row failed, by who made them.
        causes: Why the newest attempt failed, by who made it, in a few words.
        skipped: The version of the newest note that no attempt was made.
    """

    attempts: tuple[Attempt, ...] = ()
    open: int | None = None
    failures: Mapping[str, int] = field(default_factory=dict)
    causes: Mapping[str, str] = field(default_factory=dict)
    skipped: int = 0

    def then(self, event: Event) -> Ledger:
        """Return the ledger after one more event.

        An attempt that is followed by another one without an outcome failed: the process died in
        it, and that counts.
        """
        if event.type == "summary.requested":
            asks = event.data.get("prompt") is not None
            made = Attempt(event.version, str(event.data.get("by")), int(asks))
            known = self if self.open is None else self._failed(self.attempts[-1].by, DIED)
            return replace(known, attempts=(*self.attempts, made), open=event.version)
        if event.type == "summary.written":
            attempts = self._counted(event)
            return replace(self, attempts=attempts, open=None, failures={}, causes={})
        if event.type == "summary.failed" and event.data.get("attempt") is None:
            return replace(self, skipped=event.version)
        if event.type == "summary.failed":
            known = self._failed(str(event.data.get("by")), _cause(event))
            return replace(known, attempts=self._counted(event), open=None)
        return self

    def spent(self, by: str, since: int) -> int:
        """Return how many attempts a summarizer made after a version."""
        return sum(1 for made in self.attempts if made.version > since and made.by == by)

    def requests(self, since: int) -> int:
        """Return how many requests to a model were made after a version."""
        return sum(made.requests for made in self.attempts if made.version > since)

    def _counted(self, outcome: Event) -> tuple[Attempt, ...]:
        """Return the attempts, once it is known how many requests one of them took."""
        requests = outcome.data.get("requests")
        if not isinstance(requests, int):
            return self.attempts
        return tuple(
            made._replace(requests=requests)
            if made.version == outcome.data.get("attempt")
            else made
            for made in self.attempts
        )

    def _failed(self, by: str, cause: str) -> Ledger:
        """Return the ledger with one more failure of a summarizer."""
        failures = {**self.failures, by: self.in_a_row(by) + 1}
        return replace(self, failures=failures, causes={**self.causes, by: cause})

    def in_a_row(self, by: str) -> int:
        """Return how many attempts of one summarizer in a row failed."""
        return self.failures.get(by, 0)

    def is_broken(self, by: str, limit: int | None) -> bool:
        """Return whether the circuit breaker is open for a summarizer."""
        return limit is not None and self.in_a_row(by) >= limit


def _cause(failed: Event) -> str:
    reason, problem = failed.data.get("reason"), failed.data.get("problem")
    return f"{problem} ({reason})" if problem else str(reason)


def ledger(events: Iterable[Event]) -> Ledger:
    """Return the ledger of a session, from its events in version order."""
    found = Ledger()
    for event in events:
        found = found.then(event)
    return found
