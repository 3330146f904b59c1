"""Lines that come one by one end as the file that holds them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from foldlog.cli.formats import import_path
from foldlog.cli.formats.line_feed import LineFeed
from foldlog.cli.formats.testing import contents
from foldlog.eventstore import EventDraft, EventStore, SourceError
from tests.formats.claude_code.cases import CLAUDE, PROBES

FILES = [
    CLAUDE / "gen_v332_rewind_then_compact.jsonl",
    CLAUDE / "ccl_inline_sidechain_1.0.35.jsonl",
    CLAUDE / "derived_spliced_records.jsonl",
    CLAUDE / "derived_nul_blocks.jsonl",
    PROBES / "C7_bom_crlf.jsonl",
]


@pytest.fixture
def store() -> EventStore:
    return EventStore(":memory:")


def fed(store: EventStore, path: Path, size: int) -> LineFeed:
    feed, content = LineFeed(store, "claude-code", path.stem), path.read_bytes()
    for start in range(0, len(content), size):
        feed.feed(content[start : start + size])
    return feed


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_session_ends_as_the_imported_file(store: EventStore, path: Path) -> None:
    report = fed(store, path, 1 + path.stat().st_size // 7).end()
    with EventStore(":memory:") as whole:
        (imported, *_) = import_path(whole, path)
        assert contents(store) == contents(whole)
    assert report.rejected == imported.rejected
    again = next(iter(import_path(store, path)))
    assert (again.session, again.new) == (imported.session, 0)


def test_each_line_is_recorded_as_soon_as_it_ends(store: EventStore) -> None:
    feed = LineFeed(store, "claude-code", "s")
    assert feed.feed(b'{"type": "mode", ').new == 0
    assert feed.feed(b'"mode": "a"}\n').new == 2
    assert store.last("s") == 2
    same = feed.feed(b'{"type": "mode", "mode": "a"}\n')
    assert (same.new, same.events) == (1, 3)
    assert feed.feed(b'{"type": "mo').new == 0
    assert feed.end().pending


def test_what_others_append_meanwhile_is_taken_into_account(tmp_path: Path) -> None:
    mine, theirs = EventStore(tmp_path / "s.db"), EventStore(tmp_path / "s.db")
    feed = LineFeed(mine, "claude-code", "s")
    feed.feed(b'{"type": "mode", "mode": "a"}\n')
    theirs.append("s", [EventDraft("note.made")])
    report: Any = feed.feed(b'{"type": "mode", "mode": "b"}\n')
    assert (report.new, report.events) == (1, 4)


def test_nothing_is_read_from_the_folder_one_is_in(
    store: EventStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s").mkdir()
    (tmp_path / "s/custom-title.json").write_text('{"customTitle": "not mine"}')
    LineFeed(store, "claude-code", "s").feed(b'{"type": "mode", "mode": "a"}\n')
    assert store.session("s").title is None


def test_a_format_without_lines_is_refused(store: EventStore) -> None:
    with pytest.raises(SourceError, match="unknown import format"):
        LineFeed(store, "markdown", "s")
