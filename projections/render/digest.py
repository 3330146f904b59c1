"""The digest of a request, which makes a view provable; and the receipt of a view.

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
from foldlog.eventstore.events import EventDraft
from foldlog.projections.render.render import render
from foldlog.projections.view.view import View
from foldlog.projections.wire.requests import visible


def digest(request: Mapping[str, Any]) -> str:
    """Return ``sha256:`` and 64 hex digits over a request's canonical form."""
    return "sha256:" + sha256(canonical(request)).hexdigest()


def canonical(request: Mapping[str, Any]) -> bytes:
    """Return the canonical form: what of a request the model sees, and nothing else."""
    return codec.dumps(visible(request))


def receipt(view: View, proof: str | None = None) -> EventDraft:
    """Return the ``snapshot.taken`` of a view: its version, its digest and its pieces.

    Args:
        proof: The digest of the view's request, if it is known already.
    """
    pieces = [
        {"first": piece.first, "last": piece.last, "edit": piece.edit, **piece.shown.to_json()}
        for piece in view.pieces
    ]
    data = {"version": view.version, "digest": proof or digest(render(view, open="keep"))}
    return EventDraft("snapshot.taken", {**data, "pieces": pieces})
