"""What a rule decides: data, with all the text that showing it needs.

A rule gives one of these or None. ``Edits`` are free; ``Summarize`` asks for a text; ``Restore``
and ``ApiRequestExtras`` go with what the plan does.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from foldlog.eventstore.events import EventDraft, Json
from foldlog.projections.summaries.prompts import Prompt, prompt, prompts
from foldlog.projections.summaries.task import SummaryTask, stretch
from foldlog.projections.view.lineage import Range
from foldlog.projections.view.view import View
from foldlog.projections.wire.blocks import Content, text

if TYPE_CHECKING:
    from foldlog.projections.summaries.attempt import Accepted

DIGEST, FACTS = "digest", "facts"
"""What a policy names in place of a prompt where no model may be asked; the prompt that is used for
it, since a task has one."""

Entry: TypeAlias = dict[str, Any]
"""An entry of an edit, as it stands in ``view.edited``."""


@dataclass(frozen=True, slots=True)
class File:
    """A file that should be there before the edit that names it is recorded.

    Attributes:
        path: Where; the texts of the edits name it.
        text: What it holds.
    """

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class Edits:
    """Ranges to be shown differently. Free: no model is asked.

    Attributes:
        edits: The entries.
        reason: Why, for a person to read.
        attach: What is put before the model once more, after everything.
        files: What the texts of the entries name, where a policy materializes.
        via: ``server`` where the API is asked to do the same (see ``ApiRequestExtras``).
    """

    edits: tuple[Entry, ...]
    reason: str
    attach: tuple[EventDraft, ...] = ()
    files: tuple[File, ...] = ()
    via: str | None = None


@dataclass(frozen=True, slots=True)
class Summarize:
    """Ranges to be replaced by a summary.

    Attributes:
        ranges: The versions that it stands for, in their order. It is shown once, where the first
            of ``shown_at`` stands.
        reason: Why, for a person to read.
        frame: The text around it, with ``{summary}`` or ``{summary_json}`` where it goes.
        quoted: The content of the active request, where the frame quotes it: a ``{request}`` in it.
        request: The version of the request that is quoted.
        hidden: Those of the ranges that stand before the place where the summary is shown; and what
            within it belongs to them.
        text: The text itself, where it exists and no model must be asked.
        label: What it is called in the frame and for people.
        prompt: The name of the prompt.
        sections: The headings that it must have, in their order.
        instructions: What a person wants it to keep in mind.
        previous: The ``summary.written`` among the ranges that it carries on.
        max_tokens: The most tokens of the reply.
        attempts: How often a model may be asked in one turn of the user.
        input_chars: The first and the last characters of the input that a model is given; None for
            all of it.
        review: Whether a second call checks it.
        progress: The share of the tokens that must come free.
        target: The most that the view may take afterwards, in the unit of the policy.
        whole: It means to take what the model has not seen yet.
        files: What the frame names, where a policy materializes.
        covers: All that it stands for: the ranges, and what summaries among them stood for; empty
            where that is the same.
        by: Who wrote the text that is at hand: the ``host``, or the ``log``.
    """

    ranges: tuple[Range, ...]
    reason: str
    frame: str
    quoted: Content | None = None
    request: int | None = None
    hidden: tuple[Range, ...] = ()
    text: str | None = None
    label: str = "Compacted"
    prompt: str = "facts"
    sections: tuple[str, ...] = ()
    instructions: str | None = None
    previous: int | None = None
    max_tokens: int = 2_000
    attempts: int = 2
    input_chars: tuple[int, int] | None = None
    review: bool = False
    progress: float = 0.0
    target: int | None = None
    whole: bool = False
    files: tuple[File, ...] = ()
    covers: tuple[Range, ...] = ()
    by: str = "host"

    def up_to(self, version: int) -> Summarize:
        """Return the same for the versions up to one."""
        return replace(
            self,
            ranges=tuple((a, min(b, version)) for a, b in self.ranges if a <= version),
            hidden=tuple((a, min(b, version)) for a, b in self.hidden if a <= version),
        )

    def content(self, summary: str) -> Content:
        """Return the summary in its frame: the ``content`` of ``summary.written``.

        A list of blocks where the request that is quoted is more than a text.
        """
        words = {"summary": summary, "summary_json": json.dumps(summary, ensure_ascii=False)}
        if self.quoted is None or isinstance(self.quoted, str):
            return filled(self.frame, {**words, "request": self.quoted or ""})
        before, _, after = self.frame.partition("{request}")
        blocks: list[Json] = [text(filled(before, words)), *self.quoted, text(filled(after, words))]
        return blocks

    def written(self, summary: str, **more: Json) -> EventDraft:
        """Return the ``summary.written`` of it.

        Args:
            more: What else is known: ``raw``, ``model``, ``usage``, ``prompt`` …
        """
        shown = self.content(summary)
        body = {"text": shown} if isinstance(shown, str) else {"content": shown}
        quotes = {} if self.request is None else {"request": self.request}
        covers = [list(part) for part in self.covers or self.ranges]
        return EventDraft("summary.written", {**body, "covers": covers, **quotes, **more})

    def accepted(self, found: Accepted) -> EventDraft:
        """Return the ``summary.written`` of an accepted reply, in the frame.

        The API's own block has no frame: it is sent back as it came.
        """
        if found.reply.block is None:
            return self.written(found.reply.text, **found.fields())
        covers = [list(part) for part in self.covers or self.ranges]
        data = {"content": [found.reply.block], "covers": covers, **found.fields()}
        return EventDraft("summary.written", data)

    def task(self, view: View, instructions: Sequence[str] = ()) -> SummaryTask:
        """Return what a summarizer is given.

        Args:
            view: The view as the free edits of the plan leave it.
            instructions: What hooks want it to keep in mind, after what the person wants.
        """
        own = (self.instructions,) if self.instructions else ()
        return SummaryTask.of(
            view,
            self.ranges,
            self._prompt(view),
            sections=self.sections,
            required=self.sections,
            max_tokens=self.max_tokens,
            input_chars=self.input_chars,
            review=self.review,
            instructions=(*own, *instructions),
        )

    def _prompt(self, view: View) -> Prompt:
        """Return the prompt; where the beginning stays, the one for the recent part, if any."""
        name = FACTS if self.prompt == DIGEST else self.prompt
        recent = f"{name}-recent"
        if recent in prompts() and stretch(view, self.ranges).before:
            return prompt(recent)
        return prompt(name)

    def edits(self, version: int) -> tuple[Entry, ...]:
        """Return the entries that show it, once ``summary.written`` has that version."""
        gone = [
            {"first": a, "last": b, "shown": "hidden"}
            for a, b in self.hidden
            if (a, b) in self.ranges
        ]
        shown = [
            {"first": a, "last": b, "shown": "summary", "summary": version}
            for a, b in self.ranges
            if (a, b) not in self.hidden
        ]
        within = [
            {"first": a, "last": b, "shown": "hidden"}
            for a, b in self.hidden
            if (a, b) not in self.ranges
        ]
        return (*gone, *shown, *within)


@dataclass(frozen=True, slots=True)
class Allowance:
    """How much of one kind comes back.

    Attributes:
        count: The most of them; None for any number.
        each: The most tokens of one; longer ones are cut off.
        total: The most tokens of all.
    """

    count: int | None = None
    each: int | None = None
    total: int | None = None


@dataclass(frozen=True, slots=True)
class Restore:
    """What comes back after a summary, as attachments, the kinds in their order.

    Attributes:
        kinds: ``files``, ``skills``, ``plan``, ``tasks``, ``agents``, ``tools``, ``rules``, and
            how much of each.
        total: The most tokens of all kinds together.
        reason: Why, for a person to read.
    """

    kinds: Mapping[str, Allowance]
    total: int
    reason: str = "what the summary cannot hold"


@dataclass(frozen=True, slots=True)
class ApiRequestExtras:
    """What the next request asks the API to do itself.

    Attributes:
        params: Merged into the request: ``{"context_management": {…}}``.
        betas: The beta headers that it needs.
        reason: Why, for a person to read.
    """

    params: Mapping[str, Any] = field(default_factory=dict)
    betas: tuple[str, ...] = ()
    reason: str = "the API clears and compacts by itself"

    def added_to(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return a request that asks for it: objects are merged by name, ``betas`` are joined."""
        added = _merged(request, self.params)
        betas = dict.fromkeys([*(request.get("betas") or ()), *self.betas])
        return added | ({"betas": list(betas)} if betas else {})


Decision: TypeAlias = Edits | Summarize | Restore | ApiRequestExtras | None


def filled(template: str, words: Mapping[str, str]) -> str:
    """Fill in the ``{names}`` of a template; braces in what is filled in stay as they are."""
    return re.sub(r"\{(\w+)\}", lambda m: words.get(m[1], m[0]), template)


def _merged(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    both = {
        key: _merged(one[key], value)
        for key, value in other.items()
        if isinstance(value, Mapping) and isinstance(one.get(key), Mapping)
    }
    return {**one, **other, **both}
