"""Which headers are passed on: all but those between two neighbours (RFC 9110, section 7.6.1)."""

from __future__ import annotations

from collections.abc import Callable, Iterable

Headers = list[tuple[str, str]]

HOP_BY_HOP = frozenset(
    {
        *("connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding"),
        *("upgrade", "proxy-authenticate", "proxy-authorization"),
    }
)
"""About one connection and not about the message. The last two are between a client and a proxy of
its own choosing; this one asks for none."""

SESSION = "x-foldlog-session"
"""Names the session that a request belongs to; for foldlog alone."""

NOT_SENT = frozenset({"host", "expect", SESSION})
"""Answered or rewritten here: the host is the upstream's, ``100-continue`` was said."""


def to_upstream(headers: Iterable[tuple[str, str]]) -> Headers:
    """Return the headers of a request, as they are sent on.

    Of one name, all are written as the first: aiohttp would take another case for a correction.
    """
    written: dict[str, str] = {}
    passed = _passed(headers, HOP_BY_HOP | NOT_SENT)
    return [(written.setdefault(name.lower(), name), value) for name, value in passed]


def to_client(headers: Iterable[tuple[str, str]]) -> Headers:
    """Return the headers of a response, as they are sent back."""
    return _passed(headers, HOP_BY_HOP)


def _passed(headers: Iterable[tuple[str, str]], dropped: frozenset[str]) -> Headers:
    """Without those dropped, and those that ``Connection`` names as its own."""
    given = list(headers)
    named = (value for name, value in given if name.lower() == "connection")
    own = {part.strip().lower() for value in named for part in value.split(",")}
    return [(name, value) for name, value in given if name.lower() not in dropped | own]


def changed(headers: Headers, name: str, change: Callable[[str | None], str | None]) -> Headers:
    """Return the headers with another value for a name, in the place of the first.

    Args:
        change: The new value, from all that there are, joined; None removes the header.
    """
    values = [value for given, value in headers if given.lower() == name]
    new = change(", ".join(values) if values else None)
    at = next((n for n, (given, _) in enumerate(headers) if given.lower() == name), len(headers))
    kept = [pair for pair in headers if pair[0].lower() != name]
    return kept if new is None else [*kept[:at], (name, new), *kept[at:]]
