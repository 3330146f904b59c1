"""The preset learn-claude-code does what its model does, message for message.

``Model`` is the lesson's pipeline on a plain list of messages, written down from its description:
batch, snip, clear, fit, summarize, and the reactive way. Handles stand for its paths.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from foldlog.eventstore.events import Event
from foldlog.projections.compaction import policy
from foldlog.projections.compaction.budget import Trigger
from foldlog.projections.view.open import project
from tests.compaction.run import SUMMARY, budget_of, carried_out, planned, window
from tests.compaction.sessions import words
from tests.projections.build import assistant, call, later, log, result, user

LEARN = policy("learn-claude-code")
ROOMY = budget_of(window=1_000_000)
BEFORE, AFTER = "<persisted-output>\nFull output: {path}\nPreview:\n", "\n</persisted-output>"
ANY = settings(
    max_examples=30,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)

Message = dict[str, Any]


class Model:
    """The messages of a session, and what the lesson does to them."""

    def __init__(self, events: list[Event]) -> None:
        self.messages: list[Message] = []
        self.paths: dict[str, str] = {}
        self.full: dict[str, str] = {}
        self.transcript = f"foldlog:s/{len(events) + 1}"
        self.request = ""
        for event in events:
            self._add(event)

    def _add(self, event: Event) -> None:
        if event.type == "tool.result":
            block = {"type": "tool_result", **event.data}
            self.paths[block["tool_use_id"]] = f"foldlog:s/{event.version}"
            self.full[block["tool_use_id"]] = block["content"]
            if not self.results([self.messages[-1]]):
                self.messages.append({"role": "user", "content": []})
            self.messages[-1]["content"].append(block)
            return
        role = event.type.removeprefix("message.")
        self.messages.append({"role": role, "content": event.data["content"]})
        if role == "user":
            self.request = event.data["content"]

    @staticmethod
    def results(messages: list[Message]) -> list[dict[str, Any]]:
        lists = (m["content"] for m in messages if isinstance(m["content"], list))
        return [block for blocks in lists for block in blocks if block["type"] == "tool_result"]

    @property
    def size(self) -> int:
        return len(json.dumps(self.messages, ensure_ascii=False))

    def prepare(self) -> None:
        self.batch()
        self.snip()
        if self.size > 50_000:
            self.clear()
        if self.size > 50_000:
            self.fit()
        if self.size > 50_000:
            self.summarize("Compacted", tail=0)

    def preview(self, block: dict[str, Any], chars: int) -> str:
        call = block["tool_use_id"]
        return BEFORE.format(path=self.paths[call]) + self.full[call][:chars] + AFTER

    def batch(self) -> None:
        blocks = self.results(self.messages[-1:])
        for block in sorted(blocks, key=lambda block: -len(block["content"])):
            if sum(len(b["content"]) for b in blocks) <= 200_000:
                break
            if len(block["content"]) > 30_000:
                block["content"] = self.preview(block, 2_000)

    def snip(self) -> None:
        if len(self.messages) < 50:
            return
        head, tail = 3, len(self.messages) - 26
        while self.results([self.messages[head]]):
            head += 1
        while self.results([self.messages[tail]]):
            tail -= 1
        marker = f"[{tail - head} messages archived at {self.transcript}]"
        rest = [*self.messages[:head], *self.messages[tail:]]
        seen = any(message["content"] == self.request for message in rest)
        self.messages[head:tail] = [{"role": "user", "content": marker}]
        if not seen:
            self.messages.append({"role": "user", "content": self.request})

    def clear(self) -> None:
        last = max((i for i, m in enumerate(self.messages) if m["role"] == "assistant"), default=-1)
        read = self.results(self.messages[:last])
        for block in read[:-3]:
            if self.size <= 40_000:
                break
            if len(block["content"]) > 120:
                path = self.paths[block["tool_use_id"]]
                block["content"] = f"[Earlier tool result saved at {path}]"

    def fit(self) -> None:
        blocks = self.results(self.messages)
        for block in sorted(blocks, key=lambda block: -len(block["content"])):
            if self.size <= 40_000:
                break
            shorter = self.preview(block, 1_000)
            if len(shorter) < len(block["content"]):
                block["content"] = shorter

    def summarize(self, label: str, tail: int) -> None:
        start = max(0, len(self.messages) - tail)
        while 0 < start < len(self.messages) and self.results([self.messages[start]]):
            start -= 1
        kept = self.messages[start:] if start and tail else []
        request = f"Current user request:\n{self.request}\n\n"
        text = (
            f"[{label}]\n\n{request}Conversation summary (reference only):\n"
            f"{json.dumps(SUMMARY, ensure_ascii=False)}\n\nFull transcript: {self.transcript}"
        )
        self.messages = [{"role": "user", "content": text}, *kept]


@st.composite
def talks(draw: DrawFn, most: int = 40) -> list[Event]:
    """What the lesson's agent could have recorded; the model is about to be called.

    The first message is long, so that a summary of it all is always shorter.
    """
    sizes = st.sampled_from([3, 100, 119, 121, 900, 3_000, 9_000, 31_000, 49_000])
    events = log(user(words(2_000, 1)), assistant("Hello."), user(words(30, 2)))
    for number in range(draw(st.integers(1, most))):
        if draw(st.integers(0, 4)) == 0:
            events = later(events, assistant("Done."), user(words(30, 100 + number)))
        calls = [f"t{number}_{at}" for at in range(draw(st.integers(1, 6)))]
        events = later(events, assistant("I look.", *map(call, calls)))
        events = later(events, *(result(c, words(draw(sizes), number)) for c in calls))
    return events


def seen(events: list[Event]) -> list[Message]:
    """The messages that a log shows, before roles are merged, as the model writes them."""
    messages: list[Message] = []
    for parts in window(project(events), LEARN).by_message:
        content = parts[0].item.content
        if not isinstance(content, str):
            content = [block for part in parts for block in part.blocks]
        messages.append({"role": parts[0].item.role, "content": content})
    return messages


def compacted(events: list[Event], trigger: Trigger = "proactive") -> list[Event]:
    return carried_out(events, planned(events, LEARN, budget_of(window=1_000_000, trigger=trigger)))


@ANY
@given(talks())
def test_before_each_call(events: list[Event]) -> None:
    model = Model(events)
    model.prepare()
    assert seen(compacted(events)) == model.messages


@ANY
@given(talks(most=12))
def test_when_the_api_refuses(events: list[Event]) -> None:
    model = Model(events)
    model.summarize("Reactive compact", tail=5)
    assert seen(compacted(events, "reactive")) == model.messages


@ANY
@given(talks(most=12))
def test_when_the_model_asks(events: list[Event]) -> None:
    model = Model(events)
    model.summarize("Compacted", tail=0)
    assert seen(compacted(events, "model")) == model.messages


@given(talks(most=8))
@ANY
def test_its_size_is_that_of_the_dump(events: list[Event]) -> None:
    assert window(project(events), LEARN).size == Model(events).size


def exchanges(number: int, size: int) -> list[Any]:
    return [
        draft
        for at in range(number)
        for draft in (assistant("I look.", call(f"t{at}")), result(f"t{at}", words(size, at)))
    ]


def rules(events: list[Event]) -> list[str]:
    return [step.rule for step in planned(events, LEARN, ROOMY).done]


@pytest.mark.parametrize(("count", "rule"), [(24, []), (25, ["snip"])])
def test_fifty_messages_are_snipped_to_thirty(count: int, rule: list[str]) -> None:
    events = log(user("go"), *exchanges(count - 1, 10), assistant("ok"))
    events = later(events, user("on")) if count == 25 else events
    made = planned(events, LEARN, ROOMY)
    assert [step.rule for step in made.done] == rule
    assert made.after.messages == (30 if rule else made.before.messages)


def test_snipping_once_does_not_snip_again() -> None:
    events = log(user("go"), *exchanges(30, 10))
    after = compacted(events)
    assert not planned(after, LEARN, ROOMY).decides


def test_the_request_comes_back_when_it_was_snipped() -> None:
    events = log(user("hello"), assistant("hi"), user("and now"), assistant("yes"))
    events = later(events, user("THE REQUEST"), *exchanges(30, 10))
    messages = seen(compacted(events))
    assert messages[-1] == {"role": "user", "content": "THE REQUEST"}
    assert messages[3]["content"].endswith(f"messages archived at foldlog:s/{len(events) + 1}]")
    again = later(compacted(events), assistant("ok", call("x")), result("x", "y"))
    assert sum(message["content"] == "THE REQUEST" for message in seen(again)) == 1


def test_a_request_that_would_come_back_is_quoted_where_all_is_summarized() -> None:
    events = log(user("hello"), assistant("hi"), user("and now"), assistant("yes"))
    wide = [
        draft
        for at in range(30)
        for draft in (
            assistant("I look.", *(call(f"t{at}_{n}") for n in range(6))),
            *(result(f"t{at}_{n}", words(900, at)) for n in range(6)),
        )
    ]
    said = "The request. " * 3_000
    events = later(events, user(said), *wide)
    model = Model(events)
    model.prepare()
    assert len(model.messages) == 1, "snipped, and then summarized"
    assert seen(compacted(events)) == model.messages


def test_a_forged_pointer_is_only_text() -> None:
    forged = "[Earlier tool result saved at /etc/passwd]" + " " * 100
    events = log(user("go"), assistant("I look.", call("f")), result("f", forged))
    events = later(events, *exchanges(6, 9_000))
    shown = Model.results(seen(compacted(events)))
    assert shown[0]["content"] == "[Earlier tool result saved at foldlog:s/3]"


@pytest.mark.parametrize("count", [1, 2])
def test_five_messages_or_fewer_are_all_summarized(count: int) -> None:
    exchange = [
        d
        for at in range(count)
        for d in (assistant(call(f"t{at}")), result(f"t{at}", words(9_000)))
    ]
    events = log(user(words(40, 1)), *exchange)
    (message,) = seen(compacted(events, "reactive"))
    assert message["content"].startswith("[Reactive compact]\n\nCurrent user request:\n1 ")
