"""The viewer: serve it, and open a session in it."""

from __future__ import annotations

import os
import signal
import socket
import time
import webbrowser
from collections.abc import Callable
from contextlib import closing, suppress
from hashlib import sha256
from pathlib import Path

import click

from foldlog.cli.exit_codes import INTERRUPTED
from foldlog.cli.options import SessionName, WholeNumber, json_option
from foldlog.cli.output import note, print_json, say
from foldlog.cli.stores import find, place_of, reading
from foldlog.eventstore import Store, open_store

PORT = 4142
"""Where it listens by default: the port after the proxy's."""

KEPT = 7 * 24 * 3600
"""Seconds that a page which was exported to be opened is kept."""

INSTALL = "the viewer needs Starlette and uvicorn. Run `pip install 'foldlog[serve]'`."


@click.command()
@click.option(
    "--port",
    type=WholeNumber(0, 65535),
    help=f"Where to listen; 0 for any port that is free. Default: {PORT}, or a free one.",
)
@click.option("--write", is_flag=True, help="Let the pages expand, pin, tag, rename, fork, rewind.")
@json_option
@click.pass_obj
def serve_command(where: str | None, port: int | None, write: bool, json: bool) -> None:
    """See sessions in a browser, and travel in time.

    It prints an address with a token: open it in a browser of this machine. Nothing else can reach
    the pages. They change nothing, unless --write lets them; then each change is asked first. Stop
    it with Ctrl-C.
    """
    try:
        import starlette
        import uvicorn  # noqa: F401
    except ImportError:
        raise click.ClickException(INSTALL) from None
    del starlette
    place = place_of(where)

    def ready(url: str) -> None:
        if json:
            print_json([{"url": url}])
            return
        may = "look at and to change" if write else "look at"
        say(f"Sessions of {place}, to {may}. Open this address in a browser:")
        say(url)

    if _serve(place, port, write, ready) == signal.SIGINT:
        raise SystemExit(INTERRUPTED)


def _serve(place: str, port: int | None, write: bool, ready: Callable[[str], None]) -> int | None:
    """Serve a store until a signal comes, and return the signal."""
    from foldlog.cli.serve.app import Viewer, application
    from foldlog.cli.serve.keys import Keys
    from foldlog.cli.serve.readers import Readers
    from foldlog.cli.serve.running import Server
    from foldlog.cli.serve.state import Running, noted

    keys = Keys()
    readers = Readers(
        lambda: open_store(place, create=False, read_only=not write), lambda: reading(place)
    )
    with closing(readers), closing(_listening(port)) as listening:
        with readers.reading():
            pass  # a store that cannot be opened is reported before anything is served
        running = Running(place, listening.getsockname()[1], os.getpid(), keys.token)
        viewer = Viewer(readers, keys, place, lambda: server.should_exit, write=write)
        server = Server(application(viewer), lambda: ready(running.url("/")))
        with noted(running):
            server.run(sockets=[listening])
    return server.stopped


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


@click.command()
@click.argument("session", type=SessionName(), default="last")
@click.option("--print", "only_print", is_flag=True, help="Print the address, open nothing.")
@click.pass_obj
def open_command(where: str | None, session: str, only_print: bool) -> None:
    """Open the page of a session in the browser.

    At the viewer, if `foldlog serve` runs for this store; else as a file that is exported into the
    state folder. Without SESSION, the one used last.
    """
    from foldlog.cli.serve import state
    from foldlog.cli.serve.addresses import address

    with reading(where) as store:
        name = find(store, session)
        running = state.find(place_of(where))
        if running is None:
            url = _exported(store, name).as_uri()
        elif only_print:
            url = running.url(address("sessions", name))
        else:
            url = running.url(address("sessions", name), running.ticket())
    if only_print:
        say(url)
    elif not webbrowser.open(url):
        note("No browser could be started. Open this address:")
        say(url)


def _exported(store: Store, session: str) -> Path:
    """Write the page of a session where only this user can read it; clear old ones away."""
    from foldlog.cli.files import write
    from foldlog.cli.formats import html
    from foldlog.projections.installation import key_file

    folder = key_file().with_name("pages")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for old in folder.glob("*.html"):
        with suppress(OSError):
            if time.time() - old.stat().st_mtime > KEPT:
                old.unlink()
    digest = sha256(f"{store.path}\0{session}".encode("utf-8", "surrogatepass")).hexdigest()
    file = folder / f"{digest[:16]}.html"
    write(file, html.export_lines(store, session), force=True)
    return file
