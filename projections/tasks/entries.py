"""Plans and task lists as hosts keep them in ``state.set``: texts, lists, objects with a status."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from foldlog.eventstore.events import Json

FINISHED = frozenset({"completed", "done", "cancelled", "deleted", "finished", "stopped", "failed"})
"""The statuses of an entry that is finished."""

NAMES = ("subject", "content", "title", "step", "task", "name", "description")
"""The fields in which the known harnesses say what an entry is about."""


def open_entries(value: Json) -> list[str]:
    """Return the entries of a plan or a list that are not finished, a line each.

    Args:
        value: A text, or a list of texts or of objects with a ``status``. An object that holds
            such a list (``{"steps": […]}``) counts as the list.
    """
    if isinstance(value, str):
        return [line for line in value.splitlines() if line.strip()]
    return list(_lines(entries(value)))


def entries(value: Json) -> list[Json]:
    """Return the list in a state; an object that holds no list is one entry."""
    if isinstance(value, Mapping):
        lists = (item for item in value.values() if isinstance(item, list))
        return next(lists, [value])
    return value if isinstance(value, list) else []


def is_finished(entry: Json) -> bool:
    """Return whether the status of an entry says that it is finished."""
    return isinstance(entry, Mapping) and str(entry.get("status")).casefold() in FINISHED


def _lines(found: list[Json]) -> Iterator[str]:
    for entry in found:
        if isinstance(entry, str):
            yield entry
        elif isinstance(entry, Mapping) and not is_finished(entry):
            words = next((str(entry[name]) for name in NAMES if entry.get(name)), None)
            status = f" ({entry['status']})" if entry.get("status") else ""
            yield (words or json.dumps(entry, ensure_ascii=False, default=str)) + status
