"""The system prompt and the tools of pi 1.x, folded from the entries that change them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from foldlog.cli.formats import openai_blocks
from foldlog.projections.wire.blocks import objects

if TYPE_CHECKING:
    from collections.abc import Mapping

    from foldlog.eventstore.events import Json


@dataclass(frozen=True, slots=True)
class Prompt:
    """What is in force at an entry.

    Attributes:
        texts: What was said outside of sections, in order.
        sections: The sections by name.
        tools: The tools by name, as pi declares them.
    """

    texts: tuple[str, ...] = ()
    sections: Mapping[str, str] = field(default_factory=dict)
    tools: Mapping[str, Json] = field(default_factory=dict)

    @property
    def system(self) -> str:
        """The system prompt, as pi sends it where all of it comes first."""
        return "\n\n".join(part for part in (*self.texts, *self.sections.values()) if part)

    @property
    def declared(self) -> list[Json]:
        """The tools as definitions of the Messages API."""
        return openai_blocks.tools([{"type": "function", **tool} for tool in self.tools.values()])

    def after(self, message: Mapping[str, Json]) -> Prompt:
        """Return what is in force after a system message."""
        sections, tools = dict(self.sections), dict(self.tools)
        given = message.get("sections")
        for name, value in given.items() if isinstance(given, dict) else ():
            sections.pop(name, None) if value is None else sections.update({name: str(value)})
        for tool in objects(message.get("toolsRemoved")):
            tools.pop(_name(tool), None)
        for tool in objects(message.get("toolsAdded")):
            tools[_name(tool)] = tool
        said = openai_blocks.content(message.get("content"))
        parts = [said] if isinstance(said, str) else [str(b.get("text", "")) for b in objects(said)]
        words = "\n".join(parts)
        return Prompt((*self.texts, words) if words else self.texts, sections, tools)


def _name(tool: Mapping[str, Json]) -> str:
    return str(tool.get("name"))
