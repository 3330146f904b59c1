"""The secret of a server, and what is derived from it; no library is needed to use it."""

from __future__ import annotations

import hmac
import secrets
import time
from hashlib import sha256

TOKEN = "token"
"""The parameter of an address that holds the token, or a ticket."""

PROOF, TICKET = "/proof", "/ticket"
"""Where a program asks whether a server knows its token, and where it gets a ticket."""

TICKET_SECONDS = 60.0
"""How long a ticket can be used, once."""


class Keys:
    """The token of a server, what is derived from it, and tickets.

    Args:
        token: The secret; a new one by default.
    """

    def __init__(self, token: str | None = None) -> None:
        self.token = token or secrets.token_urlsafe(32)
        self.cookie = self._derived("cookie")
        self.form = self._derived("form")
        self._tickets: dict[str, float] = {}

    def opens(self, given: str) -> bool:
        """Return whether something opens the server: the token, or a ticket, which is then used."""
        if same(given, self.token):
            return True
        deadline = self._tickets.pop(given, 0.0)
        return time.monotonic() < deadline

    def ticket(self) -> str:
        """Return a ticket: it opens the server once, within a minute."""
        now = time.monotonic()
        self._tickets = {name: end for name, end in self._tickets.items() if end > now}
        ticket = secrets.token_urlsafe(16)
        self._tickets[ticket] = now + TICKET_SECONDS
        return ticket

    def proof(self, nonce: str) -> str:
        """Return what only a program that knows the token can answer to a number used once."""
        return self._derived(f"proof:{nonce}")

    def _derived(self, purpose: str) -> str:
        return hmac.new(self.token.encode(), purpose.encode(), sha256).hexdigest()


def same(one: str, other: str) -> bool:
    """Return whether two secrets are the same, in a time that says nothing of them."""
    return hmac.compare_digest(one.encode("utf-8", "replace"), other.encode())
