"""Opening the store that a command works on."""

from __future__ import annotations

import os
from pathlib import Path

import click

from foldlog.eventstore import EventStore, StoreError
from foldlog.projections.view.address import resolve

FILE = "sessions.db"
"""The store's name in the user's application folder."""


def reading(where: str | None) -> EventStore:
    """The store, to be read. A file that may not be written is opened for reading only.

    Otherwise it is opened as usual, so that the list of sessions and the search index can keep what
    they take in; no event is written.

    Raises:
        StoreNotFound: It is not there. Nothing is created.
    """
    path = place(where)
    writable = os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)
    return EventStore(path, create=False, read_only=path.exists() and not writable)


def writing(where: str | None) -> EventStore:
    """The store, to append to a session that is there."""
    return EventStore(place(where), create=False)


def creating(where: str | None) -> EventStore:
    """The store, made if it is not there; so is the user's application folder."""
    path = place(where)
    if where is None:
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(
                f"the folder {path.parent} cannot be made ({error.strerror})."
                " Name a store with --db."
            ) from error
    return EventStore(path)


def place(where: str | None) -> Path:
    """The path of the store: as it was named, else in the user's application folder."""
    return Path(where) if where else Path(click.get_app_dir("foldlog")) / FILE


def find(store: EventStore, name: str) -> str:
    """The session that a person means; ``last`` prefers the current folder.

    Raises:
        SessionNotFound, AmbiguousName: None or more than one answers to that name.
    """
    return store.find_session(name, cwd=_current_folder())


def version_of(store: EventStore, session: str, name: str | None) -> int | None:
    """The version that a person means; None where none is named."""
    return None if name is None else resolve(store, session, name)


def _current_folder() -> str | None:
    try:
        return os.getcwd()
    except OSError:
        return None  # it was removed
