"""Whatever a harness leaves out of its list, replaces in it or brings back: nothing twice."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from foldlog.projections import Session
from foldlog.projections.live.recording import Recording
from tests.live.editor import IMAGE, Editor, repeated
from tests.live.harness import problems
from tests.live.test_harness_edits import flat, shown

LONGEST = 60
"""Characters of a preview, and more than any text that is new each time."""


SUMMARIES = ('"Summary of', '"This session')


class Edits(Editor):
    """It edits its list at places that a test names by numbers."""

    def edit(self, kind: str, number: int) -> None:
        getattr(self, f"edit_{kind}")(number)

    def edit_none(self, number: int) -> None:
        """It only talks."""

    def edit_slide(self, number: int) -> None:
        del self.messages[: self._turn(number)]

    def edit_middle(self, number: int) -> None:
        first, last = sorted((self._turn(number), self._turn(number // 5)))
        del self.messages[first:last]

    def edit_keep_first(self, number: int) -> None:
        turns = self.turns()
        if len(turns) > 2:
            del self.messages[turns[1] : self._turn(1 + number % (len(turns) - 1))]

    def edit_clear(self, number: int) -> None:
        for block in self.results()[: number % 4]:
            block["content"] = "[Old tool result content cleared]"

    def edit_preview(self, number: int) -> None:
        for block in self.results()[: number % 4]:
            if isinstance(block["content"], str) and len(block["content"]) > 2 * LONGEST:
                block["content"] = block["content"][:LONGEST] + " [cut]"

    def edit_thinking(self, number: int) -> None:
        self._strip("thinking", self._turn(number))

    def edit_images(self, number: int) -> None:
        self._strip("image", self._turn(number))

    def edit_summary(self, number: int) -> None:
        at = self._turn(number)
        if at > 1:
            text = self.new("Summary of the conversation so far: it is about number")
            self.messages[:at] = [{"role": "user", "content": text}]

    def edit_restart(self, number: int) -> None:
        if len(self.messages) > 1:
            text = self.new("This session is being continued from a previous conversation")
            self.messages = [{"role": "user", "content": text}]

    def edit_image(self, number: int) -> None:
        self.say([IMAGE, {"type": "text", "text": self.new("look at this")}])

    def edit_resume(self, number: int) -> None:
        self.recording = Recording(Session(self.session.store, self.session.id), observe=True)

    def edit_replace(self, number: int) -> None:
        """Something of no known kind: one message says something else."""
        turns = self.turns()
        if turns:
            at = turns[number % len(turns)]
            self.messages[at] = {"role": "user", "content": self.new("replaced")}

    def _turn(self, number: int) -> int:
        """Where one of its turns begins; 0 where there is none."""
        turns = self.turns()
        return turns[number % len(turns)] if turns else 0

    def _strip(self, kind: str, until: int) -> None:
        for message in self.messages[:until]:
            if isinstance(message["content"], list):
                kept = [block for block in message["content"] if block["type"] != kind]
                message["content"] = kept or message["content"]


KINDS = [name.removeprefix("edit_") for name in dir(Edits) if name.startswith("edit_")]
STEPS = st.lists(
    st.tuples(st.sampled_from(KINDS), st.integers(0, 24), st.sampled_from(["say", "work"])),
    min_size=1,
    max_size=16,
)


class TestAnySequenceOfEdits:
    @given(steps=STEPS)
    @settings(max_examples=150, deadline=None)
    def test_each_content_is_recorded_once_and_each_request_is_rebuilt(
        self, steps: list[tuple[str, int, str]]
    ) -> None:
        editor = Edits()
        for turn in ("work", "say", "work"):
            getattr(editor, turn)()
        for kind, number, turn in steps:
            editor.edit(kind, number)
            before = editor.session.version
            getattr(editor, turn)()
            assert editor.session.version - before <= 12
            assert shown(editor.session) == flat(editor.messages), kind
        assert problems(editor.session) == []
        assert repeated(editor.session) == []

    @example(steps=[("restart", 20), ("middle", 18), ("restart", 20)], back=1)
    @given(
        steps=st.lists(st.tuples(st.sampled_from(KINDS), st.integers(0, 24)), max_size=8),
        back=st.integers(0, 7),
    )
    @settings(max_examples=100, deadline=None)
    def test_what_was_left_out_may_come_back(self, steps: list[tuple[str, int]], back: int) -> None:
        editor = Edits()
        for turn in ("work", "say", "work", "say"):
            getattr(editor, turn)()
        kept: list[Any] = []
        for kind, number in steps:
            kept.append(json.loads(json.dumps(editor.messages)))
            editor.edit(kind, number)
            editor.say()
        if kept:
            editor.messages = kept[back % len(kept)]
            editor.say()
            assert shown(editor.session) == flat(editor.messages)
        assert problems(editor.session) == []
        again = [text for text in repeated(editor.session) if not text.startswith(SUMMARIES)]
        assert again == []  # a summary that was left out and comes back is a message
