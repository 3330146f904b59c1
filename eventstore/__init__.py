"""What happened: an append-only log of agent sessions in one SQLite file.

``EventStore`` is the door: ``append`` drafts, ``read`` events, ``verify`` the chain. It knows no
model and no terminal.
"""

from foldlog.eventstore.errors import (
    AmbiguousName,
    ContextError,
    CorruptEvent,
    CorruptStore,
    DuplicateKey,
    FoldlogError,
    InvalidDraft,
    InvalidView,
    NewerStore,
    NotAStore,
    ReadOnlyStore,
    SessionHeld,
    SessionNotFound,
    SourceError,
    StoreBusy,
    StoreError,
    StoreFull,
    StoreNotFound,
    VersionConflict,
    VersionNotFound,
)
from foldlog.eventstore.events import Event, EventDraft
from foldlog.eventstore.leases import Holder
from foldlog.eventstore.sqlite import EventStore
from foldlog.eventstore.sqlite.sessions import SessionInfo

__all__ = [
    "AmbiguousName",
    "ContextError",
    "CorruptEvent",
    "CorruptStore",
    "DuplicateKey",
    "Event",
    "EventDraft",
    "EventStore",
    "FoldlogError",
    "Holder",
    "InvalidDraft",
    "InvalidView",
    "NewerStore",
    "NotAStore",
    "ReadOnlyStore",
    "SessionHeld",
    "SessionInfo",
    "SessionNotFound",
    "SourceError",
    "StoreBusy",
    "StoreError",
    "StoreFull",
    "StoreNotFound",
    "VersionConflict",
    "VersionNotFound",
]
