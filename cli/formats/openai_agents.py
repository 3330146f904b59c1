"""OpenAI Agents SDK: the databases of ``SQLiteSession`` and ``AdvancedSQLiteSession``.

Each row of the table of messages is an item of the Responses API. The tables may have any name:
they are known by their columns. An advanced session has branches, which share rows: the head is at
``main``, where the SDK opens a session, and the others are there as branches of the log.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from foldlog.cli.formats import foreign_database, openai_blocks
from foldlog.cli.formats.foreign_database import utc_time
from foldlog.cli.formats.report import LineNote
from foldlog.cli.formats.rewritten import Rewritten, digest_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from foldlog.cli.formats.foreign_database import ForeignDatabase, Row, Tables
    from foldlog.cli.formats.import_run import ImportRun
    from foldlog.cli.formats.protocols import Source
    from foldlog.cli.formats.report import ImportReport
    from foldlog.cli.formats.source_files import SourceFiles
    from foldlog.eventstore.events import Json

MAIN = "main"
"""The branch that the SDK opens a session at."""

_MESSAGES = {"id", "session_id", "message_data", "created_at"}
_SESSIONS = {"session_id", "created_at", "updated_at"}

_STRUCTURE = "message_structure"
_USAGE = "turn_usage"


def default_locations() -> list[Path]:
    """Return nothing: the database is where a program puts it."""
    return []


def find(files: SourceFiles) -> Iterator[Source]:
    """Yield the databases that have a table of messages and one of sessions."""
    yield from foreign_database.find(files, _is_of)


def _is_of(tables: Tables) -> bool:
    has_sessions = any(columns >= _SESSIONS for columns in tables.values())
    return has_sessions and bool(_message_tables(tables))


def _message_tables(tables: Tables) -> list[str]:
    return sorted(name for name, columns in tables.items() if columns >= _MESSAGES)


def import_source(source: Source, run: ImportRun) -> Iterator[ImportReport]:
    """Import each session of a database."""
    with foreign_database.opened(source.path) as database:
        for stored in _sessions(database):
            yield _import(database, stored, source, run)


class Stored(NamedTuple):
    """A session in a database.

    Attributes:
        table: The table of its messages.
        id: Its id there.
        name: What it is called: its id, and the table where another table has the same id.
        created: When it began, as far as known.
    """

    table: str
    id: str
    name: str
    created: Json


def _sessions(database: ForeignDatabase) -> Iterator[Stored]:
    taken: set[str] = set()
    for table in _message_tables(database.tables):
        found: dict[str, Json] = {}
        for row in database.rows(table, order=["id"]):
            if isinstance(row.values.get("session_id"), str):
                found.setdefault(row.values["session_id"], row.values.get("created_at"))
        for session, created in found.items():
            yield Stored(
                table, session, f"{session}-{table}" if session in taken else session, created
            )
        taken |= found.keys()


def _import(
    database: ForeignDatabase, stored: Stored, source: Source, run: ImportRun
) -> ImportReport:
    table, session = stored.table, stored.id
    rows = list(database.rows(table, order=["id"], session_id=session))
    first = digest_of([table, session, rows[0].plain if rows else None])
    target = Rewritten(run, run.name_for(stored.name, source.file, first), source)
    origin: dict[str, Json] = {"harness": "openai-agents", "file": source.file, "first": first}
    target.begin(None, occurred=utc_time(stored.created), origin=origin)
    doing = SessionImport(database, table, session, target)
    doing.write(rows)
    notices = [*target.finish(), *doing.notices()]
    report = run.report(source, target.log, notices=notices)
    return replace(report, rejected=tuple(doing.rejected))


@dataclass
class SessionImport:
    """The import of one session.

    Args:
        database: The database.
        table: The table of its messages.
        session: Its id there.
        target: Where it is written to.

    Attributes:
        rejected: The rows that are no JSON.
    """

    database: ForeignDatabase
    table: str
    session: str
    target: Rewritten
    rejected: list[LineNote] = field(default_factory=list)
    _branches: dict[str, list[int]] = field(default_factory=dict)
    _homes: dict[int, str] = field(default_factory=dict)
    _versions: dict[int, int] = field(default_factory=dict)
    _encrypted: int = 0

    def write(self, rows: list[Row]) -> None:
        """Write each row once, after what is before it on the branch that it was written on."""
        self._read_branches()
        place = MAIN
        for row in rows:
            home = self._homes.get(row.number, MAIN)
            if home != place:
                self.target.reorder(self._shown(home, before=row.number))
                place = home
            self._write(row)
        if place != MAIN:
            self.target.reorder(self._shown(MAIN))
        self._write_usage()

    def notices(self) -> Iterator[LineNote]:
        """Yield what a reader may want to know."""
        others = sorted(set(self._branches) - {MAIN})
        if others:
            yield LineNote(0, f"branches that the head is not on: {', '.join(others)}")
        if self._encrypted:
            items = "1 item is" if self._encrypted == 1 else f"{self._encrypted} items are"
            yield LineNote(0, f"{items} encrypted: kept, and not shown")

    def _read_branches(self) -> None:
        """Note the messages of each branch, and on which of them each was written."""
        found = self.database.rows(_STRUCTURE, order=["sequence_number"], session_id=self.session)
        rows = [row for row in found if _names_message(row)]
        for row in rows:
            self._branches.setdefault(row.values["branch_id"], []).append(row.values["message_id"])
        for row in sorted(rows, key=lambda row: row.number):
            self._homes.setdefault(row.values["message_id"], row.values["branch_id"])

    def _shown(self, branch: str, before: int | None = None) -> list[int]:
        """Return the versions of a branch's messages, or of those before one of them."""
        messages = self._branches.get(branch, [])
        until = messages.index(before) if before in messages else len(messages)
        known = (self._versions.get(message) for message in messages[:until])
        return [version for version in known if version is not None]

    def _write(self, row: Row) -> None:
        item, reason = row.json("message_data")
        key = f"{self.table}/{row.number}"
        more: Any = {
            "source": row.place,
            "occurred": utc_time(row.values.get("created_at")),
        }
        if reason is not None:
            self.rejected.append(LineNote(row.number, f"{self.table}: {reason}"))
            text = str(row.plain.get("message_data"))
            self.target.write("source.unreadable", {"text": text, "reason": reason}, key, **more)
            return
        mapped = openai_blocks.from_item(item)
        if mapped is None:
            data = item if isinstance(item, dict) else {"item": item}
            self._encrypted += data.get("__enc__") == 1
            kind = data.get("type")
            type_ = f"openai_agents.{kind if isinstance(kind, str) and kind else 'item'}"
            self.target.write(type_, data, key, **more)
            return
        line = {"item": item}
        self._versions[row.number] = self.target.write(
            *(mapped.type, mapped.data, key), line=line, **more
        )

    def _write_usage(self) -> None:
        """Write what each turn took, as far as the program had the SDK count it."""
        for row in self.database.rows(_USAGE, order=["id"], session_id=self.session):
            values = row.plain
            details, _ = row.json("input_tokens_details")
            usage = openai_blocks.usage({**values, "input_tokens_details": details})
            branch, turn = values.get("branch_id"), values.get("user_turn_number")
            data: dict[str, Json] = {
                "content": [],
                "id": f"{self.session}/{branch}/{turn}",
                "usage": usage,
                "requests": values.get("requests"),
            }
            key = f"{_USAGE}/{row.number}"
            time = utc_time(values.get("created_at"))
            self.target.write("request.answered", data, key, source=row.place, occurred=time)


def _names_message(row: Row) -> bool:
    branch, message = row.values.get("branch_id"), row.values.get("message_id")
    return isinstance(branch, str) and isinstance(message, int)
