"""The list of sessions, and what they are called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from itertools import islice

import click

from foldlog.cli.describe import clock
from foldlog.cli.options import json_option, period_options, session_argument, within
from foldlog.cli.output import Column, note, print_json, say, show
from foldlog.cli.same_conversation import others, same_conversation
from foldlog.cli.stores import find, reading, writing
from foldlog.eventstore import SessionInfo

DAMAGED = 1
"""The exit code where a session cannot be read as a whole."""

COLUMNS: list[Column[SessionInfo]] = [
    Column("session", lambda info: info.session, style="cyan"),
    Column("last", lambda info: clock(info.last)),
    Column("head", lambda info: info.head, spare=True),
    Column("messages", lambda info: info.messages),
    Column("results", lambda info: info.tool_results, spare=True),
    Column("compactions", lambda info: info.compactions),
    Column("folder", lambda info: info.cwd, spare=True),
    Column(
        "parent", lambda info: info.parent and f"{info.parent_kind} of {info.parent}", spare=True
    ),
    Column("title", lambda info: info.title or info.preview, least=40),
]


def _columns(groups: Mapping[str, Sequence[SessionInfo]]) -> list[Column[SessionInfo]]:
    """Return the columns; one for the other recordings where there are any."""
    if all(len(group) == 1 for group in groups.values()):
        return COLUMNS
    also: Column[SessionInfo] = Column(
        "also", lambda info: ", ".join(others(info, groups)), spare=True
    )
    return [*COLUMNS[:-1], also, COLUMNS[-1]]


@click.command()
@click.option("--tag", metavar="TAG", help="Only sessions with this tag.")
@click.option(
    "--merged",
    is_flag=True,
    help="A conversation that was both recorded and imported, or copied, in one row.",
)
@period_options
@json_option
@click.pass_obj
def sessions_command(
    where: str | None,
    tag: str | None,
    merged: bool,
    since: datetime | None,
    until: datetime | None,
    limit: int | None,
    json: bool,
) -> int:
    """List the sessions, the one used last first.

    "also" names the other sessions that hold the same conversation.

    One that is damaged is listed as far as it can be read, and its problem reported; then the exit
    code is 1.
    """
    with reading(where) as store:
        infos = store.sessions()
        groups = same_conversation(infos)
        found = (
            info
            for info in infos
            if (not merged or groups[info.session][0] is info)
            and (tag is None or tag in info.tags)
            and within(info.last, since, None)
            and within(info.started, None, until)
        )
        show(
            islice(found, limit),
            _columns(groups),
            json=json,
            to_json=lambda info: {**asdict(info), "also": others(info, groups)},
            empty="No session. Import some with `foldlog import`.",
        )
    problems = [info.problem for info in infos if info.problem]
    for problem in problems:
        note(problem)
    return DAMAGED if problems else 0


@click.command()
@session_argument
@click.argument("title")
@json_option
@click.pass_obj
def rename_command(where: str | None, session: str, title: str, json: bool) -> None:
    """Give a session another title."""
    from foldlog.projections import Session

    with writing(where) as store:
        renamed = Session(store, find(store, session))
        renamed.rename(title)
        if json:
            print_json([{"session": renamed.id, "title": title}])
        else:
            say(f"{renamed.id} is called {title!r} now.")


@click.command()
@session_argument
@click.argument("tags", nargs=-1, metavar="TAG…")
@click.option("--remove", is_flag=True, help="Take these tags away.")
@json_option
@click.pass_obj
def tag_command(
    where: str | None, session: str, tags: tuple[str, ...], remove: bool, json: bool
) -> None:
    """Add tags to a session, or take them away; without a tag, list those it has."""
    from foldlog.projections import Session

    with writing(where) if tags else reading(where) as store:
        name = find(store, session)
        known = list(store.session(name).tags)
        changed = [tag for tag in dict.fromkeys([*known, *tags]) if not (remove and tag in tags)]
        if changed != known:
            Session(store, name).tag(changed)
        if json:
            print_json([{"session": name, "tags": changed}])
        else:
            say(f"{name} has the tags {', '.join(changed)}." if changed else f"{name} has no tag.")
