"""The exits: who is asked for a summary, and who is asked next when that failed.

    the summarizer → the same in chunks, where it was too long → the digest from the log

A policy says which of them it has. Each is asked at most twice, so the number of calls is bounded.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, TypeAlias, get_args

from foldlog.projections.summaries import (
    ChunkedSummarizer,
    DigestSummarizer,
    Summarizer,
    SummaryFailed,
)

Exit: TypeAlias = Literal["chunked", "digest", "tail"]
EXITS: tuple[Exit, ...] = get_args(Exit)
"""The ways out of a summary that failed: in chunks, from the log, without one."""

CHUNK = 0.5
"""The share of the room that one chunk may take. Chosen: what is asked and the answer take little,
and an estimate can be wrong by a third."""


class Fallbacks:
    """Summarizers, one after the other, until one succeeds.

    Args:
        first: Who is asked first.
        allowed: The exits that the policy has.
        room: The most tokens that a request may take.
    """

    def __init__(self, first: Summarizer, allowed: tuple[str, ...], room: int) -> None:
        self._first = first
        self._allowed = allowed
        self._room = room
        self.failure: Exception | None = None

    def __iter__(self) -> Iterator[Summarizer]:
        yield self._first
        if self._may("chunked") and self._first.asks_model and self._was_too_long():
            yield ChunkedSummarizer(self._first, int(self._room * CHUNK))
        if self._may("digest") and self._first.name != DigestSummarizer().name:
            yield DigestSummarizer()

    def _may(self, exit: Exit) -> bool:
        return exit in self._allowed and not self._was_refused()

    def _was_too_long(self) -> bool:
        return isinstance(self.failure, SummaryFailed) and self.failure.reason == "too_long"

    def _was_refused(self) -> bool:
        """Return whether a hook refuses the compaction: then no other summarizer is welcome."""
        return isinstance(self.failure, SummaryFailed) and self.failure.reason == "hook"
