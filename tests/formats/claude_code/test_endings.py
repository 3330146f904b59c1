"""Two endings under one name, as synced machines and moved projects leave them: two sessions."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from foldlog import EventStore
from foldlog.cli.formats import ImportReport, export_lines, import_path
from foldlog.cli.formats.line_feed import LineFeed
from tests.formats.claude_code.cases import exported

NAME = "11111111-2222-4333-8444-555555555555"


def said(uuid: str, parent: str | None, type_: str = "user", **fields: Any) -> bytes:
    """One line of a transcript."""
    message = {"role": type_, "content": uuid}
    line = {"parentUuid": parent, "isSidechain": False, "type": type_, "message": message}
    line |= {"uuid": uuid, "sessionId": NAME, "timestamp": "2026-11-20T10:00:00.000Z", **fields}
    return json.dumps(line, separators=(",", ":")).encode() + b"\n"


SHARED = said("U1", None) + said("A1", "U1", "assistant")
HERE = said("U2 here", "A1") + said("A2 here", "U2 here", "assistant")
THERE = said("U2 there", "A1") + said("A2 there", "U2 there", "assistant")
ELSEWHERE = said("U2 elsewhere", "A1")


@pytest.fixture
def store() -> Iterator[EventStore]:
    with EventStore(":memory:") as store:
        yield store


@pytest.fixture
def paths(tmp_path: Path) -> tuple[Path, Path]:
    """The files of two machines."""
    found = []
    for machine in ("one", "two"):
        (tmp_path / machine).mkdir()
        found.append(tmp_path / machine / f"{NAME}.jsonl")
    return found[0], found[1]


def read(store: EventStore, path: Path, content: bytes | None = None) -> ImportReport:
    if content is not None:
        path.write_bytes(content)
    return next(iter(import_path(store, path)))


def test_they_are_two_sessions_and_each_is_given_back(
    store: EventStore, paths: tuple[Path, Path]
) -> None:
    here = read(store, paths[0], SHARED + HERE)
    there = read(store, paths[1], SHARED + THERE)
    assert (here.session, there.session != here.session) == (NAME, True)
    for report, content in ((here, SHARED + HERE), (there, SHARED + THERE)):
        assert report.session is not None
        assert exported(store, report.session) == content


def test_the_second_names_the_first_and_the_report_says_where(
    store: EventStore, paths: tuple[Path, Path]
) -> None:
    read(store, paths[0], SHARED + HERE)
    report = read(store, paths[1], SHARED + THERE)
    assert report.session is not None
    parent = store.get(report.session, 1).data["parent"]
    assert (parent["session"], parent["kind"]) == (NAME, "copy")
    assert store.get(NAME, parent["version"]).data["content"] == "A1"
    note = report.notices[0]
    assert note.line == 3
    assert f"differs from the session {NAME}: it is the session {report.session}" in note.reason


def test_both_grow_and_nothing_is_new_when_they_are_read_again(
    store: EventStore, paths: tuple[Path, Path]
) -> None:
    read(store, paths[0], SHARED + HERE)
    session = read(store, paths[1], SHARED + THERE).session
    for path, more in ((paths[0], said("U3", "A2 here")), (paths[1], said("U3", "A2 there"))):
        grown = read(store, path, path.read_bytes() + more)
        assert grown.new > 0
        again = read(store, path)
        assert (again.new, again.session) == (0, grown.session)
    assert grown.session == session
    assert len(store.sessions()) == 2


def test_a_file_that_another_machine_replaced_is_another_session(
    store: EventStore, paths: tuple[Path, Path]
) -> None:
    path = paths[0]
    names = [read(store, path, SHARED + end).session for end in (HERE, THERE, ELSEWHERE, HERE)]
    assert names[0] == names[3] == NAME
    assert len({*names}) == 3
    assert exported(store, str(names[1])) == SHARED + THERE


def test_an_older_copy_adds_nothing(store: EventStore, paths: tuple[Path, Path]) -> None:
    read(store, paths[0], SHARED + HERE)
    report = read(store, paths[1], SHARED)
    assert (report.session, report.new, report.notices) == (NAME, 0, ())
    assert read(store, paths[1], SHARED + HERE + said("U3", "A2 here")).session == NAME


def test_another_session_in_the_same_file_is_another_session(
    store: EventStore, paths: tuple[Path, Path]
) -> None:
    read(store, paths[0], SHARED)
    report = read(store, paths[0], said("X", None))
    assert report.session is not None
    assert report.session != NAME
    assert exported(store, report.session) == said("X", None)


def test_a_reply_that_the_program_took_back_is_no_other_ending(
    store: EventStore, paths: tuple[Path, Path]
) -> None:
    read(store, paths[0], SHARED)
    report = read(store, paths[0], said("U1", None) + said("A1 again", "U1", "assistant"))
    assert report.session == NAME
    assert len(store.sessions()) == 1


def test_a_dry_run_says_the_same(store: EventStore, paths: tuple[Path, Path]) -> None:
    read(store, paths[0], SHARED + HERE)
    paths[1].write_bytes(SHARED + THERE)
    dry = list(import_path(store, paths[1], dry_run=True))
    assert dry == list(import_path(store, paths[1]))


def test_subagents_go_with_their_own_session(store: EventStore, paths: tuple[Path, Path]) -> None:
    for path, end in zip(paths, (HERE, THERE), strict=True):
        folder = path.with_suffix("") / "subagents"
        folder.mkdir(parents=True)
        agent = said(f"for {path.parent.name}", None, isSidechain=True, agentId="a1")
        (folder / "agent-a1.jsonl").write_bytes(agent)
        path.write_bytes(SHARED + said("S", "A1", isSidechain=True, agentId="b") + end)
    reports = [list(import_path(store, path)) for path in paths]
    for path, (main, agent) in zip(paths, reports, strict=True):
        assert main.session is not None
        assert agent.session is not None
        assert store.get(agent.session, 1).data["parent"]["session"] == main.session
        assert b"".join(export_lines(store, main.session)) == path.read_bytes()
        inside = path.with_suffix("") / "subagents" / "agent-a1.jsonl"
        assert b"".join(export_lines(store, agent.session)) == inside.read_bytes()


def test_lines_that_come_one_by_one_depart_too(store: EventStore, paths: tuple[Path, Path]) -> None:
    read(store, paths[0], SHARED + HERE)
    feed = LineFeed(store, "claude-code", NAME)
    for line in (SHARED + THERE).splitlines(keepends=True):
        report = feed.feed(line)
    assert report.session not in (None, NAME)
    assert exported(store, str(report.session)) == SHARED + THERE
    assert exported(store, NAME) == SHARED + HERE


class TestCopiesOfCopies:
    """The parent is the session that has most of the lines."""

    def test_a_fork_of_a_fork(self, store: EventStore, tmp_path: Path) -> None:
        lines = [*SHARED.splitlines(keepends=True), said("U2", "A1"), said("U3", "U2")]
        for name, count in (("a", 2), ("b", 3), ("c", 4)):
            content = b"".join(lines[:count]).replace(NAME.encode(), name.encode())
            (tmp_path / f"{name}.jsonl").write_bytes(content)
        list(import_path(store, tmp_path))
        assert _parents(store) == {"a": None, "b": "a", "c": "b"}

    def test_a_branch_of_a_branch(self, store: EventStore, tmp_path: Path) -> None:
        def copied(uuid: str, parent: str | None, origin: str) -> bytes:
            return said(uuid, parent, forkedFrom={"sessionId": origin, "messageUuid": uuid})

        (tmp_path / "c.jsonl").write_bytes(copied("1", None, "a") + copied("2", "1", "b"))
        list(import_path(store, tmp_path))
        assert _parents(store) == {"c": "b"}

    def test_a_continuation_of_a_continuation(self, store: EventStore, tmp_path: Path) -> None:
        lines = [said("1", None, sessionId="a"), said("2", "1", sessionId="b")]
        lines.append(said("3", "2", sessionId="c"))
        (tmp_path / "c.jsonl").write_bytes(b"".join(lines))
        list(import_path(store, tmp_path))
        assert _parents(store) == {"c": "b"}


def _parents(store: EventStore) -> dict[str, str | None]:
    return {info.session: info.parent for info in store.sessions()}


def aside(uuid: str, parent: str | None, type_: str = "user") -> bytes:
    """A line of a subagent within the file, as versions before 2.0.40 wrote them."""
    return said(uuid, parent, type_, isSidechain=True)


TASK = SHARED + aside("S1", None) + aside("S2", "S1", "assistant")


@pytest.mark.parametrize("main", [b"", said("U2", "A1")], ids=["at the end", "before the end"])
def test_files_that_differ_in_a_sidechain_only_are_two_sessions(
    store: EventStore, paths: tuple[Path, Path], main: bytes
) -> None:
    contents = [TASK + aside(f"S3 {end}", "S2") + main for end in ("here", "there")]
    reports = [read(store, path, content) for path, content in zip(paths, contents, strict=True)]
    assert reports[0].session == NAME != reports[1].session
    assert "differs from the session" in reports[1].notices[0].reason
    for report, content in zip(reports, contents, strict=True):
        assert exported(store, str(report.session)) == content
    for path, report in zip(paths, reports, strict=True):
        again = read(store, path)
        assert (again.new, again.session) == (0, report.session)
    assert len(store.sessions()) == 4


def test_a_sidechain_that_goes_on_is_no_other_ending(
    store: EventStore, paths: tuple[Path, Path]
) -> None:
    read(store, paths[0], TASK)
    for path, more in ((paths[0], aside("S3", "S2")), (paths[1], b"")):
        assert read(store, path, TASK + more).session == NAME
    assert len(store.sessions()) == 2
