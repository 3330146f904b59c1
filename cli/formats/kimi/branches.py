"""Which lines of a log count where an undo began a new branch.

``agent.switched`` names the branch and the line that it goes on from. The ``context.undo`` after it
is for older versions and counts as done. Notes that Kimi Code put before the model by itself stay,
also those of the turns that were taken back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from foldlog.cli.formats.kimi.messages import is_prompt

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from foldlog.eventstore.events import Json

    Lines = Sequence[Mapping[str, Json]]

SWITCHED = "agent.switched"
MAIN = "main"


class Segment(NamedTuple):
    """The lines of a branch: from the line after the switch that began it to the next switch.

    Attributes:
        first: Its first line, counted from 1.
        last: Its last line.
        base: The branch and the line that it goes on from; None for the main branch.
    """

    first: int
    last: int
    base: tuple[str, int] | None = None


def counting(lines: Lines) -> list[int] | None:
    """Return the lines that count, from 1; None where the branches lead nowhere.

    Args:
        lines: All lines so far, the newest switch among them.
    """
    segments, branch, paired = _segments(lines)
    chain = _chain(segments, branch)
    if chain is None:
        return None
    own = [n for n in chain if lines[n - 1].get("type") not in (SWITCHED, "context.undone")]
    own = [n for n in own if n not in paired]
    prompts = [_message(lines[n - 1]).get("id") for n in own if _is_prompt(lines[n - 1])]
    kept = set(own)
    notes = [n for n, line in enumerate(lines, 1) if n not in kept and _stays(line, prompts)]
    return sorted([*own, *notes])


def paired_undos(lines: Lines) -> set[int]:
    """Return the lines of undos that a switch has done already."""
    named = (line.get("legacyUndoLine") for line in lines if line.get("type") == SWITCHED)
    return {number for number in named if isinstance(number, int)}


def _segments(lines: Lines) -> tuple[dict[str, Segment], str, set[int]]:
    found: dict[str, Segment] = {}
    branch, first, base = MAIN, 1, None
    for number, line in enumerate(lines, 1):
        edge = _edge(line) if line.get("type") == SWITCHED else None
        if edge is not None:
            found[branch] = Segment(first, number, base)
            branch, base = edge
            first = number + 1
    found[branch] = Segment(first, len(lines), base)
    return found, branch, paired_undos(lines)


def _edge(line: Mapping[str, Json]) -> tuple[str, tuple[str, int]] | None:
    branch, base = line.get("branch"), line.get("base")
    if not isinstance(branch, str) or not isinstance(base, dict):
        return None
    on, number = base.get("branch"), base.get("line")
    return (branch, (on, number)) if isinstance(on, str) and isinstance(number, int) else None


def _chain(segments: Mapping[str, Segment], branch: str) -> list[int] | None:
    """Return the lines of a branch and of those that it goes on from, oldest first."""
    found: list[int] = []
    until, seen = segments[branch].last, set[str]()
    while True:
        segment = segments.get(branch)
        if segment is None or branch in seen:
            return None
        seen.add(branch)
        found[:0] = range(segment.first, min(until, segment.last) + 1)
        if segment.base is None:
            return found
        branch, until = segment.base


def _message(line: Mapping[str, Json]) -> Mapping[str, Json]:
    message = line.get("message")
    is_appended = line.get("type") == "context.append_message"
    return message if is_appended and isinstance(message, dict) else {}


def _is_prompt(line: Mapping[str, Json]) -> bool:
    message = _message(line)
    return message.get("role") == "user" and is_prompt(message.get("origin"))


def _stays(line: Mapping[str, Json], prompts: list[Json]) -> bool:
    """Return whether it is a note that an undo leaves: nobody's, or of a prompt that is there."""
    origin = _message(line).get("origin")
    if not isinstance(origin, dict) or origin.get("kind") != "injection":
        return False
    owner = origin.get("ownerPromptId")
    return owner is None or owner in prompts
