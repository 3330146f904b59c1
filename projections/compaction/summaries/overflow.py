"""Whether an error says that a request was too long, by code where there is one, else by words."""

from __future__ import annotations

import re

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
    """Whether a refusal means that the input was too long.

    Args:
        message: The words of the error.
        code: Its stable code, ``details.error_code`` or the type.
        status: The HTTP status.
    """
    return code in CODES or status == TOO_LARGE or bool(WORDS.search(message))
