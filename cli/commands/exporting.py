"""Taking sessions out: exports for people and programs, and a copy of the whole store."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

import click

from foldlog.cli import files, formats
from foldlog.cli.commands.format_names import FormatName, HelpWithFormats
from foldlog.cli.formats import EXPORTERS, FolderExporter
from foldlog.cli.options import session_argument
from foldlog.cli.output import on_terminal, print_bytes, print_lines, say
from foldlog.cli.safe import safe
from foldlog.cli.stores import export_version, find, reading
from foldlog.eventstore import Store
from foldlog.eventstore.store import copyable


@click.command(cls=HelpWithFormats, formats=EXPORTERS)
@session_argument
@click.option(
    "--to",
    "form",
    type=FormatName(EXPORTERS),
    metavar="NAME",
    default="markdown",
    show_default=True,
    help="As what.",
)
@click.option("--at", metavar="VERSION", help="As it was at this version.")
@click.option("--whole", is_flag=True, help="All, not only what the view shows (claude-code).")
@click.option("-o", "--output", metavar="FILE", help="Write to a file, or to a folder (FOLDER/).")
@click.option("--force", is_flag=True, help="Replace a file that exists.")
@click.pass_obj
def export_command(
    where: str | None,
    session: str,
    form: str,
    at: str | None,
    whole: bool,
    output: str | None,
    force: bool,
) -> None:
    """Write a session as Markdown, JSON Lines or a transcript.

    markdown is for people: it marks what the model no longer sees. jsonl holds every event without
    loss. claude-code gives back every line of an imported transcript; what was cleared, previewed
    or hidden since is written as the view shows it, so that the program goes on with that.
    """
    with reading(where) as store:
        name = find(store, session)
        until = export_version(store, name, at)
        if output is not None and _is_folder(output):
            _write_folder(Path(output), _files(store, name, form, until), force=force)
            return
        content = formats.export_lines(store, name, format=form, until=until, whole=whole)
        if output is not None and output != "-":
            files.write(Path(output), content, force=force)
        elif on_terminal():
            print_lines(_shown(content))
        else:
            print_bytes(content)


def _is_folder(output: str) -> bool:
    return output.endswith("/") or Path(output).is_dir()


def _files(
    store: Store, session: str, form: str, until: int | None
) -> Iterator[tuple[str, Iterable[bytes]]]:
    exporter = EXPORTERS.load(form)
    if not isinstance(exporter, FolderExporter):
        raise click.ClickException(f"{form} makes one file. Name a file, not a folder.")
    return exporter.export_files(store, session, until)


def _write_folder(
    folder: Path, content: Iterable[tuple[str, Iterable[bytes]]], *, force: bool
) -> None:
    """Write files into a folder, each readable by its owner only.

    Raises:
        ClickException: A file exists already, or its path leads out of the folder.
    """
    for name, chunks in content:
        place = PurePosixPath(name)
        if place.is_absolute() or ".." in place.parts:
            raise click.ClickException(f"the exporter names {name!r}, which is not in the folder.")
        path = folder / place
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        files.write(path, chunks, force=force)


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
        copyable(store).backup(target)
        say(f"{store.path} is copied to {target}.")
