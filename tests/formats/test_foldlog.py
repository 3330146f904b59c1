"""foldlog's own JSON Lines come back as the same events, or not at all."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

from foldlog import EventDraft, EventStore, FoldlogError
from foldlog.cli.formats import ImportReport, export_lines, import_path
from foldlog.cli.formats.testing import ImporterTests, Sample
from foldlog.eventstore import Event, Store
from foldlog.eventstore.memory import MemoryStore

SAMPLE = Path(__file__).parents[1] / "fixtures" / "foldlog" / "session.jsonl"


class TestConformance(ImporterTests):
    format = "foldlog"
    samples: ClassVar = (Sample(SAMPLE, {"message.user": 2, "message.assistant": 2}),)
    is_chained = True

    def test_what_others_append_meanwhile_does_no_harm(
        self, copy: Path, sample: Sample, tmp_path: Path
    ) -> None:
        """Another event stands where the file has its own: the session is left as it is."""
        with EventStore(tmp_path / "s.db") as store:
            store.append("talk", [EventDraft("note.made")])
            (report,) = self.imported(store, copy)
            assert (report.new, store.last("talk")) == (0, 1)
            assert [note.line for note in report.rejected] == [1]


def said(*texts: str) -> list[EventDraft]:
    return [EventDraft("message.user", {"content": text}, key=ascii(text)[:99]) for text in texts]


@pytest.fixture
def source(tmp_path: Path) -> Iterator[EventStore]:
    with EventStore(tmp_path / "source.db") as store:
        store.append("talk", [EventDraft("session.started", {"title": "T"}), *said("one", "two")])
        store.append("talk", said("long " * 9_000, "half a pair \ud83d", "三"))
        yield store


@pytest.fixture(params=[EventStore, MemoryStore])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    make: Callable[..., Store] = request.param
    with make(tmp_path / "target.db") if make is EventStore else make() as store:
        yield store


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "talk.jsonl"


def written(path: Path, store: Store, *sessions: str) -> Path:
    content = [b"".join(export_lines(store, name, format="jsonl")) for name in sessions]
    path.write_bytes(b"".join(content))
    return path


def read(store: Store, path: Path) -> list[ImportReport]:
    return list(import_path(store, path))


def plain(event: Event) -> tuple[Any, ...]:
    return (event.session, event.version, event.id, event.at, event.key, event.data, event.hash)


def same(one: Store, other: Store, session: str) -> bool:
    return list(map(plain, one.read(session))) == list(map(plain, other.read(session)))


def test_the_same_events_versions_times_and_hashes(
    source: EventStore, target: Store, path: Path
) -> None:
    (report,) = read(target, written(path, source, "talk"))
    assert (report.format, report.session, report.new) == ("foldlog", "talk", 6)
    assert same(source, target, "talk")
    assert all(verdict.ok for verdict in target.verify())
    assert b"".join(export_lines(target, "talk", format="jsonl")) == path.read_bytes()


def test_what_overlaps_is_there_once(source: EventStore, target: Store, path: Path) -> None:
    lines = written(path, source, "talk").read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:3]))
    read(target, path)
    path.write_bytes(b"".join(lines[2:]))
    (report,) = read(target, path)
    assert (report.new, report.rejected) == (3, ())
    assert same(source, target, "talk")


def test_a_fork_comes_with_what_it_inherits(source: EventStore, target: Store, path: Path) -> None:
    source.fork("talk", at=3, new="fork")
    source.append("fork", said("three"))
    source.fork("fork", at=2, new="inner")
    for name in ("fork", "inner"):
        assert not [
            r for report in read(target, written(path, source, name)) for r in report.rejected
        ]
        assert same(source, target, name)
    assert target.session("fork").parent == "talk"
    assert target.last("talk") == 3
    read(target, written(path, source, "talk", "fork"))
    assert same(source, target, "talk")
    assert all(verdict.ok for verdict in target.verify())


def changed(lines: list[bytes], number: int, **values: Any) -> list[bytes]:
    line = {**json.loads(lines[number - 1]), **values}
    return [*lines[: number - 1], json.dumps(line).encode() + b"\n", *lines[number:]]


TAMPERED: dict[str, Callable[[list[bytes]], list[bytes]]] = {
    "its content": lambda lines: changed(lines, 3, data={"content": "TWO"}),
    "its time": lambda lines: changed(lines, 3, at="2026-01-01T00:00:00.000000Z"),
    "its time is none": lambda lines: changed(lines, 3, at="yesterday"),
    "its key": lambda lines: changed(lines, 3, key="other"),
    "its hash": lambda lines: changed(lines, 3, hash="sha256:" + "0" * 64),
    "it is gone": lambda lines: [*lines[:2], *lines[3:]],
    "it is elsewhere": lambda lines: [*lines[:2], lines[3], lines[2], *lines[4:]],
}


@pytest.mark.parametrize("tamper", TAMPERED.values(), ids=TAMPERED)
def test_a_line_that_was_changed_is_an_error_with_its_place(
    source: EventStore, target: Store, path: Path, tamper: Callable[[list[bytes]], list[bytes]]
) -> None:
    lines = written(path, source, "talk").read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(tamper(lines)))
    (report,) = read(target, path)
    assert [note.line for note in report.rejected] == [3]
    assert target.last("talk") == 2


def test_a_session_with_another_ending_is_left_as_it_is(
    source: EventStore, target: Store, path: Path
) -> None:
    lines = written(path, source, "talk").read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:3]))
    read(target, path)
    target.append("talk", said("mine"))
    path.write_bytes(b"".join(lines))
    (report,) = read(target, path)
    assert [note.line for note in report.rejected] == [4]
    assert "version 4 of session talk is another event in this store" in report.rejected[0].reason
    assert target.get("talk", 4).data == {"content": "mine"}


def test_several_sessions_in_one_file_have_a_report_each(
    source: EventStore, target: Store, path: Path
) -> None:
    source.append("other", said("x"))
    reports = read(target, written(path, source, "talk", "other"))
    assert [(report.session, report.new) for report in reports] == [("talk", 6), ("other", 1)]


@pytest.mark.parametrize("at", ["", "now", "2026-11-29", "2026-11-29T14:05:00Z", 7])
def test_the_time_of_a_draft_is_a_time(target: Store, at: Any) -> None:
    with pytest.raises(FoldlogError, match="ISO 8601"):
        target.append("s", [EventDraft("message.user", {"content": "x"}, at=at)])
