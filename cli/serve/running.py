"""Running the server until somebody stops it."""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import uvicorn
from starlette.types import ASGIApp

from foldlog.cli.serve.rendering import warm_up
from foldlog.cli.serve.state import HOST

GRACE = 1
"""Seconds that answers have to end when the server stops; pages that follow a session never do."""


class Server(uvicorn.Server):
    """A server that says when it takes requests, and which signal ended it.

    Attributes:
        stopped: The signal; None where there was none.
        warm: Set when what takes long to load is loaded; pages are served before that, too.
    """

    def __init__(self, app: ASGIApp, ready: Callable[[], None]) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                log_level="warning",
                access_log=False,
                server_header=False,
                date_header=False,
                lifespan="off",
                timeout_graceful_shutdown=GRACE,
            )
        )
        self.stopped: int | None = None
        self.warm = threading.Event()
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to take requests."""
        await super().startup(sockets)
        threading.Thread(target=self._warm_up, daemon=True).start()
        self._ready()

    def _warm_up(self) -> None:
        warm_up()
        self.warm.set()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """End at a signal, so that what called the server can put things in order."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self._stop) for number in STOPPING}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _stop(self, number: int, frame: object) -> None:
        self.force_exit = self.stopped is not None
        self.stopped = number
        self.should_exit = True


STOPPING = (signal.SIGINT, signal.SIGTERM)


def listen(port: int) -> socket.socket:
    """Return a socket that listens on the loopback.

    Args:
        port: 0 for any that is free.

    Raises:
        OSError: The port cannot be listened on.
    """
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((HOST, port))
        listening.listen()
    except OSError:
        listening.close()
        raise
    return listening
