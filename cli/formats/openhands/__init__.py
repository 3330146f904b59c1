"""OpenHands: conversations of version 1, and trajectories of version 0.

files         which files there are, and their records
conversation  version 1: a session, with its branches and condensations
events        version 1: what one event says to the model
trajectory    version 0: a list of actions and observations
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from foldlog.cli.formats.openhands.files import Conversation, default_locations, find

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foldlog.cli.formats.import_run import ImportRun
    from foldlog.cli.formats.protocols import Source
    from foldlog.cli.formats.report import ImportReport

__all__ = ["default_locations", "find", "import_source"]


def import_source(source: Source, run: ImportRun) -> Iterator[ImportReport]:
    """Import a conversation's folder, a file of its events, or a trajectory."""
    from foldlog.cli.formats.openhands.conversation import import_conversation
    from foldlog.cli.formats.openhands.trajectory import import_trajectory

    if isinstance(source, Conversation) or source.path.suffix == ".jsonl":
        yield import_conversation(source, run)
    else:
        yield import_trajectory(source, run)
