"""One request to the Messages API, through the real SDK: wire JSON back, or a typed failure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from foldlog.eventstore import codec
from foldlog.projections.summaries.failure import SummaryFailed
from foldlog.projections.summaries.overflow import is_overflow

if TYPE_CHECKING:
    from anthropic import Anthropic

OVERFLOWED = "model_context_window_exceeded"
"""The stop reason of newer models where input and answer together are too long."""

TIMEOUT = 600.0
"""Seconds that a summary may take: what the SDK allows a request that is not streamed."""


class Messages:
    """The Messages API, as summarizers use it.

    Args:
        client: The client to ask with; without one, a client from the environment is made when it
            is needed.
    """

    def __init__(self, client: Anthropic | None = None) -> None:
        self._client = client

    def create(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Send a request; the message that answers it, as it came over the wire.

        Raises:
            SummaryFailed: ``too_long`` where the API says so; else ``api_error``.
        """
        return self._sent(lambda client: client.messages.with_raw_response.create, request)

    def create_beta(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return the same with features in beta: ``betas`` are among the parameters."""
        return self._sent(lambda client: client.beta.messages.with_raw_response.create, request)

    def _sent(
        self, endpoint: Callable[[Anthropic], Callable[..., Any]], request: Mapping[str, Any]
    ) -> dict[str, Any]:
        import anthropic

        try:
            self._client = self._client or anthropic.Anthropic()
            response = endpoint(self._client)(**request, timeout=TIMEOUT)
        except anthropic.APIStatusError as error:
            raise _refused(error.message, error.error_code, error.status_code) from error
        except (anthropic.AnthropicError, TypeError) as error:  # TypeError: no credentials
            raise SummaryFailed("api_error", f"the model cannot be asked: {error}") from error
        message: dict[str, Any] = codec.loads(response.http_response.content)
        if message.get("stop_reason") == OVERFLOWED:
            raise SummaryFailed(
                "too_long", "input and answer are longer than the window.", **_told(message)
            )
        return message


def _refused(message: str, code: str | None, status: int) -> SummaryFailed:
    reason = "too_long" if is_overflow(message, code=code, status=status) else "api_error"
    return SummaryFailed(reason, f"the API refused: {message}", code=code, status=status)  # type: ignore[arg-type]


def _told(message: Mapping[str, Any]) -> dict[str, Any]:
    return {"model": message.get("model"), "usage": message.get("usage")}
