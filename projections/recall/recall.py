"""Answer calls of the recall tool; nothing is written.

Answers are bounded: a page of what was recorded, and a few lines around it. Recalling a recorded
answer leads to what it was about, never to a copy of a copy.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from foldlog.eventstore import Event, FoldlogError
from foldlog.eventstore.events import Json
from foldlog.eventstore.store import searchable
from foldlog.eventstore.text import text_of as words_of
from foldlog.projections.recall import images, lists, texts
from foldlog.projections.recall.lists import Row
from foldlog.projections.recall.quoted import (
    BEGIN,
    LEAST,
    PAGE,
    asked_again,
    one_line,
    page_of,
    quote,
)
from foldlog.projections.recall.reach import Reach, sight_in
from foldlog.projections.recall.tool import NAME, Asked, Mistake, Named
from foldlog.projections.view.address import named_request, resolve
from foldlog.projections.view.view import View
from foldlog.projections.wire.blocks import CALLS, blocks, content_of, kind, plain_text, text
from foldlog.projections.wire.contents import CONTENT, block_of, content

if TYPE_CHECKING:
    from foldlog.eventstore.terms import Hit
    from foldlog.projections.session import Session

FOUND = 20
"""The most hits in one answer."""

LOOK = 50
"""How many hits are requested from the store at a time."""

SEARCHED = (*CONTENT, "state.set")
"""The types of events that are searched: what was said, not how the log is kept."""

RANGES = 5
"""The most ranges that are named of what a summary covers."""

TROUBLE = 1_000
"""The most characters of an answer that says why nothing was recalled."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a call.

    Attributes:
        content: A text, or a list of wire blocks: a text and images.
        is_error: Whether the content says why nothing was recalled, and what to do.
    """

    content: str | list[Json]
    is_error: bool = False


class Recall:
    """Reads the log for a model that sees one session.

    Args:
        session: The session whose view it sees. Nothing is appended, and its ``version`` stays.
        everything: Whether all sessions of the store may be read.
        media: Whether the model can be shown images.
        page: The size of a page in characters.
    """

    def __init__(
        self,
        session: Session,
        *,
        everything: bool = False,
        media: bool = False,
        page: int = PAGE,
    ) -> None:
        self._store = session.store
        self._own = session.id
        self._reach = Reach(session.store, session.id, everything)
        self._media = media
        self._page = max(page, LEAST)

    def call(self, arguments: object) -> str | list[Json]:
        """Return the content of the answer to a call with ``arguments`` as they came."""
        return self.answer(arguments).content

    def answer(self, arguments: object) -> Answer:
        """Return the answer to a call of the tool; one that says why if nothing can be recalled."""
        try:
            return Answer(self._answer(Asked.read(arguments), self._own))
        except (FoldlogError, Mistake) as error:
            return Answer(one_line(f"Nothing was recalled: {error}", TROUBLE), is_error=True)

    def _answer(self, asked: Asked, within: str) -> str | list[Json]:
        if not self._store.exists(self._own):
            raise Mistake("nothing is recorded in this session yet.")
        if asked.search is not None:
            return self._search(asked, asked.search)
        if asked.show is not None:
            return self._show(asked, Named.read(asked.show), within)
        return self._lost(asked)

    # -- show --------------------------------------------------------------------------------

    def _show(self, asked: Asked, named: Named, within: str) -> str | list[Json]:
        session = self._reach.session(named, within)
        if isinstance(named.version, str):
            request = named_request(self._store, session, named.version)
            if request is not None and "sent" in request.data:  # on the side, for no view
                return self._event(asked, session, request, named.block)
            return self._view(asked, session, resolve(self._store, session, named.version))
        if named.last is not None:
            return self._range(asked, session, named.version, named.last)
        event = self._store.get(session, named.version)
        source = self._source(session, event)
        if source is not None:
            again = self._answer(source, session)
            said = f"Version {event.version} is an answer of this tool, about this:\n"
            return _before(said, again)
        if event.type == "snapshot.taken":
            return self._view(asked, session, event.version)
        return self._event(asked, session, event, named.block)

    def _event(
        self, asked: Asked, session: str, event: Event, number: int | None
    ) -> str | list[Json]:
        block = block_of(event, number) if number else None
        whole = texts.text_of(event) if block is None else texts.text_of_block(block)
        if asked.start and asked.start >= len(whole):
            raise Mistake(f"version {event.version} ends at {len(whole):,}; begin before that.")
        view = self._reach.view(session)
        page, following = page_of(whole, asked.start, self._page)
        name = self._reach.name(session, event.version, number)
        head = [] if asked.start else self._head(session, event, view)
        what = f"Version {event.version}{f', block {number}' if number else ''}"
        extent = _extent(len(whole), asked.start, len(page))
        said = [
            f"{what}: {extent}. {self._how_seen(session, event, view)}",
            quote("\n".join([*head, page])),
            *self._behind(session, event, view),
            *self._next({"show": name}, following),
        ]
        found = [block] if block is not None else blocks(content(event) or [])
        return self._with_images(said, [] if asked.start else found)

    def _head(self, session: str, event: Event, view: View | None) -> list[str]:
        """Return what is quoted with a content: its names, the call, the rule."""
        lines = [one_line(f"{event.session}/{event.version} {event.type} {event.occurred}", 700)]
        call = self._reach.call(session, event) if event.type == "tool.result" else None
        if call is not None:
            lines.append(f"answers: {texts.call_line(call)}")
        if event.type == "tool.result" and event.data.get("is_error") is True:
            lines.append("the call failed")
        cause = sight_in(view, event).cause
        if cause is not None:
            rule = f"{one_line(cause.rule, 60)} (version {cause.version})"
            lines.append(f"by rule: {rule}: {one_line(cause.reason, texts.HEAD)}")
        return [*lines, ""]

    def _behind(self, session: str, event: Event, view: View | None) -> Iterator[str]:
        """Yield how to retrieve the events that a summary covers."""
        if event.type != "summary.written":
            return
        for first, last in _covered_ranges(event)[:RANGES]:
            name = self._reach.name(session, first)
            call = asked_again({"show": f"{name}-{last}"})
            yield f"It covers versions {first} to {last}: {call} lists them."

    def _how_seen(self, session: str, event: Event, view: View | None) -> str:
        if session != self._own:
            return "It is another session's."
        words = one_line(sight_in(view, event).words, 60)
        return f"In your view now: {words}." if words else "You see it now, in full."

    def _with_images(self, said: list[str], found: list[Json]) -> str | list[Json]:
        held = images.count(found)
        shown = images.showable(found)[: images.MOST] if self._media else []
        if held > len(shown):
            said.append(
                f"{held - len(shown)} of {held} images are not shown here: they are too many or"
                " too large, or this client takes none. A person can write one to a file with"
                " `foldlog show HANDLE --raw -o FILE`."
            )
        words = "\n".join(said)
        return [text(words), *shown] if shown else words

    # -- lists -------------------------------------------------------------------------------

    def _range(self, asked: Asked, session: str, first: int, last: int) -> str:
        there = self._store.last(session)
        if first > there:
            raise Mistake(f"the session has the versions 1 to {there}, not {first}.")
        name = self._reach.name(session, first)
        start = max(first, asked.start)
        rows = lists.of_range(self._reach, session, max(start, 1), min(last, there))
        said = f"The conversation in versions {first} to {last}"
        return self._list(said, rows, {"show": f"{name}-{last}"}, asked.start)

    def _view(self, asked: Asked, session: str, version: int) -> str:
        view = self._reach.view(session, version)
        if view is None:
            raise Mistake(f"the view at version {version} cannot be folded. Name a range instead.")
        rows = lists.of_view(self._reach, view, asked.start)
        said = f"What was seen at version {version}"
        return self._list(said, rows, {"show": asked.show}, asked.start)

    def _lost(self, asked: Asked) -> str:
        view = self._reach.view(self._own)
        if view is None:
            raise Mistake("the view of this session cannot be folded. Search, or name a range.")
        rows = lists.of_view(self._reach, view, asked.start, only_lost=True)
        return self._list("What is out of sight, or not seen in full", rows, {}, asked.start)

    def _list(self, said: str, rows: Iterable[Row], call: dict[str, Any], start: int) -> str:
        lines, following = lists.page_of(rows, self._page)
        if not lines:
            return f"{said}: nothing{' from there on' if start else ''}."
        return "\n".join(
            [
                f"{said}, a line each:",
                quote("\n".join(lines)),
                f"Show one by its number, or a range: {asked_again({'show': 'NUMBER'})}",
                *self._next(call, following),
            ]
        )

    # -- search ------------------------------------------------------------------------------

    def _search(self, asked: Asked, words: str) -> str:
        rows = (Row(hit.position, line) for hit, line in self._found(asked, words))
        lines: list[str] = []
        room, following = self._page, None
        for row in rows:
            room -= len(row.text) + 1
            if lines and (room < 0 or len(lines) == FOUND):
                break
            lines.append(row.text)
            following = row.place
        else:
            following = None
        if not lines:
            rest = " further" if asked.start else ""
            return (
                f"Nothing{rest} was found. All words must occur in one event: try fewer or other"
                " words, begin* for words that begin so, or the list of what is out of sight:"
                f" {asked_again({})}"
            )
        call = {k: v for k, v in asked.json().items() if k != "from"}
        return "\n".join(
            [
                "Found, the newest first:",
                quote("\n".join(lines)),
                f"Show one by its number: {asked_again({'show': 'NUMBER'})}",
                *self._next(call, following),
            ]
        )

    def _found(self, asked: Asked, words: str) -> Iterator[tuple[Hit, str]]:
        for hit in self._hits(words, asked.start or None):
            event = self._store.get(hit.session, hit.version)
            session = self._own if self._reach.owns(event) else hit.session
            if self._is_echo(session, event, words):
                continue
            view = self._reach.view(session)
            how = sight_in(view, event)
            if asked.out_of_sight and how.seen == "whole":
                continue
            name = self._reach.name(session, hit.version)
            what = one_line(f"{hit.type} {hit.tool or ''}", 80)
            said = "  ".join([name, what, one_line(how.words, 60) or "seen"])
            yield hit, f"{said}: {one_line(hit.snippet, texts.HEAD)}"

    def _hits(self, words: str, before: int | None) -> Iterator[Hit]:
        """Yield the hits, the newest first; request a few at a time."""
        session = None if self._reach.everything else self._own
        while True:
            hits = searchable(self._store).search(
                words, session=session, types=SEARCHED, limit=LOOK, before=before
            )
            yield from hits
            if len(hits) < LOOK:
                return
            before = hits[-1].position

    def _is_echo(self, session: str, event: Event, words: str) -> bool:
        """Tell if it was found because this tool was asked for it, or answered it."""
        if event.type == "tool.result":
            return self._source(session, event) is not None
        if event.type != "message.assistant":
            return False
        said = blocks(content_of(event.data.get("content")))
        rest = [block for block in said if not _is_own_call(block)]
        return len(rest) < len(said) and not _holds(words_of(event.type, {"content": rest}), words)

    # -- answers of its own ------------------------------------------------------------------

    def _source(self, session: str, event: Event) -> Asked | None:
        """Return what a recorded answer of this tool was about; None for anything else."""
        if event.type != "tool.result":
            return None
        if not BEGIN.search(plain_text(content_of(event.data.get("content")))):
            return None
        call = self._reach.call(session, event)
        if call is None or not _is_own_call(call):
            return None
        try:
            asked = Asked.read(call.get("input"))
            named = Named.read(asked.show) if asked.show is not None else None
            if named is not None:
                self._reach.session(named, session)
        except (FoldlogError, Mistake):
            return None
        if named and isinstance(named.version, int) and named.version >= event.version:
            return None
        return asked

    def _next(self, call: dict[str, Any], following: int | None) -> Iterator[str]:
        if following is not None:
            yield f"Continue with: {asked_again({**call, 'from': following})}"


def _is_own_call(block: Json) -> bool:
    """Tell if a block calls this tool, by its own name or that of an MCP client."""
    name = block.get("name") if kind(block) in CALLS else None
    return isinstance(name, str) and (name == NAME or name.endswith(f"__{NAME}"))


def _holds(said: str, words: str) -> bool:
    """Tell if a text holds one of the words of a search."""
    from foldlog.eventstore.terms import fold, parse

    folded = fold(said)
    return any(re.search(term.pattern, folded) for term in parse(words))


def _covered_ranges(event: Event) -> list[tuple[int, int]]:
    found = event.data.get("covers")
    pairs = found if isinstance(found, list) else []
    return [
        (pair[0], pair[1])
        for pair in pairs
        if isinstance(pair, list) and len(pair) == 2 and all(type(n) is int for n in pair)
    ]


def _extent(whole: int, start: int, size: int) -> str:
    if not start and size == whole:
        return f"{whole:,} characters"
    return f"the characters {start + 1:,} to {start + size:,} of {whole:,}"


def _before(said: str, answer: str | list[Json]) -> str | list[Json]:
    if isinstance(answer, str):
        return said + answer
    return [text(said + str(answer[0]["text"])), *answer[1:]]
