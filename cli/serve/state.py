"""Where the server of a store is found: a small file in the user's state folder.

It holds the port and the token, so only its owner may read it. A server is trusted once it has
proved that it knows the token: a port alone may belong to any program by now.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from hashlib import sha256
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from urllib.parse import quote

from foldlog.cli.serve.keys import PROOF, TICKET, TOKEN, Keys, same
from foldlog.projections.installation import key_file

HOST = "127.0.0.1"
"""The only address that a server listens on."""

PATIENCE = 3.0
"""Seconds that a server has to answer."""


@dataclass(frozen=True, slots=True)
class Running:
    """A server that runs.

    Attributes:
        store: The place of its store.
        port: Where it listens.
        pid: Its process.
        token: What opens it.
    """

    store: str
    port: int
    pid: int
    token: str

    def url(self, address: str, ticket: str | None = None) -> str:
        """Return the URL of a page, with what opens it."""
        join = "&" if "?" in address else "?"
        return f"http://{HOST}:{self.port}{address}{join}{TOKEN}={ticket or self.token}"

    def is_alive(self) -> bool:
        """Return whether it answers, and knows the token."""
        nonce = secrets.token_hex(16)
        answer = self._ask("GET", f"{PROOF}?nonce={quote(nonce)}")
        return answer is not None and same(answer, Keys(self.token).proof(nonce))

    def ticket(self) -> str | None:
        """Return a ticket of the server, which opens it once; None where it gives none."""
        return self._ask("POST", TICKET, {"Authorization": f"Bearer {self.token}"})

    def _ask(self, method: str, path: str, headers: dict[str, str] | None = None) -> str | None:
        connection = HTTPConnection(HOST, self.port, timeout=PATIENCE)
        try:
            connection.request(method, path, headers=headers or {})
            answer = connection.getresponse()
            text = answer.read(1000).decode("ascii", "replace")
            return text if answer.status == 200 else None
        except (OSError, HTTPException):
            return None
        finally:
            connection.close()


def state_file(store: str) -> Path:
    """Return where the server of a store is noted."""
    name = sha256(store.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return key_file().with_name(f"serve-{name}.json")


def find(store: str) -> Running | None:
    """Return the server that runs for a store; None where none does."""
    file = state_file(store)
    try:
        if not _is_private(file):
            return None
        found = Running(**json.loads(file.read_text("utf-8")))
        return found if found.store == store and found.is_alive() else None
    except (OSError, ValueError, TypeError):
        return None


@contextmanager
def noted(running: Running) -> Iterator[None]:
    """Note a server for as long as the block runs."""
    file = state_file(running.store)
    with suppress(OSError):  # then it is not found, and runs all the same
        _write(file, json.dumps(asdict(running)))
    try:
        yield
    finally:
        with suppress(OSError, ValueError, TypeError):
            if Running(**json.loads(file.read_text("utf-8"))) == running:
                file.unlink()


def _write(file: Path, content: str) -> None:
    """Write a file that only its owner can read, whole or not at all."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    own = file.with_name(f"{file.name}.{secrets.token_hex(8)}")
    with open(os.open(own, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as writing:
        writing.write(content)
    own.replace(file)


def _is_private(file: Path) -> bool:
    """Return whether a file is this user's, and nobody else can read it; on Windows its folder
    sees to that."""
    found = file.lstat()
    if os.name == "nt":
        return True
    return found.st_uid == os.getuid() and not found.st_mode & 0o077
