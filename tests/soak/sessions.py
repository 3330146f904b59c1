"""The sessions of the soak test: a kind of harness, a policy and a model each."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from foldlog.eventstore import EventStore
from tests.server import serving
from tests.soak.effort import Effort, growth, watched
from tests.soak.harness import made
from tests.soak.model import Model
from tests.soak.proof import proven

TURNS = int(os.environ.get("FOLDLOG_SOAK_TURNS", "2000"))
"""The turns of all sessions together."""

SEED = os.environ.get("FOLDLOG_SOAK_SEED", "foldlog")

AGAIN = f"FOLDLOG_SOAK_TURNS={TURNS} FOLDLOG_SOAK_SEED={SEED} python -m pytest tests/soak"
"""What leads to the same sessions again."""

WINDOW = 12_000
"""The window of the server in tokens: about ten turns fill it."""

MOST = 1.5
"""How much more the last third of the turns may cost than the third before it. They are not the
same turns: the outputs are of random lengths."""


@dataclass(frozen=True)
class Kind:
    """A session to be made.

    Attributes:
        harness: See ``tests.soak.harness``.
        policy: What the views are prepared under.
        llm: The model that is asked for.
        knows: Whether the window is known beforehand; else the API tells with its first refusal.
    """

    harness: str
    policy: str | None = "adaptive"
    llm: str = "claude-opus-5-5"
    knows: bool = True

    def __str__(self) -> str:
        return " ".join(filter(None, (self.harness, self.policy, self.llm)))


KINDS = [
    Kind("own"),
    Kind("rendered"),
    Kind("on a loop", llm="claude-sonnet-4-6", knows=False),
    Kind("observed", policy=None, llm="claude-opus-4-8"),
    Kind("own", "claude-code", "claude-opus-4-8"),
    Kind("rendered", "learn-claude-code", "claude-opus-4-1"),
    Kind("own", "pi"),
    Kind("rendered", llm="claude-opus-4-8"),
]


@dataclass
class Soaked:
    """What a session cost.

    Attributes:
        turns: Each turn's work.
        apart: The turns in which the past was read on purpose: a session was taken up anew, or a
            view was compacted, for a summary tells of all that it stands for.
        requests: How many requests the server got.
    """

    turns: list[Effort] = field(default_factory=list)
    apart: set[int] = field(default_factory=set)
    requests: int = 0

    @property
    def growth(self) -> dict[str, float]:
        """How much more the later turns cost; see ``effort.growth``."""
        return growth([turn for at, turn in enumerate(self.turns) if at not in self.apart])


def soaked(kind: Kind, turns: int, seed: str, folder: Path) -> Soaked:
    """Run a session, and prove it.

    Raises:
        AssertionError: Something does not hold.
    """
    model = Model(Random(f"{seed} {kind}"), WINDOW)
    known = {"policy": kind.policy, "reserve": 1_000} | ({"window": WINDOW} if kind.knows else {})
    with serving() as api, EventStore(folder / "soak.db", synchronous="NORMAL") as store:
        api.window, api.respond = WINDOW, model.respond
        harness = made(kind.harness, api, store, "soak", model, kind.llm, **known)
        effort, found = watched(store), Soaked()
        for number in range(turns):
            before, session = effort.copy(), harness.session
            harness.turn()
            effort.events, effort.requests = store.last("soak"), len(api.requests)
            found.turns.append(effort.since(before))
            if harness.session is not session or was_compacted(store, before.events):
                found.apart.add(number)
        harness.close()
        found.requests = len(api.requests)
        proven(api, harness)
    return found


def was_compacted(store: EventStore, after: int) -> bool:
    """Whether a view was, behind a version."""
    return next(store.read("soak", after=after, types=("view.edited",)), None) is not None


def shares(turns: int) -> Iterator[tuple[Kind, int]]:
    """The sessions, and how many of the turns each has."""
    for at, kind in enumerate(KINDS):
        yield kind, turns // len(KINDS) + (at < turns % len(KINDS))
