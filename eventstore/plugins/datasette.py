"""The SQL functions for every connection of Datasette."""

from __future__ import annotations

import sqlite3

from pluggy import HookimplMarker

from foldlog.eventstore.sqlite.query import register

hookimpl = HookimplMarker("datasette")


@hookimpl
def prepare_connection(conn: sqlite3.Connection) -> None:
    """Register foldlog_data, foldlog_meta, foldlog_text, foldlog_payload and foldlog_hash."""
    register(conn)
