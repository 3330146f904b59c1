"""Where sessions and tasks are.

sessions/<session>/<session>.messages.json      a session: all its messages, rewritten whole
sessions/<session>/<session>.compaction.json    what is sent in place of the first of them
sessions/<session>/<session>.json               what is known of it
sessions/<session>/<agent>.messages.json        a subagent's
tasks/<task>/api_conversation_history.json      a task of the extension, of Roo Code or Kilo Code
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from foldlog.cli.formats.protocols import Source
from foldlog.cli.formats.source_files import home, object_in, read_file
from foldlog.eventstore.codec import is_deep, loads
from foldlog.eventstore.errors import SourceError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foldlog.cli.formats.source_files import SourceFiles
    from foldlog.eventstore.events import Json

MESSAGES = ".messages.json"
TASK = "api_conversation_history.json"

EXTENSIONS = ("saoudrizwan.claude-dev", "rooveterinaryinc.roo-cline", "kilocode.kilo-code")
"""The extensions of VS Code that keep tasks."""

SETTINGS = (".config/Code/User", "Library/Application Support/Code/User")
"""Where VS Code keeps what extensions store, on Linux and macOS, below the home folder."""

_NESTING = 254
_HEAD_BYTES = 4096


def default_locations() -> list[Path]:
    """Return the folders with sessions and tasks."""
    data = home("CLINE_DATA_DIR", ".cline/data")
    named = os.environ.get("CLINE_SESSION_DATA_DIR")
    stored = [Path.home() / settings / "globalStorage" for settings in SETTINGS]
    tasks = [folder / extension / "tasks" for folder in stored for extension in EXTENSIONS]
    sessions = Path(named) if named else data / "sessions"
    return [sessions, data / "tasks", *tasks]


def find(files: SourceFiles) -> Iterator[Source]:
    """Yield the sessions among these files, each before its subagents, and the tasks."""
    found = [p for p in files.named(f"*{MESSAGES}") if _is_session(files.head(p).content)]
    for path in sorted(found, key=lambda path: (name_of(path) != path.parent.name, path)):
        yield Source(path, files.name, parts=tuple(_beside(path)))
    for path in files.named(TASK):
        if _is_task(files.head(path).content):
            yield Source(path, files.name, parts=(path.parent,))


def name_of(path: Path) -> str:
    """Return what a file is called: its session, its subagent or its task."""
    return path.parent.name if path.name == TASK else path.name.removesuffix(MESSAGES)


def _beside(path: Path) -> list[Path]:
    name = name_of(path)
    return [path.with_name(f"{name}.json"), path.with_name(f"{name}.compaction.json")]


def _is_session(head: bytes) -> bool:
    start = head[:_HEAD_BYTES]
    return all(key in start for key in (b'"version"', b'"agent"', b'"sessionId"', b'"messages"'))


def _is_task(head: bytes) -> bool:
    start = head[:_HEAD_BYTES].lstrip(b"\xef\xbb\xbf \r\n\t")
    return start.startswith(b"[") and b'"role"' in start and b'"content"' in start


def document(path: Path) -> Json:
    """Return what a file holds.

    Raises:
        SourceError: It is not JSON, or nested more deeply than can be recorded.
    """
    try:
        value = loads(read_file(path).removeprefix(b"\xef\xbb\xbf"))
    except (ValueError, RecursionError) as error:
        raise SourceError(f"{path} is not JSON: {error}. Is it complete?") from error
    if is_deep(value, _NESTING):
        raise SourceError(f"{path} is nested too deeply: more than {_NESTING} levels.")
    return value


def beside(path: Path, kind: str) -> dict[str, Json]:
    """Return what is in ``<session><kind>`` beside the messages; empty without it."""
    return object_in(path.with_name(f"{name_of(path)}{kind}"), path.parent)
