"""Choosing what the model sees: expand what an edit shortened, pin what none may touch."""

from __future__ import annotations

import click

from foldlog.cli.describe import show_changes
from foldlog.cli.options import json_option, session_argument
from foldlog.cli.output import print_json, say
from foldlog.cli.stores import find, writing
from foldlog.projections import Session, diff, resolve


@click.command()
@session_argument
@click.argument("version")
@click.option("--whole", is_flag=True, help="All of it, not what stood there before.")
@json_option
@click.pass_obj
def expand_command(where: str | None, session: str, version: str, whole: bool, json: bool) -> None:
    """Undo the edit that shows an event: what stood there before comes back."""
    with writing(where) as store:
        expanded = Session(store, find(store, session))
        before = expanded.view()
        expanded.expand(version, whole=whole)
        show_changes(diff(before, expanded.view()), json=json)


@click.command()
@session_argument
@click.argument("version")
@json_option
@click.pass_obj
def pin_command(where: str | None, session: str, version: str, json: bool) -> None:
    """Keep an event from ever being compacted."""
    _change_pin(where, session, version, pin=True, json=json)


@click.command()
@session_argument
@click.argument("version")
@json_option
@click.pass_obj
def unpin_command(where: str | None, session: str, version: str, json: bool) -> None:
    """Let an event be compacted again."""
    _change_pin(where, session, version, pin=False, json=json)


def _change_pin(where: str | None, session: str, name: str, *, pin: bool, json: bool) -> None:
    with writing(where) as store:
        changed = Session(store, find(store, session))
        version = resolve(store, changed.id, name)
        (changed.pin if pin else changed.unpin)(version)
        if json:
            print_json([{"session": changed.id, "version": version}])
        else:
            now = "pinned" if pin else "not pinned any more"
            say(f"Version {version} of {changed.id} is {now}.")
