"""Facts about models that follow from their names.

Public in November 2026 (platform.claude.com/docs, mid-conversation system messages). Unknown names
count as newer models.
"""

from __future__ import annotations

import re

FIRST_TO_HEAR = (4, 8)
"""From this version on, models take system messages in mid-conversation, except ``DEAF`` ones."""

DEAF = (("sonnet", (5, 0)),)
"""Newer models that may not take them. What is put into a user message is taken by all models."""

_VERSION = re.compile(r"claude-(?:[a-z]+-)?(\d+)(?:[-.](\d{1,2}))?(?![\d])")
_DATE = re.compile(r"[-@]\d{8}$")


_PROVIDERS = (
    (re.compile("claude|anthropic"), "anthropic"),
    (re.compile(r"\bgpt|codex|^o\d"), "openai"),
    (re.compile("gemini"), "google"),
)


def provider_of(model: str | None) -> str | None:
    """Return who makes a model, by its name: ``anthropic``, ``openai`` or ``google``; else None."""
    return next((name for known, name in _PROVIDERS if known.search(model or "")), None)


def family(model: str) -> str:
    """Return the name of a model without its date: ``claude-sonnet-4-5-20250929`` is ``…-4-5``."""
    return _DATE.sub("", model)


def model_version(model: str | None) -> tuple[int, int] | None:
    """Return (4, 8) for ``claude-opus-4-8``; None if the name has no version."""
    found = _VERSION.search(model or "")
    return (int(found[1]), int(found[2] or 0)) if found else None


def hears_system(model: str | None) -> bool:
    """Tell if a model takes messages of the role ``system`` in mid-conversation."""
    version = model_version(model)
    if version is None or model is None:
        return True
    deaf = any(line in model and version == known for line, known in DEAF)
    return version >= FIRST_TO_HEAR and not deaf
