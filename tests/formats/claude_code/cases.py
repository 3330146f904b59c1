"""The files that the tests import, and how they are imported."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from foldlog.cli.formats import ImportReport, export_lines, import_path, jsonl_source
from foldlog.cli.formats.claude_code.sources import is_record, records
from foldlog.cli.formats.jsonl_source import Reading, Record
from foldlog.eventstore import Event, EventStore
from foldlog.projections.render.render import render
from foldlog.projections.view.open import open_view

FIXTURES = Path(__file__).parents[2] / "fixtures"
CLAUDE = FIXTURES / "claude"
PROBES = FIXTURES / "claude_probes"
TRUTH = FIXTURES / "claude_truth"

CORPUS = Path(os.environ.get("FOLDLOG_CORPUS") or FIXTURES.parents[2] / "shared" / "data")
"""A folder with more and larger transcripts; the tests that need it run where it is."""

GENERATED = {
    "11111111": "gen_v332_parallel_error_cjk_image_big_compact",
    "33333333": "gen_v332_rewind_then_compact.jsonl",
    "44444444": "gen_v332_summarize_from_here.jsonl",
    "980c80ba": "gen_v332_fork_session_after_compact.jsonl",
    "a29e2bcd": "gen_v332_branch_child_forkedFrom",
    "aaaaaaaa": "gen_v197_parallel_error_cjk_image_big_compact",
    "bbbbbbbb": "gen_v197_subagents",
    "cccccccc": "gen_v332_branch_parent",
}
"""The sessions whose requests were recorded: the beginning of the id, the file or folder."""


def transcripts(root: Path) -> list[Path]:
    """All transcripts below a folder, and those of the probes beside it."""
    found = [*root.rglob("*.jsonl"), *root.rglob("*_loglines.json")]
    return sorted(path for path in found if not path.name.startswith("EXPECTED"))


def name(path: Path) -> str:
    """A short name for a test's id."""
    return path.name if path.parent.name in ("claude", "claude_probes") else path.stem[:16]


def report_of(store: EventStore, path: Path) -> ImportReport:
    """Import one file and give its own report."""
    return next(import_path(store, path, format="claude-code"))


def imported(path: Path) -> tuple[EventStore, str]:
    """A new store in memory that a file was imported into, and the file's session."""
    store = EventStore(":memory:")
    session = report_of(store, path).session
    assert session is not None
    return store, session


def events(path: Path, *types: str) -> list[Event]:
    """The events of an imported file's session, of some types or all."""
    store, session = imported(path)
    return list(store.read(session, types=types or None))


def request(store: EventStore, session: str, version: int | None = None, **options: Any) -> Any:
    """The view of a session as a request, open calls closed."""
    return render(open_view(store, session, version), open="recover", **options)


def read(content: bytes) -> Reading:
    """The records of a transcript's bytes."""
    return jsonl_source.read(content, is_record)


def lines_of(path: Path) -> list[Record]:
    """The records of a file."""
    return list(records(path).records)


def said(record: Record) -> Any:
    """What a record says, with its keys in their order; bytes if it says nothing."""
    return ordered(record.value) if record.value is not None else record.raw


def ordered(value: Any) -> Any:
    """JSON that is equal only if the keys of its objects stand in the same order."""
    if isinstance(value, dict):
        return [(key, ordered(item)) for key, item in value.items()]
    return [ordered(item) for item in value] if isinstance(value, list) else value


def exported(store: EventStore, session: str) -> bytes:
    """The session as Claude Code would keep it."""
    return b"".join(export_lines(store, session))
