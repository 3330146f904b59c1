"""Sound histories: for policies that act on nothing else."""

from __future__ import annotations

from typing import Any

from foldlog.eventstore.errors import ContextError
from foldlog.projections.blocks import CALL, call_id, kind
from foldlog.projections.compaction.window import Window


def refuse_unsound(window: Window) -> None:
    """Refuse a history whose calls and results do not cover each other exactly.

    Calls of the newest exchange may still wait.

    Raises:
        ContextError: A call without its result, a second result, or a result without its call.
    """
    made: set[str] = set()
    answered: set[str] = set()
    for part in window.parts:
        made |= _made(part.blocks)
        for call in part.calls:
            if call not in made or call in answered:
                raise _unsound(window, f"version {part.version} answers {call!r}, which waits not")
            answered.add(call)
    for step in window.steps:
        for part in () if step.open else step.parts:
            for call in _made(part.blocks) - answered:
                raise _unsound(window, f"version {part.version} made the call {call!r}: no result")


def _made(blocks: list[Any]) -> set[str]:
    return {call_id(block) or "" for block in blocks if kind(block) == CALL}


def _unsound(window: Window, problem: str) -> ContextError:
    return ContextError(
        f"session {window.view.session!r} cannot be compacted by a strict policy: {problem}."
        " `foldlog verify` lists what is wrong; choose a policy that is not strict, or rewind."
    )
