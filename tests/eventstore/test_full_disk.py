"""The disk is full: nothing acknowledged is lost, one is told, and goes on when there is room."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Protocol

import pytest

from foldlog.eventstore import EventDraft, EventStore, StoreFull
from foldlog.eventstore.testing import is_sound, talk, versions

DISK_BYTES = 3_000_000


class Disk(Protocol):
    """A place for a store that can be filled."""

    folder: Path

    def fill(self, store: EventStore | None) -> None:
        """Leave no room."""

    def make_room(self, store: EventStore | None) -> None:
        """Leave much."""


class SmallDisk:
    """A real file system in memory, of three megabytes; needs root."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._ballast = folder / "ballast"
        command = ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", folder]
        subprocess.run(command, check=True, capture_output=True)

    def fill(self, store: EventStore | None) -> None:
        with self._ballast.open("wb", buffering=0) as file:
            try:
                while file.write(bytes(4096)):
                    pass
            except OSError:
                return

    def make_room(self, store: EventStore | None) -> None:
        self._ballast.unlink()

    def close(self) -> None:
        subprocess.run(["umount", "-l", self.folder], check=True)


class SmallQuota:
    """SQLite's own limit of pages: the same error, told by the same code."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def fill(self, store: EventStore | None) -> None:
        if store is not None:
            store.db.execute("PRAGMA max_page_count = 1")  # as few as there are

    def make_room(self, store: EventStore | None) -> None:
        if store is not None:
            store.db.execute("PRAGMA max_page_count = 1000000")


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    """A small disk where one can be had, else a small quota."""
    folder = tmp_path / "disk"
    folder.mkdir()
    try:
        small = SmallDisk(folder)
    except (OSError, subprocess.CalledProcessError):
        yield SmallQuota(folder)
        return
    yield small
    small.close()


@pytest.fixture
def store(disk: Disk) -> Iterator[EventStore]:
    with EventStore(disk.folder / "sessions.db") as store:
        store.append("s", talk(3))
        yield store


def large(count: int) -> list[EventDraft]:
    """Drafts of 4 KB that do not shrink."""
    return [EventDraft("x", {"noise": Random(n).randbytes(2000).hex()}) for n in range(count)]


def fill_up(disk: Disk, store: EventStore) -> int:
    """Append until there is no room: the last version that was acknowledged."""
    disk.fill(store)
    while True:
        last = store.last("s")
        try:
            store.append("s", large(1))
        except StoreFull as error:
            assert str(error).endswith("Make room and try again.")  # noqa: PT017
            return last


def test_what_was_acknowledged_is_there(disk: Disk, store: EventStore) -> None:
    last = fill_up(disk, store)
    assert versions(store.read("s")) == list(range(1, last + 1))
    assert is_sound(store)


def test_one_goes_on_when_there_is_room(disk: Disk, store: EventStore) -> None:
    last = fill_up(disk, store)
    disk.make_room(store)
    assert versions(store.append("s", large(2), expected=last)) == [last + 1, last + 2]
    assert is_sound(store)


def test_a_batch_that_does_not_fit_leaves_nothing(disk: Disk, store: EventStore) -> None:
    if isinstance(disk, SmallQuota):
        disk.fill(store)
    with pytest.raises(StoreFull):
        store.append("s", large(2 * DISK_BYTES // 4000))
    assert store.last("s") == 3
    if isinstance(disk, SmallQuota):
        disk.make_room(store)
    assert versions(store.append("s", talk(1), expected=3)) == [4]
    assert is_sound(store)


def test_payloads_of_a_failed_append_are_stored_by_the_next(disk: Disk, store: EventStore) -> None:
    fill_up(disk, store)
    with pytest.raises(StoreFull):
        store.append("s", large(30))
    disk.make_room(store)
    store.append("s", large(30))
    assert is_sound(store)


def test_one_can_look_around(disk: Disk, store: EventStore) -> None:
    last = fill_up(disk, store)
    assert [info.last_version for info in store.sessions()] == [last]
    assert [hit.version for hit in store.search("message 2")] == [2]
    assert list(store.sql("SELECT last_version FROM sessions")[1]) == [(last,)]


def test_a_backup_that_does_not_fit_leaves_nothing(disk: Disk, store: EventStore) -> None:
    store.append("s", large(50))
    if isinstance(disk, SmallQuota):
        pytest.skip("the limit would be the store's own, and no small disk can be mounted")
    disk.fill(store)
    with pytest.raises(StoreFull, match=r"backup\.db"):
        store.backup(disk.folder / "backup.db")
    assert not [file for file in disk.folder.iterdir() if file.name.startswith("backup")]
    assert is_sound(store)


def test_opening_a_store_on_a_full_disk(disk: Disk, store: EventStore) -> None:
    store.close()
    disk.fill(None)
    if isinstance(disk, SmallDisk):
        with pytest.raises(StoreFull, match="Make room"):
            _read(disk.folder / "sessions.db")
    disk.make_room(None)
    assert _read(disk.folder / "sessions.db") == [1, 2, 3]
    assert _append(disk.folder / "sessions.db") == [4]


def test_making_a_store_on_a_full_disk(disk: Disk) -> None:
    path = disk.folder / "new.db"
    if isinstance(disk, SmallQuota):
        pytest.skip("no small disk can be mounted, and no store is there yet to be limited")
    disk.fill(None)
    with pytest.raises(StoreFull):
        EventStore(path)
    disk.make_room(None)
    assert _append(path) == [1]


def _read(path: Path) -> list[int]:
    with EventStore(path) as store:
        assert is_sound(store)
        return versions(store.read("s"))


def _append(path: Path) -> list[int]:
    with EventStore(path) as store:
        return versions(store.append("s", talk(1)))
