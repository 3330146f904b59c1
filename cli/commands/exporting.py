"""Taking sessions out: exports for people and programs, and a copy of the whole store."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath, PurePosixPath
from typing import TYPE_CHECKING, TypeAlias

import click

from foldlog.cli import files, formats
from foldlog.cli.commands.format_names import FormatName, HelpWithFormats
from foldlog.cli.formats import EXPORTERS, FolderExporter
from foldlog.cli.formats.losses import Losses
from foldlog.cli.formats.protocols import (
    NarrativeExporter,
    SendingExporter,
    SessionsExporter,
    ViewExporter,
    ViewFolderExporter,
)
from foldlog.cli.formats.secrets import Masker
from foldlog.cli.formats.telling import ALL, Telling
from foldlog.cli.options import SessionName
from foldlog.cli.output import note, on_terminal, print_bytes, print_lines, say
from foldlog.cli.safe import safe
from foldlog.cli.stores import export_version, find, reading
from foldlog.eventstore import Store
from foldlog.eventstore.listing import SessionInfo
from foldlog.eventstore.store import copyable

if TYPE_CHECKING:
    from foldlog.cli.formats.conversation import Conversation

Files: TypeAlias = Iterator[tuple[str, Iterable[bytes]]]
"""(relative path, content in pieces) of each file."""


@dataclass(frozen=True, slots=True)
class _Export:
    """What is to be exported, and how.

    Attributes:
        store: Where the sessions are.
        form: The name of the format.
        at: The version, as a person names it; None: all that was recorded.
        whole: All of it, not only what the view shows.
        side_by_side: The number of a compaction, for the page about it.
        telling: What to show of a session.
        content: Whether a format that leaves texts out writes them.
        losses: What the format cannot hold, once it is written.
    """

    store: Store
    form: str
    at: str | None
    whole: bool
    side_by_side: int | None
    telling: Telling
    content: bool = False
    losses: Losses = field(default_factory=Losses)

    def pieces(self, name: str) -> Iterator[bytes]:
        """Return one session in pieces."""
        if self.side_by_side is not None:
            return self._compared(name, self.side_by_side)
        exporter = EXPORTERS.load(self.form)
        if self.telling == ALL and isinstance(exporter, ViewExporter):
            return exporter.export_view(self.conversation(name))
        until = export_version(self.store, name, self.at)
        if self.telling == ALL:
            return formats.export_lines(
                self.store, name, format=self.form, until=until, whole=self.whole
            )
        if not isinstance(exporter, NarrativeExporter):
            raise click.UsageError(
                f"{self.form} holds all of a session. --prompts, --without-tools and"
                " --redact-secrets are for markdown and html."
            )
        return exporter.export_narrative(self.store, name, until, self.telling)

    def files(self, name: str) -> Files:
        """Return (path, content) of the files of one session."""
        exporter = EXPORTERS.load(self.form)
        if isinstance(exporter, SessionsExporter):
            return self.files_of(_with_descendants(self.store, name))
        if not isinstance(exporter, FolderExporter | ViewFolderExporter):
            raise click.ClickException(f"{self.form} makes one file. Name a file, not a folder.")
        if self.telling != ALL or self.side_by_side is not None:
            raise click.UsageError(f"{self.form} holds all of a session. Leave the options out.")
        if isinstance(exporter, ViewFolderExporter):
            return exporter.export_view_files(self.conversation(name))
        until = export_version(self.store, name, self.at)
        return exporter.export_files(self.store, name, until)

    def files_of(self, infos: Iterable[SessionInfo]) -> Files:
        """Return (path, content) of the files of many sessions."""
        exporter = EXPORTERS.load(self.form)
        if not isinstance(exporter, SessionsExporter):
            raise click.UsageError(f"{self.form} holds one session. Name it, or use --to html.")
        if self.at is not None or self.side_by_side is not None:
            raise click.UsageError("--at and --side-by-side make one page. Name a file with -o.")
        return exporter.export_sessions(self.store, infos, self.telling)

    def send(self, name: str, endpoint: str) -> int:
        """Send one session to an address, and return how many things were sent."""
        return _sending(self.form).send(self.conversation(name), endpoint)

    def conversation(self, name: str) -> Conversation:
        """Return what the model sees of one session."""
        from foldlog.cli.formats.conversation import Conversation

        until = export_version(self.store, name, self.at)
        made = Conversation.of(self.store, name, until, whole=self.whole, content=self.content)
        return replace(made, losses=self.losses)

    def _compared(self, name: str, number: int) -> Iterator[bytes]:
        if self.form != "html" or self.at is not None:
            raise click.UsageError("--side-by-side is for --to html, without --at.")
        from foldlog.cli.formats import html

        return html.export_compared(self.store, name, number, self.telling)


def _sending(form: str) -> SendingExporter:
    exporter = EXPORTERS.load(form)
    if not isinstance(exporter, SendingExporter):
        raise click.UsageError("--endpoint and --content are for --to otel.")
    return exporter


@click.command(cls=HelpWithFormats, formats=EXPORTERS)
@click.argument("session", type=SessionName(), required=False)
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
@click.option("--whole", is_flag=True, help="All, not only what the view shows.")
@click.option("-o", "--output", metavar="FILE", help="Write to a file, or to a folder (FOLDER/).")
@click.option("--force", is_flag=True, help="Replace a file that exists.")
@click.option(
    "--project", metavar="FOLDER", help="Without SESSION: only sessions that worked in this folder."
)
@click.option(
    "--side-by-side",
    type=int,
    metavar="K",
    help="HTML: what happened beside what the model saw across compaction K.",
)
@click.option("--prompts", is_flag=True, help="Markdown, HTML: only what the person said.")
@click.option("--without-tools", is_flag=True, help="Markdown, HTML: no tool calls, no results.")
@click.option(
    "--redact-secrets", is_flag=True, help="Markdown, HTML: mask keys and passwords, count them."
)
@click.option("--content", is_flag=True, help="otel: with the texts of messages and results.")
@click.option("--endpoint", metavar="URL", help="otel: send it to a collector instead.")
@click.pass_obj
def export_command(
    where: str | None,
    session: str | None,
    form: str,
    at: str | None,
    whole: bool,
    output: str | None,
    force: bool,
    project: str | None,
    side_by_side: int | None,
    prompts: bool,
    without_tools: bool,
    redact_secrets: bool,
    content: bool,
    endpoint: str | None,
) -> None:
    """Write sessions as Markdown, web pages, JSON Lines or a transcript.

    markdown and html are for people: they mark what the model no longer sees. html is one page that
    needs nothing else; into a folder, it is an index and a page for each session: of SESSION and
    what came from it, or without SESSION of the whole store. jsonl holds every event without loss.
    claude-code gives back every line of an imported transcript; what was cleared, previewed or
    hidden since is written as the view shows it, so that the program goes on with that. The others
    are for programs and write what the model sees; what they cannot hold is counted on stderr.
    otel tells what happened as spans, without texts; it needs `pip install "foldlog[otel]"`.

    --redact-secrets needs `pip install "foldlog[secrets]"`. It finds much, not all: look at the
    file before you share it.
    """
    masker = Masker() if redact_secrets else None
    if content or endpoint is not None:
        _sending(form)
    with reading(where) as store:
        telling = Telling(prompts, without_tools, masker)
        export = _Export(store, form, at, whole, side_by_side, telling, content)
        if session is None:
            infos = _sessions(store, project)
            _write_folder(_folder(output), export.files_of(infos), force=force)
        elif project is not None:
            raise click.UsageError("--project chooses sessions. Leave SESSION out.")
        elif endpoint is not None:
            say(f"{export.send(find(store, session), endpoint)} spans were sent to {endpoint}.")
        else:
            _write(export, find(store, session), output, force=force)
    for line in export.losses.lines():
        note(line)
    if masker is not None:
        note(_what_was_masked(masker))


def _write(export: _Export, name: str, output: str | None, *, force: bool) -> None:
    if output is not None and _is_folder(output):
        _write_folder(Path(output), export.files(name), force=force)
        return
    content = export.pieces(name)
    if output is not None and output != "-":
        files.write(Path(output), content, force=force)
    elif on_terminal():
        print_lines(_shown(content))
    else:
        print_bytes(content)


def _folder(output: str | None) -> Path:
    if output is None or output == "-" or Path(output).is_file():
        raise click.UsageError(
            "without SESSION, name a folder for all of them: --to html -o FOLDER. "
            "`last` is the session used last."
        )
    return Path(output)


def _sessions(store: Store, project: str | None) -> list[SessionInfo]:
    infos = list(store.sessions())
    if project is None:
        return infos
    folder = PurePath(os.path.abspath(project))
    return [info for info in infos if info.cwd and PurePath(info.cwd).is_relative_to(folder)]


def _with_descendants(store: Store, name: str) -> list[SessionInfo]:
    """Return a session and all that came from it."""
    infos = list(store.sessions())
    found = {name}
    while more := {info.session for info in infos if info.parent in found} - found:
        found |= more
    return [info for info in infos if info.session in found]


def _what_was_masked(masker: Masker) -> str:
    kinds = ", ".join(f"{count} {kind}" for kind, count in masker.counts.most_common())
    found = f"Masked secrets: {kinds}." if kinds else "No secrets were recognised."
    return f"{found} A scanner does not know all of them: look before you share."


def _is_folder(output: str) -> bool:
    return output.endswith("/") or Path(output).is_dir()


def _write_folder(folder: Path, content: Files, *, force: bool) -> None:
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
