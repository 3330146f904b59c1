"""What an agent of Kimi Code sends now, and what takes away from it: undo, clear, compaction.

A compaction keeps what a person said, up to a limit, then comes its summary and a note that the
work goes on. Older ones keep the newest messages after the summary.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING

from foldlog.cli.formats.kimi import messages
from foldlog.projections.view.lineage import is_version
from foldlog.projections.wire.blocks import content_of, plain_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from foldlog.cli.formats.jsonl_source import Record
    from foldlog.cli.formats.shown_events import ShownEvents
    from foldlog.eventstore.events import Json

KEPT_TOKENS = 20_000
"""How much of what a person said a compaction keeps whole (2.1.0)."""

GOES_ON = (
    "<system-reminder>\nContext compaction is complete — continue the work that was in progress"
    " when it began.\n</system-reminder>"
)
"""The note that follows a summary (2.1.0)."""


@dataclass(frozen=True, slots=True)
class Said:
    """What an event of the context is.

    Attributes:
        role: ``user``, ``assistant`` or ``tool``.
        is_kept: A person said it: a compaction keeps it.
        is_anchor: An undo counts it.
        is_note: Kimi Code put it before the model by itself.
        id: The id of the message.
        owner: The prompt that a note belongs to.
        tokens: Its size, as Kimi Code estimates it.
        step: The reply that it is part of.
        is_empty: It says nothing: the end of a reply.
    """

    role: str
    is_kept: bool = False
    is_anchor: bool = False
    is_note: bool = False
    id: Json = None
    owner: Json = None
    tokens: int = 0
    step: str | None = None
    is_empty: bool = False

    @classmethod
    def of(cls, found: messages.Mapped, message: Mapping[str, Json]) -> Said:
        """Return what a message is that was appended."""
        origin, role = message.get("origin"), str(message.get("role"))
        known = origin if isinstance(origin, dict) else {}
        is_kept = role == "user" and messages.is_prompt(origin)
        return cls(
            role,
            is_kept=is_kept,
            is_anchor=is_kept and known.get("inTurn") is not True,
            is_note=known.get("kind") == "injection",
            id=message.get("id"),
            owner=known.get("ownerPromptId"),
            tokens=_tokens(role) + _tokens(plain_text(content_of(found.data["content"]))),
        )


RESULT = Said("tool")
SUMMARY = Said("summary")
NOTE = Said("user", is_note=True)
LEFT_OUT = Said("left out")
"""An event that a compaction left out, or the edit that did it."""


class Context:
    """What an agent sends, as events, and what is in force.

    Attributes:
        shown: The events.
        said: What each event of the conversation is, by version.
        behind: The events that each summary is shown for, and its edit, by version.
        system, tools, model: What is in force.
        step: The id of the reply that is open.
        waiting: The calls that have no result: name and version by id.
    """

    def __init__(self, shown: ShownEvents) -> None:
        self.shown = shown
        self.begin()

    def begin(self) -> None:
        """Forget everything: the lines are read from the first."""
        self.shown.only([])
        self.said: dict[int, Said] = {}
        self.behind: dict[int, list[int]] = {}
        self.system: str | None = None
        self.tools: Json = None
        self.model: str | None = None
        self.step: str | None = None
        self.waiting: dict[str, tuple[str, int]] = {}

    def note(self, version: int, said: Said) -> None:
        """Note what an event is."""
        self.said[version] = said

    def conversation(self) -> list[int]:
        """Return the events of the conversation, in order."""
        said = self.said
        return [v for v in self.shown.versions if said.get(v, LEFT_OUT) is not LEFT_OUT]

    def clear(self) -> None:
        """Take all of the conversation away."""
        self._keep([])

    def undo(self, count: Json) -> None:
        """Take back the last prompts and what followed them, unless a summary is before them."""
        shown = self.conversation()
        anchors = [at for at, version in enumerate(shown) if self.said[version].is_anchor]
        summaries = [at for at, version in enumerate(shown) if self.said[version] is SUMMARY]
        undone = [at for at in anchors if not summaries or at > summaries[-1]]
        if not is_version(count) or not 0 < count <= len(undone):
            return
        cut = undone[-count]
        prompt = self.said[shown[cut]]
        while cut > 0 and prompt.id is not None and self._owner(shown[cut - 1]) == prompt.id:
            cut -= 1
        self._keep([*shown[:cut], *(v for v, said in self.said.items() if said is LEFT_OUT)])

    def _owner(self, version: int) -> Json:
        said = self.said[version]
        return said.owner if said.is_note else None

    def _keep(self, versions: list[int]) -> None:
        """Show only these of the conversation, and all that is not of it."""
        kept = set(versions)
        self.shown.only(v for v in self.shown.versions if v in kept or v not in self.said)
        self.said = {v: said for v, said in self.said.items() if v in kept}
        self.waiting.clear()

    def with_behind(self, versions: list[int]) -> list[int]:
        """Return events, each summary after those that it is shown for."""
        return [v for version in versions for v in (*self.behind.get(version, ()), version)]

    def messages(self) -> list[list[int]]:
        """Return the events of each message, as Kimi Code counts messages: a reply is one."""
        found: list[list[int]] = []
        replies: dict[str, list[int]] = {}
        for version in self.conversation():
            step = self.said[version].step
            if step is not None and step in replies:
                replies[step].append(version)
                continue
            found.append([version])
            if step is not None:
                replies[step] = found[-1]
        return [group for group in found if not all(self.said[v].is_empty for v in group)]


class Compaction:
    """Carries out one compaction.

    Args:
        context: What is sent before it.
        record: Its line.
    """

    def __init__(self, context: Context, record: Record) -> None:
        self._context, self._record = context, record
        self._line = record.value or {}

    def carry_out(self) -> bool:
        """Show the summary in place of what it stands for; return False if there is none."""
        summary = _summary(self._line)
        if summary is None:
            return False
        if self._line.get("legacyTail", "keptUserMessageCount" not in self._line) is True:
            self._keep_tail(summary)
        else:
            self._keep_prompts(summary)
        return True

    def _keep_tail(self, summary: Json) -> None:
        """Show the summary, then the newest messages."""
        count = self._line.get("compactedCount", self._line.get("count"))
        groups = self._context.messages()
        tail = [v for group in groups[count:] for v in group] if is_version(count) else []
        self._replace([], summary, tail)

    def _keep_prompts(self, summary: Json) -> None:
        """Show what a person said, then the summary and a note that the work goes on."""
        marks = self._replace(self._prompts(), summary, [])
        key, data = f"{self._record.key}/continuation", {"content": GOES_ON, "restored": True}
        named: dict[str, Json] = {"kind": "injection", "name": "compaction_continuation"}
        note = self._context.shown.write("attachment.added", {**named, **data}, key, of=marks[0])
        self._context.note(note, NOTE)

    def _prompts(self) -> list[int]:
        """Return what a person said, as far as it is kept: the first and the last of it."""
        said = self._context.said
        prompts = [v for v in self._context.conversation() if said[v].is_kept]
        kept = self._line.get("keptUserMessageCount")
        head = self._line.get("keptHeadUserMessageCount")
        if sum(said[v].tokens for v in prompts) <= KEPT_TOKENS or not is_version(kept):
            return prompts
        first = min(head, kept) if is_version(head) else 0
        last = min(kept - first, len(prompts) - first)
        return [*prompts[:first], *(prompts[-last:] if last > 0 else [])]

    def _replace(self, before: list[int], summary: Json, after: list[int]) -> list[int]:
        """Write the summary for all but these, and show it between them."""
        context = self._context
        before, after = context.with_behind(before), context.with_behind(after)
        kept = {*before, *after}
        left_out = sorted(v for v in context.said if v not in kept)
        tokens = self._line.get("tokensBefore")
        marks = context.shown.summarize(
            summary,
            left_out,
            self._record,
            occurred=self._line.get("time"),
            line=self._line,
            reason="Kimi Code compacted",
            tokens_before=tokens if is_version(tokens) else None,
        )
        moved = {*kept, *left_out, *marks}
        others = [v for v in context.shown.versions if v not in moved]
        context.shown.only([*others, *before, *left_out, *marks, *after])
        context.said |= dict.fromkeys([*left_out, *marks], LEFT_OUT)
        context.note(marks[0], SUMMARY)
        context.behind[marks[0]] = [*left_out, *marks[1:]]
        context.waiting.clear()
        return marks


def _summary(line: Mapping[str, Json]) -> Json:
    """Return the summary as the model sees it; None where the line has none."""
    shown, summary = line.get("contextSummary"), line.get("summary")
    if isinstance(shown, str):
        return shown
    if isinstance(summary, dict) and isinstance(summary.get("content"), list):
        return messages.content(summary["content"])
    return summary if isinstance(summary, str) else None


def _tokens(text: str) -> int:
    """Return the tokens of a text as Kimi Code estimates them."""
    ascii = sum(1 for character in text if character.isascii())
    return ceil(ascii / 4) + len(text) - ascii
