"""Search what was said, and show whether the model still sees it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from datetime import datetime
from itertools import islice
from typing import NamedTuple

import click

from foldlog.cli.describe import clock
from foldlog.cli.event_types import check_types
from foldlog.cli.options import json_option, period_options, within
from foldlog.cli.output import note, print_json, print_lines, styled
from foldlog.cli.progress import Bar
from foldlog.cli.safe import one_line
from foldlog.cli.stores import find, reading
from foldlog.eventstore import EventStore, InvalidView, Store
from foldlog.eventstore.store import searchable
from foldlog.eventstore.terms import Hit
from foldlog.projections import View, open_view
from foldlog.projections.explain.why import EVER_SEEN, sight
from foldlog.projections.view.address import Handle

IN_WORDS = {"whole": "", "part": "seen in part", "no": "not seen any more"}
"""How much of a hit the model sees, as people are shown it."""

LIMIT = 50
"""How many hits are shown if no limit is given."""


class Found(NamedTuple):
    """A hit, and how much of it the model still sees at the head.

    Attributes:
        visible: Whether it sees any of it; None if there is no view.
        sight: How much, in words; empty if it sees all of it, or never sees such events.
    """

    hit: Hit
    visible: bool | None
    sight: str = ""

    def to_json(self) -> dict[str, object]:
        """Return it as ``foldlog search --json`` prints it."""
        return {
            "session": self.hit.session,
            "version": self.hit.version,
            "type": self.hit.type,
            "tool": self.hit.tool,
            "at": self.hit.at,
            "snippet": self.hit.snippet,
            "visible": self.visible,
        }


@click.command()
@click.argument("text")
@click.option("--session", metavar="S", help="Only in this session and what it inherits.")
@click.option("--type", "types", multiple=True, metavar="T", help="Only in events of this type.")
@click.option("--tool", metavar="N", help="Only in calls of this tool and their results.")
@click.option("--rebuild", is_flag=True, help="Make the index again first, from the log.")
@period_options
@json_option
@click.pass_obj
def search_command(
    where: str | None,
    text: str,
    session: str | None,
    types: tuple[str, ...],
    tool: str | None,
    rebuild: bool,
    since: datetime | None,
    until: datetime | None,
    limit: int | None,
    json: bool,
) -> None:
    """Find where something was said, in any language.

    All words of TEXT must occur; "several words" in quotes must follow one another, begin* finds
    words that begin so. The newest come first. `visible`: the model still sees it at the head.
    """
    with reading(where) as store:
        check_types(store, types)
        name = find(store, session) if session else None
        period = since is not None or until is not None
        with Bar() as bar:

            def indexed(done: int, total: int) -> None:
                bar.update("indexing", done, total)

            if rebuild:
                _rebuild(store, indexed)
            hits = searchable(store).search(
                text,
                session=name,
                types=types or None,
                tool=tool,
                limit=sys.maxsize if period else limit or LIMIT,
                progress=indexed,
            )
        chosen = (hit for hit in hits if within(hit.at, since, until))
        found = _seen(store, islice(chosen, limit or LIMIT), name)
        if json:
            print_json(map(Found.to_json, found))
        else:
            _print(list(found))


def _rebuild(store: Store, indexed: Callable[[int, int], None]) -> None:
    if not isinstance(store, EventStore):
        raise click.UsageError("--rebuild is for the index of a store in a file.")
    if not store.rebuild_index(indexed):
        note("The index cannot be written; for this search it is made in memory.")


def _print(found: list[Found]) -> None:
    print_lines(line for one in found for line in _lines(one))
    if not found:
        note("Nothing found.")


def _lines(found: Found) -> Iterator[str]:
    """Yield the handle, to show all of it, and the text around what was found."""
    hit = found.hit
    handle = styled(one_line(str(Handle(hit.session, hit.version))), fg="cyan")
    what = one_line(f"{hit.type} {hit.tool or ''}")
    yield f"{handle}  {clock(hit.at)}  {what}  {found.sight}".rstrip()
    yield f"    {one_line(hit.snippet)}"


def _seen(store: Store, hits: Iterator[Hit], session: str | None) -> Iterator[Found]:
    views: dict[str, View | None] = {}
    for hit in hits:
        name = session or hit.session
        if name not in views:
            views[name] = _view(store, name)
        view = views[name]
        try:
            yield Found(hit, None) if view is None else _found(view, hit)
        except InvalidView:
            yield Found(hit, None)


def _found(view: View, hit: Hit) -> Found:
    seen = sight(view, view.event(hit.version)).seen
    return Found(hit, seen != "no", IN_WORDS[seen] if hit.type in EVER_SEEN else "")


def _view(store: Store, session: str) -> View | None:
    try:
        return open_view(store, session)
    except InvalidView:
        return None
