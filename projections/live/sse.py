"""Server-sent events, as the WHATWG's HTML standard cuts a stream into them (section 9.2)."""

from __future__ import annotations

from collections.abc import Iterator

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
        """The events that end with these bytes: name (``message`` without one) and data."""
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
        return None  # a comment, an id, a retry time, or a field that nobody knows

    def _dispatched(self) -> tuple[str, str] | None:
        name, data = self._name or "message", self._data
        self._name, self._data = "", []
        return (name, "\n".join(data)) if data else None
