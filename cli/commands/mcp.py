"""Recall for any client that speaks the Model Context Protocol."""

from __future__ import annotations

from importlib.util import find_spec

import click

from foldlog.cli.options import SessionName
from foldlog.cli.stores import find, reading


@click.command()
@click.argument("session", type=SessionName(), default="last")
@click.option("--all", "everything", is_flag=True, help="Every session of the store may be read.")
@click.option("--text-only", is_flag=True, help="Describe images, do not send them.")
@click.pass_obj
def mcp_command(where: str | None, session: str, everything: bool, text_only: bool) -> None:
    """Serve recall to an MCP client, over stdin and stdout.

    The client's model gets a tool that searches SESSION, shows what a handle in its view names, and
    pages through it. SESSION is `last` by default, resolved once at the start.
    Nothing is recorded. Needs `pip install "foldlog[mcp]"`; docs/recall.md tells how to add it to a
    client.
    """
    if find_spec("mcp") is None:
        raise click.ClickException(
            'this needs the MCP SDK, which is not installed. Run `pip install "foldlog[mcp]"`.'
        )
    from foldlog.cli.mcp import serve
    from foldlog.projections import Session
    from foldlog.projections.recall import Recall

    with reading(where) as store:
        name = find(store, session)
        recall = Recall(Session(store, name), everything=everything, media=not text_only)
        serve(recall, name)
