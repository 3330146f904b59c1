"""Whatever a harness does with its list: nothing twice, nothing lost, every request provable."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from foldlog.projections import Session
from foldlog.projections.live.outgoing import Outgoing
from foldlog.projections.live.recording import Recording
from tests.live.harness import MODEL, TOOLS, Message, events, problems, session
from tests.server import Api, Received, Refusal, call, overloaded, reply, thought

KINDS = ("say", "say", "say", "work", "side", "fail", "rewind", "edit", "forget", "mark", "resume",
         "render", "break", "settings")  # fmt: skip


class Talk:
    """A harness with a list of its own that does with it whatever a test says.

    Attributes:
        messages: Its list.
        refused: What the API refused that no test wanted refused.
    """

    def __init__(self, observe: bool, **known: Any) -> None:
        self.api = Api()
        self.api.respond = lambda received: self._coming(received)
        self.observe, self.known = observe, known
        self.recording = Recording(session(), observe=observe, **known)
        self.messages: list[Message] = []
        self.system = "Be brief."
        self.refused: list[Refusal] = []
        self.said = 0
        self._coming: Callable[[Received], Any] = lambda _: reply("…")

    @property
    def session(self) -> Session:
        return self.recording.session

    def do(self, kind: str, number: int) -> None:
        """One step; the number says where or how."""
        getattr(self, f"_{kind}")(number)

    # -- steps ---------------------------------------------------------------------------------

    def _say(self, number: int) -> None:
        self.messages.append({"role": "user", "content": self._new("said")})
        self._answer(number % 2 == 1)

    def _work(self, number: int) -> None:
        self.messages.append({"role": "user", "content": self._new("task")})
        made = [call("bash", self._new("toolu").replace(" ", "_")) for _ in range(1 + number % 3)]
        message = self._sent(self._body(), reply(thought(self._new("hm")), *made))
        self._took(message)
        results = [
            {"type": "tool_result", "tool_use_id": block["id"], "content": self._new("out")}
            for block in message["content"] if block["type"] == "tool_use"
        ]  # fmt: skip
        self.messages.append({"role": "user", "content": results})
        self._answer(thinks=False)

    def _side(self, number: int) -> None:
        asked = {"role": "user", "content": self._new("a title for")}
        self._sent({**self._body(), "messages": [asked]}, reply(self._new("title")))

    def _fail(self, number: int) -> None:
        self.messages.append({"role": "user", "content": self._new("said")})
        for attempt in range(number % 3):
            self.api.faults.append(overloaded())
            self._tried(self._body(), attempt)
        if number % 3:
            self._took(self._sent(self._body(), reply(self._new("at last")), number % 3))
        else:
            self._answer(thinks=False)

    def _rewind(self, number: int) -> None:
        users = self._spoken()
        if users:
            self.messages = self.messages[: users[number % len(users)]]
        self._say(number)

    def _edit(self, number: int) -> None:
        users = self._spoken()
        if users:
            at = users[number % len(users)]
            self.messages[at] = {"role": "user", "content": self._new("edited")}
            self.messages = self.messages[: at + 1]
            self._answer(thinks=False)

    def _forget(self, number: int) -> None:
        """Old thinking is dropped from its list, as many harnesses do."""
        self._without_thinking()
        self._say(number)

    def _mark(self, number: int) -> None:
        for message in self.messages:
            if isinstance(message["content"], list):
                for block in message["content"]:
                    block.pop("cache_control", None)
        said = {"type": "text", "text": self._new("said")}
        block = {**said, "cache_control": {"type": "ephemeral"}}
        self.messages.append({"role": "user", "content": [block]})
        self._answer(thinks=False)

    def _resume(self, number: int) -> None:
        resumed = Session(self.session.store, self.session.id)
        self.recording = Recording(resumed, observe=self.observe, **self.known)
        self._say(number)

    def _render(self, number: int) -> None:
        """It takes up the list that foldlog shows."""
        if self.messages:
            self.messages = json.loads(json.dumps(self.session.render()["messages"]))
            if self.observe:  # some of its thinking was sent behind less than there was
                self._without_thinking()
        self._say(number)

    def _break(self, number: int) -> None:
        """A reply breaks off; the harness keeps what came of it, or does not."""
        self.messages.append({"role": "user", "content": self._new("said")})
        outgoing = self.recording.begin(self._body())
        words = self._new("half a rep")
        message = {"id": f"msg_broken_{self.said}", "role": "assistant", "model": MODEL}
        content = [{"type": "text", "text": words}]
        outgoing.answered({**message, "content": content}, None, partial=True)
        if number % 2:
            self.messages.append({"role": "assistant", "content": content})
            self._say(number)
        else:
            self._answer(thinks=False)

    def _settings(self, number: int) -> None:
        self.system = self._new("Be kind,")
        if self.observe:  # its thinking is bound to the system prompt before
            self._without_thinking()
        self._say(number)

    def _without_thinking(self) -> None:
        for message in self.messages:
            if isinstance(message["content"], list):
                message["content"] = [b for b in message["content"] if b["type"] != "thinking"]

    # -- how -----------------------------------------------------------------------------------

    def _spoken(self) -> list[int]:
        """Where the user spoke, but for the first time: a list that begins anew is another one."""
        return [
            at
            for at, message in enumerate(self.messages)
            if at and message["role"] == "user" and "tool_result" not in str(message["content"])
        ]

    def _new(self, word: str) -> str:
        self.said += 1
        return f"{word} {self.said}"

    def _answer(self, thinks: bool) -> None:
        parts = [thought(self._new("hm"))] if thinks else []
        self._took(self._sent(self._body(), reply(*parts, self._new("reply"))))

    def _took(self, message: Message) -> None:
        self.messages.append({"role": "assistant", "content": message["content"]})

    def _body(self) -> dict[str, Any]:
        body = {"model": MODEL, "max_tokens": 500, "system": self.system, "tools": TOOLS}
        copied = json.loads(json.dumps(self.messages))
        return {**body, "thinking": {"type": "adaptive"}, "messages": copied}

    def _sent(self, body: dict[str, Any], answer: Any, attempt: int = 0) -> Message:
        self._coming = lambda _: answer
        message = self._tried(body, attempt)
        assert message is not None, self.refused[-1:]
        return message

    def _tried(self, body: dict[str, Any], attempt: int) -> Message | None:
        asked = json.dumps(body)
        outgoing: Outgoing | None = self.recording.begin(body, attempt=attempt)
        assert json.dumps(body) == asked
        while outgoing is not None:
            betas = {"anthropic-beta": ",".join(outgoing.betas)}
            received = Received("/v1/messages", betas)
            try:
                made = self.api.post(received, json.dumps(outgoing.body).encode())
            except Refusal as refusal:
                if refusal.status != 529:
                    self.refused.append(refusal)
                outgoing = outgoing.refused(refusal.status, refusal.body())
            else:
                outgoing.replied(made.body)
                return dict(made.body)
        return None


def said(messages: Sequence[Message]) -> list[tuple[str, ...]]:
    """What a list says, thinking and marks left out, whatever its form."""
    found: list[tuple[str, ...]] = []
    for message in messages:
        content = message["content"]
        for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            if block["type"] == "text":
                found.append((message["role"], block["text"]))
            elif block["type"] == "tool_use":
                found.append(("call", block["id"]))
            elif block["type"] == "tool_result":
                found.append(("result", block["tool_use_id"], str(block["content"])))
    return found


STEPS = st.lists(st.tuples(st.sampled_from(KINDS), st.integers(0, 11)), min_size=1, max_size=14)


class TestAnyHarness:
    @given(steps=STEPS, observe=st.booleans())
    @settings(max_examples=60)
    def test_nothing_is_lost_or_recorded_twice(
        self, steps: list[tuple[str, int]], observe: bool
    ) -> None:
        talk = Talk(observe, window=200_000)
        for kind, number in [("say", 1), *steps]:
            talk.do(kind, number)
            assert said(talk.session.render()["messages"]) == said(talk.messages)
        assert talk.refused == []
        assert problems(talk.session) == []
        spoken = Counter(
            block
            for event in events(talk.session, "message.user", "message.assistant", "tool.result")
            for block in said([{"role": event.type, "content": event.data["content"]}])
        )
        assert [what for what, count in spoken.items() if count > 1] == []

    @given(steps=STEPS, policy=st.sampled_from(["adaptive", "claude-code", "learn-claude-code"]))
    @settings(max_examples=40)
    def test_a_managed_request_is_valid_whatever_was_compacted(
        self, steps: list[tuple[str, int]], policy: str
    ) -> None:
        talk = Talk(False, policy=policy, window=1_500, reserve=100)
        for kind, number in [("work", 2), *steps, ("work", 1), ("say", 0)]:
            talk.do(kind, number)
        assert talk.refused == []
        assert problems(talk.session) == []
        shown = said(talk.session.render()["messages"])
        assert shown[-1] == said(talk.messages)[-1]
