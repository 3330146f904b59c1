"""Commands on the store of another package's backend, which can do no more than it must."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from foldlog.cli.main import foldlog
from foldlog.eventstore import EventDraft, ReadOnlyStore, StoreNotFound, open_store
from foldlog.projections import Session
from tests.eventstore.shelf import Shelf, open_shelf

WHERE = "shelf://top"


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shelf:
    """A store in this process, which the commands open by its URL."""
    info = tmp_path / "site" / "shelves-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: shelves\nVersion: 1.0\n")
    opener = "shelf = tests.eventstore.shelf:open_shelf"
    (info / "entry_points.txt").write_text(f"[foldlog.backends]\n{opener}\n")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    monkeypatch.setattr("tests.eventstore.shelf.SHELVES", {})
    store = open_shelf(WHERE, create=True, read_only=False)
    session = Session(store, "work")
    session.user("Fix the build.")
    session.assistant([{"type": "text", "text": "Done."}])
    return store


def run(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(foldlog, ["--db", WHERE, *arguments])
    return result.exit_code, result.stdout, result.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["sessions"], "work"),
        (["log", "work"], "Fix the build."),
        (["view", "work"], "Done."),
        (["stats"], "sessions: 1"),
        (["verify"], "work"),
        (["fork", "work"], ""),
        (["rename", "work", "A title"], ""),
        (["export", "work", "--to", "jsonl"], "Fix the build."),
    ],
)
def test_what_every_backend_can_do(shelf: Shelf, arguments: list[str], said: str) -> None:
    code, out, err = run(*arguments)
    assert code == 0, err
    assert said in out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["search", "build"], "shelf://top cannot be searched"),
        (["sql", "SELECT 1"], "shelf://top cannot run SQL"),
        (["backup", "copy.db"], "shelf://top cannot be copied into a file"),
    ],
)
def test_what_it_cannot_do_is_said(shelf: Shelf, arguments: list[str], words: str) -> None:
    code, _, err = run(*arguments)
    assert code != 0
    assert words in err
    assert "its backend Shelf has no method" in err


def test_an_unknown_scheme_lists_the_known_ones(shelf: Shelf) -> None:
    result = CliRunner().invoke(foldlog, ["--db", "postgres://host", "sessions"])
    assert result.exit_code != 0
    assert "choose from shelf://, sqlite://" in result.stderr


def test_what_another_package_opens_keeps_its_word(shelf: Shelf) -> None:
    with pytest.raises(StoreNotFound, match="shelf://none"):
        open_store("shelf://none", create=False)
    with open_store(WHERE, read_only=True) as reader:
        assert reader.last("work") == 2
        with pytest.raises(ReadOnlyStore):
            reader.append("work", [EventDraft("message.user", {"content": "no"})])
        shelf.append("work", [EventDraft("message.user", {"content": "yes"})])
        assert reader.last("work") == 3
