"""How a request that was sent differs from its view: recorded with it, so that it can be rebuilt.

A rendered message is known by its *place*: the version of the first event in it. The difference is
what was sent instead of the message at a place: a list of messages, in which null is the message as
it is rendered. It is recorded once and holds for later requests: each names the request since which
it differs, and says only what changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import count
from typing import Any, TypeAlias

from foldlog.eventstore import codec
from foldlog.eventstore.errors import InvalidView
from foldlog.eventstore.events import Event, Json
from foldlog.projections.render.messages import Message
from foldlog.projections.wire.requests import SETTINGS, visible

DIVERGED = "divergence"
"""Where a request says how it differed from the view."""

START = "0"
"""The place of what was sent where nothing is rendered."""

Instead: TypeAlias = dict[str, list[Json]]
"""What was sent instead of rendered messages, by place; null for the message itself."""


def same(one: Json, other: Json) -> bool:
    """True if two values have the same bytes, the order of keys included."""
    return one is other or codec.dumps(one) == codec.dumps(other)


# -- what is recorded --------------------------------------------------------------------------


def divergence(
    rendered: Mapping[str, Any],
    seen: Sequence[Message],
    sent: Mapping[str, Any],
    holding: Instead | None = None,
) -> dict[str, Json]:
    """Return how a request differs from the view as it is rendered.

    Args:
        rendered: The view as it is rendered.
        seen: Its messages.
        sent: What was sent.
        holding: What holds from an earlier request.

    Returns:
        ``instead``, where it is not what holds, null for a place where the view is sent again; and
        ``system`` and ``tools`` where they differ, null for what was not sent.
    """
    view, wanted = visible(rendered), visible(sent)
    found = {key: wanted.get(key) for key in SETTINGS if not same(view.get(key), wanted.get(key))}
    changed = _changed(places(seen), rendered["messages"], wanted["messages"], holding or {})
    return {**found, "instead": changed} if changed else found


def places(seen: Sequence[Message]) -> list[str]:
    """Return the places of rendered messages; where several begin with one event, they count."""
    taken: dict[int, Iterator[int]] = {}
    found = []
    for message in seen:
        version = message.items[0].version
        nth = next(taken.setdefault(version, count()))
        found.append(f"{version}.{nth}" if nth else str(version))
    return found


def _changed(
    where: Sequence[str], rendered: Sequence[Json], sent: Sequence[Json], holding: Instead
) -> dict[str, Json]:
    """Return what is to be sent instead, for each place where that is not what holds."""
    parts = list(_parts(where, holding))
    known = [rendered[at] if part is None else part for _, at, part in parts]
    now: dict[str, list[Json]] = {place: [] for place in where}
    for (place, at), message in _placed(parts, _matched(known, sent), sent):
        instead = now.setdefault(place, [])
        is_seen = at >= 0 and None not in instead and same(rendered[at], message)
        instead.append(None if is_seen else message)
    return {
        place: None if instead == [None] else instead
        for place, instead in now.items()
        if not same(instead, holding.get(place, [] if place == START else [None]))
    }


_Part: TypeAlias = tuple[str, int, Json]


def _parts(where: Sequence[str], holding: Instead) -> Iterator[_Part]:
    """Yield what would be sent: its place, the index of that, and null for the message itself."""
    yield from ((START, -1, message) for message in holding.get(START, []))
    for at, place in enumerate(where):
        yield from ((place, at, part) for part in holding.get(place, [None]))


def _placed(
    parts: Sequence[_Part], runs: Iterable[tuple[int, int, int, int]], sent: Sequence[Json]
) -> Iterator[tuple[tuple[str, int], Json]]:
    """Yield the place, and its index, that each message takes which was sent.

    Of two runs that belong together the messages take one another's places, if they are as many;
    else they take the first place of their run, or that of the message before it.
    """
    for first, last, start, end in runs:
        if last - first == end - start:
            yield from zip((part[:2] for part in parts[first:last]), sent[start:end], strict=True)
            continue
        at = first if first < last else max(0, first - 1)
        place = parts[at][:2] if parts else (START, -1)
        yield from ((place, message) for message in sent[start:end])


def _matched(known: Sequence[Json], sent: Sequence[Json]) -> list[tuple[int, int, int, int]]:
    """Return which runs of two lists belong together: equal ones, and those between them."""
    old, new = list(map(codec.dumps, known)), list(map(codec.dumps, sent))
    head = _alike(old, new)
    tail = _alike(old[head:][::-1], new[head:][::-1])
    middle = old[head : len(old) - tail], new[head : len(new) - tail]
    codes = SequenceMatcher(None, *middle, autojunk=False).get_opcodes()
    inner = [(a + head, b + head, c + head, d + head) for _, a, b, c, d in codes]
    end = (len(old) - tail, len(old), len(new) - tail, len(new))
    return [(0, head, 0, head), *inner, end]


def _alike(one: Sequence[bytes], other: Sequence[bytes]) -> int:
    """Count the items that two lists have in common from their start."""
    pairs = zip(one, other, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


# -- what was sent -----------------------------------------------------------------------------


def rebuilt(
    rendered: Mapping[str, Any],
    seen: Sequence[Message],
    differing: Mapping[str, Any],
    holding: Instead,
) -> dict[str, Json]:
    """Return the request that was sent: the view as it is rendered, and how it differed from that.

    Args:
        rendered: The view as it is rendered.
        seen: Its messages.
        differing: The difference that is recorded with the request.
        holding: All that was sent instead, also what holds from earlier requests.
    """
    view = visible(rendered)
    made = {**view, **{key: differing[key] for key in SETTINGS if key in differing}}
    old = rendered["messages"]
    if (
        "from" in differing
    ):  # as it was recorded at first: all from the first difference to the last
        start, end = old[: differing["from"]], old[differing["to"] :]
        return {**made, "messages": [*start, *differing["messages"], *end]}
    parts = _parts(places(seen), holding)
    return {**made, "messages": [old[at] if part is None else part for _, at, part in parts]}


def instead_of(request: Event, event: Callable[[int], Event]) -> Instead:
    """Return all that was sent instead of the messages of a request's view.

    Args:
        request: The ``request.sent``.
        event: Gives an event of its session by version.

    Raises:
        InvalidView: It, or a request whose difference holds on, does not say it.
    """
    chain = [request]
    while (since := _difference(chain[-1]).get("since")) is not None:
        if not isinstance(since, int) or not 0 < since < chain[-1].version:
            raise unsaid(chain[-1])
        chain.append(event(since))
    found: Instead = {}
    for one in reversed(chain):
        _take_in(found, _difference(one))
    return found


class Holding:
    """Reads what was sent instead, request by request; the newest answer is kept.

    Args:
        event: Gives an event of the session by version.
    """

    def __init__(self, event: Callable[[int], Event]) -> None:
        self._event = event
        self._newest: tuple[int, Instead] = (0, {})

    def __call__(self, request: Event) -> Instead:
        version, known = self._newest
        differing = _difference(request)
        if version and differing.get("since") == version:
            found = dict(known)
            _take_in(found, differing)
        else:
            found = instead_of(request, self._event)
        self._newest = request.version, found
        return found


def _take_in(holding: Instead, differing: Mapping[str, Any]) -> None:
    """Add to what holds what a request says of it."""
    for place, instead in (differing.get("instead") or {}).items():
        if instead is None:
            holding.pop(place, None)
        else:
            holding[place] = instead


def _difference(request: Event) -> Mapping[str, Any]:
    found = request.data.get(DIVERGED)
    if not isinstance(found, dict):
        raise unsaid(request)
    return found


def unsaid(request: Event) -> InvalidView:
    """Return the error of a request that does not say how it differed from its view."""
    return InvalidView(
        f"version {request.version} does not say how what was sent differed from its view.",
        request.version,
    )
