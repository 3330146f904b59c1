"""Read a streamed reply as the message that would have come whole.

    stream = MessageStream()
    for chunk in body:          # bytes as the network cuts them
        stream.feed(chunk)
    stream.message              # {"id": "msg_…", "role": "assistant", "content": […], …}

Bytes become server-sent events, cut as the WHATWG's HTML standard says (section 9.2); events add up
to a message. The message holds wire JSON: unknown fields and block types are kept as they came.
What has no place in it (unknown events and deltas, data that is not JSON) is kept in ``strange``.
Nothing is raised: these bytes have been passed on to a reader, who judges them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from foldlog.eventstore import codec
from foldlog.eventstore.events import Json

NESTING = codec.NESTING - 16
"""How deeply the data of an event may be nested; what is deeper is kept as text. The event that is
recorded adds some levels around it."""


class MessageStream:
    """Folds the bytes of one streamed reply into its message.

    Attributes:
        complete: True once the stream came to its end, ``message_stop``.
        error: The data of an ``error`` event: the JSON that the API would have refused with.
        strange: What has no place in a message, in order: unknown events and deltas as they came;
            data that is not a JSON object as ``{"event": …, "data": text}``.
    """

    def __init__(self) -> None:
        self.complete = False
        self.error: Json = None
        self.strange: list[Json] = []
        self._events = Events()
        self._message: dict[str, Json] | None = None
        self._blocks: dict[int, _Block] = {}

    def feed(self, data: bytes) -> None:
        """Take in bytes as they came, wherever they were cut."""
        for name, text in self._events.feed(data):
            self._take(name, text)

    @property
    def message(self) -> dict[str, Json] | None:
        """The message as far as it came; None before ``message_start``.

        Its content is the finished blocks, and a text that is not finished.
        """
        if self._message is None:
            return None
        content = [b.made() for b in self._in_order() if b.is_content]
        return {**self._message, "content": content}

    @property
    def unfinished(self) -> list[Json]:
        """The blocks that broke off and cannot be content, as far as they came.

        Thinking without its signature; a call whose input is not JSON yet (the text of it so far is
        ``partial_json``); any other block whose end did not come. A reply that is complete can have
        one too: a call that ``max_tokens`` cut short.
        """
        return [block.so_far() for block in self._in_order() if block.is_unfinished]

    def _in_order(self) -> list[_Block]:
        return [self._blocks[index] for index in sorted(self._blocks)]

    def _take(self, name: str, text: str) -> None:
        event = _parsed(text)
        if name == "error":
            self.error = text if event is None else event
        elif not isinstance(event, dict):
            self.strange.append({"event": name, "data": text})
        elif not self._folded(event.get("type", name), event):
            self.strange.append(event)

    def _folded(self, type: Json, event: dict[str, Json]) -> bool:
        """Take an event into the message; False if it has no place there."""
        match type:
            case "ping":
                return True
            case "error":
                self.error = event
                return True
            case "message_start":
                return self._started(event.get("message"))
            case _ if self._message is None:
                return False
            case "content_block_start" | "content_block_delta" | "content_block_stop":
                return self._block_folded(type, event)
            case "message_delta":
                _add_delta(self._message, event)
                return True
            case "message_stop":
                self.complete = True
                return True
        return False

    def _started(self, message: Json) -> bool:
        if not isinstance(message, dict) or not _are_blocks(message.get("content")):
            return False
        self._message = dict(message)
        whole = message.get("content") or ()
        self._blocks = {index: _Block(block, stopped=True) for index, block in enumerate(whole)}
        return True

    def _block_folded(self, type: Json, event: dict[str, Json]) -> bool:
        index = event.get("index")
        if not isinstance(index, int):
            return False
        if type == "content_block_start":
            if index in self._blocks or not isinstance(event.get("content_block"), dict):
                return False
            self._blocks[index] = _Block(event["content_block"])
            return True
        block = self._blocks.get(index)
        if block is None:
            return False
        if type == "content_block_stop":
            block.stopped = True
            return True
        return block.add(event.get("delta"))


@dataclass
class _Block:
    """A block while it comes: its start, and the texts that were added to it."""

    start: dict[str, Json]
    stopped: bool = False
    added: dict[str, list[str]] = field(default_factory=dict)
    typed: list[str] = field(default_factory=list)  # the input of a call, as text

    def add(self, delta: Json) -> bool:
        """Take a delta in; False, with nothing changed, if it is unknown."""
        if not isinstance(delta, dict):
            return False
        known = _DELTAS.get(str(delta.get("type")))
        return known is not None and known(self, {k: v for k, v in delta.items() if k != "type"})

    def made(self) -> dict[str, Json]:
        """Return the block as the message holds it."""
        block = self._with_texts()
        return {**block, "input": _parsed("".join(self.typed))} if self._has_json else block

    def so_far(self) -> dict[str, Json]:
        """Return the block as it broke off."""
        block = self._with_texts()
        return {**block, "partial_json": "".join(self.typed)} if self._has_json else block

    @property
    def is_content(self) -> bool:
        if self.start.get("type") == "text" and not self.stopped:
            return bool(self._with_texts().get("text"))
        return self.stopped and not self._is_broken

    @property
    def is_unfinished(self) -> bool:
        if self.start.get("type") == "text":
            return False
        return not self.stopped or self._is_broken

    @property
    def _has_json(self) -> bool:
        return any(self.typed)  # a call without arguments sends an empty text, or none at all

    @property
    def _is_broken(self) -> bool:
        return self._has_json and not isinstance(_parsed("".join(self.typed)), dict)

    def _with_texts(self) -> dict[str, Json]:
        texts = {key: "".join([_text(self.start, key), *more]) for key, more in self.added.items()}
        return {**self.start, **texts}


def _appended(key: str) -> Callable[[_Block, dict[str, Json]], bool]:
    """Return what adds a delta to a text of its block."""

    def add(block: _Block, delta: dict[str, Json]) -> bool:
        if set(delta) != {key} or not isinstance(delta[key], str):
            return False
        block.added.setdefault(key, []).append(delta[key])
        return True

    return add


def _input(block: _Block, delta: dict[str, Json]) -> bool:
    known = "input" in block.start and set(delta) == {"partial_json"}
    if not known or not isinstance(delta["partial_json"], str):
        return False
    block.typed.append(delta["partial_json"])
    return True


def _citation(block: _Block, delta: dict[str, Json]) -> bool:
    found = block.start.get("citations") or []
    if set(delta) != {"citation"} or not isinstance(found, list):
        return False
    block.start = {**block.start, "citations": [*found, delta["citation"]]}
    return True


def _replaced(block: _Block, delta: dict[str, Json]) -> bool:
    block.start = {**block.start, **delta}
    return True


_DELTAS: dict[str, Callable[[_Block, dict[str, Json]], bool]] = {
    "text_delta": _appended("text"),
    "thinking_delta": _appended("thinking"),
    "input_json_delta": _input,
    "citations_delta": _citation,
    "signature_delta": _replaced,
    "compaction_delta": _replaced,
}
"""What the deltas of the API do, as ``anthropic.lib.streaming`` does it (SDK 2.14): a signature and
a summary come whole."""


def _add_delta(message: dict[str, Json], event: dict[str, Json]) -> None:
    """Add a ``message_delta``: how the reply ended, its usage in total, and more.

    What it leaves out or has as null keeps the value from ``message_start``.
    """
    delta, usage = event.get("delta"), event.get("usage")
    beside = {key: value for key, value in event.items() if key not in ("type", "delta", "usage")}
    _update(message, beside)
    if isinstance(delta, dict):
        _update(message, delta)
    if isinstance(usage, dict):
        before = message.get("usage")
        message["usage"] = dict(before) if isinstance(before, dict) else {}
        _update(message["usage"], usage)


def _update(target: dict[str, Json], values: dict[str, Json]) -> None:
    for key, value in values.items():
        if value is not None or key not in target:
            target[key] = value


def _are_blocks(content: Json) -> bool:
    return content is None or (
        isinstance(content, list) and all(isinstance(block, dict) for block in content)
    )


def _text(block: dict[str, Json], key: str) -> str:
    value = block.get(key)
    return value if isinstance(value, str) else ""


def _parsed(text: str) -> Json:
    """Return the JSON of a text, numbers exact; None if it is not JSON, or too deep to record."""
    try:
        found = codec.loads(text)
    except ValueError:
        return None
    return None if codec.is_deep(found, NESTING) else found


# -- server-sent events ----------------------------------------------------------------------

_LINE_ENDS = (b"\n", b"\r")
_BOM = b"\xef\xbb\xbf"


class Events:
    """Cuts bytes into server-sent events, however they are cut into chunks."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []  # of a line whose end has not come
        self._after_return = False  # the last byte was \r: a \n is part of the same line end
        self._first = True
        self._name = ""
        self._data: list[str] = []

    def feed(self, data: bytes) -> Iterator[tuple[str, str]]:
        """Yield the events that end with these bytes: name (``message`` without one) and data."""
        for line in self._lines(data):
            event = self._event(line)
            if event is not None:
                yield event

    def _lines(self, data: bytes) -> Iterator[bytes]:
        if self._after_return and data:
            self._after_return = False
            data = data.removeprefix(b"\n")
        for piece in data.splitlines(keepends=True):  # of bytes: at \n, \r and \r\n, nothing else
            self._parts.append(piece)
            if piece.endswith(_LINE_ENDS):
                line = b"".join(self._parts).rstrip(b"\r\n")
                self._parts.clear()
                yield line.removeprefix(_BOM) if self._first else line
                self._first = False
        self._after_return = data.endswith(b"\r")

    def _event(self, line: bytes) -> tuple[str, str] | None:
        if not line:
            return self._dispatched()
        name, _, value = line.decode("utf-8", "backslashreplace").partition(":")
        value = value.removeprefix(" ")
        if name == "event":
            self._name = value
        elif name == "data":
            self._data.append(value)
        return None  # a comment, an id, a retry time, or an unknown field

    def _dispatched(self) -> tuple[str, str] | None:
        name, data = self._name or "message", self._data
        self._name, self._data = "", []
        return (name, "\n".join(data)) if data else None
