"""Passages as fragments of HTML: for the page of a session, and for whatever else shows one.

    fragments = Fragments()
    for passage in narrate(store, "my-session"):
        html = fragments.of(passage)

A fragment holds no style and no script. It needs ``page.css`` to look well, and nothing to be read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple, TypeAlias

from markupsafe import Markup

from foldlog.cli.describe import block_lines, call_text, clock, headline, media_line
from foldlog.cli.formats.html.code import code
from foldlog.cli.formats.html.edits import edits_of
from foldlog.cli.formats.html.environment import environment
from foldlog.cli.formats.html.markdown import markdown
from foldlog.cli.safe import one_line, shortened
from foldlog.eventstore.events import Json
from foldlog.projections.explain.narrative import Block, Call, Child, Media, Other, Passage, Said
from foldlog.projections.explain.why import Sight
from foldlog.projections.view.pieces import Cleared, Hidden, Marker, Summary
from foldlog.projections.wire.blocks import MEDIA, blocks, content_of, kind
from foldlog.projections.wire.tool_calls import PATHS, SHELLS

State: TypeAlias = Literal["whole", "part", "cleared", "summary", "hidden", "left", "none"]

STATES: dict[State, tuple[str, str]] = {
    "whole": ("W", "seen as it happened"),
    "part": ("P", "seen in part"),
    "cleared": ("C", "cleared: a placeholder is seen"),
    "summary": ("S", "a summary or a marker is seen instead"),
    "hidden": ("H", "hidden"),
    "left": ("R", "left behind by a rewind"),
    "none": ("–", "never shown to the model"),
}
"""How the model sees something: a letter, and in words. Each has a colour and a pattern as well."""

IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""The types of images that are shown: those of the Messages API. None of them can hold a script."""

LABEL_CHARS = 160
"""Characters of a call in the line that folds it."""


class Address(str):
    """An address in place of an image's data: made by a server, never read from a transcript."""

    __slots__ = ()


_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}")
_COLOURS = re.compile(r"\x1b\[[0-9;:]*m")


class Look(NamedTuple):
    """How a page shows a sight.

    Attributes:
        state: One of ``STATES``.
        letter: Its letter.
        words: It in words, short.
        why: Which rule decided it and why; empty if nothing did.
        by: The version of the edit or move that decided it; None if nothing did.
    """

    state: State
    letter: str
    words: str
    why: str
    by: int | None


def look(sight: Sight) -> Look:
    """Return how to show the way in which the model sees something."""
    state = state_of(sight)
    cause = sight.cause if state != "whole" else None
    letter, words = STATES[state]
    if state not in ("none", "left") and sight.words:
        words = sight.words
    why = f"{cause.rule}: {cause.reason}" if cause else ""
    return Look(state, letter, words, why, cause.version if cause else None)


def state_of(sight: Sight) -> State:
    """Return the state of a sight."""
    if sight.seen == "whole":
        return "whole"
    match sight.shown:
        case None:
            return "left" if sight.cause else "none"
        case Cleared():
            return "cleared"
        case Summary() | Marker():
            return "summary"
        case Hidden():
            return "hidden"
    return "part" if sight.seen == "part" else "none"


class Fragments:
    """Turns passages into HTML, and gives each an anchor that no other has.

    Args:
        link: Returns the address of another session's page; None: it has none.
        apart: Whether the fragments go into a document that has anchors already: they get none.
    """

    def __init__(
        self, link: Callable[[str], str | None] = lambda _: None, *, apart: bool = False
    ) -> None:
        self.link = link
        self._apart = apart
        self._used: set[str] = set()
        self._macros: Any = environment().get_template("passages.html", globals=_HELPERS).module

    def of(self, passage: Passage | Child) -> Markup:
        """Return the fragment of a passage."""
        made: Markup = getattr(self._macros, type(passage).__name__.lower())(passage, self)
        return made

    def badge(self, sight: Sight, *, is_repeated: bool = False) -> Markup:
        """Return the badge that says how the model sees something; nothing if it sees it whole.

        One that repeats what the one before said shows its letter; the rest is there on hover, on
        focus and for screen readers.
        """
        made: Markup = self._macros.badge(look(sight), is_repeated)
        return made

    def seen(self, content: Json) -> Markup:
        """Return the fragment of wire content as a model sees it: a text or blocks."""
        made: Markup = self._macros.seen(blocks(content_of(content)))
        return made

    def anchor(self, passage: Passage) -> str:
        """Return ``v12`` for the first passage of version 12, ``v12-3`` and the like for others.

        Nothing if both are taken.
        """
        for name in () if self._apart else (f"v{passage.version}", passage.anchor):
            if name not in self._used:
                self._used.add(name)
                return name
        return ""


def label(call: Call) -> str:
    """Return the arguments of a call in one line: its command, its file, or all of them."""
    given = call.input if isinstance(call.input, Mapping) else {}
    if call.name.lower() in SHELLS and isinstance(given.get("command"), str):
        return shortened(given["command"], LABEL_CHARS)
    path = next((given[name] for name in PATHS if isinstance(given.get(name), str)), None)
    if path is not None:
        return shortened(path, LABEL_CHARS)
    text = call_text(call.content, LABEL_CHARS)
    return text.removeprefix(one_line(call.name)).removeprefix("(").removesuffix(")")


def command(call: Call) -> str | None:
    """Return the command that a call runs in a shell; None if it runs none."""
    given = call.input if isinstance(call.input, Mapping) else {}
    found = given.get("command") if call.name.lower() in SHELLS else None
    return found if isinstance(found, str) else None


def image(block: Json) -> str | None:
    """Return the address of an image that is safe to show, of its data; None for anything else."""
    source = block.get("source")
    if not isinstance(source, Mapping):
        return None
    type_, data = source.get("media_type"), source.get("data")
    if not isinstance(type_, str) or type_ not in IMAGES:
        return None
    if isinstance(data, Address):
        return data
    if not isinstance(data, str) or not _BASE64.fullmatch(data := "".join(data.split())):
        return None
    return f"data:{type_};base64,{data}"


def output(words: str) -> str:
    """Return what a tool printed, without the colours of a terminal."""
    return _COLOURS.sub("", words)


def lines(block: Json) -> str:
    """Return any block as text."""
    return "\n".join(block_lines(block))


def arguments(call: Call) -> list[tuple[str, str]]:
    """Return (name, value as text) of each argument of a call."""
    given = call.input if isinstance(call.input, Mapping) else {"input": call.input}
    return [(str(key), _value(value)) for key, value in given.items()]


def part_of(block: Block) -> str:
    """Return what a part of a result is: ``text``, ``media`` or ``other``."""
    return "text" if isinstance(block, Said) else "media" if isinstance(block, Media) else "other"


def _value(value: Json) -> str:
    if isinstance(value, str):
        return value
    return "\n".join(block_lines({"type": "", "value": value})).partition("value: ")[2]


def _typed(contents: list[Json], passage: Passage) -> list[Block]:
    """Return the blocks of a summary."""
    kinds: dict[str, type[Block]] = {"text": Said, **dict.fromkeys(MEDIA, Media)}
    return [
        kinds.get(kind(block), Other)(passage.event, passage.sight, number, block)
        for number, block in enumerate(contents, start=1)
    ]


_HELPERS: dict[str, Any] = {
    "arguments": arguments,
    "typed": _typed,
    "clock": clock,
    "code": code,
    "command": command,
    "edits_of": edits_of,
    "headline": headline,
    "image": image,
    "kind": kind,
    "label": label,
    "lines": lines,
    "look": look,
    "markdown": markdown,
    "media_line": media_line,
    "output": output,
    "part_of": part_of,
    "line": one_line,
}
