"""What codex, opencode and pi are given is what they resumed: files, and the requests they sent.

The recordings are in tests/fixtures/resumed; ``make clients`` runs the programs themselves. A test
that fails here has found that an export changed: run the programs on it, then record.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from foldlog.cli.formats import IMPORTERS, import_path
from foldlog.eventstore import EventStore
from foldlog.projections import Session
from tests.formats.exports.conftest import exported, is_golden
from tests.formats.exports.resumes import PROGRAMS, holds, of_messages, recorded
from tests.formats.exports.sessions import EVERYTHING, clocked
from tests.projections.build import call, thinking


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


SUFFIXES = {"opencode": "json"}


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name in IMPORTERS])
def test_what_is_exported_is_imported_as_the_same_view(
    store: EventStore, name: str, tmp_path: Path
) -> None:
    content, _ = exported(store, EVERYTHING, name)
    file = tmp_path / f"rollout-2026-11-29T12-00-00-x.{SUFFIXES.get(name, 'jsonl')}"
    file.write_bytes(content)
    program = PROGRAMS[name]
    with EventStore(":memory:") as other:
        (report,) = import_path(other, file)
        assert (report.format, report.rejected) == (name, ())
        assert report.session is not None
        imported = Session(other, report.session).render(open="recover")
    back = [part for part in of_messages(imported) if part[0] not in program.lost]
    assert back == program.expected(store, EVERYTHING)


@pytest.mark.parametrize("name", ["opencode", "pi"])
@pytest.mark.parametrize(("model", "kept"), [("claude-opus-4-8", True), ("claude-opus-5-5", False)])
def test_thinking_goes_along_unless_its_model_binds_it(name: str, model: str, kept: bool) -> None:
    with clocked() as store:
        session = Session(store, "s")
        session.user("Look.")
        session.assistant([thinking("I look first."), call("toolu_1")], model=model, id="m")
        session.tool_result("toolu_1", "done")
        content, lost = exported(store, "s", name)
        assert (b"I look first." in content) == kept
        assert lost.get("thinking") == (None if kept else 1)


@pytest.mark.parametrize("thinks", [True, False])
def test_pi_does_not_begin_to_think_in_the_middle_of_a_turn(thinks: bool) -> None:
    with clocked() as store:
        session = Session(store, "s")
        session.user("Look.")
        said = [thinking("I look first.")] if thinks else []
        session.assistant([*said, call("toolu_1")], model="claude-sonnet-4-5", id="m")
        session.tool_result("toolu_1", "done")
        content, _ = exported(store, "s", "pi")
        levels = [line for line in content.splitlines() if b"thinking_level_change" in line]
        assert [json.loads(line)["thinkingLevel"] for line in levels] == ([] if thinks else ["off"])
