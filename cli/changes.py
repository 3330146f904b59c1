"""What changed between two views, as ``diff`` and ``expand`` print it."""

from __future__ import annotations

from collections.abc import Sequence

from foldlog.cli.output import Column, note, show
from foldlog.projections import Change

COLUMNS: list[Column[Change]] = [
    Column("first", lambda change: change.first),
    Column("last", lambda change: change.last),
    Column("before", lambda change: change.before.kind if change.before else "-"),
    Column("after", lambda change: change.after.kind if change.after else "-", style="cyan"),
    Column("saved", lambda change: change.tokens),
    Column("rule", lambda change: change.cause.rule if change.cause else None),
    Column(
        "reason", lambda change: change.cause.reason if change.cause else None, folds=True, least=40
    ),
]


def show_changes(changes: Sequence[Change], *, json: bool) -> None:
    """Print changes, and for people what they save together."""
    show(changes, COLUMNS, json=json, to_json=Change.to_json, empty="Nothing changed.")
    if changes and not json:
        saved = sum(change.tokens for change in changes)
        told = f"{saved:,} saved" if saved >= 0 else f"{-saved:,} more"
        note(f"Tokens, estimated: {told}.")
