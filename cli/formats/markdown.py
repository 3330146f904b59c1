"""Markdown: a session to be read by people, on GitHub and elsewhere.

The conversation stands in the order in which it happened. Calls are folded with their results, long
outputs are shortened and say how to get the rest, compactions are marked; and whatever the model no
longer sees at the end says so, and why.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from textwrap import dedent
from typing import NamedTuple

from foldlog.cli.describe import block_lines, call_text, clock, media_line
from foldlog.cli.formats.markup import code_span, fenced, folded, in_html, prose
from foldlog.eventstore import Event, Store
from foldlog.eventstore.events import Json
from foldlog.projections import Piece, Summary, View, open_view
from foldlog.projections.view.pieces import Cleared, Whole
from foldlog.projections.wire.blocks import (
    CALLS,
    MEDIA,
    RESULT,
    THINKING,
    blocks,
    call_id,
    content_of,
    kind,
    objects,
    plain_text,
)
from foldlog.projections.wire.contents import content

OUTPUT_CHARS, OUTPUT_LINES = 2_000, 40
"""How much of an output is shown; the rest is reached by its pointer."""

SUMMARY_CHARS = 80
"""Characters of a call in the line that folds it."""

COMPACTING = frozenset({"summary", "marker"})

SPEAKERS = {
    "message.user": "User",
    "message.assistant": "Assistant",
    "message.system": "System message",
    "tool.result": "Result",
    "attachment.added": "Attachment",
}


def export_lines(store: Store, session: str, until: int | None = None) -> Iterator[bytes]:
    """The parts of the document, as UTF-8."""
    document = _Document(store, session, open_view(store, session, until))
    for part in document.parts():
        yield f"{part}\n\n".encode("utf-8", "backslashreplace")


class _Seen(NamedTuple):
    """How the model sees a part: a badge, and the reason; empty for what it sees whole."""

    badge: str = ""
    reason: str = ""


NOT_SEEN = "not seen any more"


class _Document:
    """One session on its way to Markdown."""

    def __init__(self, store: Store, session: str, view: View) -> None:
        self._store = store
        self._session = session
        self._view = view
        self._pieces = sorted(view.pieces, key=lambda piece: piece.first)
        self._starts = [piece.first for piece in self._pieces]
        self._results: dict[str, tuple[Event, Json]] = {}
        self._folded: set[int] = set()
        self._open: tuple[object, ...] = ()
        self._told = ""

    def parts(self) -> Iterator[str]:
        """The document, part by part; between two stands a blank line."""
        self._find_results()
        yield from self._head()
        for event in self._events():
            write = _WRITERS.get(event.type)
            if write is not None and event.version not in self._folded:
                if event.type not in SPEAKERS:
                    self._open = ()
                yield from write(self, event)

    def _events(self) -> Iterator[Event]:
        return self._store.read(self._session, until=self._view.version)

    def _find_results(self) -> None:
        """Know the first result of each call, so that it can stand with the call."""
        calls: set[str] = set()
        for event in self._events():
            for block in blocks(content_of(event.data.get("content"))):
                if kind(block) in CALLS:
                    calls.add(str(call_id(block)))
            if event.type == "tool.result":
                call = str(event.data.get("tool_use_id"))
                if call in calls and call not in self._results:
                    self._results[call] = (event, {"type": RESULT, **event.data})
                    self._folded.add(event.version)

    def _head(self) -> Iterator[str]:
        info = self._store.session(self._session)
        yield f"# {in_html(info.title or info.preview or 'Session')}"
        told = {
            "Session": code_span(info.session),
            "Folder": code_span(info.cwd) if info.cwd else None,
            "Time": f"{clock(info.started)} to {clock(info.last)} (UTC)",
            "Version": f"{self._view.version} of {info.last_version}, head {self._view.head}",
            "Parent": f"{info.parent_kind} of {code_span(info.parent)}" if info.parent else None,
        }
        yield "\n".join(f"* {key}: {value}" for key, value in told.items() if value)
        yield (
            "What happened, in its order. Parts that the model does not see any more at this"
            " version are marked, with the edit or the rewind that took them away."
        )

    # -- conversation ------------------------------------------------------------------------

    def _message(self, event: Event) -> Iterator[str]:
        parts = [
            part
            for number, block in enumerate(blocks(content(event) or []), start=1)
            for part in self._block(event, number, block)
        ]
        if parts:
            yield from self._title(event)
            yield from parts

    def _title(self, event: Event) -> Iterator[str]:
        """Who speaks; nothing where the reply goes on that is open already."""
        seen = self._seen(event)
        title = (event.type, event.data.get("id") or event.version, seen)
        if title != self._open:
            self._open = title
            kind = event.data.get("kind") if event.type == "attachment.added" else None
            what = f"{SPEAKERS[event.type]}{f' ({in_html(str(kind))})' if kind else ''}"
            badge = f" · *{seen.badge}*" if seen.badge else ""
            yield f"### {what} · {event.version} · {clock(event.occurred)}{badge}"
            yield from self._told_once(seen)

    def _told_once(self, seen: _Seen) -> Iterator[str]:
        """Why the model sees it so, where that was not told for what stands before."""
        if seen.reason and seen.reason != self._told:
            yield f"*{seen.badge.capitalize()}: {seen.reason}.*"
        self._told = seen.reason

    def _block(self, event: Event, number: int, block: Json) -> Iterator[str]:
        name = kind(block)
        if name == "text":
            text = str(block.get("text") or "")
            if text.strip():
                yield prose(text) if event.type in _PROSE else self._output(event, text)
        elif name in THINKING:
            text = str(block.get("thinking") or "")
            yield folded("Thinking", prose(text) if text.strip() else "(encrypted)")
        elif name in CALLS:
            yield self._call(block)
        elif name == RESULT:
            yield folded("Result", self._result(event, block))
        elif name in MEDIA:
            yield self._media(event, number, block)
        else:
            yield folded(in_html(name), fenced("\n".join(block_lines(block))))

    def _call(self, block: Json) -> str:
        found = self._results.get(str(call_id(block)))
        failed = " · failed" if found and found[1].get("is_error") is True else ""
        unanswered = "" if found or kind(block) not in ("tool_use",) else " · no result"
        summary = f"<code>{in_html(call_text(block, SUMMARY_CHARS))}</code>{failed}{unanswered}"
        parts = [fenced(dedent("\n".join([*block_lines(block)][1:])))]
        if found:
            event, result = found
            seen = self._seen(event)
            badge = f" · *{seen.badge}*" if seen.badge else ""
            parts += [f"Result · {event.version}{badge}", *self._told_once(seen)]
            parts.append(self._result(event, result))
        return folded(summary, "\n\n".join(parts))

    def _result(self, event: Event, block: Json) -> str:
        parts = []
        for number, inner in enumerate(blocks(content_of(block.get("content"))), start=1):
            if kind(inner) == "text":
                parts.append(self._output(event, str(inner.get("text") or "")))
            elif kind(inner) in MEDIA:
                parts.append(self._media(event, number, inner))
            else:
                parts.append(fenced("\n".join(block_lines(inner))))
        return "\n\n".join(parts) or "(empty)"

    def _output(self, event: Event, text: str) -> str:
        """Text as code, shortened where it is long."""
        lines = text.split("\n")
        kept = "\n".join(lines[:OUTPUT_LINES])[:OUTPUT_CHARS]
        if len(kept) == len(text):
            return fenced(text)
        rest = f"{len(text) - len(kept):,} more characters"
        return f"{fenced(kept)}\n\n… {rest}: {self._pointer(event)}"

    def _media(self, event: Event, number: int, block: Json) -> str:
        handle = f"foldlog:{event.session}/{event.version}#{number}"
        return f"{code_span(media_line(block))}: `foldlog show {handle} --raw -o FILE`"

    def _pointer(self, event: Event) -> str:
        return code_span(f"foldlog show {event.session} {event.version}")

    # -- what the model no longer sees -------------------------------------------------------

    def _seen(self, event: Event) -> _Seen:
        """Whether and why the model sees it otherwise, or not at all."""
        piece = self._piece(event.version)
        if piece is None:
            move = self._view.left_by(event.version)
            return _Seen(NOT_SEEN, f"left behind by the rewind at version {move}")
        if piece.hides:
            return _Seen(NOT_SEEN, f"{self._how(piece)}, {self._edit(piece)}")
        if isinstance(piece.shown, Cleared):
            return _Seen(NOT_SEEN, f"cleared, {self._edit(piece)}")
        if not isinstance(piece.shown, Whole):
            return _Seen("seen in part", f"{piece.shown.kind}, {self._edit(piece)}")
        return _Seen()

    def _piece(self, version: int) -> Piece | None:
        at = bisect_right(self._starts, version) - 1
        return self._pieces[at] if at >= 0 and version <= self._pieces[at].last else None

    def _how(self, piece: Piece) -> str:
        shown = piece.shown
        return f"in the summary {shown.version}" if isinstance(shown, Summary) else shown.kind

    def _edit(self, piece: Piece) -> str:
        assert piece.edit is not None
        rule = str(self._view.event(piece.edit).data.get("rule") or "")
        return f"by edit {piece.edit} ({code_span(rule or '?')})"

    # -- everything else ---------------------------------------------------------------------

    def _system(self, event: Event) -> Iterator[str]:
        text = plain_text(content(event) or [])
        yield folded(f"System prompt · {event.version}", self._output(event, text))

    def _tools(self, event: Event) -> Iterator[str]:
        names = [str(tool.get("name")) for tool in objects(event.data.get("tools"))]
        yield folded(
            f"Tools · {event.version}", "\n".join(f"* {code_span(name)}" for name in names)
        )

    def _summary(self, event: Event) -> Iterator[str]:
        text = "\n".join("\n".join(block_lines(block)) for block in blocks(content(event) or []))
        yield folded(f"Summary · {event.version} · {clock(event.occurred)}", prose(text))

    def _edited(self, event: Event) -> Iterator[str]:
        entries = objects(event.data.get("edits"))
        kinds = {str(entry.get("shown")) for entry in entries}
        what = "Compaction" if kinds & COMPACTING else "Edit"
        ranges = ", ".join(_range(entry) for entry in entries[:6]) + ("…" if entries[6:] else "")
        reason = in_html(str(event.data.get("reason") or ""))
        rule = code_span(str(event.data.get("rule") or "?"))
        told = f"**{what}** · {event.version} · {rule}: {reason}. Covers {ranges}{_saved(event)}."
        yield f"---\n\n{told}\n\n---" if what == "Compaction" else told

    def _unreadable(self, event: Event) -> Iterator[str]:
        reason = in_html(str(event.data.get("reason") or ""))
        yield f"**Unreadable** · {event.version}: {reason}. {self._pointer(event)}"


_WRITERS: dict[str, Callable[[_Document, Event], Iterator[str]]] = {
    **dict.fromkeys(SPEAKERS, _Document._message),
    "system.set": _Document._system,
    "tools.set": _Document._tools,
    "summary.written": _Document._summary,
    "view.edited": _Document._edited,
    "source.unreadable": _Document._unreadable,
}

_PROSE = frozenset({"message.user", "message.assistant"})


def _range(entry: dict[str, Json]) -> str:
    first, last = entry.get("first"), entry.get("last")
    return in_html(f"{first}" if first == last else f"{first} to {last}")


def _saved(event: Event) -> str:
    before, after = event.data.get("tokens_before"), event.data.get("tokens_after")
    if isinstance(before, int) and isinstance(after, int):
        return f"; {before:,} tokens became {after:,}"
    return ""
