"""The list of sessions: which ones a person asks for, by project, day, model and words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from foldlog.cli.local_time import day as local_day
from foldlog.cli.serve.addresses import address
from foldlog.eventstore import Store
from foldlog.eventstore.listing import SessionInfo
from foldlog.eventstore.store import Queryable

FILTERS = ("q", "project", "day", "model")
"""The parameters of an address that choose sessions."""

PAGE = 60
"""How many sessions a page lists."""

NEWEST = 200
"""How many events at the end of a session are searched for the model that it was last asked of."""

MODELS = f"""
SELECT s.session, (
    SELECT model FROM events e
    WHERE e.session = s.session AND e.version > s.last_version - {NEWEST}
      AND e.model IS NOT NULL AND e.model NOT LIKE '<%'
    ORDER BY e.version DESC LIMIT 1
) FROM sessions s
"""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a person asks for; empty is anything.

    Attributes:
        q: Words that must all occur in title, first message, folder, id or tags.
        project: The folder. day: The day on which it was used last, in local time.
        model: The model that was asked last.
        page: Which page of the list, from 1.
    """

    q: str = ""
    project: str = ""
    day: str = ""
    model: str = ""
    page: int = 1

    @classmethod
    def of(cls, parameters: Mapping[str, str]) -> Asked:
        """Return what the parameters of an address ask for."""
        texts = {name: parameters.get(name, "").strip() for name in FILTERS}
        page = parameters.get("page", "")
        number = int(page) if page.isascii() and page.isdecimal() and len(page) < 9 else 1
        return cls(**texts, page=max(1, number))

    def address(self, page: int) -> str:
        """Return the address of another page of the same list."""
        given = {name: getattr(self, name) or None for name in FILTERS}
        return address("", page=page if page > 1 else None, **given)


class Entry(NamedTuple):
    """A session in the list, the model that it asked last, and how deep it is below another."""

    info: SessionInfo
    model: str | None
    depth: int


class Choice(NamedTuple):
    """What one may filter by, and how many sessions there are."""

    name: str
    sessions: int


@dataclass(frozen=True, slots=True)
class Found:
    """A page of the list.

    Attributes:
        days: (day, sessions), the newest first.
        total: How many sessions the filters let through. all: How many there are.
        more: Whether there is a next page.
        projects, models, dates: What one may filter by.
    """

    days: tuple[tuple[str, tuple[Entry, ...]], ...]
    total: int
    all: int
    more: bool
    projects: tuple[Choice, ...]
    models: tuple[Choice, ...]
    dates: tuple[Choice, ...]


def find(store: Store, asked: Asked) -> Found:
    """Return the sessions that a person asks for."""
    infos, models = store.sessions(), _models(store)
    entries = [Entry(info, models.get(info.session), 0) for info in infos]
    wanted = [entry for entry in entries if _is_wanted(entry, asked)]
    end = asked.page * PAGE
    return Found(
        tuple(_days(wanted[end - PAGE : end])),
        len(wanted),
        len(infos),
        end < len(wanted),
        _choices(entry.info.cwd for entry in entries),
        _choices(entry.model for entry in entries),
        tuple(sorted(_choices(day_of(entry.info) for entry in entries), reverse=True)),
    )


def day_of(info: SessionInfo) -> str:
    """Return the day on which a session was used last, in local time; empty without a time."""
    return local_day(info.last) if info.last else ""


def _is_wanted(entry: Entry, asked: Asked) -> bool:
    info = entry.info
    if asked.project and info.cwd != asked.project:
        return False
    if asked.model and entry.model != asked.model:
        return False
    if asked.day and day_of(info) != asked.day:
        return False
    told = (info.title, info.preview, info.cwd, info.session, *info.tags)
    text = " ".join(filter(None, told)).casefold()
    return all(word in text for word in asked.q.casefold().split())


def _days(entries: list[Entry]) -> Iterator[tuple[str, tuple[Entry, ...]]]:
    for day, found in groupby(entries, key=lambda entry: day_of(entry.info)):
        yield day, tuple(_nested(list(found)))


def _nested(entries: list[Entry]) -> Iterator[Entry]:
    """Yield the sessions of a day; subagents follow the session that started them."""
    here = {entry.info.session for entry in entries}
    below: dict[str, list[Entry]] = {}
    roots = []
    for entry in entries:
        parent = entry.info.parent
        if parent in here and entry.info.parent_kind == "subagent" and parent != entry.info.session:
            below.setdefault(str(parent), []).append(entry)
        else:
            roots.append(entry)
    waiting = [(root, 0) for root in reversed(roots)]
    while waiting:
        entry, depth = waiting.pop()
        yield entry._replace(depth=min(depth, 3))
        children = below.pop(entry.info.session, [])
        waiting += [(child, depth + 1) for child in reversed(children)]
    yield from (entry for left in below.values() for entry in left)


def _choices(names: Iterable[str | None]) -> tuple[Choice, ...]:
    counted = Counter(name for name in names if name)
    return tuple(Choice(name, count) for name, count in counted.most_common())


def _models(store: Store) -> dict[str, str]:
    """Return the model that each session asked last, where the store can say it quickly."""
    if not isinstance(store, Queryable):
        return {}
    _, rows = store.sql(MODELS)
    return {session: model for session, model in rows if isinstance(model, str)}
