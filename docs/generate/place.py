"""A folder in which the examples and the commands of a page follow one another."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from docs.generate.live import live_example
from docs.generate.markdown import fence

ROOT = Path(__file__).parents[2]

VARIES = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d|[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{64}")
"""Times, ids and digests."""


class Place:
    """Examples that talk to the API, and commands that look at what they left behind."""

    def __init__(self) -> None:
        self._folder = TemporaryDirectory(ignore_cleanup_errors=True)
        self._names: dict[str, Any] = {}

    def example(self, code: str, *turns: Any) -> None:
        """Print code and what it prints, the API answering with these turns."""
        live_example(code, *turns, names=self._names, folder=self._folder.name)

    def left_open(self, call: dict[str, Any]) -> None:
        """Leave the newest session as a process leaves it that is killed while a tool runs."""
        from foldlog import EventStore, Session

        with EventStore(Path(self._folder.name, "sessions.db")) as store:
            session = Session(store, store.find_session("last"))
            session.user("Build it once more.")
            session.assistant([call])

    def commands(self, *commands: str) -> None:
        """Print commands and what each of them prints."""
        said = [part for c in commands for part in (f"$ {c}", printed(c, self._folder.name))]
        fence(VARIES.sub("…", "\n".join(said)))


def printed(command: str, folder: str) -> str:
    """Return what a command prints in a folder whose store is ``sessions.db``, what it notes
    included.
    """
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("ANTHROPIC")},
        "FOLDLOG_DB": str(Path(folder, "sessions.db")),
        "PYTHONPATH": str(ROOT),
        "PYTHONIOENCODING": "utf-8",
    }
    done = subprocess.run(
        [sys.executable, "-m", "foldlog", *shlex.split(command)[1:]],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=True,
    )
    return done.stdout
