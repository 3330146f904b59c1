"""The API as a script plays it: a transport beneath the SDK that answers."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from foldlog.cli.agent.scripted import BREAK, ERRORS, Block, Entry, Progress, Script
from foldlog.projections.tokens.estimate import estimate

if TYPE_CHECKING:
    import httpx2

PIECE = 12
"""Characters that a stream brings at a time."""


def transport(
    script: Script, progress: Progress, *, summaries: bool = False
) -> httpx2.MockTransport:
    """Return the transport that answers the SDK in place of the API.

    Args:
        summaries: Answer what a summarizer asks.
    """
    import httpx2

    def answer(request: httpx2.Request) -> httpx2.Response:
        if request.url.path.startswith("/v1/models/"):
            return httpx2.Response(200, json=_model(script))
        body = json.loads(request.content)
        if request.url.path.endswith("/count_tokens"):
            return httpx2.Response(200, json={"input_tokens": estimate(body)})
        now = progress.now()
        if summaries:
            return _Answer(script, body, script.summaries, now.summaries - 1).response()
        return _Answer(script, body, script.replies, now.replies, now.failures).response()

    return httpx2.MockTransport(answer)


@dataclass(frozen=True)
class _Answer:
    """One answer to one request."""

    script: Script
    body: Mapping[str, Any]
    entries: Sequence[Entry]
    number: int
    failures: int = 0

    @cached_property
    def tokens(self) -> int:
        """What the request takes, estimated."""
        return estimate(self.body)

    def response(self) -> httpx2.Response:
        import httpx2

        window = self.script.window
        if window is not None and self.tokens > window:
            return self._error("overflow")
        if self.number >= len(self.entries):
            words = f"{self.script.name} ends here: it has {len(self.entries)} replies."
            return self._refused(400, "invalid_request_error", words)
        errors = self.entries[self.number].get("errors", ())
        error = errors[self.failures] if self.failures < len(errors) else None
        if error is not None and error != BREAK:
            return self._error(error)
        headers = {"request-id": self._id("req")}
        if not self.body.get("stream"):
            return httpx2.Response(200, json=self._message(), headers=headers)
        headers["content-type"] = "text/event-stream"
        return httpx2.Response(200, headers=headers, content=self._stream(error == BREAK))

    def _stream(self, breaks: bool) -> Iterator[bytes]:
        events = list(_events(self._message()))
        for event in events[: len(events) // 2] if breaks else events:
            yield f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()
            if self.script.pause:
                time.sleep(self.script.pause)
        if breaks:
            import httpx2

            raise httpx2.RemoteProtocolError("the script breaks the stream here")

    def _message(self) -> dict[str, Any]:
        entry = self.entries[self.number]
        content = list(entry.get("content") or self._content(entry))
        stop = "tool_use" if any(b["type"] == "tool_use" for b in content) else "end_turn"
        return {
            "id": self._id("msg"),
            "type": "message",
            "role": "assistant",
            "model": self.body.get("model", self.script.model),
            "content": content,
            "stop_reason": entry.get("stop_reason", stop),
            "stop_sequence": None,
            "usage": {
                "input_tokens": self.tokens,
                "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": 0,
                "output_tokens": 1 + estimate(content),
            },
        }

    def _content(self, entry: Entry) -> Iterator[Block]:
        if entry.get("thinking"):
            yield {"type": "thinking", "thinking": entry["thinking"], "signature": "scripted"}
        if entry.get("text"):
            yield {"type": "text", "text": entry["text"]}
        if self.entries is self.script.replies:
            yield from self.script.calls(self.number)

    def _id(self, kind: str) -> str:
        return f"{kind}_{self.number + 1:04}"

    def _error(self, name: str) -> httpx2.Response:
        status, type, words = ERRORS[name]
        window = self.script.window or self.tokens - 1
        tokens = max(self.tokens, window + 1)
        return self._refused(status, type, words.format(tokens=tokens, window=window))

    def _refused(self, status: int, type: str, words: str) -> httpx2.Response:
        import httpx2

        error = {"type": "error", "error": {"type": type, "message": words}}
        headers = {"retry-after-ms": "1", "request-id": self._id("req")}
        return httpx2.Response(status, json=error, headers=headers)


def _events(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a message as the events of a stream."""
    usage = {**message["usage"], "output_tokens": 1}
    start = {**message, "content": [], "stop_reason": None, "usage": usage}
    yield {"type": "message_start", "message": start}
    for index, block in enumerate(message["content"]):
        empty, deltas = _pieces(block)
        yield {"type": "content_block_start", "index": index, "content_block": empty}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    delta = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": delta, "usage": message["usage"]}
    yield {"type": "message_stop"}


def _pieces(block: Block) -> tuple[Block, list[Block]]:
    """Return how a block begins, and what is added to it."""
    match block["type"]:
        case "text":
            return {**block, "text": ""}, _cut(block["text"], "text_delta", "text")
        case "thinking":
            said = _cut(block["thinking"], "thinking_delta", "thinking")
            signed = {"type": "signature_delta", "signature": block["signature"]}
            return {**block, "thinking": "", "signature": ""}, [*said, signed]
        case "tool_use":
            typed = json.dumps(block["input"])
            return {**block, "input": {}}, _cut(typed, "input_json_delta", "partial_json")
    return block, []


def _cut(text: str, type: str, key: str) -> list[Block]:
    """Return a text as deltas."""
    return [{"type": type, key: text[at : at + PIECE]} for at in range(0, len(text), PIECE)]


def _model(script: Script) -> dict[str, Any]:
    return {
        "type": "model",
        "id": script.model,
        "display_name": script.model,
        "created_at": "2026-01-01T00:00:00Z",
        "max_input_tokens": script.window,
        "max_tokens": None,
    }
