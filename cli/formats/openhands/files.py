"""The files of OpenHands: a folder of events for each conversation, or one file."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from foldlog.cli.formats import jsonl_source
from foldlog.cli.formats.protocols import Source
from foldlog.cli.formats.source_files import SourceFiles, home, object_in, read_file

if TYPE_CHECKING:
    from foldlog.cli.formats.jsonl_source import Reading
    from foldlog.eventstore.events import Json

EVENTS = "events"
"""The folder with the events, within that of the conversation."""

STATE = "base_state.json"
"""The file with the state of a conversation: its agent, its folder, its head, what it used."""

SUBAGENTS = "subagents"
"""The folder with the conversations of subagents, within that of their parent."""

SOURCES = ("agent", "user", "environment", "hook")
"""Who makes events, in both versions."""

_KIND = re.compile(r"\w+Event|Condensation\w*|UserRejectObservation|TokenUsage\w*")

_TRAJECTORY = (
    re.compile(rb'"source"\s*:\s*"(agent|user|environment)"'),
    re.compile(rb'"(action|observation)"\s*:\s*"'),
    re.compile(rb'"(args|extras|tool_call_metadata)"\s*:\s*\{'),
    re.compile(rb'"timestamp"\s*:\s*"'),
)
"""What the beginning of a trajectory of version 0 holds, all of it."""


@dataclass(frozen=True, slots=True)
class Conversation(Source):
    """The folder of one conversation of version 1.

    Attributes:
        events: The files of its events, in their order.
        state: The file with its state; None without one.
        parent: The folder of the conversation that started it as a subagent; None for any other.
    """

    events: tuple[Path, ...] = ()
    state: Path | None = None
    parent: Path | None = None


def default_locations() -> list[Path]:
    """Return the folder with the conversations of the command line program."""
    conversations = home("OPENHANDS_PERSISTENCE_DIR", ".openhands") / "conversations"
    return [home("OPENHANDS_CONVERSATIONS_DIR", str(conversations))]


def find(files: SourceFiles) -> Iterator[Source]:
    """Yield conversations, parents before their subagents; then files of events; then lists."""
    folders: dict[Path, list[Path]] = defaultdict(list)
    for path in files.named("event-*.json"):
        folders[path.parent].append(path)
    for folder, events in folders.items():
        if any(_is_event(line) for path in events for line in files.lines(path)):
            yield _conversation(files, folder, events)
    for path in files.named("*.jsonl"):
        if any(map(_is_event, files.lines(path))):
            yield Source(path, files.name)
    for path in files.named("*.json"):
        if path.parent not in folders and _is_trajectory(files.head(path).content):
            yield Source(path, files.name)


def _conversation(files: SourceFiles, folder: Path, events: list[Path]) -> Source:
    if folder == files.root or folder.name != EVENTS:
        return Conversation(folder, events=tuple(events))
    session = folder.parent
    state = session / STATE
    above = session.parent
    return Conversation(
        session,
        events=tuple(events),
        state=state if state in files.named(STATE) else None,
        parent=above.parent if above.name == SUBAGENTS else None,
    )


def _is_event(line: Mapping[str, Json]) -> bool:
    kind, number = line.get("kind"), line.get("id")
    is_known = isinstance(kind, str) and _KIND.fullmatch(kind) is not None
    return is_known and isinstance(number, str) and "timestamp" in line and _has_source(line)


def _has_source(line: Mapping[str, Json]) -> bool:
    return line.get("source") in SOURCES


def _is_trajectory(head: bytes) -> bool:
    is_list = head.lstrip(b"\xef\xbb\xbf \r\n\t").startswith(b"[")
    return is_list and all(trait.search(head) for trait in _TRAJECTORY)


def read_events(conversation: Conversation) -> Reading:
    """Read the files of a conversation's events; ``line`` of a record is the place of its file."""
    lines = (read_file(path).replace(b"\n", b" ") for path in conversation.events)
    return jsonl_source.read(b"\n".join(lines))


def read_state(path: Path | None) -> dict[str, Json]:
    """Return the state of a conversation; empty where there is none that can be read."""
    return {} if path is None else object_in(path, path.parent)
