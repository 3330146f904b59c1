"""A harness that edits its own list in any of the ways that programs are known to."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from foldlog.eventstore import Event
from foldlog.projections import Session
from foldlog.projections.live.recording import Recording
from tests.live.harness import MODEL, TOOLS, Message, events, session

PIXEL = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}
IMAGE = {"type": "image", "source": PIXEL}


class Editor:
    """It talks, edits its list, and is observed turn by turn.

    Attributes:
        messages: Its list.
        system, tools: The settings of its requests.
    """

    def __init__(self, observe: bool = True) -> None:
        self.recording = Recording(session(), observe=observe)
        self.messages: list[Message] = []
        self.system: Any = "Be brief."
        self.tools: Any = TOOLS
        self.count = 0

    @property
    def session(self) -> Session:
        return self.recording.session

    # -- talk ------------------------------------------------------------------------------------

    def say(self, content: Any = None, reply: str | None = None) -> None:
        """One turn: a message, and the reply to it."""
        self.messages.append({"role": "user", "content": content or self.new("said")})
        self.ask([{"type": "text", "text": reply or self.new("reply")}])

    def work(self, *results: Any) -> None:
        """One turn in which the model thinks, calls tools and reads what they say."""
        self.messages.append({"role": "user", "content": self.new("task")})
        calls = [self.call() for _ in results or "x"]
        self.ask([self.thought(), *calls])
        given = results or (f"{self.new('out')} " + "of a tool that says much. " * 9,)
        self.messages.append({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": call["id"], "content": said}
            for call, said in zip(calls, given, strict=True)
        ]})  # fmt: skip
        self.ask([{"type": "text", "text": self.new("done")}])

    def call(self) -> Message:
        return {"type": "tool_use", "id": self.new("toolu").replace(" ", "_"), "name": "bash",
                "input": {}}  # fmt: skip

    def thought(self) -> Message:
        return {"type": "thinking", "thinking": self.new("hm"), "signature": "c2ln"}

    def ask(self, content: list[Any]) -> None:
        """Send the list; the reply goes behind it."""
        self.send(content)
        self.messages.append({"role": "assistant", "content": content})

    def send(self, content: list[Any] | None = None, **more: Any) -> list[Event]:
        """Send the list, answered or not; the events that were recorded before the request."""
        before = self.session.version
        body = {"model": MODEL, "max_tokens": 99, "system": self.system, "tools": self.tools}
        outgoing = self.recording.begin(
            json.loads(json.dumps({**body, "messages": self.messages} | more))
        )
        found = self.session.store.read(self.session.id, after=before)
        added = [event for event in found if event.type != "request.sent"]
        if content is not None:
            message = {"id": self.new("msg"), "role": "assistant", "model": MODEL}
            outgoing.replied({**message, "content": content})
        return added

    def new(self, word: str) -> str:
        self.count += 1
        return f"{word} {self.count}"

    # -- what it finds of itself -----------------------------------------------------------------

    def turns(self) -> list[int]:
        """Where a person spoke."""
        return [
            at
            for at, message in enumerate(self.messages)
            if message["role"] == "user" and "tool_result" not in json.dumps(message["content"])
        ]

    def results(self) -> list[Message]:
        """The blocks of its results."""
        return [block for block in self._blocks() if block["type"] == "tool_result"]

    def _blocks(self) -> list[Message]:
        return [
            block
            for message in self.messages
            if isinstance(message["content"], list)
            for block in message["content"]
        ]


def repeated(session: Session) -> list[str]:
    """What was recorded more than once."""
    said = Counter(
        json.dumps(event.data.get("content") or event.data.get("text"))
        for event in events(session, "message.user", "message.assistant", "tool.result",
                            "summary.written")
    )  # fmt: skip
    return [text for text, count in said.items() if count > 1]
