"""The importer of Codex passes the tests that every importer passes."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from foldlog.cli.formats.testing import ImporterTests, Sample
from foldlog.projections import Session, render
from tests.formats.codex.cases import CORPUS, DATA, FORK, THREAD, imported

FOREIGN = Path(__file__).parents[2] / "fixtures" / "foreign" / "codex"

DAY = DATA / "sessions" / "2026" / "11" / "29"


class TestCodex(ImporterTests):
    format = "codex"
    samples = (
        Sample(
            FOREIGN / "agtrace_0.66.jsonl",
            {"message.user": 2, "tool.result": 5, "attachment.added": 1},
        ),
        Sample(
            DAY / f"rollout-2026-11-29T17-44-37-{THREAD}.jsonl",
            {"message.user": 8, "summary.written": 1, "tool.result": 5},
        ),
        Sample(
            DAY,
            {"message.user": 24, "summary.written": 2, "tool.result": 14, "turn.stopped": 2},
            main=f"rollout-2026-11-29T17-46-57-{FORK}.jsonl",
        ),
    )


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the larger rollouts are not here")
def test_every_rollout_of_the_corpus_is_imported_and_can_be_sent() -> None:
    store, reports = imported(CORPUS / "codex")
    rejected = {Path(r.file).name for r in reports if r.rejected}
    assert rejected <= {"casr_malformed_synth.jsonl"}
    assert Counter(report.session is not None for report in reports)[True] >= 15
    for info in store.sessions():
        render(Session(store, info.session).view(), open="recover")
    _, again = imported(CORPUS / "codex", store)
    assert sum(report.new for report in again) == 0
