"""Restarts: the texts by which a harness's list goes on from a summary. Pure.

A text is known as a summary by its first words, where a known program writes them, or because it
holds a reply that the model gave just before: that is how every program gets its summary.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from foldlog.projections.wire.blocks import blocks, content_of, objects

OPENINGS = re.compile(
    r"\s*(?:"
    r"This session is being continued from a previous conversation"  # Claude Code
    r"|Here is a summary of the conversation to date"  # LangChain's SummarizationMiddleware
    r"|The conversation history before this point was compacted into"  # pi
    r"|Another language model started to solve this problem and produced a summary"  # Codex
    r"|\[Compacted\]"  # learn-claude-code
    r"|<(?:conversation_summary|context_summary|state_snapshot|summary)>"
    r"|\W*(?:conversation summary|(?:a |the )?summary of (?:the|our|this) (?:earlier |previous )?"
    r"(?:conversation|session|discussion|history))"
    r")",
    re.IGNORECASE,
)
"""How summaries begin in the lists of programs that are public."""

REQUESTS = re.compile(
    r"\ACRITICAL: Respond with TEXT ONLY"  # Claude Code
    r"|Your task is to create a detailed summary of"  # Claude Code, Cline
    r"|Write a continuation summary that will allow you"  # Anthropic's SDKs (compaction_control)
    r"|Provide a detailed (?:prompt|summary) for continuing our conversation above"  # opencode
)
"""What programs ask for a summary with, behind the whole conversation."""

LEAST = 40
"""Characters that a reply needs to be recognised in another text."""

SHORT = 240
"""Characters up to which a text that names no summary is a marker."""

_DRAFT = re.compile(r"<analysis>.*?</analysis>", re.DOTALL)
_SUMMARY = re.compile(r"<summary>(.*?)</summary>", re.DOTALL)


def is_restart(text: str, replies: Iterable[str]) -> bool:
    """Return whether a text is a summary that a list may go on from.

    Args:
        replies: What the model said last, in the conversation or in side requests.
    """
    if OPENINGS.match(text):
        return True
    return any(repeats(text, reply) for reply in replies)


def repeats(text: str, reply: str) -> bool:
    """Return whether a text holds the summary that a reply is."""
    told = _squeezed(core(reply))
    return len(told) >= LEAST and told in _squeezed(text)


def is_marker(text: str) -> bool:
    """Return whether a text only says that something was left out."""
    return len(text) <= SHORT and "summar" not in text.lower()


def asks_for_summary(messages: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether the last message of a list asks for a summary of what stands before it."""
    if not messages or messages[-1].get("role") != "user":
        return False
    said = objects(blocks(content_of(messages[-1].get("content"))))
    return bool(said) and bool(REQUESTS.search(str(said[-1].get("text"))))


def core(reply: str) -> str:
    """Return the summary in a reply: what its tags hold, without its draft."""
    text = _DRAFT.sub("", reply)
    found = _SUMMARY.search(text)
    return found[1] if found else text


def _squeezed(text: str) -> str:
    return " ".join(text.split())
