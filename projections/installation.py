"""This installation of foldlog: what it recorded, as opposed to what others wrote into a store.

A store may come from anybody, and some events have power: a grant lets a tool run, a policy runs
hooks, a folder may be read. Such an event is sealed: its ``meta`` names the installation and holds
an HMAC over session, type and data, made with a key that lies outside of every store, in the
user's state folder. A seal does not keep an event secret or unchanged (hashes do that): it says
that this user's own program recorded it, for this session.
"""

from __future__ import annotations

import hmac
import os
import secrets
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path

from foldlog.eventstore.codec import dumps
from foldlog.eventstore.events import Event, EventDraft, Json

KEY_BYTES = 32


class Installation:
    """A program that records on a user's machine.

    Attributes:
        id: Its public name: 16 hexadecimal digits of the key's SHA-256.
    """

    def __init__(self, key: bytes) -> None:
        self._key = key
        self.id = sha256(key).hexdigest()[:16]

    def sealed(self, session: str, draft: EventDraft) -> EventDraft:
        """Return the draft with a seal in its ``meta``, for that session only."""
        seal = {"installation": self.id, "seal": self._seal(session, draft.type, draft.data)}
        return EventDraft(
            draft.type, draft.data, key=draft.key, schema=draft.schema, meta={**draft.meta, **seal}
        )

    def recorded(self, event: Event) -> bool:
        """Return whether this installation recorded an event, as it is now."""
        seal = event.meta.get("seal")
        return isinstance(seal, str) and hmac.compare_digest(
            seal.encode("utf-8", "replace"),
            self._seal(event.session, event.type, event.data).encode(),
        )

    def recorded_any(self, events: Iterable[Event], data: Json) -> bool:
        """Return whether it recorded one of these events with exactly that data."""
        return any(event.data == data and self.recorded(event) for event in events)

    def _seal(self, session: str, type: str, data: Json) -> str:
        return hmac.new(self._key, dumps([session, type, data]), sha256).hexdigest()


def installation() -> Installation:
    """Return this installation; its key is made where there is none.

    Where the state folder cannot be written, the key lasts as long as the process.
    """
    return _installation(key_file())


def key_file() -> Path:
    """Return where the key lies: ``$XDG_STATE_HOME/foldlog``, else below the user's home."""
    if os.name == "nt":
        base = os.environ.get("LOCALAPPDATA") or os.path.expanduser("~/AppData/Local")
    else:
        base = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    return Path(base) / "foldlog" / "installation.key"


@cache
def _installation(path: Path) -> Installation:
    with suppress(OSError):
        _make(path)
    try:
        key = bytes.fromhex(path.read_text("ascii").strip())
    except (OSError, ValueError):
        key = b""
    return Installation(key if len(key) == KEY_BYTES else secrets.token_bytes(KEY_BYTES))


def _make(path: Path) -> None:
    """Create the key file, whole or not at all; another program's stays."""
    if path.exists():
        return
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    own = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    with open(os.open(own, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(secrets.token_hex(KEY_BYTES))
    try:
        os.link(own, path)
    except FileExistsError:
        pass
    except OSError:  # a file system without hard links
        own.replace(path)
    finally:
        own.unlink(missing_ok=True)
