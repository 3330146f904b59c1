"""Opening the store that a command works on."""

from __future__ import annotations

import os
from pathlib import Path

import click

from foldlog.cli.output import note
from foldlog.eventstore import Event, Store, StoreError, StoreNotFound, open_store
from foldlog.eventstore.store import MEMORY, scheme_of
from foldlog.projections.explain.proof import has_diverged
from foldlog.projections.view.address import resolve
from foldlog.projections.view.named import is_side, named_view
from foldlog.projections.view.open import open_view
from foldlog.projections.view.view import View

FILE = "sessions.db"
"""The store's name in the user's application folder."""


def reading(where: str | None) -> Store:
    """Open the store to read it. A file that may not be written is opened for reading only.

    Otherwise it is opened as usual, so that the list of sessions and the search index can keep what
    they add; no event is written.

    Raises:
        StoreNotFound: It is not there. Nothing is created.
    """
    place = _place(where)
    return open_store(place, create=False, read_only=_is_protected(place))


def writing(where: str | None) -> Store:
    """Open the store to append to a session that is there."""
    return open_store(_place(where), create=False)


def creating(where: str | None) -> Store:
    """Open the store; make it, and the user's application folder, if they are not there."""
    place = _place(where)
    if where is None:
        folder = Path(place).parent
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(
                f"the folder {folder} cannot be made ({error.strerror}). Name a store with --db."
            ) from error
    return open_store(place)


def trying(where: str | None) -> Store:
    """Open the store for a dry run: without a file, an empty one in memory."""
    try:
        return writing(where)
    except StoreNotFound:
        return open_store(MEMORY)


def find(store: Store, name: str) -> str:
    """Return the session that a person means; ``last`` prefers the current folder.

    Raises:
        SessionNotFound, AmbiguousName: No session has that name, or more than one has.
    """
    return store.find_session(name, cwd=current_folder())


def view_of(store: Store, session: str, name: str | None) -> View:
    """Open the view that a person means: of a version, or of a request as it was sent; without a
    name, the newest. What is to be known of a request is printed as a note."""
    if name is None:
        return open_view(store, session)
    view = named_view(store, session, name)
    if view.request is not None:
        _note_request(view, name, view.request)
    return view


def _note_request(view: View, name: str, request: Event) -> None:
    """Print how a request differs from the view of its version."""
    if is_side(view):
        note(
            f"Note: {name} (version {request.version}) was sent on the side: its own messages are"
            " shown, and their versions count from 1."
        )
    elif has_diverged(request):
        note(
            f"Note: {name} differs from the view at version {view.version}."
            f" `foldlog diff SESSION {name} view` shows how."
        )


def export_version(store: Store, session: str, name: str | None) -> int | None:
    """Return the version up to which a session is exported; None for all of it.

    Raises:
        ClickException: It names a request on the side, which is no part of the conversation.
    """
    if name is None:
        return None
    view = named_view(store, session, name)
    if is_side(view):
        raise click.ClickException(
            f"{name} was sent on the side, so it is not in an export of the conversation."
            f" `foldlog view SESSION --at {name} --as request` prints it."
        )
    if view.request is not None and has_diverged(view.request):
        note(
            f"Note: this exports the view at version {view.version}. What was sent as {name}"
            f" differs from it: `foldlog view {session} --at {name} --as request` prints that."
        )
    return view.version


def version_of(store: Store, session: str, name: str | None) -> int | None:
    """Return the version that a person means; None where none is named."""
    return None if name is None else resolve(store, session, name)


def place_of(where: str | None) -> str:
    """Return the store that is named, else the default one: an absolute path, or a URL."""
    place = _place(where)
    return place if scheme_of(place) else str(Path(place).absolute())


def _place(where: str | None) -> str:
    """Return where the store is: as it was named, else in the user's application folder."""
    return str(Path(click.get_app_dir("foldlog")) / FILE) if where is None else where


def _is_protected(place: str) -> bool:
    """Return whether a store is a file that this user cannot write, or in a folder like that."""
    if scheme_of(place):
        return False
    path = Path(place)
    return path.exists() and not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK))


def current_folder() -> str | None:
    """Return the folder that a person is in; None where it was removed."""
    try:
        return os.getcwd()
    except OSError:
        return None
