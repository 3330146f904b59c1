"""Exports beside their golden files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from foldlog.cli.formats import export_lines
from foldlog.cli.formats.losses import Losses
from foldlog.eventstore import EventStore
from tests.formats.exports.sessions import clocked, record

GOLDEN = Path(__file__).parent / "golden"


@pytest.fixture
def store() -> Iterator[EventStore]:
    """The sessions, recorded at fixed times."""
    with clocked() as store:
        record(store)
        yield store


def exported(
    store: EventStore, session: str, form: str, **options: object
) -> tuple[bytes, dict[str, int]]:
    """What a session is exported as, and how many of each kind are not carried."""
    losses = Losses()
    content = b"".join(
        export_lines(store, session, format=form, losses=losses, **options)  # type: ignore[arg-type]
    )
    counts: dict[str, int] = {}
    for (kind, _), number in losses.counts.items():
        counts[kind] = counts.get(kind, 0) + number
    return content, counts


def is_golden(name: str, content: bytes) -> bool:
    """Whether content is what its file holds; FOLDLOG_WRITE_GOLDEN=1 writes it."""
    file = GOLDEN / name
    if os.environ.get("FOLDLOG_WRITE_GOLDEN"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    return file.read_bytes() == content
