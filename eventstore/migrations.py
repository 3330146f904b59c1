"""How a store came to its present shape: one migration after the other, each applied once.

Imported only when there is something to migrate, since sqlite-utils takes its time to import.
"""

from __future__ import annotations

from sqlite_utils.db import Database
from sqlite_utils.migrations import Migrations

from foldlog.eventstore import schema

migrations = Migrations("foldlog")


@migrations()
def m1_log(db: Database) -> None:
    """The log, its payloads, and the projections that lists and resumes are served from."""
    for statement in schema.statements(schema.TABLES) + schema.statements(schema.TRIGGERS):
        db.execute(statement)
    db.execute(f"PRAGMA application_id = {schema.APPLICATION_ID}")
