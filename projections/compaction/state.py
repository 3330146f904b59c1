"""The host's state as text: plans and lists of tasks, what is finished left out."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from foldlog.eventstore.events import Json

FINISHED = frozenset({"completed", "done", "cancelled", "deleted", "finished", "stopped", "failed"})
"""What an entry's status says when nothing is to be done about it any more."""

NAMES = ("subject", "content", "title", "step", "task", "name", "description")
"""Where an entry says what it is about, as the harnesses have it."""


def open_entries(value: Json) -> list[str]:
    """The entries of a plan or of a list that are not finished, a line each.

    Args:
        value: A text, or a list of texts or of objects with a ``status``. An object that holds
            such a list (``{"steps": […]}``) counts as the list.
    """
    if isinstance(value, str):
        return [line for line in value.splitlines() if line.strip()]
    return list(_lines(entries(value)))


def entries(value: Json) -> list[Json]:
    """The list in a state; a state that is one object without a list is one entry."""
    if isinstance(value, Mapping):
        lists = (item for item in value.values() if isinstance(item, list))
        return next(lists, [value])
    return value if isinstance(value, list) else []


def is_finished(entry: Json) -> bool:
    """Whether an entry's status says that nothing is to be done about it."""
    return isinstance(entry, Mapping) and str(entry.get("status")).casefold() in FINISHED


def _lines(found: list[Json]) -> Iterator[str]:
    for entry in found:
        if isinstance(entry, str):
            yield entry
        elif isinstance(entry, Mapping) and not is_finished(entry):
            words = next((str(entry[name]) for name in NAMES if entry.get(name)), None)
            status = f" ({entry['status']})" if entry.get("status") else ""
            yield (words or json.dumps(entry, ensure_ascii=False, default=str)) + status
