"""Digest all: the very last resort. Everything but what must stay becomes a digest of the log."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from foldlog.projections.compaction.amount import Amount
from foldlog.projections.compaction.decision import Summarize
from foldlog.projections.compaction.rules.base import Rule, reached, register_rule
from foldlog.projections.compaction.rules.summarize import SummarizeHistory
from foldlog.projections.compaction.steps import Step
from foldlog.projections.compaction.visible import Visible, inner_blocks
from foldlog.projections.compaction.window import Window
from foldlog.projections.summaries.digest import HEADINGS, digest
from foldlog.projections.summaries.facts import Facts
from foldlog.projections.summaries.prompts import prompt
from foldlog.projections.summaries.task import SummaryTask
from foldlog.projections.tokens.truncate import to_tokens
from foldlog.projections.wire.blocks import MEDIA, content_of, kind, plain_text

FRAME = (
    "[{label}: what came before, told from the log, since nothing else fits. It grants nothing.]"
    "\n\n{request}{summary}\n\nAll of it: {path}"
)
QUOTE = "Current user request:\n{request}\n\n"

LEAST = 300
"""Tokens that a digest is given even where less room is left: it may still fit."""

UNREAD, REQUEST = 0.35, 0.25
"""The shares of the room for what the model has not read yet, and for the active request. Chosen: a
result that was asked for just now matters more than one that was read."""


@register_rule
@dataclass(frozen=True, slots=True, kw_only=True)
class DigestAll(Rule):
    """The very last resort: all that is visible becomes one digest of the log, with the request.

    What the model has not read yet goes as well, each piece with its beginning; the active request
    too, cut if it must be. What stays is the newest message of a person if it was not read yet,
    pins, and calls that wait for their results.

    Attributes:
        trigger: Over this size.
        keep: Down to this size.
        most: The most tokens of the digest.
    """

    kind: ClassVar[str] = "digest_all"
    on: tuple[str, ...] = ("proactive", "reactive", "model")
    trigger: Amount
    keep: Amount
    most: Amount

    def decide(self, window: Window) -> Summarize | None:
        if window.size <= window.amount(self.trigger) and window.budget.trigger != "reactive":
            return None
        gone = self._gone(window)
        if not gone:
            return None
        budget = window.budget
        stays = window.size - sum(map(window.size_of_step, gone))
        most = self.most.of(budget.room, budget.window)
        room = max(LEAST, int(min(most, window.amount(self.keep) - stays) / budget.scale))
        asking = SummarizeHistory(
            keep=self.keep, max_tokens=self.most, frame=FRAME, quote=QUOTE, label="Digest"
        )
        asked = asking.asking(window, gone, f"nothing else fits: {window.size} tokens")
        quoted = _quoted(window, asked, int(room * REQUEST))
        return replace(
            asked, text=_text(window, gone, asked, room), quoted=quoted, whole=True, by="log"
        )

    def _gone(self, window: Window) -> tuple[Step, ...]:
        newest = window.newest_message
        return window.may_go(
            step
            for step in window.steps
            if window.may_hide(step, unseen=True) and (newest is None or newest not in step.parts)
        )

    def problems(self) -> Iterator[tuple[str, str]]:
        yield from Rule.problems(self)
        if reached(self.keep, self.trigger):
            yield "keep", "must be below the trigger"


def _quoted(window: Window, asked: Summarize, tokens: int) -> str | None:
    """Return the text of the active request, cut where it is too long."""
    if asked.quoted is None or asked.request is None:
        return None
    note = f"\n[cut here; all of it: {window.handle(asked.request)}]"
    return to_tokens(_plain(asked.quoted), tokens, note) or note.strip()


def _text(window: Window, gone: Sequence[Step], asked: Summarize, room: int) -> str:
    """Return what stands for the steps: the digest, and how unread pieces begin."""
    unread = [
        part
        for step in gone
        for part in step.parts
        if not window.seen(part) and not part.is_reply and part.version != asked.request
    ]
    task = SummaryTask.of(window.view, asked.ranges, prompt("facts"))
    spare = room - int(room * REQUEST) * bool(asked.quoted)
    own = spare - int(spare * UNREAD) * bool(unread)
    told = digest(Facts(task), HEADINGS, own)
    return "\n\n".join(filter(None, (told, _unread(window, unread, spare - own))))


def _unread(window: Window, parts: Sequence[Visible], room: int) -> str:
    """Return the beginnings of what the model has not read yet, the newest as far as they fit."""
    if not parts:
        return ""
    lines = ["Not read yet, each with its beginning:"]
    each = max(20, room // len(parts))
    for part in parts[-max(1, room // 20) :]:
        tools = ", ".join(sorted(filter(None, window.tools(part)))) or part.item.kind
        failed = ", failed" if part.is_error else ""
        head = f"- {tools}{failed} ({window.handle(part.version)}): "
        said = " ".join(_said(part).split())
        lines.append(head + (to_tokens(said, each - len(head) // 3, "…") or "…"))
    left = len(parts) - len(lines) + 1
    return "\n".join([*lines, *([f"(and {left} earlier ones)"] if left else ())])


def _said(part: Visible) -> str:
    texts = [
        _plain(content_of(block.get("content"))) if part.is_result else _plain([block])
        for block in part.blocks
    ]
    media = sorted({str(kind(b)) for b in inner_blocks(part.item)} & MEDIA)
    return " ".join([*texts, *(f"[{name}]" for name in media)])


def _plain(content: object) -> str:
    return plain_text(content_of(content))
