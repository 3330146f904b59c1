"""The SQL functions for every connection of sqlite-utils."""

from __future__ import annotations

import sqlite3

import sqlite_utils

from foldlog.eventstore.sqlite.query import register


@sqlite_utils.hookimpl
def prepare_connection(conn: sqlite3.Connection) -> None:
    """Register foldlog_data, foldlog_meta, foldlog_text, foldlog_payload and foldlog_hash."""
    register(conn)
