"""Figures of the store: tokens, cache and money by day, project, model and session."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from foldlog.cli.local_time import day, since_epoch
from foldlog.cli.serve.chart import KINDS, Piece
from foldlog.cli.serve.desk import Desk, number
from foldlog.cli.serve.history import usage_of
from foldlog.cli.serve.rendering import is_fragment, rendered
from foldlog.eventstore import SessionNotFound, Store
from foldlog.eventstore.listing import SessionInfo
from foldlog.projections.explain.replies import PAID, Replies, Reply, Usage, total
from foldlog.projections.explain.statistics import Period

PERIODS = (7, 30, 90, 0)
"""The periods to choose from, in days; 0 is all time."""

LISTED = 15
"""How many projects, models and sessions are listed, the dearest."""


class Group(NamedTuple):
    """What some replies took, and how that compares with the largest group, in percent."""

    name: str
    usage: Usage
    share: float
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures of a period.

    Attributes:
        total: All together.
        days: By day, in order. projects, models, sessions: The dearest.
        titles: The titles of the sessions.
    """

    total: Usage
    days: tuple[Group, ...]
    projects: tuple[Group, ...]
    models: tuple[Group, ...]
    sessions: tuple[Group, ...]
    titles: dict[str, str]


def figures(request: Request, desk: Desk) -> Response:
    """Show what the requests of a period took: the page first, then its figures."""
    asked = number(request.query_params.get("days"))
    days = asked if asked in PERIODS else PERIODS[1]
    if is_fragment(request, "figures"):
        found = _figures(desk.reader.store, days)
        return rendered("figures_part.html", figures=found, days=days)
    return rendered("figures.html", place=desk.place, days=days, periods=PERIODS)


def _figures(store: Store, days: int) -> Figures:
    since = since_epoch(datetime.now(UTC) - timedelta(days=days)) if days else None
    period = Period(since)
    infos = {info.session: info for info in store.sessions() if period.holds(info.last)}
    replies = [
        (reply, usage_of(reply)) for reply in _replies(store, infos) if period.holds(reply.at)
    ]
    projects = _grouped(replies, lambda reply: _project(infos.get(reply.session)))
    return Figures(
        total(usage for _, usage in replies),
        tuple(sorted(_groups(_grouped(replies, lambda reply: day(reply.at))))),
        tuple(_dearest(projects)),
        tuple(_dearest(_grouped(replies, lambda reply: reply.model))),
        tuple(_dearest(_grouped(replies, lambda reply: reply.session))),
        {name: info.title or info.preview or name for name, info in infos.items()},
    )


def _replies(store: Store, infos: dict[str, SessionInfo]) -> Iterator[Reply]:
    """Yield the replies of some sessions, each once: a fork's shared past is its parent's."""
    found = Replies()
    for name, info in infos.items():
        try:
            for event in store.read(name, after=info.first - 1, types=PAID):
                found.take(event)
        except SessionNotFound:
            continue
    return found.once()


def _project(info: SessionInfo | None) -> str:
    return (info.cwd if info else None) or "no folder"


def _grouped(replies: list[tuple[Reply, Usage]], name: Callable[[Reply], str]) -> dict[str, Usage]:
    found: dict[str, Usage] = {}
    for reply, usage in replies:
        found.setdefault(name(reply), Usage()).add(usage)
    return found


def _groups(usages: dict[str, Usage]) -> Iterator[Group]:
    most = max((usage.tokens for usage in usages.values()), default=0) or 1
    dearest = max((usage.dollars for usage in usages.values()), default=0)
    for name, usage in usages.items():
        share = 100 * usage.dollars / dearest if dearest else 100 * usage.tokens / most
        yield Group(name, usage, float(share), tuple(_pieces(usage, most)))


def _pieces(usage: Usage, most: int) -> Iterator[Piece]:
    top = 100.0
    for kind in KINDS:
        size = 100 * getattr(usage, kind) / most
        top -= size
        if size > 0:
            yield Piece(kind, top, size)


def _dearest(usages: dict[str, Usage]) -> list[Group]:
    groups = _groups(usages)
    return sorted(groups, key=lambda one: (-one.usage.dollars, -one.usage.tokens))[:LISTED]
