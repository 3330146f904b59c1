"""One event with its full content, and the bytes of what is in it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import click

from foldlog.cli import files
from foldlog.cli.describe import block_lines, clock, event_json, page
from foldlog.cli.options import SessionName, json_option
from foldlog.cli.output import json_line, on_terminal, print_bytes, print_lines, styled
from foldlog.cli.raw_media import is_text, raw_bytes
from foldlog.cli.safe import one_line, safe
from foldlog.cli.stores import find, reading
from foldlog.eventstore import Event
from foldlog.projections.view.address import Handle, resolve
from foldlog.projections.wire.contents import block_of


@click.command()
@click.argument("name", metavar="SESSION|HANDLE", type=SessionName())
@click.argument("version", required=False)
@click.option("--raw", is_flag=True, help="Only the bytes of a text, image or document.")
@click.option("-o", "--output", type=Path, metavar="FILE", help="Write to a file.")
@click.option("--force", is_flag=True, help="Replace the file if it is there.")
@json_option
@click.pass_obj
def show_command(
    where: str | None,
    name: str,
    version: str | None,
    raw: bool,
    output: Path | None,
    force: bool,
    json: bool,
) -> None:
    """Show one event with its full content.

    Name it by SESSION and VERSION, or by the handle that a view shows:
    foldlog:SESSION/VERSION, with #N for the N-th block.
    """
    handle = _handle(name, version)
    with reading(where) as store:
        session = find(store, handle.session)
        event = store.get(session, resolve(store, session, handle.version))
    block = block_of(event, handle.block) if handle.block else None
    if raw:
        _put_raw(event, handle.block, output, force)
    elif json:
        part = {} if block is None else {"block": block}
        _put([f"{json_line({**event_json(event), **part})}\n"], output, force)
    else:
        _put((f"{line}\n" for line in _page_lines(event, handle.block)), output, force)


def _handle(name: str, version: str | None) -> Handle:
    handle = Handle.parse(name)
    if handle is not None and version is None:
        return handle
    if version is None:
        raise click.UsageError(f"{name!r} is not a handle, so a VERSION is needed after it.")
    if handle is not None:
        raise click.UsageError("a handle names its version itself.")
    number, _, block = version.partition("#")
    if block and not re.fullmatch("0*[1-9][0-9]{,17}", block):
        raise click.UsageError(f"{version!r} does not name a block: blocks are #1, #2 and so on.")
    return Handle(name, number, int(block) if block else None)


def _page_lines(event: Event, block: int | None) -> Iterator[str]:
    name = one_line(str(Handle(event.session, event.version, block)))
    yield styled(f"{name}  {one_line(event.type)}  {clock(event.occurred)}", bold=True)
    yield from block_lines(block_of(event, block)) if block else page(event)


def _put(lines: Iterable[str], output: Path | None, force: bool) -> None:
    if output is None:
        print_lines(line.rstrip("\n") for line in lines)
    else:
        files.write(
            output, (line.encode("utf-8", "backslashreplace") for line in lines), force=force
        )


def _put_raw(event: Event, block: int | None, output: Path | None, force: bool) -> None:
    content = raw_bytes(event, block)
    if output is not None:
        files.write(output, [content], force=force)
    elif not on_terminal():
        print_bytes([content])
    elif is_text(event, block):
        print_lines(safe(content.decode("utf-8", "replace")).split("\n"))
    else:
        raise click.ClickException("these bytes are nothing for a terminal. Name a file with -o.")
