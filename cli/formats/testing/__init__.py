"""Tests that every importer passes: subclass ``ImporterTests`` in your package's tests::

    from pathlib import Path

    from foldlog.cli.formats.testing import ImporterTests, Sample

    DATA = Path(__file__).parent / "data"

    class TestParley(ImporterTests):
        format = "parley"
        samples = (Sample(DATA / "chat.parley", {"message.user": 2, "message.assistant": 1}),)

Each sample is copied before it is damaged. Random damage comes from fixed seeds: a failure repeats.
"""

from __future__ import annotations

import random
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest

from foldlog.cli.formats import ImportReport, SourceFiles, find, import_path
from foldlog.cli.formats.testing.hostile import spoil
from foldlog.eventstore import EventDraft, EventStore, Store
from foldlog.projections import Session, render

CUTS = 12
"""Random cuts of each sample."""

STEPS = 4
"""Imports in which a growing sample is read."""

HOSTILE = 24
"""Hostile variants of each sample."""

SEVERAL = 4
"""Lines from which on a file keeps most of its messages, whatever one of its lines holds."""

CRASH = "the importer of"
"""How the reason begins where an importer raised an exception."""


@dataclass(frozen=True)
class Sample:
    """A transcript whose contents are known.

    Attributes:
        path: The file or folder.
        counts: How many events of some types it becomes, in all its sessions together.
        main: In a folder, the file that grows and is damaged, relative to the folder.
        broken: Bytes that are not a record; None for a format where a line cannot be broken.
    """

    path: Path
    counts: Mapping[str, int]
    main: str = ""
    broken: bytes | None = b'{"broken'

    def __str__(self) -> str:
        return self.path.name


class ImporterTests:
    """What holds for every importer.

    Attributes:
        format: Its name in IMPORTERS.
        samples: What it reads.
        is_chained: A line proves the one before it, so a line that was changed ends the import.
    """

    format: ClassVar[str]
    samples: ClassVar[tuple[Sample, ...]]
    is_chained: ClassVar[bool] = False

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        if "sample" in metafunc.fixturenames:
            metafunc.parametrize("sample", self.samples, ids=str)

    @pytest.fixture
    def target(self) -> Iterator[Store]:
        """Yield a store in memory."""
        with EventStore(":memory:") as store:
            yield store

    @pytest.fixture
    def copy(self, sample: Sample, tmp_path: Path) -> Path:
        """Return a copy of the sample."""
        path = tmp_path / "copy" / sample.path.name
        if sample.path.is_dir():
            shutil.copytree(sample.path, path)
            return path
        path.parent.mkdir()
        shutil.copy(sample.path, path)
        beside = sample.path.with_suffix("")
        if beside.is_dir():
            shutil.copytree(beside, path.with_suffix(""))
        return path

    def test_it_is_recognised(self, sample: Sample) -> None:
        assert {name for name, _ in find(SourceFiles(sample.path))} == {self.format}

    def test_every_message_is_imported(self, target: Store, copy: Path, sample: Sample) -> None:
        reports = self.imported(target, copy)
        assert counts(target, sample.counts) == sample.counts
        assert sum(report.new for report in reports) == sum(1 for _ in target.events())
        assert all(report.format == self.format for report in reports)
        assert all(verdict.ok for verdict in target.verify())

    def test_every_session_can_be_sent(self, target: Store, copy: Path) -> None:
        self.imported(target, copy)
        for info in target.sessions():
            render(Session(target, info.session).view(), open="recover")

    def test_imported_again_nothing_is_new(self, target: Store, copy: Path) -> None:
        first = self.imported(target, copy)
        again = self.imported(target, copy)
        assert [report.new for report in again] == [0] * len(again)
        assert [report.events for report in again] == [report.events for report in first]

    def test_a_dry_run_reports_the_same_and_records_nothing(
        self, target: Store, copy: Path
    ) -> None:
        dry = self.imported(target, copy, dry_run=True)
        assert list(target.events()) == []
        wet = self.imported(target, copy)
        assert [(r.file, r.session, r.new) for r in dry] == [
            (r.file, r.session, r.new) for r in wet
        ]

    def test_a_growing_file_ends_as_the_whole_one(
        self, target: Store, copy: Path, sample: Sample
    ) -> None:
        main = copy / sample.main
        whole = main.read_bytes()
        for size in sorted(cuts(whole, STEPS)):
            main.write_bytes(whole[:size])
            self.imported(target, copy)
        main.write_bytes(whole)
        self.imported(target, copy)
        with EventStore(":memory:") as at_once:
            self.imported(at_once, copy)
            assert contents(target) == contents(at_once)

    def test_no_cut_makes_it_fail(self, copy: Path, sample: Sample) -> None:
        main = copy / sample.main
        whole = main.read_bytes()
        for size in cuts(whole, CUTS):
            main.write_bytes(whole[:size])
            with EventStore(":memory:") as store:
                self.imported(store, copy)

    def test_a_broken_line_is_reported_with_its_place_and_takes_nothing_along(
        self, target: Store, copy: Path, sample: Sample
    ) -> None:
        if sample.broken is None:
            pytest.skip("no line of this format can be broken")
        main = copy / sample.main
        lines = main.read_bytes().splitlines(keepends=True)
        place = len(lines) // 2
        main.write_bytes(b"".join([*lines[:place], sample.broken, b"\n", *lines[place:]]))
        notes = [note for report in self.imported(target, copy) for note in report.rejected]
        assert place + 1 in [note.line for note in notes]
        assert counts(target, sample.counts) == sample.counts

    @pytest.mark.parametrize("seed", range(HOSTILE))
    def test_a_hostile_value_in_any_place_does_not_keep_the_rest_out(
        self, target: Store, copy: Path, sample: Sample, seed: int
    ) -> None:
        file = hostile_file(copy, sample, seed)
        lines = file.read_bytes().count(b"\n")
        what = spoil(file, seed)
        print(what)  # pytest shows it with a failure
        first = self.imported(target, copy)
        assert [report.new for report in self.imported(target, copy)] == [0] * len(first)
        for info in target.sessions():
            render(Session(target, info.session).view(), open="recover")
        has_records = sample.broken is not None and lines >= SEVERAL and not self.is_chained
        if has_records and what.startswith("line "):
            kept = sum(counts(target, sample.counts).values())
            assert kept >= sum(sample.counts.values()) // 2

    def test_a_link_out_of_its_folder_is_as_if_it_were_not_there(
        self, target: Store, copy: Path, sample: Sample, tmp_path: Path
    ) -> None:
        if not copy.is_dir():
            pytest.skip("the sample is a file")
        outside = tmp_path / "outside"
        (copy / sample.main).rename(outside)
        with EventStore(":memory:") as without:
            self.imported(without, copy)
            (copy / sample.main).symlink_to(outside)
            self.imported(target, copy)
            assert contents(target) == contents(without)

    def test_what_others_append_meanwhile_does_no_harm(
        self, copy: Path, sample: Sample, tmp_path: Path
    ) -> None:
        with EventStore(tmp_path / "s.db") as mine, EventStore(tmp_path / "s.db") as theirs:
            append, calls = mine.append, iter(range(2))

            def interrupted(session: str, *args: Any, **named: Any) -> Any:
                if next(calls, None) is not None:
                    theirs.append(session, [EventDraft("note.made")])
                return append(session, *args, **named)

            mine.append = interrupted  # type: ignore[method-assign]
            self.imported(mine, copy)
            assert counts(mine, sample.counts) == sample.counts

    def imported(self, store: Store, path: Path, *, dry_run: bool = False) -> list[ImportReport]:
        """Import a path and return the reports of this format; an exception in it is a failure."""
        reports = list(import_path(store, path, format=self.format, dry_run=dry_run))
        notes = [note.reason for report in reports for note in report.rejected]
        assert [reason for reason in notes if reason.startswith(CRASH)] == []
        return [report for report in reports if report.format == self.format]


def counts(store: Store, types: Mapping[str, int]) -> dict[str, int]:
    """Count the events of each type in a store."""
    found = Counter(event.type for event in store.events())
    return {type_: found[type_] for type_ in types}


def contents(store: Store) -> dict[str, tuple[list[Any], Any]]:
    """Return the keys and the request of each session, whatever else was derived on the way."""
    return {
        info.session: (
            sorted(event.key for event in store.read(info.session) if event.key is not None),
            render(Session(store, info.session).view(), open="recover"),
        )
        for info in store.sessions()
    }


def hostile_file(copy: Path, sample: Sample, seed: int) -> Path:
    """Return the file of a sample to spoil: of a folder, the main one half of the time."""
    if not copy.is_dir() or seed % 2:
        return copy / sample.main
    return random.Random(seed).choice(sorted(path for path in copy.rglob("*") if path.is_file()))


def cuts(content: bytes, count: int) -> list[int]:
    """Return sizes to cut a file at: anywhere, and at ends of lines."""
    chance = random.Random(len(content))
    anywhere = [chance.randrange(len(content) + 1) for _ in range(count)]
    lines = [place + 1 for place, byte in enumerate(content) if byte == 10] or [0]
    return anywhere + [chance.choice(lines) for _ in range(count // 2)]
