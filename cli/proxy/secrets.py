"""Credentials of a request, so that an answer that quotes them is recorded without them.

A gateway's error page may show the headers that it was sent; the API itself does not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from urllib.parse import parse_qsl, urlsplit

HIDDEN = b"[credential]"

SHORTEST = 8
"""Characters of a credential. What is shorter, such as ``Bearer``, would be found anywhere."""

_OPENS_DOORS = re.compile("auth|key|token|secret|cookie|password", re.IGNORECASE)
_APART = re.compile(r"[\s;,=\"']+")


def secrets(headers: Mapping[str, str], path: str = "") -> frozenset[bytes]:
    """Return the credentials in the headers and the query of a request, found by their names."""
    given = [*headers.items(), *parse_qsl(urlsplit(path).query)]
    values = (value for name, value in given if _OPENS_DOORS.search(name))
    return frozenset(
        word.encode("utf-8", "surrogateescape")
        for value in values
        for word in (value, *_APART.split(value))
        if len(word) >= SHORTEST
    )


def hidden(text: bytes, secrets: Iterable[bytes]) -> bytes:
    """Return a text without them, the longest first."""
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    return text
