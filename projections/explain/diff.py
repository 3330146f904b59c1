"""Find what changed between two views: a diff of their pieces."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from foldlog.projections.explain.listing import piece_tokens
from foldlog.projections.explain.sent import SENT, AsSent, Sent, differences
from foldlog.projections.explain.why import IN_PLACE, Cause, cause_of, cause_of_leaving
from foldlog.projections.render.divergence import same
from foldlog.projections.view.pieces import WHOLE, Piece, Shown
from foldlog.projections.view.view import View


@dataclass(frozen=True, slots=True)
class Change:
    """A range of versions that two views show differently.

    Attributes:
        first: Its first version.
        last: Its last version.
        before: How the first view shows it; None if it is not on that view's lineage.
        after: How the second view shows it; None likewise.
        cause: The event that made the change; None for what was added.
        tokens: Estimated tokens that the change saves; negative if it costs some.
        sent: What was sent there, where a request differed from its view.
    """

    first: int
    last: int
    before: Shown | AsSent | None
    after: Shown | AsSent | None
    cause: Cause | None
    tokens: int
    sent: Sent | None = None

    def to_json(self) -> dict[str, Any]:
        """Return it as ``foldlog diff --json`` prints it."""
        more = {} if self.sent is None else {"sent": self.sent.to_json()}
        return {
            "first": self.first,
            "last": self.last,
            "before": self.before.kind if self.before else None,
            "after": self.after.kind if self.after else None,
            "edit": self.cause.version if self.cause else None,
            "rule": self.cause.rule if self.cause else None,
            "reason": self.cause.reason if self.cause else None,
            "tokens": self.tokens,
            **more,
        }


def diff(before: View, after: View) -> list[Change]:
    """Return what changed between two views of one session, in the order of versions.

    Ranges that show nothing of their own in either view (settings, requests, the edits themselves)
    are left out. Of a request it is also what was sent otherwise than its view shows it.
    """
    found = [
        _change(before, after, old, new)
        for old, new in _parts(before, after)
        if (old and old.shown) != (new and new.shown) and _is_seen(before, after, old, new)
    ]
    return sorted([*found, *_sent_otherwise(before, after)], key=lambda change: change.first)


def _sent_otherwise(before: View, after: View) -> Iterator[Change]:
    """Yield what only one of two views was sent otherwise, or both in ways of their own."""
    old, new = differences(before), differences(after)
    for place in dict.fromkeys([*old, *new]):
        was, now = old.get(place), new.get(place)
        if was and now and same(was.messages, now.messages):
            continue
        known = now or was
        assert known is not None
        view = after if now else before
        assert view.request is not None
        piece = view.piece(known.first)
        shown = piece.shown if piece else WHOLE
        yield Change(
            known.first,
            known.last,
            SENT if was else shown,
            SENT if now else shown,
            Cause(view.request.version, SENT.kind, known.difference, shown),
            (was.tokens if was else known.seen_tokens) - (now.tokens if now else known.seen_tokens),
            known,
        )


def _parts(before: View, after: View) -> Iterator[tuple[Piece | None, Piece | None]]:
    """Cut both views at each other's pieces; yield the part of each at the same range."""
    olds, news = _finder(before), _finder(after)
    pieces = (*before.pieces, *after.pieces)
    cuts = sorted({p.first for p in pieces} | {p.last + 1 for p in pieces})
    for first, beyond in pairwise(cuts):
        yield olds(first, beyond - 1), news(first, beyond - 1)


def _finder(view: View) -> Callable[[int, int], Piece | None]:
    pieces = sorted(view.pieces, key=lambda piece: piece.first)

    def part(first: int, last: int) -> Piece | None:
        at = bisect_right(pieces, first, key=lambda piece: piece.first) - 1
        if at < 0 or pieces[at].last < last:
            return None
        return replace(pieces[at], first=first, last=last)

    return part


def _is_seen(before: View, after: View, old: Piece | None, new: Piece | None) -> bool:
    view, part = (before, old) if old else (after, new)
    assert part is not None
    return any(event.type in IN_PLACE for event in view.events(replace(part, shown=WHOLE)))


def _change(before: View, after: View, old: Piece | None, new: Piece | None) -> Change:
    part = old or new
    assert part is not None
    saved = (piece_tokens(before, old) if old else 0) - (piece_tokens(after, new) if new else 0)
    return Change(
        first=part.first,
        last=part.last,
        before=old.shown if old else None,
        after=new.shown if new else None,
        cause=_cause(before, after, old, new),
        tokens=saved,
    )


def _cause(before: View, after: View, old: Piece | None, new: Piece | None) -> Cause | None:
    """Return what made the change: an edit of the later view, or what undid the earlier one's."""
    if new and new.edit is not None:
        return cause_of(after, new.edit, new.shown)
    if old is None:
        return None
    gone = old.first if new is None else old.edit
    move = after.left_by(gone) if gone is not None else None
    if move is not None:
        return cause_of_leaving(after, move)
    return cause_of(before, old.edit, old.shown) if old.edit is not None else None
