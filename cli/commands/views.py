"""What the model saw: a view as request, pieces or text; what changed between two; and why."""

from __future__ import annotations

import json as stdlib
from collections.abc import Iterator

import click

from foldlog.cli.describe import EACH_ALONE, block_lines, clock, headline, show_changes
from foldlog.cli.options import json_option, session_argument
from foldlog.cli.output import Column, note, print_json, print_lines, show, styled
from foldlog.cli.safe import one_line, safe_json, shortened
from foldlog.cli.stores import find, reading, version_of, view_of
from foldlog.eventstore import Store
from foldlog.projections import View, diff, open_view, render, resolve, why
from foldlog.projections.explain.listing import Row, rows, text_of_item
from foldlog.projections.explain.why import Cause
from foldlog.projections.render.items import Item, items
from foldlog.projections.render.render import Open, interrupted_items, open_calls
from foldlog.projections.tokens.counting import count
from foldlog.projections.view.named import is_side, named_view
from foldlog.projections.wire.blocks import blocks, content_of
from foldlog.projections.wire.requests import with_marks

TEXT_CHARS = 100
"""How many characters a table shows of the text in place of a piece."""

PIECE_COLUMNS: list[Column[Row]] = [
    Column("first", lambda row: row.piece.first),
    Column("last", lambda row: row.piece.last),
    Column("shown", lambda row: row.piece.shown.kind, style="cyan"),
    Column("tokens", lambda row: row.tokens),
    Column("edit", lambda row: row.piece.edit),
    Column("rule", lambda row: row.rule),
    Column("text", lambda row: row.text and shortened(row.text, TEXT_CHARS), least=40),
]

CAUSE_COLUMNS: list[Column[Cause]] = [
    Column("version", lambda cause: cause.version),
    Column("shown", lambda cause: cause.shown.kind if cause.shown else "left behind", style="cyan"),
    Column("rule", lambda cause: cause.rule),
    Column("reason", lambda cause: cause.reason, folds=True, least=40),
]

VIEW = "view"
"""What ``diff`` calls the view of the other version."""

ROLE_COLOURS = {"user": "green", "assistant": "cyan", "system": "magenta"}


@click.command()
@session_argument
@click.option("--at", metavar="VERSION", help="The view at this version; without, the newest.")
@click.option("--recover", is_flag=True, help="With open calls closed, as a resume would do it.")
@click.option(
    "--as",
    "form",
    type=click.Choice(["request", "pieces", "text"]),
    help="Default: text; with --json, request.",
)
@click.option(
    "--exact", is_flag=True, help="A request with the cache_control marks it was sent with."
)
@json_option
@click.pass_obj
def view_command(
    where: str | None,
    session: str,
    at: str | None,
    recover: bool,
    form: str | None,
    exact: bool,
    json: bool,
) -> None:
    """Show what the model sees, now or at any version.

    --at request:K --as request prints what was sent: the same keys in their order, texts or
    blocks, and messages; cache_control marks with --exact. Open calls at the end of a view are
    shown as they are, and named on stderr. Nothing is written.
    """
    with reading(where) as store:
        name = find(store, session)
        if recover:
            view = open_view(store, name, version_of(store, name, at))
        else:
            view = view_of(store, name, at)
        if not recover and view.request is None:
            _tell_open(view)
        if form == "pieces":
            pieces = list(rows(view))
            show(pieces, PIECE_COLUMNS, json=json, to_json=Row.to_json)
            if not json:
                _tell_size(view, sum(row.tokens for row in pieces))
        elif form == "request" or (form is None and json):
            _show_request(view, "recover" if recover else "keep", exact, json=json)
        else:
            _show_text(view, recover, json=json)


def _tell_open(view: View) -> None:
    calls = open_calls(view)
    if calls:
        names = ", ".join(f"{call.id} ({call.name}, version {call.version})" for call in calls)
        note(f"Note: calls without a result at the end: {names}. --recover shows them closed.")


def _tell_size(view: View, tokens: int) -> None:
    """Say what the figures of pieces count, and what the next request takes."""
    counted = count(view)
    how = "estimated" if counted.reply is None else "as the API counted last, and estimated since"
    note(
        f"{EACH_ALONE}: {tokens:,} in all. The next request takes {counted.tokens:,} ({how}), with"
        " system prompt, tools and what joins the messages; `compact` goes by that."
    )


def _show_request(view: View, open: Open, exact: bool, *, json: bool) -> None:
    request = render(view, open=open)
    if exact and view.request is not None:
        request |= with_marks(request, view.request.data.get("marks") or {})
    if json:
        print_json([request])
    else:
        text = safe_json(stdlib.dumps(request, ensure_ascii=False, indent=2))
        print_lines(text.split("\n"))


def _show_text(view: View, recover: bool, *, json: bool) -> None:
    shown = [*items(view), *(interrupted_items(view) if recover else ())]
    if json:
        print_json(map(_item_json, shown))
    else:
        print_lines(_text(view, shown))


def _item_json(item: Item) -> dict[str, object]:
    return {
        "version": item.version,
        "role": item.role,
        "kind": item.kind,
        "text": text_of_item(item),
        "content": item.content,
    }


def _text(view: View, shown: list[Item]) -> Iterator[str]:
    system = (view.system or {}).get("system")
    if system:
        yield styled("system", bold=True, fg=ROLE_COLOURS["system"])
        for block in blocks(content_of(system)):
            yield from block_lines(block)
        yield ""
    for item in shown:
        kind = "" if item.kind == "message" else f", {item.kind}"
        yield styled(f"{item.role} {item.version}{kind}", bold=True, fg=ROLE_COLOURS[item.role])
        for block in blocks(item.content):
            yield from block_lines(block)
        yield ""


@click.command()
@session_argument
@click.argument("a", metavar="BEFORE")
@click.argument("b", metavar="AFTER")
@json_option
@click.pass_obj
def diff_command(where: str | None, session: str, a: str, b: str, json: bool) -> None:
    """Show what changed between two views.

    BEFORE and AFTER name their versions. `diff SESSION request:K view` compares what was sent with
    the view that it was sent for. Under `tokens` is how many more (+) or fewer (-) AFTER takes,
    estimated for each piece by itself; --json gives what is saved.
    """
    with reading(where) as store:
        name = find(store, session)
        before, after = _compared(store, name, a, b)
        show_changes(diff(before, after), json=json)


def _compared(store: Store, session: str, a: str, b: str) -> tuple[View, View]:
    """Return two views that a person names; ``view`` is that of the version of the other."""
    named = [None if name == VIEW else named_view(store, session, name) for name in (a, b)]
    for view, name in zip(named, (a, b), strict=True):
        if view is not None and is_side(view):
            raise click.UsageError(
                f"{name} was sent on the side, for no view of the session."
                f" `foldlog view SESSION --at {name}` shows it."
            )
    known = next((view for view in named if view is not None), None)
    if known is None:
        raise click.UsageError("`view` is the view of the other one: name a version or a request.")
    before, after = (view or open_view(store, session, known.version) for view in named)
    return before, after


@click.command()
@session_argument
@click.argument("version")
@json_option
@click.pass_obj
def why_command(where: str | None, session: str, version: str, json: bool) -> None:
    """Show through which edits an event came to be shown as it is.

    At the head, the oldest edit first; the last one decides.
    """
    with reading(where) as store:
        name = find(store, session)
        view = open_view(store, name)
        found = why(view, resolve(store, name, version))
        if json:
            print_json([found.to_json()])
            return
        event = view.event(found.version)
        shown = found.shown.kind if found.shown else "not on the lineage"
        print_lines([f"{found.version}  {one_line(event.type)}  {clock(event.occurred)}  {shown}"])
        print_lines([headline(event)])
        show(found.causes, CAUSE_COLUMNS, json=False, to_json=Cause.to_json)
