"""Conversations and models for tests of summaries: small, deterministic, without a network."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

import anthropic
import httpx2

from foldlog.eventstore.events import Event, EventDraft
from foldlog.projections.summaries import Prompt, Section, SummaryReply, SummaryTask
from foldlog.projections.summaries.failure import SummaryFailed
from foldlog.projections.view.open import project
from foldlog.projections.view.view import View
from tests.projections.build import assistant, call, log, result, user

PLAIN = Prompt("plain", ask="Summarize.", max_tokens=1_000)
HEADED = Prompt("headed", sections=(Section("Goal"), Section("Next")))
REQUIRED = ("Goal", "Next")


def work(rounds: int = 6, size: int = 400) -> list[EventDraft]:
    """A request, then rounds of reading a file: each an exchange with a result of some size."""
    drafts = [user("Please fix the login, and never touch the billing code.")]
    for n in range(rounds):
        drafts.append(assistant(f"Reading part {n}.", call(f"c{n}", "Read", file_path=f"f{n}.py")))
        drafts.append(result(f"c{n}", f"line of f{n} " * (size // 10)))
    return [*drafts, assistant("I found the cause.")]


def view_of(*drafts: EventDraft) -> View:
    return project(log(*drafts))


def task_of(*drafts: EventDraft, prompt: Prompt = PLAIN, **more: Any) -> SummaryTask:
    """The task of summarizing a whole conversation."""
    view = view_of(*(drafts or work()))
    return SummaryTask.of(view, [(1, view.version)], prompt, **more)


class Scripted:
    """A summarizer that gives one reply after the other; a failure among them is raised."""

    def __init__(
        self, *replies: str | SummaryReply | Exception, name: str = "scripted", model: bool = True
    ) -> None:
        self.name = name
        self.asks_model = model
        self.tasks: list[SummaryTask] = []
        self._replies = list(replies)

    def summarize(self, task: SummaryTask) -> SummaryReply:
        self.tasks.append(task)
        reply = self._replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return SummaryReply(reply, model="m") if isinstance(reply, str) else reply


class Recorder:
    """A log that drafts are appended to, one by one."""

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self.events = list(events)

    def __call__(self, draft: EventDraft) -> Event:
        version = len(self.events) + 1
        at = f"2026-11-29T12:00:{version:02}.000000Z"
        event = Event(version, "s", version, draft.type, 1, at, dict(draft.data), {}, f"{version}")
        self.events.append(event)
        return event

    @property
    def told(self) -> list[tuple[str, Any]]:
        """The type of each event, and its reason where it has one."""
        return [
            (event.type.removeprefix("summary."), event.data.get("reason")) for event in self.events
        ]


Answer = Callable[[dict[str, Any]], "tuple[int, dict[str, Any]]"]


class Api:
    """A Messages API that answers as it is told, behind the real SDK."""

    def __init__(self, *answers: Answer) -> None:
        self.requests: list[dict[str, Any]] = []
        self._answers = list(answers)
        transport = httpx2.MockTransport(self._handle)
        self.client = anthropic.Anthropic(
            api_key="none", max_retries=0, http_client=httpx2.Client(transport=transport)
        )

    def _handle(self, request: httpx2.Request) -> httpx2.Response:
        body = json.loads(request.content)
        self.requests.append(body)
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        status, reply = answer(body)
        return httpx2.Response(status, json=reply)

    @property
    def asked(self) -> str:
        """The text of the newest request's last message."""
        content = self.requests[-1]["messages"][-1]["content"]
        return content if isinstance(content, str) else str(content[-1]["text"])


def says(text: str, stop: str = "end_turn", **more: Any) -> Answer:
    """An answer of one text."""
    return replies([{"type": "text", "text": text}], stop, **more)


def replies(content: list[dict[str, Any]], stop: str = "end_turn", **more: Any) -> Answer:
    def answer(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        usage = {"input_tokens": 10, "output_tokens": 5}
        message = {"id": "msg_1", "type": "message", "role": "assistant", "model": body["model"]}
        return 200, {**message, "content": content, "stop_reason": stop, "usage": usage, **more}

    return answer


def refuses(message: str, status: int = 400, code: str | None = None) -> Answer:
    """An error of the API."""
    details = {"details": {"error_code": code}} if code else {}
    error = {"type": "invalid_request_error", "message": message, **details}
    return lambda body: (status, {"type": "error", "error": error})


def too_long(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    return refuses("prompt is too long: 210000 tokens > 200000 maximum")(body)


def too_long_over(chars: int, then: Answer) -> Answer:
    """A model whose window is so many characters of messages."""
    return lambda body: (too_long if len(json.dumps(body["messages"])) > chars else then)(body)


def reason_of(failing: Callable[[], object]) -> str:
    """Why something fails."""
    try:
        failing()
    except SummaryFailed as failure:
        return failure.reason
    return "accepted"
