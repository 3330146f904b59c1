"""The hash chain: each event's hash covers its predecessor's hash, its header and its contents.

The form is normative (docs/event-format.md). An event's hash is the SHA-256 of the compact UTF-8
JSON array

    ["foldlog-1", previous, session, version, type, schema, at, key, data, meta, references]

where ``previous`` is the hash before it in hex (``""`` before version 1), ``data`` and ``meta`` are
the SHA-256 of their skeletons in hex, and ``references`` is the digests of its payloads in hex. So
the chain covers every payload without needing its content. A hash is shown as ``sha256:`` and its
hex.
"""

from __future__ import annotations

from hashlib import sha256

import orjson

FORM = "foldlog-1"
GENESIS = b""
_EMPTY = sha256(b"{}").hexdigest()


def event_hash(
    previous: bytes,
    session: str,
    version: int,
    type: str,
    schema: int,
    at: str,
    key: str | None,
    data: bytes,
    meta: bytes,
    references: bytes,
) -> bytes:
    """Return the hash of an event with these skeletons and references, after this predecessor."""
    header = (
        FORM,
        previous.hex(),
        session,
        version,
        type,
        schema,
        at,
        key,
        sha256(data).hexdigest(),
        _EMPTY if meta == b"{}" else sha256(meta).hexdigest(),
        references.hex(),
    )
    return sha256(orjson.dumps(header)).digest()


def hash_name(hash: bytes) -> str:
    """Return a hash as people and programs see it: with its algorithm."""
    return "sha256:" + hash.hex()
