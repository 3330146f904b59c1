"""``read``: the lines of a text file, numbered, or an image."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from io import BytesIO
from typing import IO, Any

from foldlog.cli.agent.tool import Arguments, Context, Output, Tool, ToolFailed, path_argument
from foldlog.cli.agent.workspace.files import WHOLE_BYTES, fingerprint, regular
from foldlog.cli.agent.workspace.grep_process import SNIFFED
from foldlog.projections.wire.media import image_size, image_type

LINES = 2_000
LINE_CHARS = 2_000
"""How many lines are given at the most, and how much of each: as in Claude Code."""

CHARS = 60_000
"""How many characters are given at the most, about 20,000 tokens."""

IMAGE_BYTES = 5 * 1024 * 1024
IMAGE_SIDE = 8_000
"""The largest image: the API takes 10 MB of base64, and so many pixels a side."""

CHUNK = 65_536


def read(arguments: Arguments, context: Context) -> Output:
    """Return the file, as far as it was asked for; it may be changed from now on."""
    path = context.path(arguments["path"])
    size = regular(path, context).st_size
    try:
        data = path.read_bytes() if size <= WHOLE_BYTES else None
        with BytesIO(data) if data is not None else path.open("rb") as file:
            head = file.read(SNIFFED)
            file.seek(0)
            output = _shown(file, head, arguments, context.shown(path), size)
        context.seen[path] = fingerprint(path, data)
    except OSError as error:
        raise ToolFailed(f"{context.shown(path)} cannot be read: {error.strerror}.") from error
    return output


def _shown(file: IO[bytes], head: bytes, arguments: Arguments, name: str, size: int) -> Output:
    if media := image_type(head):
        return [_image(file.read(IMAGE_BYTES + 1), media, name)]
    if b"\0" in head:
        raise ToolFailed(f"{name} is binary ({size:,} bytes). Look at it with a command.")
    first = arguments.get("offset", 1)
    lines, last, more = _lines(file, first, arguments.get("limit", LINES))
    if not lines:
        return f"[{name} is empty]" if not size else f"[{name} has only {last} lines]"
    rest = f"\n[There is more: go on with offset {last + 1}]" if more else ""
    return "\n".join(lines) + rest


def _lines(file: IO[bytes], first: int, limit: int) -> tuple[list[str], int, bool]:
    """Return numbered lines, the last number that was looked at, and whether there are more."""
    found, chars, last = list[str](), 0, 0
    for line in _each_line(file):
        if last + 1 >= first:
            shown = f"{last + 1:>6}\t{_text(line)}"
            chars += len(shown)
            if len(found) >= limit or (found and chars > CHARS):
                return found, last, True
            found.append(shown)
        last += 1
    return found, last, False


def _each_line(file: IO[bytes]) -> Iterator[bytes]:
    """Yield the lines of a file, of each a little more than is shown: one may have gigabytes."""
    most = 4 * LINE_CHARS + 4
    while line := file.readline(most):
        rest = line
        while rest and not rest.endswith(b"\n"):
            rest = file.readline(CHUNK)
        yield line


def _text(line: bytes) -> str:
    text = line.decode("utf-8", "replace").removesuffix("\n").removesuffix("\r")
    return text if len(text) <= LINE_CHARS else f"{text[:LINE_CHARS]} [… line cut]"


def _image(data: bytes, media: str, name: str) -> dict[str, Any]:
    source = {"type": "base64", "media_type": media, "data": b64encode(data).decode()}
    block = {"type": "image", "source": source}
    side = max(image_size(block) or (0, 0))
    if len(data) > IMAGE_BYTES or side > IMAGE_SIDE:
        raise ToolFailed(
            f"{name} is too large an image: at most {IMAGE_BYTES:,} bytes and {IMAGE_SIDE:,} pixels"
            " a side can be shown. Make a smaller one of it."
        )
    return block


READ = Tool(
    name="read",
    description=(
        "Read a text file, its lines numbered (number, tab, line), or an image. A file has to be"
        " read before it can be changed."
    ),
    input_schema={
        "type": "object",
        "properties": {
            "path": {"type": "string", "minLength": 1, "description": "The file."},
            "offset": {
                "type": "integer",
                "minimum": 1,
                "description": "The first line, from 1.",
            },
            "limit": {
                "type": "integer",
                "minimum": 1,
                "maximum": LINES,
                "description": f"How many lines; {LINES} without.",
            },
        },
        "required": ["path"],
        "additionalProperties": False,
    },
    run=read,
    touches=path_argument,
)
