"""What a list says of a session, and how each backend derives it from events.

``listed`` derives it from all events of a session. A backend that keeps a list of its own calls the
smaller functions with the few events that each needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from foldlog.eventstore.errors import AmbiguousName, SessionNotFound
from foldlog.eventstore.events import Event, Json
from foldlog.eventstore.facets import clean

MESSAGES = ("message.user", "message.assistant", "message.system")
"""The types that ``SessionInfo.messages`` counts."""

TELLING = (
    *("session.started", "session.renamed", "session.moved", "session.tagged"),
    "view.edited",
)
"""The types whose data the list needs: see ``tell``."""

PREVIEW_CHARS = 120
"""How much of the first user message is shown where a session has no title."""

PREVIEWED = 3
"""How many of a session's first user messages are searched for a preview."""

TIMED = 20
"""How many events before the newest one are searched for the time that their source gives."""


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """What a list says of a session.

    Attributes:
        session: Its id.
        parent: The session it came from, with the version there and the kind: ``fork``,
            ``subagent``, ``continuation`` or ``copy``.
        title: As set when it started or was renamed.
        preview: The beginning of its first user message.
        tags: As set last.
        cwd: The folder it was last used in.
        origin: Which harness, importer and file it came from.
        first: Its first own version: 1, or for a fork the one after the parent's.
        last_version: Its highest version.
        head: The tip of its active lineage.
        messages, tool_results, compactions: How many were recorded, on any lineage.
        started, last: When the first and the newest thing happened, ISO 8601.
        problem: An event that cannot be read, so that the list may be incomplete. None: none was
            found, as far as the list has looked; ``verify`` looks at everything.
    """

    session: str
    parent: str | None = None
    parent_version: int | None = None
    parent_kind: str | None = None
    title: str | None = None
    preview: str | None = None
    tags: tuple[str, ...] = ()
    cwd: str | None = None
    origin: Json = None
    first: int = 1
    last_version: int = 0
    head: int = 0
    messages: int = 0
    tool_results: int = 0
    compactions: int = 0
    started: str = ""
    last: str = ""
    problem: str | None = None

    @property
    def is_fork(self) -> bool:
        """Whether it shares its parent's past instead of starting at version 1."""
        return self.parent_kind == "fork" and self.first > 1


def listed(session: str, events: Sequence[Event]) -> SessionInfo:
    """Derive what the list says of a session from all its events, inherited ones included."""
    own = [event for event in events if event.session == session]
    types = [event.type for event in events]
    info = SessionInfo(
        session,
        preview=preview(event for event in events if event.type == "message.user"),
        first=own[0].version,
        last_version=own[-1].version,
        head=head(own[-1].version, lambda version: events[version - 1]),
        messages=sum(map(types.count, MESSAGES)),
        tool_results=types.count("tool.result"),
        compactions=sum(map(compacts, events[: -len(own)])),
        started=newest_time(own[:1]),
        last=newest_time(own[-TIMED - 1 :]),
    )
    for event in own:
        info = tell(info, event)
    return info


def tell(info: SessionInfo, event: Event) -> SessionInfo:
    """Add what one of a session's own events of the types ``TELLING`` says of it."""
    data = event.data
    if event.type == "session.started":
        return _started(info, data)
    if event.type == "session.renamed":
        return replace(info, title=clean(data.get("title")))
    if event.type == "session.moved":
        return replace(info, cwd=clean(data.get("cwd")) or info.cwd)
    if event.type == "session.tagged":
        tags = data.get("tags")
        return replace(info, tags=tuple(map(str, tags)) if isinstance(tags, list) else ())
    return replace(info, compactions=info.compactions + compacts(event))


def compacts(event: Event) -> bool:
    """Return whether an event puts a summary or a marker in the place of others."""
    edits = event.data.get("edits") if event.type == "view.edited" else None
    return isinstance(edits, list) and any(
        isinstance(edit, dict) and edit.get("shown") in ("summary", "marker") for edit in edits
    )


def preview(messages: Iterable[Event]) -> str | None:
    """Return the beginning of the first text among the first user messages."""
    contents = (event.data.get("content") for event in islice(messages, PREVIEWED))
    return next(filter(None, map(_beginning, contents)), None)


def head(version: int, event: Callable[[int], Event]) -> int:
    """Return the tip of the lineage that ends at a version: each ``head.moved`` is followed back.

    Args:
        event: Reads the event of a version.
    """
    while True:
        target = _moved_to(event(version))
        if target is None or not 0 < target < version:
            return version
        version = target


def newest_time(events: Sequence[Event]) -> str:
    """Return the newest time that the source gives in these events, else when they ended."""
    told = (event.occurred for event in events if event.meta.get("occurred"))
    return max(told, default=events[-1].at)


def newest_first(infos: Iterable[SessionInfo]) -> list[SessionInfo]:
    """Sort a list of sessions: the one used last comes first."""
    return sorted(infos, key=lambda info: (info.last, info.session), reverse=True)


def find(name: str, infos: Sequence[SessionInfo], cwd: str | None = None) -> str:
    """Return the id of the session that a person means.

    Args:
        name: An id, the beginning of one, a title, or ``last``: the one used last.
        infos: All sessions, the one used last first.
        cwd: ``last`` prefers sessions of this folder.

    Raises:
        SessionNotFound: No session has that name.
        AmbiguousName: More than one has.
    """
    if name == "last":
        return _used_last(infos, cwd)
    for found in (
        [info.session for info in infos if info.session == name],
        [info.session for info in infos if info.session.startswith(name)],
        [info.session for info in infos if info.title == name],
    ):
        if len(found) == 1:
            return found[0]
        if found:
            raise AmbiguousName(
                f"{name!r} names {len(found)} sessions: {', '.join(found[:5])}"
                f"{', …' if len(found) > 5 else ''}. Give more characters of the id."
            )
    raise no_session(name)


def no_session(name: str) -> SessionNotFound:
    """Return the error for a name that no session has."""
    return SessionNotFound(
        f"no session is called {name!r}. `foldlog sessions` lists what there is."
    )


def _used_last(infos: Sequence[SessionInfo], cwd: str | None) -> str:
    own = [info for info in infos if info.parent_kind != "subagent"]
    here = [info for info in own if cwd and info.cwd == cwd]
    if not own:
        raise SessionNotFound("there is no session yet. Import one with `foldlog import`.")
    return (here or own)[0].session


def _started(info: SessionInfo, data: Mapping[str, Json]) -> SessionInfo:
    parent = data.get("parent")
    if not isinstance(parent, dict):
        parent = {}
    version = parent.get("version")
    return replace(
        info,
        title=clean(data.get("title")) or info.title,
        cwd=clean(data.get("cwd")),
        origin=data.get("origin"),
        parent=clean(parent.get("session")),
        parent_version=version if isinstance(version, int) else None,
        parent_kind=clean(parent.get("kind")),
    )


def _beginning(content: Json) -> str | None:
    if isinstance(content, list):
        texts = [block.get("text") for block in content if isinstance(block, dict)]
        content = next((text for text in texts if isinstance(text, str) and text.strip()), None)
    if not isinstance(content, str) or not content.strip():
        return None
    return clean(" ".join(content[: 4 * PREVIEW_CHARS].split())[:PREVIEW_CHARS])


def _moved_to(event: Event) -> int | None:
    """Return where an event puts the head; None if it does not move it."""
    if event.type != "head.moved":
        return None
    match event.data:
        case {"path": [*_, [int(), int() as target]]} | {"to": int() as target}:
            return target
    return None
