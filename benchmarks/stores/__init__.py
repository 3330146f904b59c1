"""Everything that is measured, behind one small interface.

A store takes what its users hold: ``native`` makes that from a message and is never timed, encoding
it is. Modules are imported by name, in the one process that needs them: the peers are installed in
an environment of their own.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.corpus import Message

STORES = {
    "raw": "raw:Raw",
    "foldlog": "foldlog:Foldlog",
    "jsonl": "jsonl:Jsonl",
    "eventsourcing recorder": "eventsourcing:Recorder",
    "eventsourcing application": "eventsourcing:App",
    "openai-agents": "openai_agents:Session",
    "sqlite-utils": "sqlite_utils:Wal",
    "sqlite-utils as shipped": "sqlite_utils:Shipped",
    "llm": "llm:Log",
    "langgraph": "langgraph:Saver",
    "adk sqlite": "adk:Sqlite",
    "adk database": "adk:Database",
}
PEERS = [name for name in STORES if name not in ("raw", "foldlog")]


class Store(Protocol):
    """What a store has to do to be measured.

    ``append``, ``extend`` and ``load`` may return an awaitable; the harness awaits it.
    """

    package: ClassVar[str]
    """Its distribution, for the version."""
    driven: ClassVar[str]
    """How it is used here, in a few words."""

    def __init__(self, folder: Path, session: str = "s", synchronous: str = "FULL") -> None: ...
    def native(self, message: Message) -> Any: ...
    def append(self, native: Any) -> Any:
        """Returns when the store says that the message is kept."""

    def load(self) -> Any:
        """Return the whole session as a list, as long as what was appended."""

    def close(self) -> Any: ...


def find(name: str) -> type[Store]:
    module, _, attribute = STORES[name].partition(":")
    found: type[Store] = getattr(importlib.import_module(f"benchmarks.stores.{module}"), attribute)
    return found
