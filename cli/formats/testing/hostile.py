"""Sources as nobody should write them: values of any kind in any place, by a fixed seed.

A variant of a source differs from it in one place: another value, a key that is gone, a record that
occurs twice, an id that another record has, a list in place of an object. ``spoil`` changes a file
in place; what it understands are JSON Lines, JSON documents, SQLite databases, and other texts.
"""

from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

DEEP = 700
"""How deeply the nested value is nested: deeper than any JSON writer of ours goes."""

VALUES = (
    "null",
    "true",
    "-1",
    "1e999",
    "1.7976931348623157e308",
    "9" * 400,
    "18446744073709551616",
    '""',
    r'"\ud83d"',
    r'"\u0000\u001b[31m"',
    '"../../../../etc/passwd"',
    '"' + "x" * 70_000 + '"',
    "[]",
    "{}",
    "[null, 7, [[]], {}]",
    r'{"\ud83d": {"": null}}',
    '{"type": [], "id": {}, "content": 7}',
    "[" * DEEP + "]" * DEEP,
)
"""JSON texts that take the place of a value. Not all of them are numbers that Python can hold."""

CELLS = (None, -1, 2**63 - 1, float("inf"), "", "x" * 70_000, b"\xff\0", "{", "[]")
"""Values that take the place of a cell of a database."""

SQLITE_MAGIC = b"SQLite format 3\0"

_PLACE = "@the place of the hostile value@"

_Path = tuple[Any, ...]


def spoil(path: Path, seed: int) -> str:
    """Change one place of a file and return what was done, for the message of a failure.

    Args:
        path: The file; it is written again.
        seed: The same seed does the same to the same content.
    """
    chance = random.Random(seed)
    content = path.read_bytes()
    if content.startswith(SQLITE_MAGIC):
        return _spoil_database(path, chance)
    spoiled, what = spoil_text(content, chance)
    path.write_bytes(spoiled)
    return what


def spoil_text(content: bytes, chance: random.Random) -> tuple[bytes, str]:
    """Return a text with one change, and what was done."""
    text = content.decode("utf-8", "replace")
    with suppress(ValueError):
        return _spoil_json(json.loads(text), chance)
    lines = text.split("\n")
    numbers = [number for number, line in enumerate(lines) if line.strip()]
    if not numbers:
        return content + b"{}\n", "an empty object was appended"
    number = chance.choice(numbers)
    lines[number], what = _spoil_line(lines, number, chance)
    return "\n".join(lines).encode("utf-8", "surrogateescape"), f"line {number + 1}: {what}"


def _spoil_line(lines: list[str], number: int, chance: random.Random) -> tuple[str, str]:
    """Return a line with one change, and what was done."""
    line, other = lines[number], chance.choice(lines)
    way = chance.randrange(8)
    if way == 0:
        return f"{line}\n{line}", "it occurs twice"
    if way == 1:
        return f"{line}\n{other}", "another line is repeated after it"
    try:
        value = json.loads(line)
    except ValueError:
        return _spoil_prose(line, chance)
    if way == 2 and isinstance(value, dict):
        return _with_id_of(value, other, chance)
    spoiled, what = _spoil_json(value, chance)
    return spoiled.decode("utf-8"), what


def _spoil_prose(line: str, chance: random.Random) -> tuple[str, str]:
    place = chance.randrange(len(line) + 1)
    odd = chance.choice(("\0", "\x1b]0;x\x07", "\u2028", "\ufeff", "#### ", "> ", "x" * 70_000))
    return line[:place] + odd + line[place:], f"{odd[:8]!r} at character {place + 1}"


def _with_id_of(value: dict[str, Any], other: str, chance: random.Random) -> tuple[str, str]:
    """Return a record with a value that another record has under the same key: a duplicate id."""
    with suppress(ValueError, AttributeError):
        theirs = json.loads(other)
        same = [key for key in value if key in theirs]
        if same:
            key = chance.choice(same)
            return json.dumps({**value, key: theirs[key]}), f"{key} of another line"
    return json.dumps({}), "an empty object"


def _spoil_json(value: Any, chance: random.Random) -> tuple[bytes, str]:
    """Return a JSON value with another value, or none, in one place, and what was done."""
    path = chance.choice(list(_places(value)))
    if path and chance.randrange(5) == 0:
        return _dumped(_changed(value, path, remove=True), ""), f"nothing at {_named(path)}"
    hostile = chance.choice(VALUES)
    spoiled = _dumped(_changed(value, path), hostile)
    return spoiled, f"{hostile[:40]} at {_named(path)}"


def _dumped(value: Any, hostile: str) -> bytes:
    text = json.dumps(value).replace(json.dumps(_PLACE), hostile)
    return text.encode()


def _places(value: Any, path: _Path = ()) -> Iterator[_Path]:
    """Yield the path of each value in a JSON value, its own included."""
    yield path
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _places(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _places(item, (*path, index))


def _changed(value: Any, path: _Path, *, remove: bool = False) -> Any:
    """Return a copy of a JSON value with the placeholder, or nothing, at a path."""
    if not path:
        return _PLACE
    key, *rest = path
    copy = dict(value) if isinstance(value, dict) else list(value)
    if remove and not rest:
        del copy[key]
    else:
        copy[key] = _changed(value[key], tuple(rest), remove=remove)
    return copy


def _named(path: _Path) -> str:
    return "".join(f"[{key!r}]" for key in path) or "its root"


# -- databases -------------------------------------------------------------------------------


def _spoil_database(path: Path, chance: random.Random) -> str:
    """Change one cell: another value of any type, or a change within the JSON that it holds."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA ignore_check_constraints = 1")
        cells = list(_cells(connection))
        if not cells:
            return "nothing: the database has no rows"
        table, row, column = chance.choice(cells)
        name = f'"{column}" of row {row} of "{table}"'
        (old,) = connection.execute(
            f'SELECT "{column}" FROM "{table}" WHERE rowid = ?', (row,)
        ).fetchone()
        new = _spoiled_cell(old, chance)
        with suppress(sqlite3.IntegrityError):
            connection.execute(f'UPDATE "{table}" SET "{column}" = ? WHERE rowid = ?', (new, row))
        return f"{str(new)[:60]!r} in {name}"


def _cells(connection: sqlite3.Connection) -> Iterator[tuple[str, int, str]]:
    """Yield (table, rowid, column) of every value in a database."""
    tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    for (table,) in tables:
        columns = [row[1] for row in connection.execute(f'PRAGMA table_info("{table}")')]
        with suppress(sqlite3.OperationalError):  # a table without rowids, or of another module
            for (row,) in connection.execute(f'SELECT rowid FROM "{table}"').fetchall():
                yield from ((table, row, column) for column in columns)


def _spoiled_cell(old: Any, chance: random.Random) -> Any:
    if isinstance(old, str) and old[:1] in ("{", "[") and chance.randrange(4):
        with suppress(ValueError):
            return _spoil_json(json.loads(old), chance)[0].decode()
    return chance.choice(
        (None, -1, 2**63 - 1, float("inf"), "", "x" * 70_000, b"\xff\0", "{", "[]")
    )
