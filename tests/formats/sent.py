"""Compare a view with a request that a program sent, both as blocks of the Messages API."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from foldlog.cli.formats import import_path
from foldlog.eventstore import EventStore
from foldlog.projections import Session, render

LONG = 200
"""Texts that are longer are kept as their beginning and a digest."""


def brief(value: Any) -> Any:
    """Return JSON with its long texts shortened, so that equal ones stay equal."""
    if isinstance(value, str):
        digest = sha256(value.encode()).hexdigest()[:16]
        return value if len(value) <= LONG else f"{value[:60]} … {digest}"
    if isinstance(value, list):
        return [brief(item) for item in value]
    if isinstance(value, dict):
        return {key: brief(item) for key, item in value.items()}
    return value


def messages_of(path: Any, format: str, at: str | None = None) -> list[Any]:
    """Import a file and return the messages that its session's view renders."""
    with EventStore(":memory:") as store:
        (report,) = import_path(store, path, format=format)
        assert report.session is not None
        view = Session(store, report.session).view(at)
        messages: list[Any] = render(view, open="recover")["messages"]
        return messages
