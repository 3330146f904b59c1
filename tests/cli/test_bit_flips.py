"""A store with one flipped bit: each command is right, or an error or verify reports the damage."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hypothesis import example, given, settings
from hypothesis import strategies as st

from foldlog.cli.main import foldlog
from foldlog.eventstore import EventDraft, EventStore

COMMANDS = [
    ["sessions", "--json"],
    ["log", "s", "--json"],
    ["show", "s", "3"],
    ["view", "s"],
    ["search", "output"],
    ["export", "s"],
    ["stats"],
    ["sql", "SELECT session, title FROM sessions"],
    ["rename", "s", "other"],
]
CALL = {"type": "tool_use", "id": "t1", "name": "bash", "input": {}}


class Store:
    """The bytes of a small store, and what each command prints of it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with EventStore(path) as store:
            store.append(
                "s",
                [
                    EventDraft("message.user", {"content": "Go on"}, key="k1"),
                    EventDraft("message.assistant", {"content": [CALL], "model": "m"}),
                    EventDraft("tool.result", {"tool_use_id": "t1", "content": "output " * 400}),
                    EventDraft("message.assistant", {"content": "Done"}),
                    EventDraft("message.user", {"content": "Thanks " * 80}),
                ],
            )
            store.fork("s", at=4, new="fork")
            store.sessions()
            store.search("output")
        self.content = path.read_bytes()
        self.right = [self.run(self.content, *command).stdout for command in COMMANDS]

    def run(self, content: bytes, *command: str) -> Result:
        for suffix in ("-wal", "-shm"):
            self.path.with_name(f"{self.path.name}{suffix}").unlink(missing_ok=True)
        self.path.write_bytes(content)
        return CliRunner().invoke(foldlog, ["--db", str(self.path), *command])


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return Store(tmp_path_factory.mktemp("flipped") / "sessions.db")


@settings(max_examples=40, deadline=None)
@given(place=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
@example(place=0, bit=0)
@example(place=24 / 73728, bit=3)
@example(place=15798 / 73728, bit=2)
@example(place=52364 / 73728, bit=7)
def test_it_is_right_or_reported(store: Store, place: float, bit: int) -> None:
    content = bytearray(store.content)
    content[int(place * len(content))] ^= 1 << bit
    flipped = bytes(content)
    is_wrong = False
    for command, right in zip(COMMANDS, store.right, strict=True):
        result = store.run(flipped, *command)
        assert "should not happen" not in result.stderr, (command, result.stderr)
        assert result.exit_code in (0, 1, 2)
        if command[0] != "search":  # of an index that can be made again, and is not proven
            is_wrong |= result.exit_code == 0 and result.stdout != right
    verified = store.run(flipped, "verify")
    assert "should not happen" not in verified.stderr, verified.stderr
    assert verified.exit_code or not is_wrong
