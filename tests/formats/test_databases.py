"""The databases of other programs in the large corpus, where it is."""

from __future__ import annotations

import pytest

from foldlog.cli.formats import import_path
from foldlog.eventstore import EventStore
from foldlog.projections import Session, render
from tests.formats.claude_code.cases import CORPUS

FOLDERS = {"opencode": 8, "openai_agents": 2, "llm": 11, "goose": 2}
"""The sessions in each folder; a database and an export of it hold the same one."""


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus is not here")
@pytest.mark.parametrize("folder", FOLDERS)
def test_every_session_of_the_corpus_is_imported_whole(store: EventStore, folder: str) -> None:
    reports = list(import_path(store, CORPUS / folder))
    assert [report for report in reports if report.rejected] == []
    sessions = [info.session for info in store.sessions()]
    assert len(sessions) == FOLDERS[folder]
    for session in sessions:
        render(Session(store, session).view(), open="recover")
    assert sum(report.new for report in import_path(store, CORPUS / folder)) == 0
