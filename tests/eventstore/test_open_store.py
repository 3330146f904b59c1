"""``open_store``: a path, a URL or ``:memory:``; backends of other packages, found by scheme."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from foldlog import EventStore, Store, open_store
from foldlog.eventstore import (
    BrokenExtension,
    Copyable,
    Queryable,
    ReadOnlyStore,
    StoreError,
    StoreNotFound,
)
from foldlog.eventstore.memory import MemoryStore
from foldlog.eventstore.store import copyable, members, queryable, searchable
from foldlog.eventstore.testing import talk

BACKEND = """
from foldlog.eventstore.memory import MemoryStore

opened = []

class Shelf(MemoryStore):
    path = property(lambda self: self.where)

def open_shelf(where, *, create, read_only):
    store = Shelf()
    store.where = where
    opened.append((where, create, read_only))
    return store

def open_nothing(where, *, create, read_only):
    return object()
"""

Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Installs a package with backends, as pip would leave it: a module and its metadata."""

    def install(package: str = "shelves", module: str = BACKEND, **backends: str) -> None:
        site = tmp_path / f"site-{package}"
        info = site / f"{package}-1.0.dist-info"
        info.mkdir(parents=True)
        (site / f"{package}.py").write_text(module)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        lines = [f"{scheme} = {package}:{function}" for scheme, function in backends.items()]
        (info / "entry_points.txt").write_text("\n".join(["[foldlog.backends]", *lines]))
        monkeypatch.syspath_prepend(str(site))
        monkeypatch.delitem(sys.modules, package, raising=False)

    return install


class TestPlaces:
    def test_a_path_is_a_file(self, tmp_path: Path) -> None:
        for name in (tmp_path / "a.db", str(tmp_path / "b.db")):
            with open_store(name) as store:
                store.append("s", talk(1))
            assert Path(name).is_file()
            with EventStore(name, create=False) as same:
                assert same.exists("s")

    @pytest.mark.parametrize("where", [":memory:", "sqlite://", "sqlite:///:memory:"])
    def test_memory_is_gone_afterwards(
        self, where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        with open_store(where) as store:
            store.append("s", talk(1))
        with open_store(where) as store:
            assert not store.exists("s")
        assert list(tmp_path.iterdir()) == []

    def test_urls_of_sqlite(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        for where in ("sqlite:///near.db", f"sqlite:///{tmp_path}/far.db", "SQLite:///loud.db"):
            open_store(where).close()
        assert {path.name for path in tmp_path.iterdir()} == {"near.db", "far.db", "loud.db"}

    def test_a_name_with_a_colon_is_a_path(self, tmp_path: Path) -> None:
        with open_store(tmp_path / "a:b.db") as store:
            assert store.path == str(tmp_path / "a:b.db")

    def test_nothing_is_made_or_changed_that_should_not(self, tmp_path: Path) -> None:
        with pytest.raises(StoreNotFound):
            open_store(tmp_path / "missing.db", create=False)
        assert list(tmp_path.iterdir()) == []
        open_store(tmp_path / "a.db").close()
        with open_store(tmp_path / "a.db", read_only=True) as store, pytest.raises(ReadOnlyStore):
            store.append("s", talk(1))

    def test_an_empty_name_is_refused(self) -> None:
        with pytest.raises(StoreError, match="is empty"):
            open_store("")


class TestBackends:
    def test_another_package_opens_its_scheme(self, install: Install) -> None:
        install(shelf="open_shelf")
        with open_store("shelf://top/left", create=False) as store:
            assert store.path == "shelf://top/left"
            assert store.append("s", talk(1))[0].version == 1
        assert sys.modules["shelves"].opened == [("shelf://top/left", False, False)]

    def test_an_unknown_scheme_lists_those_that_are_known(self, install: Install) -> None:
        install(shelf="open_shelf")
        with pytest.raises(StoreError, match="opens postgres://; choose from shelf://, sqlite://"):
            open_store("postgres://host/name")

    def test_a_broken_package_is_named(self, install: Install) -> None:
        install("brittle", "import no_such_driver", brittle="open_it")
        with pytest.raises(BrokenExtension, match=r"'brittle' of brittle .*no_such_driver"):
            open_store("brittle://here")
        with open_store(":memory:") as store:
            assert store.sessions() == []

    def test_two_packages_for_one_scheme_are_named(self, install: Install) -> None:
        install("one", shelf="open_shelf")
        install("two", shelf="open_shelf")
        with pytest.raises(BrokenExtension, match="one") as caught:
            open_store("shelf://here")
        assert "two" in str(caught.value)

    def test_what_is_no_store_is_told_apart(self, install: Install) -> None:
        install(shelf="open_nothing")
        with pytest.raises(StoreError, match=r"object, which is no store: it has no .*append"):
            open_store("shelf://here")


class TestAbilities:
    def test_a_file_has_all_of_them(self, tmp_path: Path) -> None:
        with open_store(tmp_path / "a.db") as store:
            assert searchable(store) is queryable(store) is copyable(store) is store

    def test_the_oracle_can_be_searched_only(self) -> None:
        store = MemoryStore()
        assert isinstance(store, Store)
        assert searchable(store) is store
        assert not isinstance(store, Queryable | Copyable)
        for ask, words in ((queryable, "run SQL"), (copyable, "be copied into a file")):
            with pytest.raises(StoreError, match=f":memory: cannot {words}: its backend Memory"):
                ask(store)

    def test_the_members_are_what_a_backend_must_have(self) -> None:
        assert {"append", "load_fold", "path", "__enter__"} < set(members())
        assert not {"search", "sql", "backup", "db"} & set(members())
