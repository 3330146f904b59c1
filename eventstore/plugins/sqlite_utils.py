"""The plugin of sqlite-utils: foldlog's SQL functions, and tables that are up to date."""

from __future__ import annotations

import sqlite3
import sys

import sqlite_utils

from foldlog.eventstore.plugins.fresh import file_of, is_store, refresh
from foldlog.eventstore.sqlite.query import register

MOST = 20_000
"""How many events are indexed when a command opens a store: about two seconds. The rest is indexed
by the next commands, or by ``foldlog search``, which shows how far it is."""


@sqlite_utils.hookimpl
def prepare_connection(conn: sqlite3.Connection) -> None:
    """Register the functions; for a command, bring the store up to date as well."""
    if _is_command() and is_store(file := file_of(conn)):
        refresh(str(file), most=MOST)
    register(conn)


def _is_command() -> bool:
    """Return whether the command line of sqlite-utils runs, and no program that imports it."""
    module = sys.modules.get("sqlite_utils.cli")
    context = module.click.get_current_context(silent=True) if module else None
    return bool(module and context and context.find_root().command is module.cli)
