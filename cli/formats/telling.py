"""What an export for people tells of a session: all of it, or a part, with secrets masked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from foldlog.cli.formats.secrets import Masker
from foldlog.eventstore import Store
from foldlog.projections.explain.narrative import (
    Call,
    Heading,
    Narrative,
    Passage,
    Result,
    Said,
    Title,
    Toolset,
    narrate,
)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Telling:
    """What an export shows of a session.

    Attributes:
        prompts: Only what the person said.
        without_tools: No calls, no results, no lists of tools.
        masker: Masks secrets; None leaves them.
    """

    prompts: bool = False
    without_tools: bool = False
    masker: Masker | None = None

    def narrate(self, store: Store, session: str, until: int | None = None) -> Narrative:
        """Tell a session: see ``narrate`` of foldlog.projections.explain.narrative."""
        told = _with_words(filter(self._tells, narrate(store, session, until)))
        if self.masker is None:
            return told
        return map(self.masker.mask, _learned(self.masker, store, session, until, told))

    def masked(self, value: T) -> T:
        """Return a value, such as what a list says of a session, with its secrets masked."""
        return value if self.masker is None else self.masker.mask(value)

    def _tells(self, passage: object) -> bool:
        if self.prompts:
            return isinstance(passage, Title) or _is_said_by_a_person(passage)
        return not (self.without_tools and isinstance(passage, (Call, Result, Toolset)))


ALL = Telling()
"""Everything, as it is."""


def _learned(
    masker: Masker, store: Store, session: str, until: int | None, told: Narrative
) -> Narrative:
    """Look at a whole session first, so that a secret is masked also before it is recognised."""
    for passage in narrate(store, session, until):
        masker.learn(passage)
    yield from told


def _is_said_by_a_person(passage: object) -> bool:
    if not isinstance(passage, Passage) or passage.who != "user":
        return False
    line = passage.event.meta.get("line")
    by_harness = isinstance(line, dict) and bool(line.get("isMeta"))
    return isinstance(passage, (Heading, Said)) and not by_harness


def _with_words(told: Narrative) -> Narrative:
    """Leave out headings that nothing follows."""
    waiting: list[Heading] = []
    for passage in told:
        if isinstance(passage, Heading):
            waiting = [passage]
            continue
        if waiting and isinstance(passage, Passage) and passage.who is not None:
            yield from waiting
        waiting = []
        yield passage
