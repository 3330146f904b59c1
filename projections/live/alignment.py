"""Alignment: what of a log a harness's list still holds, in the log's order. Pure.

A harness that manages its own list leaves things out anywhere. What is left is found as the longest
run of things that both hold in the same order; of equal ones the newest counts, because lists lose
their beginning more often than their end.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from foldlog.projections.live.compared import Compared, Stretch, signature, stretches
from foldlog.projections.live.reconcile import Entry, ends_of

Key = Hashable
"""What a thing is known by: a reply by its calls or text, a result by its call, text by itself."""

MOST_PAIRS = 200_000
"""Pairs of equal things above which a list is not aligned: it repeats itself too often."""


@dataclass(frozen=True, slots=True)
class Node:
    """One thing that the log says: a reply with all its events, a result, a message.

    Attributes:
        entries: What says it.
        key: What it is known by; None where it says nothing.
        covered: An edit hides it.
    """

    entries: tuple[Entry, ...]
    key: Key | None
    covered: bool = False

    @property
    def versions(self) -> tuple[int, ...]:
        return tuple(entry.version for entry in self.entries)

    @property
    def in_reply(self) -> bool:
        return self.entries[0].in_reply

    @property
    def parts(self) -> list[Compared]:
        return [part for entry in self.entries for part in entry.parts]

    @property
    def is_result(self) -> bool:
        return self.parts[0].is_result

    @property
    def optional(self) -> bool:
        """A harness need not know it."""
        return all(entry.optional for entry in self.entries)


class Atom(NamedTuple):
    """One thing that a list says.

    Attributes:
        key: What it is known by.
        places: Which of the list's parts say it.
    """

    key: Key
    places: range


def nodes(log: Sequence[Entry], covered: frozenset[int] = frozenset()) -> list[Node]:
    """Return what a log says, the parts of each reply together and results first, as in a list."""
    found: list[Node] = []
    for _, run in groupby(enumerate(log), key=_same_reply):
        entries = tuple(entry for _, entry in run)
        parts = [part for entry in entries for part in entry.parts]
        hidden = entries[0].version in covered and not entries[0].stands_in
        found.append(Node(entries, _key(parts), hidden))
    return _results_first(found)


def _same_reply(numbered: tuple[int, Entry]) -> Hashable:
    at, entry = numbered
    return entry.reply if entry.in_reply and entry.reply else at


def _key(parts: Sequence[Compared]) -> Key | None:
    if parts[0].in_reply:
        said = signature(parts)
        return ("reply", said) if said else None
    if parts[0].is_result:
        return ("result", parts[0].id)
    return said_keys(parts) or None


def said_keys(parts: Iterable[Compared]) -> tuple[Key, ...]:
    """Return what parts say that are neither of a reply nor results."""
    return tuple((part.role, part.key) for part in parts if not part.blank)


def _results_first(found: Iterable[Node]) -> list[Node]:
    ordered: list[Node] = []
    for in_reply, run in groupby(found, key=lambda node: node.in_reply):
        same = list(run)
        ordered += same if in_reply else sorted(same, key=lambda node: not node.is_result)
    return ordered


def atoms(parts: Sequence[Compared], log: Sequence[Node]) -> list[Atom]:
    """Return what a list says, in the pieces in which the log says it."""
    known = {node.key for node in log if node.key}
    order = {node.key: at for at, node in enumerate(log) if node.is_result}
    messages = _by_beginning(known)
    found: list[Atom] = []
    for stretch in stretches(parts):
        if stretch.in_reply:
            found += _replies(stretch, known)
            continue
        said = [(at, part) for at, part in enumerate(stretch.parts, stretch.first)]
        results = [
            Atom(("result", part.id), range(at, at + 1)) for at, part in said if part.is_result
        ]
        found += sorted(results, key=lambda atom: order.get(atom.key, len(log)))
        rest = [(at, part) for at, part in said if not (part.is_result or part.blank)]
        found += _messages(rest, messages)
    return found


def keys_of(parts: Sequence[Compared]) -> Iterator[Key]:
    """Yield all that something in a list may be known by, whatever the log holds: each message, and
    what a reply says up to the end of each message.
    """
    yield from (atom.key for atom in atoms(parts, ()))
    for stretch in stretches(parts):
        for end in ends_of(stretch) if stretch.in_reply else ():
            if said := signature(stretch.parts[:end]):
                yield "reply", said


def _by_beginning(known: Iterable[Key]) -> dict[Key, list[tuple[Key, ...]]]:
    """Return the messages that are known, by what they begin with, the longest first."""
    found: dict[Key, list[tuple[Key, ...]]] = defaultdict(list)
    for key in known:
        if isinstance(key, tuple) and isinstance(key[0], tuple):
            found[key[0]].append(key)
    for same in found.values():
        same.sort(key=len, reverse=True)
    return found


def _messages(
    said: Sequence[tuple[int, Compared]], known: Mapping[Key, Sequence[tuple[Key, ...]]]
) -> Iterator[Atom]:
    """Yield what is said between replies, message by message where the log knows them, else by
    part.
    """
    keys = [said_keys([part])[0] for _, part in said]
    at = 0
    while at < len(said):
        fitting = (key for key in known.get(keys[at], ()) if tuple(keys[at : at + len(key)]) == key)
        key = next(fitting, (keys[at],))
        last = at + len(key) - 1
        yield Atom(key, range(said[at][0], said[last][0] + 1))
        at = last + 1


def _replies(stretch: Stretch, known: set[Key]) -> Iterator[Atom]:
    """Yield the replies that a stretch is: one where the log knows it as one, else each message."""
    last = stretch.first + len(stretch.parts)
    whole: Key = ("reply", signature(stretch.parts))
    if whole in known:
        yield Atom(whole, range(stretch.first, last))
        return
    for _, run in groupby(range(stretch.first, last), lambda at: _at(stretch, at).message):
        places = list(run)
        said = signature(_at(stretch, at) for at in places)
        if said:
            yield Atom(("reply", said), range(places[0], places[-1] + 1))


def _at(stretch: Stretch, place: int) -> Compared:
    return stretch.parts[place - stretch.first]


class _Link(NamedTuple):
    one: int
    other: int
    before: _Link | None


def longest(one: Sequence[Key], other: Sequence[Key]) -> list[tuple[int, int]] | None:
    """Return the longest run of things that two sequences have in common, as pairs of places.

    Of several, the one that stands last in both (Hunt and Szymanski's algorithm, from the end).

    Returns:
        The pairs in ascending order; None where the two repeat themselves too often.
    """
    places: dict[Key, list[int]] = defaultdict(list)
    for at, key in enumerate(other):
        places[key].append(at)
    if sum(len(places[key]) for key in one if key in places) > MOST_PAIRS:
        return None
    ends: list[int] = []  # of the best run of each length, how far its first pair is from the end
    links: list[_Link] = []
    for at in range(len(one) - 1, -1, -1):
        for place in places.get(one[at], ()):
            back = -place
            length = bisect_left(ends, back)
            if length < len(ends) and ends[length] == back:
                continue
            link = _Link(at, place, links[length - 1] if length else None)
            ends[length : length + 1] = [back]
            links[length : length + 1] = [link]
    return list(_unlinked(links[-1] if links else None))


def _unlinked(link: _Link | None) -> Iterator[tuple[int, int]]:
    while link is not None:
        yield link.one, link.other
        link = link.before
