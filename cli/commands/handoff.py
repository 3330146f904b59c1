"""Going on in another agent: a session is put where its program looks."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from foldlog.cli import files
from foldlog.cli.formats import EXPORTERS
from foldlog.cli.formats.conversation import Conversation
from foldlog.cli.formats.protocols import Handoff, HandoffExporter
from foldlog.cli.options import SessionName, json_option
from foldlog.cli.output import note, print_bytes, print_json, say
from foldlog.cli.stores import export_version, find, reading
from foldlog.projections.render.items import items


@click.command()
@click.argument("session", type=SessionName())
@click.option(
    "--to",
    "form",
    metavar="NAME",
    required=True,
    shell_complete=lambda ctx, param, start: [n for n in _programs() if n.startswith(start)],
    help="The program that goes on.",
)
@click.option("--at", metavar="VERSION", help="Go on from this version.")
@click.option("--whole", is_flag=True, help="All, not only what the view shows.")
@click.option("--cwd", metavar="FOLDER", help="The folder to go on in, if not the session's own.")
@click.option("--dry-run", is_flag=True, help="Say what would be written, and write nothing.")
@click.option("--print", "prints", is_flag=True, help="Print the file instead of writing it.")
@json_option
@click.pass_obj
def handoff_command(
    where: str | None,
    session: str,
    form: str,
    at: str | None,
    whole: bool,
    cwd: str | None,
    dry_run: bool,
    prints: bool,
    json: bool,
) -> None:
    """Go on with a session in another agent.

    Writes what the model sees where that program looks for its sessions, and prints the command
    that resumes it: claude-code, codex, opencode or pi. System prompt and tools are the program's
    own; what else cannot be carried is counted on stderr. A file that is there is never replaced:
    the program may have gone on with it.

    OpenCode keeps its sessions in a database: the command imports the file first.
    """
    exporter = _exporter(form)
    with reading(where) as store:
        name = find(store, session)
        until = export_version(store, name, at)
        told = _in_folder(Conversation.of(store, name, until, whole=whole), cwd)
        handoff = exporter.hand_off(told)
        content = list(handoff.content)
        if prints:
            print_bytes(content)
        else:
            _put(handoff, content, dry_run)
    if not prints:
        _answer(handoff, told, dry_run, json)
    for line in told.losses.lines() if not json else ():
        note(line)


def _in_folder(told: Conversation, cwd: str | None) -> Conversation:
    """Return a conversation with the folder to go on in.

    Raises:
        ClickException: There is nothing to go on with, or no such folder can be.
    """
    if not items(told.view):
        raise click.ClickException(
            f"session {told.id!r} shows nothing at version {told.view.version}: there is nothing to"
            " go on with. Choose another version with --at."
        )
    folder = told.session.cwd if cwd is None else os.path.abspath(cwd)
    if folder is not None and "\0" in folder:
        raise click.ClickException(
            "no file system takes the name of the session's folder. Choose a folder with --cwd."
        )
    return replace(told, session=replace(told.session, cwd=folder or os.path.abspath(".")))


def _exporter(form: str) -> HandoffExporter:
    exporter = EXPORTERS.load(form) if form in EXPORTERS else None
    if not isinstance(exporter, HandoffExporter):
        known = ", ".join(sorted(_programs()))
        raise click.UsageError(f"unknown program {form!r}; choose from {known}.")
    return exporter


def _programs() -> Iterator[str]:
    """Yield the formats whose programs can go on with a session."""
    return (name for name, found in EXPORTERS.items() if isinstance(found, HandoffExporter))


def _put(handoff: Handoff, content: list[bytes], dry_run: bool) -> None:
    """Write the file, if it is not there already.

    Raises:
        ClickException: Another file is there.
    """
    path = handoff.path
    if os.path.lexists(path):  # a link to nothing would lead elsewhere
        if path.is_file() and path.read_bytes() == b"".join(content):
            return
        raise click.ClickException(
            f"{path} exists and is another file: the program went on with it. Resume it with"
            f" `{_words(handoff.commands[-1])}`, or hand off another version with --at."
        )
    if not dry_run:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        files.write(path, content, force=False)


def _answer(handoff: Handoff, told: Conversation, dry_run: bool, json: bool) -> None:
    cwd = told.session.cwd or "."
    command = " && ".join(map(_words, (*_enter(cwd), *handoff.commands)))
    if json:
        made: dict[str, Any] = {"path": str(handoff.path), "command": command}
        print_json([{**made, "written": not dry_run, "not_carried": told.losses.to_json()}])
        return
    if not Path(cwd).is_dir():
        note(f"{cwd} is no folder here. Choose one with --cwd.")
    say(f"{'Would write' if dry_run else 'Written'}: {handoff.path}")
    say(f"Go on with: {command}")


def _enter(cwd: str) -> tuple[tuple[str, ...], ...]:
    """Return the command that changes into the session's folder, if that is another one."""
    return () if os.path.realpath(cwd) == os.path.realpath(".") else (("cd", cwd),)


def _words(command: tuple[str, ...]) -> str:
    return shlex.join(command)
