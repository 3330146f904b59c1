"""Every line comes back, importing again adds nothing, growing files end where whole ones do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from foldlog.cli.formats import import_path
from foldlog.eventstore import EventStore
from foldlog.projections.render.api_rules import check
from foldlog.projections.render.render import render
from foldlog.projections.view.open import Resumed, open_view
from tests.formats.claude_code.cases import (
    CLAUDE,
    CORPUS,
    PROBES,
    exported,
    imported,
    lines_of,
    name,
    read,
    report_of,
    request,
    said,
    transcripts,
)

FILES = [path for path in transcripts(CLAUDE) + transcripts(PROBES) if path.stat().st_size]
LARGE = transcripts(CORPUS / "claude") if CORPUS.is_dir() else []
GROWING = [
    CLAUDE / file
    for file in (
        "derived_duplicate_uuids.jsonl",
        "derived_spliced_records.jsonl",
        "derived_nul_blocks.jsonl",
        "gen_v332_rewind_then_compact.jsonl",
        "gen_v332_summarize_from_here.jsonl",
        "dkimuson_inline_sidechain_cjk_1.0.108.jsonl",
        "ccl_ideas_rewind_2.1.42.jsonl",
    )
] + transcripts(PROBES)


def every(paths: list[Path]) -> Any:
    return pytest.mark.parametrize("path", paths, ids=map(name, paths))


class TestExport:
    @every(FILES)
    def test_every_line_comes_back(self, path: Path) -> None:
        check_lines(path)

    @pytest.mark.skipif(not LARGE, reason="the large corpus is not there")
    def test_every_line_of_the_large_corpus_comes_back(self) -> None:
        for path in LARGE:
            if path.stat().st_size:
                check_lines(path)

    def test_records_that_touched_touch_again(self) -> None:
        store, session = imported(CLAUDE / "derived_spliced_records.jsonl")
        numbers = [record.line for record in lines_of(CLAUDE / "derived_spliced_records.jsonl")]
        again = [record.line for record in read(exported(store, session)).records]
        assert [n - again[0] for n in again] == [n - numbers[0] for n in numbers]

    def test_lines_are_compact_json(self) -> None:
        """Spaced JSON hides a compaction from the program's own scanner."""
        store, session = imported(CLAUDE / "derived_spaced_json.jsonl")
        assert b'"subtype":"compact_boundary"' in exported(store, session)

    def test_an_export_can_be_imported(self, tmp_path: Path) -> None:
        store, session = imported(CLAUDE / "gen_v332_rewind_then_compact.jsonl")
        (tmp_path / "again.jsonl").write_bytes(exported(store, session))
        other, copy = imported(tmp_path / "again.jsonl")
        assert request(other, copy) == request(store, session)
        assert exported(other, copy) == exported(store, session)


def check_lines(path: Path) -> None:
    """All records, in order, equal as JSON and with their keys in order."""
    store, session = imported(path)
    assert [said(r) for r in read(exported(store, session)).records] == [
        said(r) for r in lines_of(path)
    ]


class TestStore:
    @every(FILES)
    def test_an_imported_file_verifies(self, path: Path) -> None:
        store, _ = imported(path)
        verdicts = list(store.verify())
        assert verdicts
        assert all(verdict.ok for verdict in verdicts)

    @every(FILES)
    def test_every_version_can_be_shown(self, path: Path) -> None:
        """The pieces of each view are its lineage, each version once, in its order."""
        store, session = imported(path)
        views = Resumed(store, session)
        for version in range(1, store.last(session) + 1):
            view = views.view(version)
            shown = [v for piece in view.pieces for v in range(piece.first, piece.last + 1)]
            assert shown == list(view.layout.lineage)

    @every(FILES)
    def test_every_view_that_was_sent_could_be_sent_again(self, path: Path) -> None:
        """No request breaks a rule of the API, whatever the transcript suffered."""
        store, session = imported(path)
        views = Resumed(store, session)
        sent = [event.data["view"] for event in store.read(session, types={"request.sent"})]
        for version in (*sent, store.last(session)):
            assert check(render(views.view(version), open="recover")) == []

    @every(FILES)
    def test_importing_again_adds_nothing(self, path: Path) -> None:
        store = EventStore(":memory:")
        first = list(import_path(store, path, format="claude-code"))
        again = list(import_path(store, path, format="claude-code"))
        assert [report.new for report in again] == [0] * len(first)
        assert [report.events for report in again] == [report.events for report in first]

    def test_a_dry_run_tells_the_same_and_records_nothing(self) -> None:
        store = EventStore(":memory:")
        path = CLAUDE / "gen_v332_rewind_then_compact.jsonl"
        (dry,) = import_path(store, path, dry_run=True)
        assert store.sessions() == []
        (real,) = import_path(store, path)
        assert dry == real


class TestGrowth:
    @given(data=st.data())
    @settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
    def test_a_file_read_in_slices_is_the_file_read_at_once(
        self, data: st.DataObject, tmp_path: Path
    ) -> None:
        path = data.draw(st.sampled_from(GROWING))
        content = path.read_bytes()
        cuts = data.draw(st.lists(st.integers(0, len(content)), max_size=5))
        growing = tmp_path / path.name
        store = EventStore(":memory:")
        for cut in [*sorted(cuts), len(content)]:
            growing.write_bytes(content[:cut])
            report = report_of(store, growing)
        whole, session = imported(growing)
        assert report.session == session
        assert exported(store, session) == exported(whole, session)
        assert request(store, session) == request(whole, session)
        assert request_texts(store) == request_texts(whole)

    def test_only_the_new_lines_are_recorded(self, tmp_path: Path) -> None:
        content = (CLAUDE / "omp_small_2.1.205.jsonl").read_bytes()
        growing = tmp_path / "s.jsonl"
        store = EventStore(":memory:")
        lines = content.splitlines(keepends=True)
        growing.write_bytes(b"".join(lines[:8]))
        before = report_of(store, growing).events
        growing.write_bytes(content)
        after = report_of(store, growing)
        assert (after.new, after.events) == (after.events - before, store.last("s"))

    def test_a_torn_line_is_taken_up_when_it_is_whole(self, tmp_path: Path) -> None:
        path = CLAUDE / "derived_truncated_last_line.jsonl"
        whole = (CLAUDE / GENERATED_V197).read_bytes()
        growing = tmp_path / "s.jsonl"
        growing.write_bytes(path.read_bytes())
        store = EventStore(":memory:")
        first = report_of(store, growing)
        growing.write_bytes(whole)
        second = report_of(store, growing)
        assert (first.pending, second.pending) == (True, False)
        assert first.rejected == second.rejected == ()
        assert [said(r) for r in read(exported(store, "s")).records] == [
            said(r) for r in read(whole).records
        ]

    def test_a_file_that_was_written_anew_adds_what_it_has_more(self, tmp_path: Path) -> None:
        path = tmp_path / "s.jsonl"
        lines = (CLAUDE / "omp_small_2.1.205.jsonl").read_bytes().splitlines(keepends=True)
        path.write_bytes(b"".join(lines))
        store = EventStore(":memory:")
        report_of(store, path)
        path.write_bytes(b'{"type":"mode","mode":"new"}\n' + b"".join(lines[2:]))
        assert report_of(store, path).new == 1


GENERATED_V197 = (
    "gen_v197_parallel_error_cjk_image_big_compact/aaaaaaaa-1111-4111-8111-111111111111.jsonl"
)


def request_texts(store: EventStore) -> set[str]:
    """What all sessions of a store show at their heads."""
    return {
        json.dumps(render(open_view(store, info.session), open="recover"))
        for info in store.sessions()
    }


def test_characters_that_nobody_sees_come_back_as_the_same_bytes(tmp_path: Path) -> None:
    """Imported again, an export is the session that is there already."""
    text = "a\u200bb\u009bc\u2028d\ufeffe\u00adf\x7fg\U000e0041"
    line = {"type": "user", "uuid": "1", "message": {"role": "user", "content": text}}
    path = tmp_path / "s.jsonl"
    path.write_text(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n", "utf-8")
    store, session = imported(path)
    assert exported(store, session) == path.read_bytes()
    path.write_bytes(exported(store, session))
    assert report_of(store, path).new == 0
