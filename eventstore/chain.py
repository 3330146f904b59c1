"""The hash chain: each event's hash covers its predecessor's hash, its header and its contents.

The form is normative (docs/event-format.md): SHA-256 over the compact UTF-8 JSON array

    ["foldlog-1", previous hash, session, version, type, schema, at, key,
     digest of the data's skeleton, digest of the meta's skeleton]

with ``""`` as the hash before version 1. A skeleton holds the digests of its payloads, so the chain
covers every payload without needing its content.
"""

from __future__ import annotations

from hashlib import sha256

import orjson

from foldlog.eventstore.codec import digest

FORM = "foldlog-1"
GENESIS = ""


def event_hash(
    previous: str,
    session: str,
    version: int,
    type: str,
    schema: int,
    at: str,
    key: str | None,
    data: bytes,
    meta: bytes,
) -> str:
    """The hash of an event whose data and meta have these skeletons."""
    header = [FORM, previous, session, version, type, schema, at, key, digest(data), digest(meta)]
    return "sha256:" + sha256(orjson.dumps(header)).hexdigest()


def event_id(hash: str) -> str:
    """The id of the event with that hash: ``evt_`` and its first 24 hex digits."""
    return "evt_" + hash[7:31]
