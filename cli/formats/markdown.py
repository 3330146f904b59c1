"""Export a session as Markdown, to be read by people, on GitHub and elsewhere.

The passages of its narrative become parts of the document: calls are folded with their results,
long outputs are shortened and say how to get the rest, compactions are marked; and whatever the
model does not see any more says so, and why.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import singledispatchmethod
from textwrap import dedent

from foldlog.cli.describe import block_lines, call_text, clock, media_line
from foldlog.cli.formats.markup import code_block, code_span, details, in_html, in_line, prose
from foldlog.cli.formats.telling import ALL, Telling
from foldlog.eventstore import Store
from foldlog.eventstore.events import Json
from foldlog.projections.explain.narrative import (
    Block,
    Call,
    Child,
    Covered,
    Edit,
    Heading,
    Media,
    Note,
    Passage,
    Prompt,
    Result,
    Said,
    SummaryText,
    Thinking,
    Title,
    Toolset,
)
from foldlog.projections.explain.why import Sight
from foldlog.projections.view.pieces import Summary
from foldlog.projections.wire.blocks import kind

OUTPUT_CHARS, OUTPUT_LINES = 2_000, 40
"""How much of an output is shown; the rest is reached by its pointer."""

SUMMARY_CHARS = 80
"""Characters of a call in the line that folds it."""

RANGES = 6
"""The most ranges that are named of what an edit covers."""

SPEAKERS = {
    "user": "User",
    "assistant": "Assistant",
    "system": "System message",
    "tool": "Result",
    "harness": "Attachment",
}

BADGES = {"whole": "", "part": "seen in part", "no": "not seen any more"}


def export_lines(store: Store, session: str, until: int | None = None) -> Iterator[bytes]:
    """Yield the parts of the document, as UTF-8."""
    return export_narrative(store, session, until)


def export_narrative(
    store: Store, session: str, until: int | None = None, telling: Telling = ALL
) -> Iterator[bytes]:
    """Yield the parts of the document of a session, as UTF-8."""
    document = _Document()
    for passage in telling.narrate(store, session, until):
        for part in document.parts(passage):
            yield f"{part}\n\n".encode("utf-8", "backslashreplace")


class _Document:
    """Turns passages into parts of a document; a blank line goes between two parts."""

    def __init__(self) -> None:
        self._reason = ""

    @singledispatchmethod
    def parts(self, passage: object) -> Iterator[str]:
        """Yield the parts that a passage becomes; nothing for one that is not shown."""
        return iter(())

    @parts.register
    def _title(self, title: Title) -> Iterator[str]:
        info, relation = title.info, in_line(title.info.parent_kind or "?")
        yield f"# {in_line(info.title or info.preview or 'Session')}"
        facts = {
            "Session": code_span(info.session),
            "Folder": code_span(info.cwd) if info.cwd else None,
            "Time": f"{clock(info.started)} to {clock(info.last)} (UTC)",
            "Version": f"{title.version} of {info.last_version}, head {title.head}",
            "Parent": f"{relation} of {code_span(info.parent)}" if info.parent else None,
        }
        yield "\n".join(f"* {key}: {value}" for key, value in facts.items() if value)
        yield (
            "What happened, in its order. Parts that the model does not see any more at this"
            " version are marked, with the edit or the rewind that took them away."
        )

    # -- conversation ------------------------------------------------------------------------

    @parts.register
    def _heading(self, heading: Heading) -> Iterator[str]:
        label = f" ({in_line(heading.label)})" if heading.label else ""
        title = f"{SPEAKERS[heading.who or 'system']}{label}"
        badge = _badge(heading.sight)
        yield f"### {title} · {heading.version} · {clock(heading.at)}{badge}"
        yield from self._reason_once(heading.sight)

    def _reason_once(self, sight: Sight) -> Iterator[str]:
        """Yield why the model sees it so, unless that was said of what comes before."""
        reason = _reason(sight)
        if reason and reason != self._reason:
            yield f"*{BADGES[sight.seen].capitalize()}: {reason}.*"
        self._reason = reason

    @parts.register
    def _said(self, said: Said) -> Iterator[str]:
        spoken = said.who in ("user", "assistant")
        yield prose(said.text) if spoken else _output(said, said.text)

    @parts.register
    def _thinking(self, thinking: Thinking) -> Iterator[str]:
        text = thinking.text
        yield details("Thinking", prose(text) if text.strip() else "(encrypted)")

    @parts.register
    def _media(self, media: Media) -> Iterator[str]:
        yield _media_line(media)

    @parts.register
    def _call(self, call: Call) -> Iterator[str]:
        failed = " · failed" if call.result and call.result.failed else ""
        unanswered = " · no result" if call.unanswered else ""
        text = call_text(call.content, SUMMARY_CHARS)
        summary = f"<code>{in_html(text)}</code>{failed}{unanswered}"
        parts = [code_block(dedent("\n".join([*block_lines(call.content)][1:])))]
        parts += [f"Subagent: {code_span(child.session)}" for child in call.children]
        if call.result:
            sight = call.result.sight
            parts += [f"Result · {call.result.version}{_badge(sight)}", *self._reason_once(sight)]
            parts.append(_result(call.result))
        yield details(summary, "\n\n".join(parts))

    @parts.register
    def _single_result(self, result: Result) -> Iterator[str]:
        yield _result(result) if result.who == "tool" else details("Result", _result(result))

    @parts.register
    def _other(self, block: Block) -> Iterator[str]:
        yield details(in_html(kind(block.content) or "?"), _lines(block.content))

    # -- everything else ---------------------------------------------------------------------

    @parts.register
    def _prompt(self, prompt: Prompt) -> Iterator[str]:
        yield details(f"System prompt · {prompt.version}", _output(prompt, prompt.text))

    @parts.register
    def _toolset(self, tools: Toolset) -> Iterator[str]:
        names = "\n".join(f"* {code_span(name)}" for name in tools.names)
        yield details(f"Tools · {tools.version}", names)

    @parts.register
    def _summary(self, summary: SummaryText) -> Iterator[str]:
        text = "\n".join("\n".join(block_lines(block)) for block in summary.blocks)
        yield details(f"Summary · {summary.version} · {clock(summary.at)}", prose(text))

    @parts.register
    def _edit(self, edit: Edit) -> Iterator[str]:
        what = "Compaction" if edit.compacts else "Edit"
        covers = edit.covers
        ranges = ", ".join(map(_range, covers[:RANGES])) + ("…" if covers[RANGES:] else "")
        saved = "; {:,} tokens became {:,}".format(*edit.tokens) if edit.tokens else ""
        head = f"**{what}** · {edit.version} · {code_span(edit.rule or '?')}"
        text = f"{head}: {in_line(edit.reason)}. Covers {ranges}{saved}."
        yield f"---\n\n{text}\n\n---" if edit.compacts else text

    @parts.register
    def _note(self, note: Note) -> Iterator[str]:
        if note.event.type == "source.unreadable":
            reason = in_line(note.reason)
            yield f"**Unreadable** · {note.version}: {reason}. {_pointer(note)}"

    @parts.register
    def _child(self, child: Child) -> Iterator[str]:
        if child.info.parent_kind == "subagent":
            yield f"Subagent: {code_span(child.info.session)}"


def _result(result: Result) -> str:
    return "\n\n".join(map(_result_part, result.parts)) or "(empty)"


def _result_part(part: Block) -> str:
    match part:
        case Said():
            return _output(part, part.text)
        case Media():
            return _media_line(part)
    return _lines(part.content)


def _output(passage: Passage, text: str) -> str:
    """Return text as code, shortened if it is long."""
    kept = "\n".join(text.split("\n")[:OUTPUT_LINES])[:OUTPUT_CHARS]
    if len(kept) == len(text):
        return code_block(text)
    rest = f"{len(text) - len(kept):,} more characters"
    return f"{code_block(kept)}\n\n… {rest}: {_pointer(passage)}"


def _lines(block: Json) -> str:
    return code_block("\n".join(block_lines(block)))


def _media_line(media: Media) -> str:
    """Return an image or a document in words: what it is, and how to get it. It is not loaded."""
    return f"{code_span(media_line(media.content))}: `foldlog show {media.handle} --raw -o FILE`"


def _pointer(passage: Passage) -> str:
    return code_span(f"foldlog show {passage.event.session} {passage.version}")


def _badge(sight: Sight) -> str:
    return f" · *{BADGES[sight.seen]}*" if _reason(sight) else ""


def _reason(sight: Sight) -> str:
    """Return why a passage is not seen whole; nothing if it is, or if no edit or move decides."""
    if sight.seen == "whole" or sight.cause is None:
        return ""
    if sight.shown is None:
        return f"left behind by the rewind at version {sight.cause.version}"
    how = sight.shown.kind
    if isinstance(sight.shown, Summary):
        how = f"in the summary {sight.shown.version}"
    return f"{how}, by edit {sight.cause.version} ({code_span(sight.cause.rule or '?')})"


def _range(covered: Covered) -> str:
    first, last = covered.first, covered.last
    return in_line(f"{first}" if first == last else f"{first} to {last}")
