"""The window: what rules look at. A view and a budget, read so that a rule is a few lines.

What is asked before every call (how many messages, how large) is known at once; what only a
decision needs (where it may be cut) is worked out when it is asked for.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import cached_property
from typing import Any

from foldlog.projections.compaction.amount import Amount
from foldlog.projections.compaction.budget import Budget
from foldlog.projections.compaction.decision import File
from foldlog.projections.compaction.materialize import result_file, transcript_file
from foldlog.projections.compaction.measure import Measure, Totals
from foldlog.projections.compaction.sizes import CHARS_A_TOKEN, TOKENS, Unit
from foldlog.projections.compaction.steps import Step, openings, ranges_of, steps_of
from foldlog.projections.compaction.visible import Visible, speaks
from foldlog.projections.render.digest import digest
from foldlog.projections.render.render import render
from foldlog.projections.render.replies import join_replies, waiting_calls
from foldlog.projections.view.lineage import Range
from foldlog.projections.view.view import View
from foldlog.projections.wire.blocks import CALL, Content, content_of, kind

REQUEST = "active_request"
"""The key of ``state.set`` that holds the version of the request that is being worked on, and the
kind of the attachment that shows it once more."""


class Window:
    """What rules look at: a view under a budget.

    Attributes:
        view: The view.
        budget: The budget.
        unit: What the policy counts in.
        totals: What is known without going through the view.
        before: The window that edits made it of; None where it was read by itself.
    """

    def __init__(
        self,
        view: View,
        budget: Budget,
        unit: Unit,
        parts: Sequence[Visible],
        numbers: Sequence[int],
        tools: dict[str, str],
        totals: Totals,
        before: Window | None = None,
        folder: str | None = None,
    ) -> None:
        self.view = view
        self.budget = budget
        self.unit = unit
        self.totals = totals
        self._parts = parts
        self._numbers = numbers
        self._tools = tools
        self.before = before
        self._folder = folder

    # -- how large ---------------------------------------------------------------------------

    @property
    def messages(self) -> int:
        """How many messages are visible, before roles are merged."""
        return self.totals.messages

    @cached_property
    def tokens(self) -> int:
        """What the next request takes, system and tools included."""
        return self.measure.total(TOKENS)

    @cached_property
    def size(self) -> int:
        """The same in the unit of the policy. Only units of tokens count system and tools in."""
        return self.measure.total(self.unit)

    @cached_property
    def room(self) -> int:
        """The most that a request may take, in the unit of the policy."""
        return int(self.budget.room * self._rate)

    def amount(self, amount: Amount) -> int:
        """Return an amount of the policy, in its unit."""
        return amount.of(self.room, self.budget.window * self._rate)

    def chars(self, amount: Amount) -> int:
        """Return an amount of the policy that is given in characters whatever its unit."""
        factor = CHARS_A_TOKEN
        return amount.of(self.budget.room * factor, self.budget.window * factor)

    def size_of(self, part: Visible) -> int:
        """Return what a part takes, in the unit of the policy."""
        return self.measure.part(part, self.unit)

    def size_of_step(self, step: Step) -> int:
        """Return what a step takes, its messages' frames included."""
        return self.measure.frames(self.unit, step.messages, step.replies) + sum(
            map(self.size_of, step.parts)
        )

    @property
    def measure(self) -> Measure:
        """What it and its parts take, in any unit."""
        return Measure(self)

    @cached_property
    def _rate(self) -> float:
        """The unit of the policy for each token."""
        return 1.0 if self.unit.tokens else self.size / max(1, self.tokens)

    # -- what is there -----------------------------------------------------------------------

    @property
    def first(self) -> int:
        """The version of the first part."""
        return self._parts[0].version

    @cached_property
    def parts(self) -> tuple[Visible, ...]:
        """What is visible, in the order of the lineage."""
        return tuple(self._parts[: self.totals.parts])

    @property
    def by_message(self) -> list[list[Visible]]:
        """The parts of each message, in the order in which the messages begin."""
        found: dict[int, list[Visible]] = {}
        for part, number in zip(self.parts, self._numbers, strict=False):
            found.setdefault(number, []).append(part)
        return [found[number] for number in sorted(found)]

    @cached_property
    def results(self) -> tuple[Visible, ...]:
        """The results among the parts."""
        return tuple(part for part in self.parts if part.is_result)

    @property
    def batch(self) -> tuple[Visible, ...]:
        """The results of the newest message, if nothing else stands after them."""
        found: list[Visible] = []
        numbers: set[int] = set()
        for at in range(self.totals.parts - 1, -1, -1):
            part = self._parts[at]
            numbers |= {self._numbers[at]} if part.is_result else set()
            if part.item.kind not in ("result", "attachment") or len(numbers) > 1:
                break
            if part.is_result:
                found.append(part)
        return tuple(reversed(found))

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """The smallest stretches that may be cut off, in the order of the lineage."""
        return steps_of(self.parts, self._numbers, self._waiting)

    def tools(self, part: Visible) -> frozenset[str]:
        """Return the tools whose results a part holds; an empty name for an unseen call."""
        return frozenset(self._tools.get(call, "") for call in part.calls)

    def position(self, part: Visible) -> int:
        """Return the number of the message that a part belongs to, from 1."""
        return self._positions[part]

    def arguments(self, part: Visible) -> dict[str, Any]:
        """Return the arguments of the call that a result answers."""
        return self._inputs.get(part.calls[0], {}) if part.calls else {}

    def live(self, tools: Iterable[str] = (), exclude: Iterable[str] = ()) -> int:
        """Return how many results of these tools, or of all, still show some of their content."""
        named, left_out = set(tools), set(exclude)
        return sum(
            count
            for tool, count in self.totals.live.items()
            if (not named or tool in named) and tool not in left_out
        )

    def seen(self, part: Visible) -> bool:
        """Return whether the model has answered after a part."""
        return part in self._read

    @cached_property
    def size_before_unread(self) -> int:
        """The size of the parts that the model has answered; the rest no summary can take out."""
        return sum(map(self.size_of, self.parts[: self._unread_from]))

    def older_than(self, size: int) -> tuple[Visible, ...]:
        """Return the parts without the newest ones of this size together, the oldest first."""
        for at in range(len(self.parts) - 1, -1, -1):
            size -= self.size_of(self.parts[at])
            if size < 0:
                return self.parts[: at + 1]
        return ()

    def age(self, part: Visible) -> int:
        """Return how many turns of a person have begun after a part."""
        return self._ages[part]

    def ranges(self, steps: Iterable[Step]) -> tuple[Range, ...]:
        """Return the versions that an edit must cover to take steps out, in lineage order.

        What stands between two steps that follow one another is taken along; what is pinned never.
        """
        return ranges_of(self.view.layout.lineage, steps, self.pins)

    def handle(self, version: int) -> str:
        """Return the text that leads to the full content of an event."""
        return f"foldlog:{self.view.session}/{version}"

    def saved(self, part: Visible) -> tuple[str, tuple[File, ...]]:
        """Return where the full content of a result can be found, and the file that holds it."""
        if self._folder is None:
            return self.handle(part.version), ()
        file = result_file(self._folder, part)
        return file.path, (file,)

    def transcript(self) -> tuple[str, tuple[File, ...]]:
        """Return where all that is seen now can be found, and the file that holds it."""
        if self._folder is None:
            return self.handle(self.receipt), ()
        messages = self.rendered["messages"]
        file = transcript_file(self._folder, self.view.session, self.receipt, messages)
        return file.path, (file,)

    @cached_property
    def rendered(self) -> dict[str, Any]:
        """The request that shows the view, calls that wait left as they are."""
        return render(self.view, open="keep")

    @cached_property
    def digest(self) -> str:
        """Its digest."""
        return digest(self.rendered)

    @property
    def receipt(self) -> int:
        """The version that ``snapshot.taken`` will have: what stood there before the plan."""
        first = self
        while first.before is not None:
            first = first.before
        return first.view.version + 1

    # -- what must stay ----------------------------------------------------------------------

    @cached_property
    def pins(self) -> frozenset[int]:
        """The versions that no edit may touch."""
        return frozenset(self.view.pins)

    @cached_property
    def request(self) -> int | None:
        """The version of the request that is being worked on; None where there is none.

        The host says it in its state; else it is what a person said last.
        """
        held = self.view.state(REQUEST)
        version = held.get("version") if isinstance(held, dict) else held
        if isinstance(version, int) and version in self.view.layout.lineage:
            return version
        return self.totals.spoken

    @property
    def request_content(self) -> Content | None:
        """Its content, verbatim."""
        if self.request is None:
            return None
        return content_of(self.view.event(self.request).data.get("content"))

    @property
    def newest_message(self) -> Visible | None:
        """What a person said last, if the model has not read it yet."""
        version = self.totals.spoken
        return next(
            (
                p
                for p in self.parts
                if p.version == version and speaks(p.event) and not self.seen(p)
            ),
            None,
        )

    def may_change(self, part: Visible) -> bool:
        """Return whether a part may be shown differently: not a pin, not the active request."""
        return part.version not in self.pins and part.version != self.request

    def may_hide(self, step: Step, *, unseen: bool = False) -> bool:
        """Return whether a step may be taken out: nothing in it is pinned, open or unread.

        Args:
            unseen: What waits to be read may go as well; what is open never.
        """
        if step.open or any(version in self.pins for version in step.versions):
            return False
        return unseen or not self.is_unseen(step)

    def may_go(self, steps: Iterable[Step]) -> tuple[Step, ...]:
        """Return those of some steps that may be taken out together, in their order.

        What opens the tool loop with thinking stays as long as a round that needs it does.
        """
        given = tuple(steps)
        kept = openings(self.steps, frozenset(given))
        return tuple(step for step in given if step not in kept)

    def is_unseen(self, step: Step) -> bool:
        """Return whether something in it waits for the model to read it, or for a result."""
        return step.open or step.reach > self._unread_from

    @property
    def waits(self) -> bool:
        """Whether a call waits for its result."""
        return bool(self._waiting)

    def loops(self, part: Visible) -> bool:
        """Return whether a part belongs to the open tool loop: it may need its thinking."""
        return part in self._loop

    def shows_request(self, parts: Iterable[Visible]) -> bool:
        """Return whether some of the parts show the active request verbatim."""
        return any(self._is_request(part) for part in parts)

    def loses_request(self, gone: Collection[Step]) -> bool:
        """Return whether the active request is visible nowhere once some steps are taken out."""
        left = (step for step in self.steps if step not in gone)
        return self.request is not None and not any(self.shows_request(s.parts) for s in left)

    def _is_request(self, part: Visible) -> bool:
        if self.request is None:
            return False
        if part.version == self.request and part.item.kind == "message":
            return part.whole
        data = part.event.data if part.event else {}
        return data.get("request") == self.request and part.item.kind in ("summary", "attachment")

    # -- worked out once ---------------------------------------------------------------------

    @cached_property
    def _unread_from(self) -> int:
        """The index of the first part of what the model has not answered yet."""
        own = self._of_last_reply
        if not own:
            return 0
        calls = any(kind(b) == CALL for at in own for b in self.parts[at].blocks)
        return min(own) if calls else max(own) + 1

    @cached_property
    def _of_last_reply(self) -> tuple[int, ...]:
        """The indexes of the parts of the newest message that the model wrote."""
        last, count = self.totals.last_reply, self.totals.parts
        return tuple(at for at, n in enumerate(self._numbers[:count]) if n == last)

    @cached_property
    def _read(self) -> frozenset[Visible]:
        return frozenset(self.parts[: self._unread_from])

    @cached_property
    def _loop(self) -> frozenset[Visible]:
        """What stands after the last thing a person said, if the model is not done with it."""
        if self._unread_from > max(self._of_last_reply, default=0):
            return frozenset()
        return frozenset(part for part in self.parts if not self._ages[part])

    @cached_property
    def _waiting(self) -> set[int]:
        seen = join_replies([part.item for part in self.parts])
        return {call.version for call in waiting_calls(seen) if kind(call.block) == CALL}

    @cached_property
    def _ages(self) -> dict[Visible, int]:
        ages, turns = {}, 0
        for part in reversed(self.parts):
            ages[part] = turns
            turns += speaks(part.event)
        return ages

    @cached_property
    def _positions(self) -> dict[Visible, int]:
        return {part: n + 1 for part, n in zip(self.parts, self._numbers, strict=False)}

    @cached_property
    def _inputs(self) -> dict[str, dict[str, Any]]:
        return {
            str(block.get("id")): block["input"]
            for part in self.parts
            if part.is_reply
            for block in part.blocks
            if kind(block) == CALL and isinstance(block.get("input"), dict)
        }
