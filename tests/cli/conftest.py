from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from foldlog.cli.main import foldlog
from foldlog.eventstore import EventStore
from foldlog.eventstore.codec import loads
from tests.cli.demo import record

Run = Callable[..., Result]


@pytest.fixture
def db(tmp_path: Path) -> Path:
    """A store with the demo session, its fork, and a session of hostile text."""
    path = tmp_path / "demo.db"
    with EventStore(path) as store:
        record(store)
    return path


@pytest.fixture
def run(db: Path) -> Run:
    """Run a command on the demo store."""

    def invoke(*arguments: str, db: Path = db, **more: Any) -> Result:
        return CliRunner().invoke(foldlog, ["--db", str(db), *arguments], **more)

    return invoke


@pytest.fixture
def answers(run: Run) -> Callable[..., list[Any]]:
    """The objects that a command prints with --json; it must succeed, and print nothing else."""

    def invoke(*arguments: str, **more: Any) -> list[Any]:
        result = run(*arguments, "--json", **more)
        assert result.exit_code == 0, result.output
        return [loads(line) for line in result.stdout.splitlines()]

    return invoke
