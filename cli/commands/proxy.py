"""The recording proxy."""

from __future__ import annotations

import errno
import os
import signal
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

import click

from foldlog.cli.exit_codes import INTERRUPTED
from foldlog.cli.options import WholeNumber
from foldlog.cli.output import note, say
from foldlog.cli.stores import creating

UPSTREAM = "https://api.anthropic.com"

PORT = 4141
"""Where it listens by default: nothing else is known to."""

TAKEN = (errno.EADDRINUSE, errno.EADDRNOTAVAIL, errno.EACCES)
"""Why a port cannot be listened on."""

INSTALL = "the proxy needs aiohttp, which is not installed. Run `pip install 'foldlog[proxy]'`."


class Address(click.ParamType[str]):
    """The address of an API: http or https, a path is welcome; no name and password in it."""

    name = "url"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        try:
            parts = urlsplit(value)
            good = parts.scheme in ("http", "https") and parts.hostname and (parts.port or 1)
        except ValueError:
            good = None
        if not good or parts.query or parts.fragment or not value.isascii():
            self.fail(f"{value!r} is not the address of an API, such as {UPSTREAM}", param, ctx)
        if "@" in parts.netloc:
            self.fail("credentials belong into the client's headers, not here", param, ctx)
        return value


@click.command()
@click.option(
    "--upstream", type=Address(), default=UPSTREAM, show_default=True, help="The API to record."
)
@click.option(
    "--port",
    type=WholeNumber(0, 65535),
    default=PORT,
    show_default=True,
    help="Where to listen; 0 for any port that is free.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--remote", is_flag=True, help="Let other machines in, if --host does.")
@click.option("--policy", metavar="NAME", help="Send the views of this policy; without, observe.")
@click.option(
    "--window", type=WholeNumber(min=1), metavar="N", help="The model's window in tokens."
)
@click.option("--session", metavar="S", help="Record everything in this session.")
@click.option("--title", metavar="T", help="The title of sessions that begin here.")
@click.pass_obj
def proxy_command(
    where: str | None,
    upstream: str,
    port: int,
    host: str,
    remote: bool,
    policy: str | None,
    window: int | None,
    session: str | None,
    title: str | None,
) -> None:
    """Record any harness: HTTP in front of the Messages API.

    Point ANTHROPIC_BASE_URL at it. What a harness sends and gets is passed on as it is; its
    sessions are recorded, its credentials never. Stop it with Ctrl-C.
    """
    import asyncio

    try:
        import aiohttp  # noqa: F401
    except ImportError:
        raise click.ClickException(INSTALL) from None
    from foldlog.cli.proxy.guard import is_loopback
    from foldlog.cli.proxy.recorder import Recorder
    from foldlog.cli.proxy.running import serve
    from foldlog.cli.proxy.server import Proxy
    from foldlog.cli.proxy.upstream import Upstream
    from foldlog.eventstore import SessionNotFound

    if not remote and not is_loopback(host):
        raise click.UsageError(
            f"{host} can be reached by other machines. Say --remote if they may use the proxy."
        )
    if policy is not None:
        from foldlog.projections.compaction.policy import policy as found

        found(policy)  # refused before anything is sent

    with creating(where) as store:
        if session is not None:
            with suppress(SessionNotFound):  # otherwise it begins here
                session = store.find_session(session)
        known: dict[str, Any] = {} if window is None else {"window": window}
        recorder = Recorder(store, session=session, title=title, policy=policy, tell=note, **known)

        def ready(address: str) -> None:
            mode = "observing" if policy is None else f"sending the views of policy {policy}"
            say(f"Recording into {store.path}, {mode}; upstream is {upstream}.")
            say(f"ANTHROPIC_BASE_URL={address}")

        proxy = Proxy(Upstream(upstream), recorder, remote=remote)
        try:
            stopped = asyncio.run(serve(proxy, host, port, ready))
        except OSError as error:
            if error.errno not in TAKEN:
                raise
            raise click.ClickException(
                f"{host} port {port} cannot be listened on ({os.strerror(error.errno)})."
                " Name another with --port, or 0 for any that is free."
            ) from error
    if stopped == signal.SIGINT:
        raise SystemExit(INTERRUPTED)
