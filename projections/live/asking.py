"""What a policy asks of the API, put into a harness's request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from foldlog.projections.compaction.decision import Ask

ALWAYS = {"type": "adaptive"}
"""The thinking of a request that says nothing of it, where thinking of old is asked about: a model
that binds its thinking thinks whether it is told to or not."""


def asked_for(
    ask: Ask | None, body: Mapping[str, Any], betas: frozenset[str]
) -> tuple[dict[str, Any], frozenset[str]]:
    """A request that asks for it, and the beta names that it needs beside its own.

    What the harness asks itself stays: a request that has the API edit already is not told how.
    """
    if ask is None:
        return dict(body), frozenset()
    taken = {key for key in ask.params if key != "thinking" and body.get(key) is not None}
    if taken:
        ask = Ask({k: v for k, v in ask.params.items() if k not in taken}, ask.betas, ask.reason)
    if "thinking" in ask.params and not body.get("thinking"):
        body = {**body, "thinking": ALWAYS}
    made = ask.added_to(body)
    added = frozenset(made.pop("betas", ()))
    return made, added - betas
