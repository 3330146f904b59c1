"""Export a session as one HTML page that needs nothing else, or many as a folder of pages.

page         the page of a session                  fragments    a passage → HTML
sides        what happened beside what was seen     markdown     Markdown → HTML that loads nothing
site         an index, and a page for each session  code, edits  code in colours, changes as a diff
environment  the templates, and how text gets into a page
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from foldlog.cli.formats.html.fragments import Fragments
from foldlog.cli.formats.html.page import page
from foldlog.cli.formats.html.sides import compared
from foldlog.cli.formats.html.site import site
from foldlog.cli.formats.telling import ALL, Telling
from foldlog.eventstore import Store
from foldlog.eventstore.listing import SessionInfo

__all__ = ["Fragments", "export_compared", "export_lines", "export_narrative", "export_sessions"]


def export_lines(store: Store, session: str, until: int | None = None) -> Iterator[bytes]:
    """Return the page of a session, in pieces."""
    return export_narrative(store, session, until)


def export_narrative(
    store: Store, session: str, until: int | None = None, telling: Telling = ALL
) -> Iterator[bytes]:
    """Return the page of a session, as far as ``telling`` shows it, in pieces."""
    return page(telling.narrate(store, session, until), Fragments())


def export_compared(
    store: Store, session: str, number: int, telling: Telling = ALL
) -> Iterator[bytes]:
    """Return the page of what happened beside what the model saw across a compaction."""
    return compared(store, session, number, telling, Fragments())


def export_sessions(
    store: Store, infos: Iterable[SessionInfo], telling: Telling = ALL
) -> Iterator[tuple[str, Iterable[bytes]]]:
    """Return (relative path, content in pieces) of an index and the page of each session."""
    return site(store, infos, telling)
