"""What codex, opencode and pi are given is what they resumed: files, and the requests they sent.

The recordings are in tests/fixtures/resumed; ``make clients`` runs the programs themselves. A test
that fails here has found that an export changed: run the programs on it, then record.
"""

from __future__ import annotations

import json

import pytest

from foldlog.eventstore import EventStore
from tests.formats.exports.conftest import exported, is_golden
from tests.formats.exports.resumes import PROGRAMS, holds, recorded
from tests.formats.exports.sessions import EVERYTHING


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_file_is_the_one_that_was_resumed(store: EventStore, name: str) -> None:
    content, lost = exported(store, EVERYTHING, name)
    file, _ = recorded(PROGRAMS[name])
    assert content == file
    assert is_golden(f"{name}.lost.json", json.dumps(lost, indent=1).encode() + b"\n")


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_request_was_the_view_and_the_new_prompt(store: EventStore, name: str) -> None:
    program = PROGRAMS[name]
    _, request = recorded(program)
    expected = program.expected(store, EVERYTHING)
    assert holds(program.sent(request), expected)
    assert not holds(program.sent(request), [*expected[:-2], expected[-1]])


@pytest.mark.parametrize("name", PROGRAMS)
def test_another_version_is_another_session(store: EventStore, name: str) -> None:
    ids = set()
    for options in ({}, {"until": 15}, {"whole": True}):
        content, _ = exported(store, EVERYTHING, name, **options)
        document = json.loads(content if name == "opencode" else content.splitlines()[0])
        head = document.get("payload") or document.get("info") or document
        ids.add(head["id"])
        again, _ = exported(store, EVERYTHING, name, **options)
        assert again == content
    assert len(ids) == 3
