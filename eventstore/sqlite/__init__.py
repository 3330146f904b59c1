"""The store in one SQLite file: everything that knows SQL.

``store`` is the class that people use; ``recorder`` turns drafts into rows and ``reader`` turns
rows into events; ``connection`` holds the file and its lock, ``schema`` the tables and the
triggers that guard them.
"""

from foldlog.eventstore.sqlite.store import EventStore

__all__ = ["EventStore"]
