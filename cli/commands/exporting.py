"""Taking sessions out: exports for people and programs, and a copy of the whole store."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import click

from foldlog.cli import files, formats
from foldlog.cli.options import session_argument
from foldlog.cli.output import on_terminal, print_bytes, print_lines, say
from foldlog.cli.safe import safe
from foldlog.cli.stores import find, reading, version_of
from foldlog.eventstore import EventStore

FORMS = ("markdown", "jsonl", *formats.FORMATS)


@click.command()
@session_argument
@click.option(
    "--to", "form", type=click.Choice(FORMS), default="markdown", show_default=True, help="As what."
)
@click.option("--at", metavar="VERSION", help="As it was at this version.")
@click.option("-o", "--output", type=Path, metavar="FILE", help="Write to a file.")
@click.option("--force", is_flag=True, help="Replace the file if it is there.")
@click.pass_obj
def export_command(
    where: str | None, session: str, form: str, at: str | None, output: Path | None, force: bool
) -> None:
    """Write a session as Markdown, JSON Lines or a transcript.

    markdown is for people: it marks what the model no longer sees. jsonl holds every event without
    loss. claude-code gives back every line of an imported transcript.
    """
    with reading(where) as store:
        name = find(store, session)
        content = _content(store, name, form, version_of(store, name, at))
        if output is not None and str(output) != "-":
            files.write(output, content, force=force)
        elif on_terminal():
            print_lines(_shown(content))
        else:
            print_bytes(content)


def _content(store: EventStore, session: str, form: str, at: int | None) -> Iterator[bytes]:
    if form == "markdown":
        from foldlog.cli.formats import markdown

        return markdown.export_lines(store, session, at)
    if form == "jsonl":
        from foldlog.cli.formats import jsonl

        return jsonl.export_lines(store, session, at)
    return formats.export_lines(store, session, format=form, until=at)


def _shown(content: Iterable[bytes]) -> Iterator[str]:
    """Content for a terminal: it came from a transcript."""
    for chunk in content:
        yield safe(chunk.decode("utf-8", "replace").removesuffix("\n"))


@click.command()
@click.argument("target", type=Path, metavar="FILE")
@click.pass_obj
def backup_command(where: str | None, target: Path) -> None:
    """Copy the store while others write to it: one consistent file, readable by you only."""
    with reading(where) as store:
        store.backup(target)
        say(f"{store.path} is copied to {target}.")
