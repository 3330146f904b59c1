"""Tables, numbers and rules of docs/event-format.md."""

from __future__ import annotations

import hashlib
import re
from importlib import import_module

from docs.generate.markdown import fence, table
from foldlog import EventStore
from foldlog.eventstore import codec, dictionary
from foldlog.eventstore.sqlite import query
from foldlog.projections.render.repairs import RULES


def file() -> None:
    """Print what marks a file as a store, and the tables and triggers of a new one."""
    with EventStore(":memory:") as store:
        application, version = (
            store.db.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("application_id", "user_version")
        )
        statements = [
            row[0]
            for row in store.db.execute(
                "SELECT sql FROM sqlite_master"
                " WHERE tbl_name NOT LIKE '\\_%' ESCAPE '\\' AND sql <> ''"
                " ORDER BY CASE type WHEN 'table' THEN 1 WHEN 'index' THEN 2 ELSE 3 END, rowid"
            )
        ]
    table(
        ("pragma", "value"),
        ("`application_id`", f"`0x{application:08x}`"),
        ("`user_version`", version),
    )
    fence(";\n".join(statements) + ";", "sql")


def sql_functions() -> None:
    """Print the SQL functions, as their module lists them."""
    print("\n" + "\n".join(re.findall(r"^\* .*;?$", query.__doc__ or "", re.MULTILINE)))


def limits() -> None:
    """Print the numbers that decide how a body is stored."""
    table(
        ("", ""),
        ("a string becomes a payload from", f"{codec.PAYLOAD_BYTES} bytes on"),
        ("a frame is tried from", f"{codec.COMPRESS_BYTES} bytes on"),
        ("the id of the dictionary", f"`0x{dictionary.NUMBER:X}`"),
        ("the dictionary", f"`foldlog/eventstore/{dictionary.FILE.name}`"),
        ("its SHA-256", f"`{hashlib.sha256(dictionary.FILE.read_bytes()).hexdigest()}`"),
    )


def canonical_form() -> None:
    """Print the canonical form of a request, in the words of the module that makes it."""
    module = import_module("foldlog.projections.render.digest")
    print("\n" + (module.__doc__ or "").partition("\n\n")[2].strip())


def repairs() -> None:
    """Print every repair, and what it does."""
    table(("rule", "what it does"), *((f"`{name}`", text) for name, text in RULES.items()))
