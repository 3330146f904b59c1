"""The digest: a summary made from the log alone, without a model. The last exit but one.

What needs no judgement goes in: what the user said, which files were read and changed,
which commands ran and which calls failed, what the agent said last, the plan. It is bounded, and
the same log gives the same digest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from foldlog.projections.summaries.facts import LINE, Facts, UserMessage, weight
from foldlog.projections.summaries.failure import SummaryFailed
from foldlog.projections.summaries.task import SummaryReply, SummaryTask
from foldlog.projections.tasks.entries import open_entries
from foldlog.projections.tokens.estimate import estimate
from foldlog.projections.tokens.truncate import one_line, to_tokens
from foldlog.projections.wire.tool_calls import file_lines

NAME = "digest@3"
"""The id in place of a prompt's; the number changes when the same log would give another text."""

LEAST = 40
"""Tokens below which a digest says nothing. Chosen."""

ELSEWHERE = "What the user said stands in the conversation, word for word."
"""Stands where the goal should be and the user said nothing in what is summarized."""

HEADINGS = ("Goal", "Constraints", "Done", "In progress", "Blocked", "Next", "Files")
"""What a digest holds where nobody asks for other headings."""


class DigestSummarizer:
    """Makes the digest of a task.

    Args:
        tokens: The most tokens of a digest; the task's own bounds count too.
    """

    name = "digest"
    asks_model = False

    def __init__(self, tokens: int | None = None) -> None:
        self._tokens = tokens

    def summarize(self, task: SummaryTask) -> SummaryReply:
        """Return the digest of a task.

        Raises:
            SummaryFailed: ``nothing`` to summarize; ``over_target``: there is no room for any.
        """
        facts = Facts(task)
        if facts.is_empty:
            raise SummaryFailed("nothing", "nothing was said or done in the range.")
        bounds = (self._tokens, task.max_tokens, task.at_most, task.replaces - 1)
        room = min(bound for bound in bounds if bound is not None)
        text = digest(facts, task.headings or HEADINGS, room)
        if not text:
            raise SummaryFailed("over_target", f"no digest fits into {room} tokens.")
        return SummaryReply(text, raw=text, prompt=NAME)


def digest(facts: Facts, headings: Iterable[str], room: int) -> str:
    """Write the facts under the headings, in at most so many tokens; empty if too few."""
    names, share = list(headings), 1.0
    while room >= LEAST and share > SMALLEST_SHARE:
        text = _written(facts, names, int(room * share))
        if estimate(text) <= room:
            return text
        share *= 0.8
    return ""


SMALLEST_SHARE = 0.05
"""A digest is written for less and less of its room until it fits; below this it cannot."""


def _written(facts: Facts, names: list[str], room: int) -> str:
    roles = [_ROLES.get(name.casefold(), "") for name in names]
    parts = [_PARTS.get(role, _nothing) for role in roles]
    wanted = [_size(part(facts, room)) for part in parts]
    heads = sum(estimate(f"## {name}\n") for name in names)
    rooms = shared(wanted, [_SHARES.get(role, 0.02) for role in roles], room - heads)
    lines = []
    for name, part, own in zip(names, parts, rooms, strict=True):
        lines += [f"## {name}", *(part(facts, own) or ["none"])]
    return "\n".join(lines)


def shared(wanted: list[int], shares: list[float], room: int) -> list[int]:
    """Return how much room each part gets: what it wants, or its share of what the others leave."""
    got = [0] * len(wanted)
    waiting = set(range(len(wanted)))
    while waiting:
        total = sum(shares[at] for at in waiting)
        content = {at for at in waiting if wanted[at] <= room * shares[at] / total}
        for at in content or waiting:
            got[at] = wanted[at] if content else int(room * shares[at] / total)
        room -= sum(got[at] for at in content)
        waiting = waiting - content if content else set()
    return got


def _size(lines: list[str]) -> int:
    return sum(estimate(line) + 1 for line in lines)


def _nothing(facts: Facts, room: int) -> list[str]:
    return []


def _goal(facts: Facts, room: int) -> list[str]:
    """Return what was asked for last, and first, in the user's words."""
    lines = [_quoted(words.text) for words in _wanted(facts) or facts.asked[-1:]] or [ELSEWHERE]
    return _fitting(lines, room) or [to_tokens(line, max(room, 12), '…"') for line in lines[:1]]


def _constraints(facts: Facts, room: int) -> list[str]:
    """Return what else the user said, in its order; what binds most for its length goes first."""
    rest = [words for words in facts.spoken if words not in _wanted(facts)]
    quoted = {words.order: _quoted(words.text) for words in rest}
    worth = {w.order: weight(w.text) / (LEAST + len(quoted[w.order])) for w in rest}
    ranked = sorted(quoted, key=lambda order: (-worth[order], -order))
    chosen = _chosen(ranked, lambda order: quoted[order], room)
    lines = [quoted[order] for order in sorted(chosen)]
    return [*lines, *_more(len(rest) - len(lines), "messages of the user")]


def _wanted(facts: Facts) -> list[UserMessage]:
    """Return what the user said last, and first, of the whole: what of it is summarized here.

    What stays verbatim elsewhere is not repeated, and what was said in between is no goal.
    """
    ends = dict.fromkeys(words.text for words in (*facts.asked[-1:], *facts.asked[:1]))
    told = {words.text: words for words in facts.spoken}
    return [told[text] for text in ends if text in told]


def _decisions(facts: Facts, room: int) -> list[str]:
    """Return what the summary before this one said, as far as it fits."""
    if not facts.earlier:
        return []
    cut = to_tokens(facts.earlier, room, "…")
    return ["From the summary before:", *("> " + line for line in cut.splitlines())] if cut else []


def _done(facts: Facts, room: int) -> list[str]:
    """Return the commands that ran and the other calls, the newest that fit."""
    attached = [f"- attached: {line}" for line in facts.attached]
    return _newest([*attached, *(f"- {line}" for line in facts.done.values())], room, "calls")


def _working(facts: Facts, room: int) -> list[str]:
    """Return what the agent said last."""
    return _newest([f"- {words}" for words in facts.replies], room, "")


def _blocked(facts: Facts, room: int) -> list[str]:
    """Return the calls that failed, the newest that fit."""
    lines = [f"- {call}: {problem}" for call, problem in facts.failures.values()]
    return _newest(list(dict.fromkeys(lines)), room, "failed calls")


def _next(facts: Facts, room: int) -> list[str]:
    """Return the plan and the tasks that the host holds."""
    lines = []
    for key in ("plan", "tasks"):
        lines += [f"- {one_line(line, LINE)}" for line in open_entries(facts.state(key))]
    return _fitting(lines, room)


def _files(facts: Facts, room: int) -> list[str]:
    """Return the files that were read and changed, those touched last first."""
    lines = file_lines(facts.files)
    kept = _fitting(lines, room)
    return [*kept, *_more(len(lines) - len(kept), "files")]


def _records(facts: Facts, room: int) -> list[str]:
    """Return where all of it stands."""
    return _fitting([f"- {handle}" for handle in facts.handles], room)


_PARTS: dict[str, Callable[[Facts, int], list[str]]] = {
    "goal": _goal,
    "constraints": _constraints,
    "decisions": _decisions,
    "done": _done,
    "working": _working,
    "blocked": _blocked,
    "next": _next,
    "files": _files,
    "records": _records,
}
_SHARES = {
    "goal": 0.12,
    "constraints": 0.42,
    "decisions": 0.08,
    "done": 0.12,
    "working": 0.06,
    "blocked": 0.08,
    "next": 0.05,
    "files": 0.07,
    "records": 0.05,
}
"""The share of the room that each part may take. Chosen: nothing else can give back what the user
demanded, while files and commands can be looked at again."""

_ROLES = {
    heading: role
    for role, headings in {
        "goal": "goal, overall_goal, primary request and intent, session intent, user_context",
        "constraints": "constraints, constraints & preferences, active_constraints, critical"
        ", all user messages, critical context",
        "decisions": "decisions, key decisions, summary, highlights, problem solving"
        ", key_knowledge",
        "done": "done, progress, completed, recent_actions",
        "working": "in progress, current state, current work, state",
        "blocked": "blocked, errors and fixes, tests",
        "next": "next, next steps, pending, pending tasks, optional next step, unfinished work"
        ", task_state, task_tracking",
        "files": "files, relevant files, files and code sections, artifacts, artifact_trail"
        ", file_system_state, code_state, changes",
        "records": "records",
    }.items()
    for heading in headings.split(", ")
}
"""What stands under the headings that the presets ask for."""


_PLAIN = str.maketrans('"`', "''")


def _quoted(text: str) -> str:
    return f'- "{one_line(text, LINE).translate(_PLAIN)}"'


def _chosen(keys: list[int], line: Callable[[int], str], room: int) -> set[int]:
    """Return the keys whose lines fit, the first ones first."""
    chosen: set[int] = set()
    for key in keys:
        cost = estimate(line(key)) + 1
        if cost <= room:
            chosen.add(key)
            room -= cost
    return chosen


def _fitting(lines: list[str], room: int) -> list[str]:
    """Return the lines that fit, in their order."""
    chosen = _chosen(list(range(len(lines))), lambda at: lines[at], room)
    return [lines[at] for at in sorted(chosen)]


def _newest(lines: list[str], room: int, what: str) -> list[str]:
    """Return the newest lines that fit, in their order, and how many more there are."""
    chosen = _chosen(list(reversed(range(len(lines)))), lambda at: lines[at], room)
    kept = [lines[at] for at in sorted(chosen)]
    return [*(_more(len(lines) - len(kept), f"earlier {what}") if what else ()), *kept]


def _more(count: int, what: str) -> list[str]:
    return [f"({count} more {what} in the log)"] if count > 0 else []
