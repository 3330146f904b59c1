"""The page of a session: one file that needs nothing else and asks nobody for anything.

Its policy lets it run its own script, use its own style and show images that it holds itself, and
nothing more, whatever a transcript may have brought in.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import groupby
from typing import Any, NamedTuple, TypeAlias, cast

from markupsafe import Markup

from foldlog.cli.describe import clock
from foldlog.cli.formats.html.environment import environment, file
from foldlog.cli.formats.html.fragments import STATES, Fragments, State, look, state_of
from foldlog.cli.formats.html.markdown import plain
from foldlog.cli.safe import one_line, shortened
from foldlog.projections.explain.narrative import (
    Block,
    Call,
    Child,
    Edit,
    Heading,
    Narrative,
    Passage,
    Result,
    Rewind,
    Said,
    Title,
)
from foldlog.projections.explain.why import Sight

Passages: TypeAlias = Iterable[Passage | Child]

ENTRY_CHARS = 90
"""Characters of a message in the table of contents."""

SPEAKERS = {
    "user": "User",
    "assistant": "Assistant",
    "system": "System message",
    "tool": "Result",
    "harness": "Attachment",
}


class Part(NamedTuple):
    """A passage as HTML, and the versions of its event and of its result, if it is a call."""

    html: Markup
    versions: tuple[int, ...]


@dataclass(slots=True)
class Section:
    """What one speaker says, or one thing that happened otherwise.

    Attributes:
        kind: The speaker, or the kind of passage in lower case.
        anchor: Its name within the page; empty where its only part has one.
        version: The version of its first event.
        title: Who speaks; empty for others.
        at: When, for people; empty for others.
        sight: How the model sees it; None if that is said in its part.
        state: The name of that.
        parts: Its passages.
        entry: Its line in the table of contents; empty without one.
        entry_kind: ``prompt``, ``compaction`` or ``rewind``.
        is_repeated: Whether the model sees it as it sees the speaker before it.
    """

    kind: str
    anchor: str = ""
    version: int = 0
    title: str = ""
    at: str = ""
    sight: Sight | None = None
    state: State = "none"
    parts: list[Part] = field(default_factory=list)
    entry: str = ""
    entry_kind: str = ""
    is_repeated: bool = False

    @property
    def versions(self) -> list[int]:
        """The versions of its events, with the results of its calls."""
        return [version for part in self.parts for version in part.versions]


class Run(NamedTuple):
    """Events in a row that the model sees alike, on the rail; places and sizes are percentages."""

    anchor: str
    state: State
    letter: str
    words: str
    at: float
    size: float


class Mark(NamedTuple):
    """A compaction or a rewind, on the rail."""

    anchor: str
    kind: str
    words: str
    at: float


class Rail:
    """Where in a session the model sees what, and where compactions happened."""

    def __init__(self) -> None:
        self._events: list[tuple[int, State]] = []
        self._marks: list[tuple[int, int, str, str]] = []

    def add(self, passage: Passage) -> None:
        """Add an event, with the result of its call."""
        if isinstance(passage, (Edit, Rewind)):
            kind = "rewind" if isinstance(passage, Rewind) else "compaction"
            if kind == "rewind" or (isinstance(passage, Edit) and passage.compacts):
                words = f"{kind.capitalize()} {passage.version}"
                self._marks.append((len(self._events), passage.version, kind, words))
        elif isinstance(passage, Block):
            self._events.append((passage.version, state_of(passage.sight)))
            if isinstance(passage, Call) and passage.result:
                self._events.append((passage.result.version, state_of(passage.result.sight)))

    def runs(self) -> Iterator[Run]:
        """Yield the runs, top down."""
        share, at = 100 / max(1, len(self._events)), 0
        for state, events in groupby(self._events, key=lambda event: event[1]):
            versions = [version for version, _ in events]
            first, last = min(versions), max(versions)
            letter, words = STATES[state]
            span = f"{first}" if first == last else f"{first} to {last}"
            size = share * len(versions)
            words = f"{span}: {words}"
            yield Run(f"v{versions[0]}", state, letter, words, share * at, size)
            at += len(versions)

    def marks(self) -> Iterator[Mark]:
        """Yield the marks, top down."""
        share = 100 / max(1, len(self._events))
        for at, version, kind, words in self._marks:
            yield Mark(f"v{version}", kind, words, share * at)


def page(told: Narrative, fragments: Fragments, *, home: str | None = None) -> Iterator[bytes]:
    """Return the page of a session, in pieces.

    Args:
        told: The session, from its title on.
        fragments: Makes the fragments of its passages.
        home: The address of the list of sessions, where there is one.
    """
    rail = Rail()
    title, sections = read(told, fragments, rail)
    return rendered("page.html", **shared(title, fragments, home), sections=sections, rail=rail)


def shared(title: Title, fragments: Fragments, home: str | None) -> dict[str, Any]:
    """Return what every page of a session needs to know."""
    parent = title.info.parent
    return {
        "title": title,
        "home": home,
        "parent": fragments.link(parent) if parent else None,
        "badge": fragments.badge,
    }


def rendered(template: str, **values: Any) -> Iterator[bytes]:
    """Return a page made by a template, in pieces, with its style, its script and its policy."""
    style, script = file("page.css"), file("theme.js") + file("page.js")
    made = environment().get_template(template)
    pieces = made.generate(
        **values,
        policy=policy(style, script),
        style=Markup(style),
        script=Markup(script),
        states=STATES,
        look=look,
        clock=clock,
        line=one_line,
    )
    return (piece.encode("utf-8", "backslashreplace") for piece in pieces)


def policy(style: str, script: str) -> str:
    """Return the Content-Security-Policy of a page: its own style and script, images in it."""
    return (
        f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}';"
        " img-src data:; base-uri 'none'; form-action 'none'"
    )


def _digest(content: str) -> str:
    return "sha256-" + b64encode(sha256(content.encode()).digest()).decode()


def read(told: Narrative, fragments: Fragments, rail: Rail) -> tuple[Title, list[Section]]:
    """Return the title of a narrative and its sections; put its events on a rail."""
    return cast("Title", next(told)), sections_of(cast("Passages", told), fragments, rail)


def sections_of(told: Passages, fragments: Fragments, rail: Rail | None = None) -> list[Section]:
    """Return the sections of passages; put their events on a rail, where there is one."""
    sections: list[Section] = []
    rail = rail or Rail()
    spoken: Sight | None = None
    for passage in told:
        if isinstance(passage, Heading):
            sections.append(_opened(passage, fragments))
            sections[-1].is_repeated = spoken is not None and spoken == sections[-1].sight
            spoken = sections[-1].sight
        elif isinstance(passage, Block):
            rail.add(passage)
            _continue(sections[-1], passage, fragments)
        else:
            sections.append(_alone(passage, fragments))
            if isinstance(passage, Passage):
                rail.add(passage)
    return sections


def _opened(heading: Heading, fragments: Fragments) -> Section:
    title = SPEAKERS[heading.who or "system"]
    label = heading.label or heading.event.data.get("model")
    if isinstance(label, str) and label:
        title = f"{title} · {label}"
    return Section(
        heading.who or "system",
        fragments.anchor(heading),
        heading.version,
        title,
        heading.at,
        heading.sight,
        state_of(heading.sight),
    )


def _continue(section: Section, block: Block, fragments: Fragments) -> None:
    result = (block.result.version,) if isinstance(block, Call) and block.result else ()
    section.parts.append(Part(fragments.of(block), (block.version, *result)))
    if isinstance(block, Result) and section.kind == "user":
        section.kind, section.title = "tool", "Result"
    if isinstance(block, Said) and section.kind == "user" and not section.entry:
        section.entry, section.entry_kind = plain(block.text, ENTRY_CHARS), "prompt"


def _alone(passage: Passage | Child, fragments: Fragments) -> Section:
    versions = (passage.version,) if isinstance(passage, Passage) else ()
    section = Section(type(passage).__name__.lower(), parts=[Part(fragments.of(passage), versions)])
    if isinstance(passage, Edit) and passage.compacts:
        section.kind, section.entry_kind = "compaction", "compaction"
        section.entry = f"Compaction: {shortened(passage.rule or '?', ENTRY_CHARS)}"
    elif isinstance(passage, Rewind):
        section.entry, section.entry_kind = f"Rewind to {shortened(str(passage.to), 20)}", "rewind"
    if isinstance(passage, Passage):
        section.version = passage.version
    return section
