"""Any session of an agent: turns of tool loops, as harnesses record them.

Parallel calls, failed results, thinking, images, replies in several events, server tools, pins,
attachments, rewinds, results that are still to come, and results that came long after their calls
were closed as interrupted.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from foldlog.eventstore.events import Event, EventDraft
from foldlog.projections.render.replies import interruption
from tests.projections.build import assistant, call, later, moved, result, state, thinking, user

SIZES = st.sampled_from([3, 40, 400, 4_000, 12_000, 35_000])
TOOLS = st.sampled_from(["Bash", "Read", "read_file", "skill", "Edit"])
WORDS = "the quick brown fox jumps over the lazy dog and then it reads on "
IMAGE = {
    "type": "image",
    "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="},
}


def words(size: int, start: int = 0) -> str:
    """Prose of some length, another one for each start."""
    return f"{start} " + (WORDS * (size // len(WORDS) + 1))[:size]


@st.composite
def sessions(draw: DrawFn, turns: int = 5, model: str | None = None) -> list[Event]:
    """A session of up to so many turns; the newest may wait for the model, or for a result."""
    maker = _Maker(draw, model)
    for _ in range(draw(st.integers(1, turns))):
        maker.turn()
    maker.end()
    return maker.events


class _Maker:
    def __init__(self, draw: DrawFn, model: str | None) -> None:
        self._draw = draw
        self._model = model
        self._late: list[str] = []
        self.events: list[Event] = []

    def turn(self) -> None:
        """What a person says, a tool loop, and the answer."""
        self._maybe_rewind()
        self._maybe_interrupted()
        self._say()
        for _ in range(self._draw(st.integers(0, 6))):
            self._exchange()
            self._maybe_late()
        self._add(self._reply("That is done."))
        self._maybe_pin()

    def end(self) -> None:
        """The newest turn: nothing, a request, results to be read, or a call that waits."""
        how = self._draw(st.sampled_from(["done", "asked", "results", "open"]))
        if how != "done":
            self._say()
        if how in ("results", "open"):
            for _ in range(self._draw(st.integers(1, 4))):
                self._exchange()
        if how == "open":
            self._add(self._reply("one more", call(self._id("open"))))

    def _say(self) -> None:
        text = words(self._draw(st.sampled_from([20, 200, 2_000])), len(self.events))
        image = [IMAGE] if self._draw(st.integers(0, 9)) == 0 else []
        self._add(user([{"type": "text", "text": text}, *image] if image else text))

    def _exchange(self) -> None:
        calls = [self._id(str(at)) for at in range(self._draw(st.integers(1, 3)))]
        blocks: list[Any] = [thinking()] if self._draw(st.booleans()) else []
        blocks += [call(c, self._draw(TOOLS), path=f"src/{c}.py") for c in calls]
        if self._draw(st.integers(0, 7)) == 0:
            self._server_tool()
        if self._draw(st.integers(0, 3)):
            self._add(self._reply(*blocks))
            self._answer(calls)
        else:
            self._in_parts(blocks, calls)
        if self._draw(st.integers(0, 7)) == 0:
            data = {"kind": "reminder", "content": "Mind the plan.", "join": True}
            self._add(EventDraft("attachment.added", data))

    def _in_parts(self, blocks: list[Any], calls: list[str]) -> None:
        """One reply as several events, results between them."""
        message = f"msg_{len(self.events)}"
        for block in blocks:
            self._add(self._reply(block, id=message))
            if block["type"] == "tool_use":
                self._answer([block["id"]])

    def _answer(self, calls: list[str]) -> None:
        if self._draw(st.integers(0, 9)) == 0:
            blocks = [
                {"type": "tool_result", "tool_use_id": c, "content": words(400)} for c in calls
            ]
            self._add(user(blocks))
            return
        for c in calls:
            failed = self._draw(st.integers(0, 7)) == 0
            content: Any = words(self._draw(SIZES), len(self.events))
            if not failed and self._draw(st.integers(0, 9)) == 0:
                content = [{"type": "text", "text": "a picture"}, IMAGE]
            self._add(result(c, content, is_error=failed))

    def _server_tool(self) -> None:
        search = f"srvtoolu_{len(self.events)}"
        asked = {"type": "server_tool_use", "id": search, "name": "web_search", "input": {}}
        found = {"type": "web_search_tool_result", "tool_use_id": search, "content": []}
        self._add(self._reply("looking", asked, found))

    def _maybe_interrupted(self) -> None:
        """A call that the end of a program cut off; its real result may come later."""
        if self.events and self._draw(st.integers(0, 5)) == 0:
            asked = call(self._id("late"))
            self._say()
            self._add(self._reply(asked))
            closed = interruption(asked)
            self._add(EventDraft("tool.result", closed))
            self._late.append(asked["id"])

    def _maybe_late(self) -> None:
        if self._late and self._draw(st.booleans()):
            self._add(result(self._late.pop(), words(400)))

    def _maybe_pin(self) -> None:
        if self._draw(st.integers(0, 5)) == 0:
            said = [e.version for e in self.events if e.type in ("message.user", "tool.result")]
            self._add(state("pins", [self._draw(st.sampled_from(said))]))

    def _maybe_rewind(self) -> None:
        if self.events and self._draw(st.integers(0, 7)) == 0:
            self._late.clear()
            ends = [e.version for e in self.events if e.data.get("content") == DONE]
            self._add(moved(self._draw(st.sampled_from(ends))))

    def _reply(self, *blocks: Any, id: str | None = None) -> EventDraft:
        draft = assistant(*blocks, id=id)
        more = {"model": self._model} if self._model else {}
        return EventDraft(draft.type, {**draft.data, **more})

    def _id(self, end: str) -> str:
        return f"toolu_{len(self.events)}_{end}"

    def _add(self, draft: EventDraft) -> None:
        self.events = later(self.events, draft)


DONE = [{"type": "text", "text": "That is done."}]
