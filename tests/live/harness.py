"""A harness as anybody might write one: it keeps a list of its own and knows nothing of foldlog."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import anthropic

from foldlog.cli.commands.proof import Findings, look_at_views
from foldlog.cli.progress import Bar
from foldlog.eventstore import Event, EventStore
from foldlog.eventstore.codec import loads
from foldlog.projections import Session
from foldlog.projections.live.recording import Outgoing, Recording
from tests.server import Server

MODEL = "claude-opus-5-5"
TOOLS = [{"name": "bash", "input_schema": {"type": "object"}}]

Message = dict[str, Any]


class Harness:
    """It says something, sends its whole list, and appends the reply.

    Attributes:
        messages: Its own list.
        more: Other parameters of its requests.
        betas: The features in beta that it names.
    """

    def __init__(self, api: Server, recording: Recording, **more: Any) -> None:
        self.api = api
        self.recording = recording
        self.messages: list[Message] = []
        self.more = more
        self.client = api.client()
        self.betas: frozenset[str] = frozenset()
        self.outgoing: list[Outgoing] = []

    @property
    def session(self) -> Session:
        return self.recording.session

    def say(self, content: Any) -> Message:
        """A user message, and the reply to it."""
        self.messages.append({"role": "user", "content": content})
        return self.ask()

    def ask(self) -> Message:
        """Send the list as it is; the reply goes behind it."""
        message = self.send(self.body())
        self.messages.append({"role": "assistant", "content": message["content"]})
        return message

    def body(self) -> dict[str, Any]:
        """The body of its next request."""
        return {"model": MODEL, "max_tokens": 500, "messages": list(self.messages), **self.more}

    def send(self, body: Mapping[str, Any], attempt: int = 0) -> Message:
        """A request through the recording and the real SDK; the message as it came."""
        outgoing: Outgoing | None = self.recording.begin(body, betas=self.betas, attempt=attempt)
        while outgoing is not None:
            self.outgoing.append(outgoing)
            try:
                return self._sent(outgoing)
            except anthropic.APIStatusError as error:
                outgoing, failure = (
                    outgoing.refused(error.status_code, error.response.content),
                    error,
                )
        raise failure

    def results(self, reply: Message, *texts: str) -> None:
        """Answer the calls of a reply, and go on."""
        calls = [block for block in reply["content"] if block["type"] == "tool_use"]
        self.messages.append(
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": call["id"], "content": text}
                    for call, text in zip(calls, texts, strict=True)
                ],
            }
        )

    def _sent(self, outgoing: Outgoing) -> Message:
        create = self.client.messages.with_raw_response.create
        betas = ",".join(sorted(outgoing.betas | self.betas))
        headers = {"anthropic-beta": betas} if betas else {}
        known = ("model", "max_tokens", "messages", "system", "tools", "thinking")
        given = {key: value for key, value in outgoing.body.items() if key in known}
        rest = {key: value for key, value in outgoing.body.items() if key not in known}
        raw = create(**given, extra_body=rest, extra_headers=headers)
        outgoing.replied(raw.http_response.content, raw.headers.get("request-id"))
        message: Message = loads(raw.http_response.content)
        return message


def session(name: str = "s") -> Session:
    """A session in memory."""
    return Session(EventStore(":memory:"), name)


def types(session: Session) -> list[str]:
    """The types of all that was recorded."""
    return [event.type for event in session.store.read(session.id)]


def events(session: Session, *types: str) -> list[Event]:
    """What was recorded of some types."""
    return list(session.store.read(session.id, types=types))


def problems(session: Session) -> list[tuple[int, str]]:
    """What ``verify --views`` finds wrong with a session."""
    [verdict] = session.store.verify(session.id)
    found = Findings(verdict)
    with Bar(hidden=True) as bar:
        look_at_views(session.store, found, True, bar)
    return found.verdict.problems


def texts(session: Session) -> list[Any]:
    """The contents that the view shows, message by message."""
    return [message["content"] for message in session.render(open="keep")["messages"]]
