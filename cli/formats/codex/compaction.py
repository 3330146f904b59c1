"""A compaction of Codex's: what is sent in place of the conversation so far.

Its line holds the history that replaces all before it: prompts that are kept, context that is put
before the model again, and a summary, a text or an encrypted item. Older versions wrote the summary
alone; the prompts before it are sent as well, the newest first, up to a limit.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

from foldlog.cli.formats.codex import lines
from foldlog.eventstore.codec import dumps
from foldlog.projections.wire.blocks import content_of, plain_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from foldlog.cli.formats.jsonl_source import Record
    from foldlog.cli.formats.openai_blocks import Mapped
    from foldlog.cli.formats.shown_events import ShownEvents
    from foldlog.eventstore.events import Json

KEPT_BYTES = 80_000
"""How much of the prompts an old compaction keeps: 20,000 tokens of four bytes (Codex's public
source, November 2026)."""

NO_SUMMARY = "(no summary available)"
"""What an old compaction without a summary is sent as."""

REASON = "Codex compacted"

START = 1
"""The version of ``session.started``."""

ITEMS = frozenset(
    ["message.user", "message.assistant", "message.system", "attachment.added", "tool.result"]
)
"""The types of events that an item of a replacement history can be."""


class Contents:
    """What the events of a thread hold: an item of a replacement history is found by it.

    Attributes:
        types: The type of each event, by version.
        prompts: The size of each prompt, in bytes, by version.
        covered: The events that a compaction left out.
    """

    def __init__(self) -> None:
        self.types: dict[int, str] = {}
        self.prompts: dict[int, int] = {}
        self.covered: set[int] = set()
        self._digests: dict[int, bytes] = {}

    def note(self, version: int, type_: str, data: Mapping[str, Json]) -> None:
        """Note an event."""
        self.types[version] = type_
        if type_ in ITEMS:
            self._digests[version] = _digest(type_, data)
        if type_ == "message.user":
            words = plain_text(content_of(data.get("content")))
            self.prompts[version] = len(words.encode(errors="replace"))

    def find(self, items: Sequence[Mapped | None], versions: Iterable[int]) -> dict[int, int]:
        """Return the newest event for each item, by the item's place, each event once."""
        by_digest: dict[bytes, list[int]] = {}
        for version in versions:
            if version in self._digests and version not in self.covered:
                by_digest.setdefault(self._digests[version], []).append(version)
        found: dict[int, int] = {}
        for place, item in reversed(list(enumerate(items))):
            same = by_digest.get(_digest(*item)) if item is not None else None
            if same:
                found[place] = same.pop()
        return found


def _digest(type_: str, data: Mapping[str, Json]) -> bytes:
    return sha256(dumps([type_, data.get("tool_use_id"), data.get("content")])).digest()


class Compaction:
    """Carries out one compaction.

    Args:
        shown: What is sent before it.
        contents: What that holds.
        record: Its line.
    """

    def __init__(self, shown: ShownEvents, contents: Contents, record: Record) -> None:
        self._shown, self._contents, self._record = shown, contents, record
        self._before = list(shown.versions)
        self._line = record.value or {}

    def carry_out(self) -> None:
        """Write the summary, and show what Codex sends from here on."""
        payload = lines.payload_of(self._line)
        history, message = payload.get("replacement_history"), payload.get("message")
        if isinstance(history, list):
            self._replace(history, message)
        else:
            self._keep_prompts(message if isinstance(message, str) and message else NO_SUMMARY)

    def _replace(self, history: list[Json], message: Json) -> None:
        """Show a replacement history: what is known where it is said again, the rest as new."""
        items = [lines.mapped(item) if isinstance(item, dict) else None for item in history]
        summaries = [at for at, item in enumerate(history) if lines.is_summary(item, message)]
        place = summaries[-1] if summaries else len(items)
        summary = items[place] if summaries else None
        items[place : place + 1] = [None]
        events = self._contents.find(items, self._before)
        left_out = self._left_out(events.values())
        marks = self._leave_out(left_out, summary.data["content"] if summary else None)
        for at, item in enumerate(items):
            if item is not None and at not in events:
                events[at] = self._put_back(at, item, marks[0])
        before = [events[at] for at in sorted(events) if at < place]
        after = [events[at] for at in sorted(events) if at > place]
        self._show([*before, *left_out, *marks, *after])

    def _keep_prompts(self, summary: str) -> None:
        """Show what an old version sends: the newest prompts, then the summary."""
        kept = self._newest_prompts()
        left_out = self._left_out(kept)
        self._show([*kept, *left_out, *self._leave_out(left_out, summary)])

    def _newest_prompts(self) -> list[int]:
        room, kept = KEPT_BYTES, list[int]()
        for version in reversed(self._before):
            size = self._contents.prompts.get(version)
            if size is None or version in self._contents.covered:
                continue
            if room <= 0:
                break
            kept.append(version)
            room -= size
        return kept[::-1]

    def _left_out(self, kept: Iterable[int]) -> list[int]:
        """Return the events that are not sent any more, ascending."""
        stays = {*kept, START}
        types = self._contents.types
        return sorted(v for v in self._before if v not in stays and types.get(v) != "system.set")

    def _leave_out(self, left_out: list[int], summary: Json) -> list[int]:
        """Write the line and its edit; return their versions."""
        time = self._line.get("timestamp")
        self._contents.covered.update(left_out)
        if summary is not None:
            given = (summary, left_out, self._record)
            return self._shown.summarize(*given, occurred=time, line=self._line, reason=REASON)
        version = self._shown.write("codex.compacted", self._line, self._record, occurred=time)
        key, shown = f"{self._record.key}/shown", {"shown": "hidden"}
        edit = self._shown.edit(shown, left_out, key, of=version, reason=REASON)
        return [version] if edit is None else [version, edit]

    def _put_back(self, place: int, item: Mapped, line: int) -> int:
        """Write what is put before the model again, and was not said so before."""
        restored = {"restored": True} if item.type == "attachment.added" else {}
        key, time = f"{self._record.key}/{place}", self._line.get("timestamp")
        data = {**item.data, **restored}
        version = self._shown.write(item.type, data, key, of=line, occurred=time)
        self._contents.note(version, item.type, item.data)
        return version

    def _show(self, versions: list[int]) -> None:
        """Show these, after what is no conversation and stays in force."""
        shown = set(versions)
        self._shown.only([*(v for v in self._before if v not in shown), *versions])
