"""Handles: the text in a view that tells the model, and a person, how to get content back.

``foldlog:SESSION/VERSION`` names an event, ``foldlog:SESSION/VERSION#N`` its N-th block, counted
from 1. ``foldlog show`` takes both.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

PREFIX = "foldlog:"
_HANDLE = re.compile(
    PREFIX + r"(?P<session>.+)/(?P<version>[^/#]+)(?:#(?P<block>[1-9][0-9]{,17}))?",
    re.DOTALL,  # a session's id may hold any character but NUL
)


@dataclass(frozen=True, slots=True)
class Handle:
    """The name of an event, or of one of its blocks.

    Attributes:
        session: The session, by any name that names one.
        version: The version, by any name that names one.
        block: Which block, from 1; None for the event.
    """

    session: str
    version: int | str
    block: int | None = None

    def __str__(self) -> str:
        """As it stands in a view."""
        block = f"#{self.block}" if self.block else ""
        return f"{PREFIX}{self.session}/{self.version}{block}"

    @classmethod
    def parse(cls, text: str) -> Handle | None:
        """The handle that a text is; None for any other text."""
        found = _HANDLE.fullmatch(text.strip())
        if found is None:
            return None
        block = found["block"]
        return cls(found["session"], found["version"], int(block) if block else None)
