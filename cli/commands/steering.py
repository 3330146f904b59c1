"""Going on from somewhere else: forks, rewinds, and calls that a crash left open."""

from __future__ import annotations

import click

from foldlog.cli.options import json_option, session_argument
from foldlog.cli.output import note, print_json, say
from foldlog.cli.stores import find, version_of, writing
from foldlog.projections import Session
from foldlog.projections.render.replies import NOT_STARTED


@click.command()
@session_argument
@click.option("--at", metavar="VERSION", help="Share the past up to here; without, all of it.")
@click.option("--title", metavar="T", help="The title of the new session.")
@json_option
@click.pass_obj
def fork_command(
    where: str | None, session: str, at: str | None, title: str | None, json: bool
) -> None:
    """Start a new session that shares the past; nothing is copied."""
    with writing(where) as store:
        name = find(store, session)
        started = store.fork(name, at=version_of(store, name, at), title=title)
        version = started.version - 1
        if json:
            print_json([{"session": started.session, "parent": name, "version": version}])
        else:
            say(f"{started.session} shares {name} up to version {version}.")


@click.command()
@session_argument
@click.argument("version")
@click.option("--keep-edits", is_flag=True, help="What was compacted since stays compacted.")
@json_option
@click.pass_obj
def rewind_command(
    where: str | None, session: str, version: str, keep_edits: bool, json: bool
) -> None:
    """Move the head back to a version; nothing is lost.

    Rewound to before a compaction, the long history is back.
    """
    with writing(where) as store:
        rewound = Session(store, find(store, session))
        moved = rewound.rewind(version, keep_edits=keep_edits)
        head = rewound.view().head
        if json:
            print_json([{"session": rewound.id, "version": moved.version, "head": head}])
        else:
            say(f"The head of {rewound.id} is at {head} again (recorded as {moved.version}).")


@click.command()
@session_argument
@json_option
@click.pass_obj
def recover_command(where: str | None, session: str, json: bool) -> None:
    """Close open calls as interrupted: they did not start, or their outcome is unknown."""
    with writing(where) as store:
        name = find(store, session)
        closed = Session(store, name).recover()
    if json:
        print_json(
            {"session": name, "version": event.version, "tool_use_id": event.data["tool_use_id"]}
            for event in closed
        )
        return
    for event in closed:
        did = "it did not start" if event.data["content"] == NOT_STARTED else "outcome unknown"
        call = event.data["tool_use_id"]
        say(f"Call {call} is closed as interrupted, {did} (version {event.version}).")
    if not closed:
        note("No call is open.")
