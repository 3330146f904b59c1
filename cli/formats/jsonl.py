"""JSON Lines: the events of a session, without loss, as ``foldlog log --json`` prints them."""

from __future__ import annotations

from collections.abc import Iterator

from foldlog.cli.describe import event_json
from foldlog.cli.output import json_line
from foldlog.eventstore import Store


def export_lines(store: Store, session: str, until: int | None = None) -> Iterator[bytes]:
    """Return one event a line, each with its newline; a fork begins with those it inherits."""
    for event in store.read(session, until=until):
        yield f"{json_line(event_json(event))}\n".encode()
