"""Context windows: how many tokens a model reads, and how many it may answer.

The API says them (``models.retrieve``); asked is better than known. What stands here is for a
program that is offline, and for sessions of models that are gone.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from anthropic import Anthropic


class ModelWindow(NamedTuple):
    """What a model takes.

    Attributes:
        tokens: The most tokens of a request with its answer.
        output: The most tokens of an answer.
    """

    tokens: int
    output: int


MILLION = ModelWindow(1_000_000, 128_000)

WINDOWS: dict[str, ModelWindow] = {
    "claude-fable-5": MILLION,
    "claude-mythos": MILLION,
    "claude-opus-5": MILLION,
    "claude-sonnet-5": MILLION,
    "claude-haiku-5": MILLION,
    "claude-opus-4-8": MILLION,
    "claude-opus-4-7": MILLION,
    "claude-opus-4-6": MILLION,
    "claude-sonnet-4-6": ModelWindow(1_000_000, 64_000),
    "claude-opus-4-5": ModelWindow(200_000, 64_000),
    "claude-sonnet-4": ModelWindow(200_000, 64_000),
    "claude-haiku-4-5": ModelWindow(200_000, 64_000),
    "claude-opus-4": ModelWindow(200_000, 32_000),
    "claude-3-7-sonnet": ModelWindow(200_000, 64_000),
    "claude-3": ModelWindow(200_000, 8_192),
}
"""By how a name begins; the longest beginning counts. From the pages of the models under
platform.claude.com/docs/en/models (read in November 2026); for the retired ones of 2024 and 2025,
from their announcements."""

UNKNOWN = ModelWindow(200_000, 8_192)
"""For a model that is not in the table: the smallest window of any Claude model since 2024. To
think a window too small costs an early compaction, to think it too large a refused request."""

TAG = re.compile(r"\[(\d+)([mk])\]$", re.IGNORECASE)
"""How Claude Code marks a larger window that is asked for: ``claude-sonnet-4-5[1m]``."""

_PLACES = re.compile(r"^(?:[a-z-]+[./])+(?=claude)")


def window_of(model: str | None) -> ModelWindow:
    """Return the window of a model, as far as it is known offline.

    Names may have a date, a region or a provider: ``us.anthropic.claude-opus-4-8-v1:0`` is
    ``claude-opus-4-8``.
    """
    name = _PLACES.sub("", (model or "").lower())
    begins = [known for known in WINDOWS if name.startswith(known)]
    found = WINDOWS[max(begins, key=len)] if begins else UNKNOWN
    tag = TAG.search(name)
    if tag is None:
        return found
    tokens = int(tag[1]) * (1_000_000 if tag[2] in "mM" else 1_000)
    return ModelWindow(tokens, min(found.output, tokens))


def ask_window(client: Anthropic, model: str) -> ModelWindow:
    """Return the window of a model, as the API says it; online.

    Raises:
        anthropic.APIError: It could not be asked, or has no such model.
    """
    info, known = client.models.retrieve(model), window_of(model)
    return ModelWindow(info.max_input_tokens or known.tokens, info.max_tokens or known.output)
