"""Read a store of an older schema as it is: on a medium that nobody can write, or by choice.

What an older schema lacks, temporary views add for one connection, under the names of the tables;
an unqualified name means them. The file is not touched, and what others append is seen.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import suppress

from foldlog.eventstore import codec
from foldlog.eventstore.facets import source_time
from foldlog.eventstore.sqlite import schema

FROM_1 = f"""
CREATE TEMP VIEW events AS
SELECT *, coalesce(source_time, at) AS occurred FROM (
    SELECT *, foldlog_source_time(meta, refs) AS source_time FROM main.events
);
{schema.VIEW.replace("CREATE VIEW", "CREATE TEMP VIEW")}
"""


def show_as_today(db: sqlite3.Connection, version: int) -> bool:
    """Let a connection see a store of an older schema as one of today's.

    Returns:
        False where nothing is known of that schema: such a store has to be migrated.
    """
    if (version, schema.SCHEMA_VERSION) != (1, 2):
        return False
    db.execute("PRAGMA temp_store = MEMORY")  # there may be no place for a file
    db.create_function("foldlog_source_time", 2, _source_time(), deterministic=True)
    db.executescript(FROM_1)
    return True


def _source_time() -> Callable[[codec.Stored, bytes | None], str | None]:
    unpack = codec.Compressor().unpack

    def find(meta: codec.Stored, refs: bytes | None) -> str | None:
        with suppress(*codec.DAMAGE):
            return source_time(codec.unseal(unpack(meta), refs, []))
        return None

    return find
