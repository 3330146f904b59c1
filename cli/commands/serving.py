"""The viewer: serve it, and open a session in it."""

from __future__ import annotations

import os
import signal
import socket
from contextlib import closing

import click

from foldlog.cli.exit_codes import INTERRUPTED
from foldlog.cli.options import json_option
from foldlog.cli.output import note, print_json, say
from foldlog.cli.stores import place_of, reading
from foldlog.eventstore import open_store

PORT = 4142
"""Where it listens by default: the port after the proxy's."""

INSTALL = "the viewer needs Starlette and uvicorn. Run `pip install 'foldlog[serve]'`."


@click.command()
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    help=f"Where to listen; 0 for any port that is free. Default: {PORT}, or a free one.",
)
@json_option
@click.pass_obj
def serve_command(where: str | None, port: int | None, json: bool) -> None:
    """See sessions in a browser, and travel in time.

    It prints an address with a token: open it in a browser of this machine. Nothing else can reach
    the pages, and they change nothing. Stop it with Ctrl-C.
    """
    try:
        import starlette
        import uvicorn  # noqa: F401
    except ImportError:
        raise click.ClickException(INSTALL) from None
    del starlette
    from foldlog.cli.serve.app import application
    from foldlog.cli.serve.keys import Keys
    from foldlog.cli.serve.readers import Readers
    from foldlog.cli.serve.running import Server
    from foldlog.cli.serve.state import Running, noted

    place, keys = place_of(where), Keys()

    def prepare() -> None:
        with reading(place) as store:
            store.sessions()

    reading(place).close()  # a store that cannot be opened is reported before anything is served
    readers = Readers(lambda: open_store(place, create=False, read_only=True), prepare)
    with closing(readers), closing(_listening(port)) as listening:
        running = Running(place, listening.getsockname()[1], os.getpid(), keys.token)
        url = running.url("/")

        def ready() -> None:
            if json:
                print_json([{"url": url}])
                return
            say(f"Sessions of {place}, to look at. Open this address in a browser:")
            say(url)

        server = Server(application(readers, keys, place=place), ready)
        with noted(running):
            server.run(sockets=[listening])
    if server.stopped == signal.SIGINT:
        raise SystemExit(INTERRUPTED)


def _listening(port: int | None) -> socket.socket:
    """Return a socket: at the port that is named, else at the usual one or any that is free."""
    from foldlog.cli.serve.running import listen

    try:
        return listen(PORT if port is None else port)
    except OSError as error:
        if port is None:
            note(f"Port {PORT} is taken ({os.strerror(error.errno or 0)}): another one is used.")
            return listen(0)
        raise click.ClickException(
            f"port {port} cannot be listened on ({os.strerror(error.errno or 0)})."
            " Name another with --port, or 0 for any that is free."
        ) from error
