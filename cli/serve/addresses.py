"""Where the pages are: their addresses, made from names that may hold any character."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import quote, urlencode


def address(kind: str, session: str = "", /, **parameters: str | int | None) -> str:
    """Return an address such as ``/sessions/ID?at=12``; parameters that are None are left out."""
    path = f"/{kind}/{quote(session, safe='', errors='replace')}" if session else f"/{kind}"
    given = {key: str(value) for key, value in parameters.items() if value is not None}
    return path + (f"?{urlencode(given, errors='replace')}" if given else "")


class Addresses:
    """The addresses that fragments need."""

    def session(self, session: str) -> str:
        """Return the address of a session's page."""
        return address("sessions", session)

    def images(self, session: str) -> Callable[[int, str], str]:
        """Return what gives the address of an image of a session, by version and digest."""
        return lambda version, digest: address("images", session, version=version, digest=digest)
