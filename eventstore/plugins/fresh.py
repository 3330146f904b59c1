"""Which files are stores, and how they are brought up to date before another program reads them.

The list of sessions and the search index catch up when foldlog is asked for them. A program that
reads the tables by itself gets them as they are, so a plugin catches up for it.
"""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from pathlib import Path

from foldlog.eventstore.errors import FoldlogError
from foldlog.eventstore.sqlite import schema
from foldlog.eventstore.sqlite.files import HEADER_BYTES, MAGIC, Header


def is_store(file: str | None) -> bool:
    """Return whether a file is a store of today's schema; nothing is opened or changed."""
    try:
        with Path(file or "").open("rb") as opened:
            page = opened.read(HEADER_BYTES)
    except OSError:
        return False
    if len(page) < HEADER_BYTES or page[:16] != MAGIC:
        return False
    header = Header.of(page)
    return (header.application, header.version) == (schema.APPLICATION_ID, schema.SCHEMA_VERSION)


def refresh(file: str, *, most: int | None = None) -> None:
    """Bring a store's list of sessions and its search index up to date, if it can be written."""
    from foldlog.eventstore.sqlite.store import EventStore

    with suppress(FoldlogError), EventStore(file, create=False, timeout=1) as store:
        store.refresh(most=most)


def file_of(connection: sqlite3.Connection) -> str | None:
    """Return the file of a connection's main database; None for one in memory."""
    return next(
        (file for _, name, file in connection.execute("PRAGMA database_list") if name == "main"),
        None,
    )
