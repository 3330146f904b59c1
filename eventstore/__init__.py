"""What happened: an append-only log of agent sessions.

``EventStore`` keeps it in one SQLite file: ``append`` drafts, ``read`` events, ``verify`` the
chain. ``Store`` is what every backend can do; ``open_store`` opens any of them by a path or a URL.
Nothing here knows a model or a terminal.
"""

from foldlog.eventstore.errors import (
    AmbiguousName,
    BrokenExtension,
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
from foldlog.eventstore.listing import SessionInfo
from foldlog.eventstore.sqlite import EventStore
from foldlog.eventstore.store import Copyable, Queryable, Searchable, Store, Verdict, open_store

__all__ = [
    "AmbiguousName",
    "BrokenExtension",
    "ContextError",
    "Copyable",
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
    "Queryable",
    "ReadOnlyStore",
    "Searchable",
    "SessionHeld",
    "SessionInfo",
    "SessionNotFound",
    "SourceError",
    "Store",
    "StoreBusy",
    "StoreError",
    "StoreFull",
    "StoreNotFound",
    "Verdict",
    "VersionConflict",
    "VersionNotFound",
    "open_store",
]
