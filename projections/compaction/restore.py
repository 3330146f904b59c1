"""What comes back after a summary, within budgets: never from the summary's own text.

What can be seen in the view already does not come back a second time. A skill whose text does not
fit, or is not known, is named as needing a reload.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from foldlog.eventstore.events import EventDraft
from foldlog.projections.compaction.decision import Allowance, Restore
from foldlog.projections.compaction.restorable import (
    KINDS,
    Past,
    Restorable,
    skills_without_text,
)
from foldlog.projections.tasks.board import Board
from foldlog.projections.tokens.estimate import MESSAGE, estimate
from foldlog.projections.tokens.truncate import one_line, to_tokens
from foldlog.projections.view.address import Handle
from foldlog.projections.view.view import View

REST = "\n[The rest is left out"
"""Begins the note at the end of what was cut."""

NOTE = 200
"""Tokens that are kept free for naming the skills that do not fit; of little room, a tenth."""


def restored(
    after: View, asked: Restore, board: Callable[[str], Board] | None = None
) -> list[EventDraft]:
    """Return the attachments that bring back what a summary cannot hold.

    Args:
        after: The view with the summary in its place: what is seen there need not come back.
        asked: The kinds, in their order, and how much of each, in tokens.
        board: The task board of that name, where the host's ``tasks`` name one.

    Returns:
        Drafts of ``attachment.added``, within each allowance and within that of all together.
    """
    found, left = list[EventDraft](), asked.total
    past = Past(after, board)
    for kind, allowance in asked.kinds.items():
        made = _fitted(kind, past, allowance, left)
        left -= sum(map(_cost, made))
        found += made
    return found


def lesser(asked: Restore | None) -> Iterator[Restore | None]:
    """Return what may come back, then less and less of it: without files, then nothing."""
    yield asked
    if asked is not None:
        rest = {kind: given for kind, given in asked.kinds.items() if kind != "files"}
        if rest and len(rest) < len(asked.kinds):
            yield replace(asked, kinds=rest)
        yield None


def _fitted(kind: str, past: Past, allowance: Allowance, left: int) -> list[EventDraft]:
    """Return the attachments of one kind that its allowance takes."""
    total = left if allowance.total is None else min(allowance.total, left)
    noted = min(NOTE, total // 10) if kind == "skills" else 0
    total -= noted
    found, unfit = list[EventDraft](), list[str]()
    for candidate in KINDS[kind](past):
        if _is_seen(past.attached.get((kind, candidate.name)), candidate):
            continue
        if allowance.count is not None and len(found) >= allowance.count:
            unfit.append(candidate.name)
            continue
        each = total if allowance.each is None else min(allowance.each, total)
        draft = _attachment(kind, past, candidate, each)
        if draft is None:
            unfit.append(candidate.name)
        else:
            total -= _cost(draft)
            found.append(draft)
    if kind == "skills":
        found += _reload([*unfit, *skills_without_text(past)], total + noted, allowance.each)
    return found


def _attachment(kind: str, past: Past, candidate: Restorable, tokens: int) -> EventDraft | None:
    """Return a candidate as it comes back, cut where it must be; None where nothing of it fits."""
    if not candidate.text:
        return None
    note = f"{REST}.]"
    if candidate.of is not None:
        note = f"{REST}; all of it: {Handle(past.view.session, candidate.of)}]"
    text = to_tokens(candidate.text, tokens - MESSAGE, note)
    if not text:
        return None
    cut = {"of": candidate.of} if candidate.of is not None and text != candidate.text else {}
    data = {"kind": kind, "name": candidate.name, "content": text, "restored": True, **cut}
    return EventDraft("attachment.added", data)


def _is_seen(shown: str | None, candidate: Restorable) -> bool:
    """Return whether what is seen is a candidate already, cut or not."""
    return shown is not None and candidate.text.startswith(shown.partition(REST)[0])


def _cost(draft: EventDraft) -> int:
    return estimate(draft.data["content"]) + MESSAGE


def _reload(names: Iterable[str], tokens: int, each: int | None) -> list[EventDraft]:
    """Return the note that names the skills whose text is not in view any more."""
    found = list(dict.fromkeys(names))
    if not found:
        return []
    lines = "\n".join(f"- {one_line(name, 100)}" for name in found)
    text = f"[These skills are not in view any more. Load them again before you use them.]\n{lines}"
    room = tokens if each is None else min(tokens, each)
    cut = to_tokens(text, room - MESSAGE, "\n- and more")
    data = {"kind": "skills", "name": "reload", "content": cut, "restored": True}
    return [EventDraft("attachment.added", data)] if cut else []
