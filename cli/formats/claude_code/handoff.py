"""A session where Claude Code resumes it: in its working directory's folder, under a new id."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from unicodedata import normalize

from foldlog.cli.formats.claude_code.exporting import export_view
from foldlog.cli.formats.protocols import Handoff
from foldlog.cli.formats.source_files import home
from foldlog.eventstore.codec import dumps, loads
from foldlog.eventstore.errors import SourceError

if TYPE_CHECKING:
    from foldlog.cli.formats.conversation import Conversation

SLUG_CHARS = 200
"""The longest name of a folder that the program does not cut and mark with a hash of its own."""


def hand_off(conversation: Conversation) -> Handoff:
    """Return a transcript for ``claude --resume``.

    The lines keep their own ids and get another ``sessionId``, as with ``--fork-session``: the file
    that a session was imported from stays as it is.

    Raises:
        SourceError: The name of the working directory is so long that the program cuts it.
    """
    id = str(conversation.uuid("claude-code"))
    folder = os.path.realpath(conversation.session.cwd or os.getcwd())
    slug = re.sub(r"[^A-Za-z0-9]", "-", normalize("NFC", folder))
    if len(slug) > SLUG_CHARS:
        raise SourceError(
            f"Claude Code cuts the name of {folder}, so the file cannot be put where it looks."
            " Choose a folder with a shorter name with --cwd."
        )
    path = _projects() / slug / f"{id}.jsonl"
    return Handoff(path, _lines(conversation, id), (("claude", "--resume", id),))


def _projects() -> Path:
    return home("CLAUDE_CONFIG_DIR", ".claude") / "projects"


def _lines(conversation: Conversation, id: str) -> Iterator[bytes]:
    """Yield the lines of the session as its own; what is no JSON is of no use to the program."""
    for line in export_view(conversation):
        try:
            fields = loads(line)
        except ValueError:
            conversation.losses.add("damaged line", "the program could not read it")
            continue
        if isinstance(fields, dict) and "sessionId" in fields:
            line = dumps({**fields, "sessionId": id}).lstrip() + b"\n"
        yield line
