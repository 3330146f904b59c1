"""The API's refusal of a request as too long: how long it was, and how long it may be."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from foldlog.eventstore.errors import ContextError
from foldlog.eventstore.events import EventDraft, Json

Refused: TypeAlias = "BaseException | Mapping[str, Any] | str"
"""An error of the SDK, the body of one, or its words."""

STOPPED = "model_context_window_exceeded"
"""The stop reason of newer models where input and answer together were too long."""

_LONG = re.compile(r"([\d,]+) tokens > ([\d,]+)")
_SUM = re.compile(r"([\d,]+) \+ ([\d,]+) > ([\d,]+)")


@dataclass(frozen=True, slots=True)
class Overflow:
    """A refusal, as the API worded it.

    Attributes:
        message: Its words.
        code: Its stable code, where it has one.
        status: The HTTP status.
    """

    message: str
    code: str | None = None
    status: int | None = None

    @property
    def tokens(self) -> int | None:
        """What the input took, where the words tell."""
        found = _LONG.search(self.message) or _SUM.search(self.message)
        return _number(found[1]) if found else None

    @property
    def maximum(self) -> int | None:
        """The window, where the words tell."""
        found = _LONG.search(self.message) or _SUM.search(self.message)
        return _number(found[found.lastindex or 0]) if found else None

    @property
    def answer(self) -> int | None:
        """What the answer may take, where it counted as well and the words tell."""
        found = _SUM.search(self.message)
        return _number(found[2]) if found else None

    def failed(self, view: int) -> EventDraft:
        """Return the ``request.failed`` of it.

        Args:
            view: The version that the request showed.
        """
        told = {"message": self.message, "code": self.code, "status": self.status}
        error = {key: value for key, value in told.items() if value is not None}
        return EventDraft("request.failed", {"error": error, "view": view})


def overflow(error: Refused) -> Overflow:
    """Return what a refusal says.

    Raises:
        BaseException: The error itself, where it is another one.
        ContextError: The words, where they say something else.
    """
    found = _read(error)
    if found.code == STOPPED or STOPPED in found.message:
        return found
    if is_overflow(found.message, code=found.code, status=found.status):
        return found
    if isinstance(error, BaseException):
        raise error
    raise ContextError(f"this does not say that a request was too long: {found.message}")


def _read(error: Refused) -> Overflow:
    if isinstance(error, str):
        return Overflow(error)
    if isinstance(error, Mapping):
        return _from_body(error)
    code = getattr(error, "error_code", None)
    status = getattr(error, "status_code", None)
    return Overflow(str(getattr(error, "message", error)), code, status)


def _from_body(body: Mapping[str, Json]) -> Overflow:
    """Read ``{"type": "error", "error": {…}}`` or its inner error object."""
    inner = body.get("error")
    error: Mapping[str, Json] = inner if isinstance(inner, Mapping) else body
    details = error.get("details")
    code = details.get("error_code") if isinstance(details, Mapping) else error.get("type")
    status = body.get("status")
    return Overflow(
        str(error.get("message", "")),
        code if isinstance(code, str) else None,
        status if isinstance(status, int) else None,
    )


def _number(digits: str) -> int:
    return int(digits.replace(",", ""))


CODES = frozenset({"prompt_too_long", "request_too_large", "context_length_exceeded"})

WORDS = re.compile(
    r"prompt[ _]is[ _]too[ _]long|prompt_too_long|too many tokens"
    r"|input length and `?max_tokens`? exceed context limit"
    r"|exceeds? the (?:model's )?context window"
    r"|context_length_exceeded|request_too_large",
    re.IGNORECASE,
)
"""What the Messages API and its gateways say, now and in earlier versions (November 2026)."""

TOO_LARGE = 413
"""The status of a request over 32 MB."""


def is_overflow(message: str, *, code: str | None = None, status: int | None = None) -> bool:
    """Return whether a refusal means that the input was too long.

    Args:
        message: The words of the error.
        code: Its stable code, ``details.error_code`` or the type.
        status: The HTTP status.
    """
    return code in CODES or status == TOO_LARGE or bool(WORDS.search(message))
