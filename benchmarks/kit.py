"""The ``adaptive`` policy with the digest, as ``compaction-conformance-kit`` (PyPI) tests it.

    pip install compaction-conformance-kit
    compaction-kit check benchmarks/kit.py:Adaptive --budgets 10%,20%,30%

The kit plants rules, facts and preferences in a talk, has it compacted round after round, and looks
for them in what is left. It hands the text of a round to the next; here that is the same session,
compacted once more, as an agent would do it. No model is asked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from foldlog import EventStore, Session, View, render
from foldlog.eventstore.errors import ContextError
from foldlog.projections.wire.blocks import content_of, plain_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

CHARS_A_TOKEN = 3.2
"""English prose, as the project estimates it."""

TRIES = 24
"""Windows that are tried, each a seventh smaller than the one before, until the view fits."""


class Adaptive:
    """A compactor of the kit."""

    name = "foldlog-adaptive-digest"

    def __init__(self) -> None:
        self._session: Session | None = None
        self._text: str | None = None
        self._chars = 0

    def compact(
        self, turns: Iterable[Any], round_num: int = 1, budget_chars: int | None = None
    ) -> Any:
        """Return the talk, compacted; without a budget, to a fifth."""
        from compaction_kit import CompactedContext

        given = list(turns)
        if self._session is None or [turn.text for turn in given] != [self._text]:
            self._session = recorded(given)
            self._chars = sum(len(turn.text) for turn in given) // 5
        self._session, self._text = fitted(self._session, budget_chars or self._chars)
        return CompactedContext(self._text, self.name, round_num)


def recorded(turns: Iterable[Any]) -> Session:
    """Return a session that holds a talk."""
    session = Session(EventStore(":memory:"), "talk")
    for turn in turns:
        if turn.role == "system":
            session.system(turn.text)
        elif turn.role == "assistant":
            session.assistant([{"type": "text", "text": turn.text}])
        else:
            session.user(turn.text)
    return session


def fitted(session: Session, chars: int) -> tuple[Session, str]:
    """Return a fork of a session whose view takes at most so many characters, and its text."""
    shown, window = told(session.view()), chars / CHARS_A_TOKEN * 4
    best = session, shown
    for _ in range(TRIES):
        if len(best[1]) <= chars:
            break
        fork = session.fork()
        try:
            text = told(fork.compact("adaptive", window=int(window)))
        except ContextError:
            text = shown
        best = min(best, (fork, text), key=lambda found: len(found[1]))
        window *= 6 / 7
    return best


def told(view: View) -> str:
    """Return what the model sees, as text."""
    return "\n".join(_lines(render(view, open="keep")))


def _lines(request: dict[str, Any]) -> Iterator[str]:
    if request.get("system"):
        yield f"[system] {request['system']}"
    for message in request["messages"]:
        yield f"[{message['role']}] {plain_text(content_of(message['content']))}"
