"""A scripted model: it says what a file says, through the real SDK, for demos and tests.

    model = "claude-opus-5-5"          # the name in requests and replies; without, "scripted"
    window = 8000                      # tokens; a longer request is refused, as the API does it
    pause = 0.02                       # seconds between two pieces of a stream; without, none

    [[reply]]
    thinking = "I should look first."
    text = "Let me look."
    calls = [{ name = "read", input = { path = "a.py" } }, { name = "bash", input = { … } }]

    [[reply]]
    errors = ["overloaded", "break"]   # what the first attempts get; then comes the reply
    text = "All is well."

    [[summary]]                        # what a model summarizer is told, one after the other
    text = "…"

A call may hold the ``replies`` of the subagent that it starts, and a reply its ``content`` as wire
blocks and its ``stop_reason``. The file is TOML, or JSON of the same shape (``.json``).

Where a session stands in its script is folded from its log: as many replies as it holds were given,
as many attempts failed since. So a session that is resumed goes on where it was.
"""

from __future__ import annotations

import json
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from foldlog.eventstore import EventStore, FoldlogError
from foldlog.projections.tokens import estimate

if TYPE_CHECKING:
    import httpx2

Block: TypeAlias = dict[str, Any]
Entry: TypeAlias = Mapping[str, Any]
"""A reply as the file holds it."""

PIECE = 12
"""Characters that a stream brings at a time."""

OVERFLOW = "prompt is too long: {tokens} tokens > {window} maximum"

ERRORS: dict[str, tuple[int, str, str]] = {
    "overflow": (400, "invalid_request_error", OVERFLOW),
    "rate-limited": (429, "rate_limit_error", "This request would exceed your rate limit"),
    "broken": (500, "api_error", "Internal server error"),
    "overloaded": (529, "overloaded_error", "Overloaded"),
}
"""By name: the status, the type and the words that the API answers with."""

BREAK = "break"
"""The stream ends in its middle, without a word."""

KEYS = {"thinking", "text", "calls", "content", "stop_reason", "errors"}


class ScriptError(FoldlogError):
    """A script cannot be read, or says what no model says."""


@dataclass(frozen=True)
class Script:
    """What a model says.

    Attributes:
        name: What the script is called in errors.
        replies: What it says, one after the other.
        summaries: What it says when it is asked for a summary.
        model: Its name.
        window: The most tokens that it reads; None for no limit.
        pause: Seconds between two pieces of a stream.
        ids: How the ids of its calls begin.
    """

    name: str
    replies: Sequence[Entry]
    summaries: Sequence[Entry] = ()
    model: str = "scripted"
    window: int | None = None
    pause: float = 0.0
    ids: str = "toolu_"

    @classmethod
    def read(cls, path: str | Path) -> Script:
        """The script in a file.

        Raises:
            ScriptError: It is not there, or is no script.
        """
        try:
            text = Path(path).read_text("utf-8")
            data = json.loads(text) if str(path).endswith(".json") else tomllib.loads(text)
            known = {k: data[k] for k in ("model", "window", "pause") if k in data}
            replies, summaries = data.get("reply", []), data.get("summary", [])
            for entry in (*replies, *summaries):
                _check(entry)
        except OSError as error:
            raise ScriptError(f"{path}: {error.strerror}. Name a file that is there.") from error
        except (ValueError, TypeError, AttributeError) as error:
            raise ScriptError(f"{path} is no script: {error}") from error
        return cls(str(path), replies, summaries, **known)

    def of_call(self, tool_use_id: str) -> Script:
        """What the subagent says that a call starts."""
        found: Sequence[Entry] = ()
        for number, entry in enumerate(self.replies):
            made = zip(self.calls(number), entry.get("calls", ()), strict=True)
            for block, call in made:
                if block["id"] == tool_use_id:
                    found = call.get("replies", ())
        name = f"{self.name}, {tool_use_id}"
        return replace(self, name=name, replies=found, summaries=(), ids=f"{tool_use_id}_")

    def calls(self, number: int) -> list[Block]:
        """The calls of a reply, counted from 0. Their ids are the same each time."""
        return [
            {
                "type": "tool_use",
                "id": call.get("id") or f"{self.ids}{number + 1}_{at}",
                "name": call["name"],
                "input": call.get("input", {}),
            }
            for at, call in enumerate(self.replies[number].get("calls", ()), start=1)
        ]


def _check(entry: Any) -> None:
    unknown = set(entry) - KEYS
    if unknown:
        known = ", ".join(sorted(KEYS))
        raise ValueError(f"a reply holds {', '.join(sorted(unknown))}. Known are {known}.")
    for error in entry.get("errors", ()):
        if error not in (*ERRORS, BREAK):
            known = ", ".join((*ERRORS, BREAK))
            raise ValueError(f"there is no error {error!r}. There are {known}.")
    for call in entry.get("calls", ()):
        if not isinstance(call.get("name"), str):
            raise ValueError("a call has no name.")
        for inner in call.get("replies", ()):
            _check(inner)


@dataclass
class Progress:
    """Where a session stands in its script: a fold of its log.

    Attributes:
        replies: The replies that came whole.
        failures: The attempts that failed since the last one.
        summaries: The summaries that were asked for.
    """

    store: EventStore
    session: str
    replies: int = 0
    failures: int = 0
    summaries: int = 0
    _seen: int = 0

    TYPES = ("message.assistant", "request.failed", "summary.requested")

    def now(self) -> Progress:
        """The same, with all that was recorded since."""
        for event in self.store.read(self.session, after=self._seen, types=self.TYPES):
            self._seen = event.version
            if event.type == "summary.requested":
                self.summaries += 1
            elif event.type == "request.failed" or event.data.get("partial"):
                self.failures += 1
            else:
                self.replies, self.failures = self.replies + 1, 0
        return self


def transport(
    script: Script, progress: Progress, *, summaries: bool = False
) -> httpx2.MockTransport:
    """What stands beneath the SDK and answers in the place of the API.

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
    tokens: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "tokens", estimate(self.body))

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
        headers = {"content-type": "text/event-stream", "request-id": self._id("req")}
        if not self.body.get("stream"):
            return httpx2.Response(200, json=self._message(), headers={"request-id": "req"})
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
    """A message as the events of a stream."""
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
    """How a block begins, and what is added to it."""
    make: Callable[[str], Block]
    match block["type"]:
        case "text":
            return {**block, "text": ""}, _cut(
                block["text"], lambda part: {"type": "text_delta", "text": part}
            )
        case "thinking":
            said = _cut(
                block["thinking"], lambda part: {"type": "thinking_delta", "thinking": part}
            )
            signed = {"type": "signature_delta", "signature": block["signature"]}
            return {**block, "thinking": "", "signature": ""}, [*said, signed]
        case "tool_use":
            make = lambda part: {"type": "input_json_delta", "partial_json": part}  # noqa: E731
            return {**block, "input": {}}, _cut(json.dumps(block["input"]), make)
    return block, []


def _cut(text: str, make: Callable[[str], Block]) -> list[Block]:
    return [make(text[at : at + PIECE]) for at in range(0, len(text), PIECE)]


def _model(script: Script) -> dict[str, Any]:
    return {
        "type": "model",
        "id": script.model,
        "display_name": script.model,
        "created_at": "2026-01-01T00:00:00Z",
        "max_input_tokens": script.window,
        "max_tokens": None,
    }
