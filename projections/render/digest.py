"""The digest of a request: what makes a view provable.

**Canonical form** (normative). The digest is ``sha256:`` and the 64 hex digits of the SHA-256 of
the canonical form, which is the JSON object ``{"system", "tools", "messages"}`` of the request:

1. The keys are in this order; one that is absent or null is left out. Nothing else of the request
   counts (model, parameters, metadata).
2. The values are those of the request. Keys stay in the order in which the source has them; arrays,
   strings and numbers stay as they are. A content that is a string is not the same as a list of one
   text block.
3. ``cache_control`` marks are left out: the key ``cache_control`` of each tool, of each block of a
   ``system`` list, of each block of a message's ``content`` list, and of each block of a
   ``content`` list within such a block (also within its ``source``), at any depth. Nowhere else:
   the input of a call may have a key of that name.
4. It is encoded as UTF-8 without white space between tokens; strings escape only ``"``, ``\\`` and
   control characters (short forms where JSON has them, else ``\\u00xx`` in lower case); floats are
   written in the shortest form that reads back as the same double, ``1e16`` and not ``1e+16``. Only
   where this is impossible (a lone surrogate, an integer of more than 64 bits) the whole form is
   what Python's ``json.dumps`` writes: ASCII, all else as ``\\uxxxx``; with one space in front.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from foldlog.eventstore import codec
from foldlog.eventstore.events import EventDraft, Json
from foldlog.projections.render.render import render
from foldlog.projections.view.view import View

MARK = "cache_control"


def digest(request: Mapping[str, Any]) -> str:
    """``sha256:`` and 64 hex digits over a request's canonical form. The request is not changed."""
    return "sha256:" + sha256(canonical(request)).hexdigest()


def canonical(request: Mapping[str, Any]) -> bytes:
    """The canonical form: what of a request the model sees, and nothing else."""
    parts = {
        "system": _blocks(request.get("system")),
        "tools": _blocks(request.get("tools")),
        "messages": _messages(request.get("messages")),
    }
    return codec.dumps({key: value for key, value in parts.items() if value is not None})


def unmarked(blocks: Json) -> Json:
    """A list of blocks without marks; the same object where there are none, or where it is none."""
    return _blocks(blocks)


def unmarked_messages(messages: Json) -> Json:
    """Messages whose contents have no marks; the same object where there are none."""
    return _messages(messages)


def _messages(messages: Json) -> Json:
    if not isinstance(messages, list):
        return messages
    return _changed(messages, [_inside(message, "content") for message in messages])


def _blocks(value: Json) -> Json:
    """A list of blocks without marks; the same object where there are none."""
    if not isinstance(value, list):
        return value
    return _changed(value, [_block(block) for block in value])


def _block(block: Json) -> Json:
    if not isinstance(block, dict):
        return block
    if MARK in block:
        block = {key: value for key, value in block.items() if key != MARK}
    if "content" in block:
        block = _inside(block, "content")
    source = block.get("source")
    if isinstance(source, dict) and "content" in source:
        inner = _inside(source, "content")
        block = block if inner is source else {**block, "source": inner}
    return block


def _inside(value: Json, key: str) -> Json:
    """A value whose list of blocks under a key has no marks."""
    if not isinstance(value, dict):
        return value
    old = value.get(key)
    new = _blocks(old)
    return value if new is old else {**value, key: new}


def _changed(old: list[Json], new: list[Json]) -> list[Json]:
    return old if all(a is b for a, b in zip(old, new, strict=True)) else new


def receipt(view: View, proof: str | None = None) -> EventDraft:
    """The ``snapshot.taken`` of a view: its version, its digest and its pieces.

    Args:
        proof: The digest, where it is known.
    """
    pieces = [
        {"first": piece.first, "last": piece.last, "edit": piece.edit, **piece.shown.to_json()}
        for piece in view.pieces
    ]
    data = {"version": view.version, "digest": proof or digest(render(view, open="keep"))}
    return EventDraft("snapshot.taken", {**data, "pieces": pieces})
