"""What a request says about the work it belongs to: its folder, and what a person asked first."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from foldlog.projections.tokens.truncate import one_line
from foldlog.projections.wire.blocks import blocks, content_of, kind, objects

TITLE = 80
"""Characters of a title."""

_FOLDER = re.compile(
    r"^[\s*-]*(?:Primary working directory|Working directory|cwd): *`?((?:/|[A-Za-z]:\\)[^\n`]*)"
    r"|<cwd>\s*((?:/|[A-Za-z]:\\)[^<\n]*?)\s*</cwd>",
    re.MULTILINE,
)
"""The environment block of Claude Code (2.1.332 writes it into the first message, older versions
into the system prompt), and of programs that imitate it."""

_WRITTEN_BY_PROGRAMS = re.compile(
    r"<(system-reminder|local-command-[a-z]+|command-[a-z]+|environment_context|env)>.*?</\1>",
    re.DOTALL,
)
"""What harnesses put into a person's message."""


def folder_of(body: Mapping[str, Any]) -> str | None:
    """Return the folder that a request says its program works in; None if it names none."""
    found = (_FOLDER.search(text) for text in (*_texts(body.get("system")), *_first_texts(body)))
    match = next(filter(None, found), None)
    return (match[1] or match[2]).strip() if match else None


def first_words(body: Mapping[str, Any]) -> str | None:
    """Return what a person said first, in a line; None if nobody did."""
    said = (_WRITTEN_BY_PROGRAMS.sub("", text).strip() for text in _first_texts(body))
    return next((one_line(text, TITLE) for text in said if text), None)


def _first_texts(body: Mapping[str, Any]) -> list[str]:
    """Return the texts of the first messages that are the user's."""
    users = (message for message in body["messages"] if message.get("role") == "user")
    first = next(users, None)
    return list(_texts(first.get("content"))) if first else []


def _texts(content: Any) -> Iterator[str]:
    for block in objects(blocks(content_of(content))):
        if kind(block) == "text":
            yield str(block.get("text", ""))
