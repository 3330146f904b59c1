"""The ``compact`` tool: the model asks for a compaction itself.

Its batch is answered first, each call of it; the closed turn is compacted before the next request.
"""

from __future__ import annotations

from typing import Any

from foldlog.projections.compaction.visible import Visible
from foldlog.projections.compaction.window import Window

NAME = "compact"

TOOL: dict[str, Any] = {
    "name": NAME,
    "description": "Summarize earlier conversation to free context space.",
    "input_schema": {
        "type": "object",
        "properties": {
            "instructions": {
                "type": "string",
                "description": "What the summary should keep in mind.",
            }
        },
    },
}
"""The tool, as the model is said of it (its description is that of learn-claude-code)."""

ANSWER = "Compaction requested after this tool batch."
"""The result of such a call (learn-claude-code)."""


def asking_call(window: Window) -> Visible | None:
    """Return the result of the newest call of the tool, once its whole batch is answered.

    None where something else was said since.
    """
    asking = [part for part in window.batch if NAME in window.tools(part) and not part.is_error]
    if not asking or window.steps[-1].open:
        return None
    return asking[-1]


def instructions(window: Window, call: Visible) -> str | None:
    """Return what the model wants the summary to keep in mind."""
    given = window.arguments(call).get("instructions")
    return given if isinstance(given, str) and given.strip() else None
