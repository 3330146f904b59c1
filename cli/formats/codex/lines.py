"""A line of a rollout and what it becomes.

Codex sends the ``response_item`` lines and nothing else; ``event_msg`` lines repeat them for its
screen. What Codex put before the model by itself is set apart from what a person said: by the kinds
that newer versions note, else by the marks that such texts begin with.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from foldlog.cli.formats import openai_blocks
from foldlog.projections.wire.blocks import blocks, content_of, kind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from foldlog.eventstore.events import Json

LINE_TYPES = frozenset(
    [
        *("session_meta", "response_item", "event_msg", "turn_context", "compacted"),
        *("world_state", "token_usage_record", "ghost_snapshot", "inter_agent_communication"),
    ]
)
"""The types of lines seen in versions 0.40 to 0.171."""

CONTEXT_TAGS = (
    *("environment_context", "user_instructions", "turn_aborted", "skill", "user_shell_command"),
    *("subagent_notification", "subagents", "hook_prompt", "plugins", "goal_context", "goal"),
    *("external_context", "internal_context", "recommended_plugins", "token_budget"),
)
"""The tags that injected user messages begin with (Codex's public source, November 2026)."""

INSTRUCTIONS = "# AGENTS.md instructions"
"""How the message that holds a project's AGENTS.md begins."""

PROMPT_KIND = "user."
"""How the kinds of what a person said begin, as version 0.171 notes them."""

SUMMARY_BEGINS = "Another language model started to solve this problem"
"""How the summary of a local compaction begins, as Codex sends it."""


class Usage(NamedTuple):
    """What a request took.

    Attributes:
        tokens: In the Messages API's words.
        total: What the thread took so far: it changes with each request, and only then.
    """

    tokens: dict[str, Json]
    total: Json


def payload_of(line: Mapping[str, Json]) -> dict[str, Json]:
    """Return the payload of a line; an empty one if it has none."""
    payload = line.get("payload")
    return payload if isinstance(payload, dict) else {}


def event_type(line: Mapping[str, Json]) -> str:
    """Return the type of an event for a line that is no conversation."""
    kind = line.get("type")
    inner = payload_of(line).get("type") if kind in ("event_msg", "response_item") else None
    named = inner if isinstance(inner, str) else kind
    is_name = isinstance(named, str) and 0 < len(named) < 100 and named.isprintable()
    return f"codex.{named}" if is_name else "codex.line"


def mapped(item: dict[str, Json]) -> openai_blocks.Mapped | None:
    """Return what an item becomes, injected context included; None if no request holds it."""
    found = openai_blocks.from_item(item)
    if found is None or found.type != "message.user":
        return found
    kind = context_kind(item, found.data["content"])
    if kind is None:
        return found
    return openai_blocks.Mapped("attachment.added", {"kind": kind, **found.data})


def context_kind(item: Mapping[str, Json], content: Json) -> str | None:
    """Return the kind of what Codex put before the model; None for what a person said."""
    noted = item.get("internal_chat_message_metadata_passthrough")
    kinds = noted.get("content_item_kinds") if isinstance(noted, dict) else None
    if isinstance(kinds, list) and kinds and all(isinstance(kind, str) for kind in kinds):
        return None if any(kind.startswith(PROMPT_KIND) for kind in kinds) else kinds[0]
    marks = [_mark(block.get("text")) for block in blocks(content_of(content))]
    return marks[0] if marks and None not in marks else None


def _mark(text: Json) -> str | None:
    """Return the mark that an injected text begins with."""
    words = text.lstrip() if isinstance(text, str) else ""
    if words.startswith(INSTRUCTIONS):
        return "AGENTS.md"
    opened = words[1:].split(">", 1)[0].split(" ", 1)[0] if words.startswith("<") else None
    return opened if opened in CONTEXT_TAGS else None


def usage_of(payload: Mapping[str, Json]) -> Usage | None:
    """Return what a ``token_count`` says of the newest request; None if it says nothing."""
    info = payload.get("info")
    last = info.get("last_token_usage") if isinstance(info, dict) else None
    tokens = openai_blocks.usage(last)
    if not isinstance(info, dict) or not tokens:
        return None
    total = info.get("total_token_usage")
    return Usage(tokens, total if isinstance(total, dict) else last)


def is_summary(item: Json, message: Json) -> bool:
    """Return whether an item of a replacement history stands for what was left out.

    Args:
        item: The item.
        message: The text of the ``compacted`` line: the summary, where it was made locally.
    """
    if not isinstance(item, dict):
        return False
    if kind(item) in openai_blocks.COMPACTIONS:
        return True
    found = openai_blocks.from_item(item)
    if found is None or found.type != "message.user":
        return False
    words = "".join(str(b.get("text", "")) for b in blocks(content_of(found.data["content"])))
    is_message = isinstance(message, str) and bool(message) and words == message
    return is_message or words.startswith(SUMMARY_BEGINS)
