"""What the server answers when it refuses: the shapes and codes of the API's errors."""

from __future__ import annotations

from typing import Any


class Refusal(Exception):
    """A request is refused.

    Attributes:
        status: The HTTP status.
        type: The broad category, ``error.type``.
        message: The text for a person, ``error.message``.
        details: What a program reads, ``error.details``, with its ``error_code``.
        headers: More headers of the answer.
    """

    def __init__(
        self,
        status: int,
        type: str,
        message: str,
        details: dict[str, Any] | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.type = type
        self.message = message
        self.details = details
        self.headers = headers or {}

    def body(self, request_id: str | None = None) -> dict[str, Any]:
        """The JSON of the answer."""
        error: dict[str, Any] = {"type": self.type, "message": self.message}
        if self.details:
            error["details"] = self.details
        return {"type": "error", "error": error, "request_id": request_id}


def invalid(message: str, code: str | None = None, **details: Any) -> Refusal:
    """The request itself is wrong: 400."""
    coded = {"error_code": code, **details} if code else None
    return Refusal(400, "invalid_request_error", message, coded)


def not_found(message: str) -> Refusal:
    """There is no such model or path: 404."""
    return Refusal(404, "not_found_error", message)


def too_large() -> Refusal:
    """The request has too many bytes: 413."""
    return Refusal(413, "request_too_large", "Request exceeds the maximum size")


def unauthorized() -> Refusal:
    """No key came with the request: 401."""
    return Refusal(401, "authentication_error", "x-api-key header is required")


def rate_limited(retry_after: float | None = None) -> Refusal:
    """Too many requests: 429. ``retry_after`` is in seconds."""
    headers = {} if retry_after is None else {"retry-after": f"{retry_after:g}"}
    message = "This request would exceed your organization's rate limit"
    return Refusal(429, "rate_limit_error", message, headers=headers)


def overloaded() -> Refusal:
    """The API has no capacity: 529."""
    return Refusal(529, "overloaded_error", "Overloaded")


def broken() -> Refusal:
    """Something went wrong inside the API: 500."""
    return Refusal(500, "api_error", "Internal server error")


def compaction_unavailable() -> Refusal:
    """A compaction could not be made for a passing reason: 529."""
    details = {"error_code": "compaction_unavailable"}
    return Refusal(529, "overloaded_error", "Overloaded", details)
