"""An agent's hands at work: a real session, a real folder, real processes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from foldlog import Event, EventStore, Session
from foldlog.cli.agent.executor import Executor
from foldlog.cli.agent.hooks import Hooks
from foldlog.cli.agent.permissions import Ask, Permissions
from foldlog.cli.agent.tool import Tool
from foldlog.cli.agent.tools import standard
from tests.server.fixtures import api as api


class Hands:
    """An executor whose calls are made as a model makes them, one reply each."""

    def __init__(self, session: Session, cwd: Path, executor: Executor) -> None:
        self.session, self.cwd, self.executor = session, cwd, executor
        self._made = 0

    def call(self, name: str, **arguments: Any) -> Event:
        """Let the model call a tool; its result."""
        return self.executor.run(self.ask(name, arguments))

    def ask(self, name: str, arguments: Any) -> dict[str, Any]:
        """Record a reply that calls a tool; the call."""
        self._made += 1
        id = f"toolu_{self.session.version}_{self._made}"
        block = {"type": "tool_use", "id": id, "name": name, "input": arguments}
        self.session.assistant([block])
        return block

    def text(self, name: str, **arguments: Any) -> str:
        """The text of a call that works."""
        result = self.call(name, **arguments).data
        assert not result["is_error"], result["content"]
        return str(result["content"])

    def error(self, name: str, **arguments: Any) -> str:
        """The text of a call that fails."""
        result = self.call(name, **arguments).data
        assert result["is_error"], result["content"]
        return str(result["content"])

    def events(self, type: str) -> list[Mapping[str, Any]]:
        """The data of all events of a type."""
        return [event.data for event in self.session.store.read(self.session.id, types=[type])]


Make = Callable[..., Hands]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder that the session works in; beside it there are others."""
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture
def make(store: EventStore, folder: Path) -> Make:
    """Makes the hands of an agent for a session."""

    def made(
        *,
        session: str = "s",
        allow: tuple[str, ...] = (),
        deny: tuple[str, ...] = (),
        ask: Ask | None = None,
        above: Permissions | None = None,
        hooks: Hooks | None = None,
        tools: tuple[Tool, ...] = (),
    ) -> Hands:
        found = Session(store, session)
        if not found.version:
            found.user("Do it.")
        permissions = Permissions(found, allow=allow, deny=deny, ask=ask, above=above)
        every = [*standard(), *tools]
        return Hands(found, folder, Executor(found, every, permissions, hooks=hooks, cwd=folder))

    return made


@pytest.fixture
def hands(make: Make) -> Hands:
    """An agent that may do everything in its folder, and run every command."""
    return make(allow=("bash", "write", "edit"))
