"""The few things that every format knows: texts, images and documents; what is not is counted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeAlias

from foldlog.cli.formats.losses import Losses
from foldlog.eventstore.events import Json
from foldlog.projections.wire.blocks import (
    THINKING,
    blocks,
    content_of,
    is_server_result,
    kind,
    objects,
)


class Text(NamedTuple):
    """A text."""

    text: str


class Media(NamedTuple):
    """An image or a document.

    Attributes:
        kind: ``image`` or ``document``.
        type: Its media type.
        data: Its content in base64; None where it is only named.
        url: Where it is; None where its content is held.
        title: What it is called; None without a name.
    """

    kind: str
    type: str
    data: str | None
    url: str | None
    title: str | None

    @property
    def address(self) -> str:
        """Its URL: where it is, or all of it as ``data:``."""
        return self.url or f"data:{self.type};base64,{self.data}"


Portable: TypeAlias = Text | Media


def portable(content: Iterable[Json], losses: Losses) -> Iterator[Portable]:
    """Yield texts and media of blocks; count what is left out.

    Calls, results and thinking are the caller's: here they count as left out.
    """
    for block in content:
        name = kind(block)
        if name == "text":
            losses.add("citation", "only its text is", len(objects(block.get("citations"))))
            yield Text(str(block.get("text", "")))
        elif name in ("image", "document"):
            yield from _media(block, losses)
        elif name == "search_result":
            yield from portable(objects(block.get("content")), losses)
        elif name == "compaction":
            yield Text(str(block.get("content") or ""))
        elif name in THINKING:
            losses.add("thinking", "its signature is for the model that wrote it")
        elif is_server_result(name) or name in ("server_tool_use", "mcp_tool_use"):
            losses.add("server tool use", "the format has none of the API's own tools")
        else:
            losses.add(f"block of type {name or '?'}", "the format has no counterpart")


def _media(block: Json, losses: Losses) -> Iterator[Portable]:
    source = block.get("source") if isinstance(block.get("source"), dict) else {}
    title = block.get("title") if isinstance(block.get("title"), str) else None
    form, data = source.get("type"), source.get("data")
    if form == "text":
        yield Text(str(data or ""))
    elif form == "content":
        yield from portable(blocks(content_of(source.get("content"))), losses)
    elif form == "base64" and isinstance(data, str):
        yield Media(kind(block), str(source.get("media_type")), data, None, title)
    elif form == "url":
        type_ = "application/pdf" if kind(block) == "document" else "image/*"
        yield Media(kind(block), type_, None, str(source.get("url")), title)
    else:
        losses.add(kind(block), "it is a file that the API keeps")


def result_content(result: Json, losses: Losses) -> list[Portable]:
    """Return what a ``tool_result`` block says."""
    return list(portable(blocks(content_of(result.get("content"))), losses))


def joined(parts: Iterable[Portable], separator: str = "\n") -> str:
    """Return the texts among some parts."""
    return separator.join(part.text for part in parts if isinstance(part, Text))
