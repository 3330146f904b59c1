"""A folder of pages: an index by project and day, and a page for each session."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from itertools import groupby
from typing import NamedTuple

from foldlog.cli.formats.html.fragments import Fragments
from foldlog.cli.formats.html.page import page, rendered
from foldlog.cli.formats.telling import Telling
from foldlog.cli.safe import one_line, plain_name
from foldlog.eventstore import FoldlogError, Store
from foldlog.eventstore.listing import SessionInfo

FOLDER = "sessions"

Files = Iterator[tuple[str, Iterable[bytes]]]


class Entry(NamedTuple):
    """A session in the index.

    Attributes:
        info: What the list says of it.
        address: Its page, relative to the index.
        depth: How deep it is below the session that it came from: 0 or 1.
        find: What the search looks at.
    """

    info: SessionInfo
    address: str
    depth: int
    find: str


@dataclass(frozen=True, slots=True)
class Day:
    """The sessions that began on a day, the newest first."""

    day: str
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class Project:
    """The sessions of a folder, by day, the newest first."""

    folder: str
    days: tuple[Day, ...]


def site(store: Store, infos: Iterable[SessionInfo], telling: Telling) -> Files:
    """Yield (path, content) of the index and of the page of each session.

    A session that cannot be shown has a page that says why.
    """
    found = sorted(infos, key=lambda info: (info.started, info.session), reverse=True)
    names = addresses(found)
    yield "index.html", rendered("index.html", projects=_projects(found, names, telling))
    for info in found:
        yield f"{FOLDER}/{names[info.session]}", _page(store, info, names, telling)


def addresses(infos: Iterable[SessionInfo]) -> dict[str, str]:
    """Return the name of the file of each session: plain, and unique whatever the file system."""
    names: dict[str, str] = {}
    used: set[str] = set()
    for info in infos:
        name = plain_name(info.session).translate(str.maketrans("/:@+", "----")).lstrip(".-")
        if name != info.session or name.casefold() in used:
            name += "-" + sha256(info.session.encode("utf-8", "surrogatepass")).hexdigest()[:8]
        used.add(name.casefold())
        names[info.session] = f"{name}.html"
    return names


def _page(
    store: Store, info: SessionInfo, names: Mapping[str, str], telling: Telling
) -> Iterator[bytes]:
    try:
        told = telling.narrate(store, info.session)
        yield from page(told, Fragments(names.get), home="../index.html")
    except FoldlogError as error:
        yield from rendered(
            "problem.html", info=telling.masked(info), problem=str(error), home="../index.html"
        )


def _projects(
    infos: list[SessionInfo], names: Mapping[str, str], telling: Telling
) -> list[Project]:
    by_folder: dict[str, list[_Placed]] = {}
    for placed in _nested(infos):
        by_folder.setdefault(placed.root.cwd or "", []).append(placed)
    return [
        Project(telling.masked(folder), tuple(_days(found, names, telling)))
        for folder, found in by_folder.items()
    ]


def _days(found: list[_Placed], names: Mapping[str, str], telling: Telling) -> Iterator[Day]:
    for day, there in groupby(found, key=lambda placed: placed.root.started[:10]):
        yield Day(day, tuple(_entry(placed, names, telling) for placed in there))


class _Placed(NamedTuple):
    """A session and the one that it is listed below: itself, unless it is a subagent."""

    info: SessionInfo
    root: SessionInfo


def _nested(infos: list[SessionInfo]) -> Iterator[_Placed]:
    """Yield the sessions; subagents follow the one that started them."""
    here = {info.session for info in infos}
    below: dict[str, list[SessionInfo]] = {}
    roots = []
    for info in infos:
        if info.parent in here and info.parent_kind == "subagent":
            below.setdefault(str(info.parent), []).append(info)
        else:
            roots.append(info)
    for root in roots:
        waiting = [root]
        while waiting:
            info = waiting.pop()
            waiting += below.pop(info.session, [])
            yield _Placed(info, root)
    yield from (_Placed(info, info) for found in below.values() for info in found)


def _entry(placed: _Placed, names: Mapping[str, str], telling: Telling) -> Entry:
    info, depth = telling.masked(placed.info), int(placed.info is not placed.root)
    words = (info.title, info.preview, info.cwd, info.session, info.started[:10], *info.tags)
    find = one_line(" ".join(filter(None, words))).lower()
    return Entry(info, f"{FOLDER}/{names[info.session]}", depth, find)
