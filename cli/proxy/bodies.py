"""Bodies of requests and answers: what the proxy reads in them, and errors of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from foldlog.eventstore.codec import dumps, loads

TYPES = {
    400: "invalid_request_error",
    403: "permission_error",
    408: "timeout_error",
    413: "request_too_large",
}
"""The API's name for what a status means; ``api_error`` for the others."""


def error_body(status: int, message: str) -> bytes:
    """Return an error as the API sends it; the message says that it comes from the proxy."""
    error = {"type": TYPES.get(status, "api_error"), "message": f"foldlog proxy: {message}"}
    return dumps({"type": "error", "error": error, "request_id": None})


def json_object(body: bytes) -> dict[str, Any] | None:
    """Return the JSON object that a body is; None for anything else."""
    try:
        value = loads(body)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def is_request(body: Mapping[str, Any] | None) -> bool:
    """Return whether a body asks for a message: the API refuses anything else at once."""
    messages = body.get("messages") if body else None
    return isinstance(messages, list) and all(
        isinstance(message, dict) and isinstance(message.get("role"), str) for message in messages
    )
