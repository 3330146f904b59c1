"""What can be told of a model by its name: a small table of facts.

Public in November 2026 (platform.claude.com/docs, mid-conversation system messages). Names that are
not known are taken for newer models.
"""

from __future__ import annotations

import re

FIRST_TO_HEAR = (4, 8)
"""From this version on models take system messages in mid-conversation; ``DEAF`` ones do not."""

DEAF = (("sonnet", (5, 0)),)
"""Newer ones of which it is not certain that they do: what is put into a user message is taken by
all of them."""

_VERSION = re.compile(r"claude-(?:[a-z]+-)?(\d+)(?:[-.](\d{1,2}))?(?![\d])")
_DATE = re.compile(r"[-@]\d{8}$")


def family(model: str) -> str:
    """The name of a model without its date: ``claude-sonnet-4-5-20250929`` is ``…-4-5``."""
    return _DATE.sub("", model)


def model_version(model: str | None) -> tuple[int, int] | None:
    """``claude-opus-4-8`` is (4, 8); None for what does not read like that."""
    found = _VERSION.search(model or "")
    return (int(found[1]), int(found[2] or 0)) if found else None


def hears_system(model: str | None) -> bool:
    """Whether a model takes messages of the role ``system`` in mid-conversation."""
    version = model_version(model)
    if version is None or model is None:
        return True
    deaf = any(line in model and version == known for line, known in DEAF)
    return version >= FIRST_TO_HEAR and not deaf
