"""Clients of the real SDK, sync and async, recorded by the middleware in front of the server."""

from __future__ import annotations

from typing import Any

import httpx2
from anthropic import Anthropic, AsyncAnthropic

from foldlog.eventstore import Event
from foldlog.projections import Session
from foldlog.projections.live.middleware import SessionMiddleware
from tests.live.harness import MODEL, events, problems, session
from tests.server import Server, call, reply, thought

WORDS = "Some words that were said, and more of them."
RICH = reply(thought(), WORDS, call("bash", "toolu_1", command="ls -la"))


def client(api: Server, middleware: SessionMiddleware, **options: Any) -> Anthropic:
    return api.client(middleware=[middleware], **options)


def async_client(api: Server, middleware: SessionMiddleware, **options: Any) -> AsyncAnthropic:
    given: dict[str, Any] = {"api_key": "test", "max_retries": 0, **options}
    given.setdefault("http_client", httpx2.AsyncClient(trust_env=False, verify=False))
    return AsyncAnthropic(base_url=api.url, middleware=[middleware], **given)


def asked(*messages: Any, **more: Any) -> dict[str, Any]:
    """The parameters of a call; a text is what the user says."""
    said = [{"role": "user", "content": m} if isinstance(m, str) else m for m in messages]
    return {"model": MODEL, "max_tokens": 500, "messages": said or [user()], **more}


def user(content: Any = "Hi.") -> dict[str, Any]:
    return {"role": "user", "content": content}


def assistant(message: Any) -> dict[str, Any]:
    """A reply as most harnesses keep it: the SDK's own objects."""
    return {"role": "assistant", "content": message.content}


def proven(session: Session) -> None:
    """Every request is what the log says that it was."""
    if session.store.last(session.id):
        assert problems(session) == []


class Place:
    """A session, its middleware, and what both kinds of clients need."""

    def __init__(self, api: Server, observe: bool, **known: Any) -> None:
        self.api = api
        self.session: Session = session()
        self.middleware: SessionMiddleware = self.session.middleware(observe, **known)

    def sync(self, **options: Any) -> Anthropic:
        return client(self.api, self.middleware, **options)

    def on_loop(self, **options: Any) -> AsyncAnthropic:
        return async_client(self.api, self.middleware, **options)

    def replies(self) -> list[Event]:
        return events(self.session, "message.assistant")

    @property
    def reply(self) -> Event:
        [found] = self.replies()
        return found

    @property
    def failure(self) -> Event:
        [found] = events(self.session, "request.failed")
        return found


# -- two ways to ask: each gives the content of the reply


def helper(client: Any) -> Any:
    with client.messages.stream(**asked()) as stream:
        return stream.get_final_message().content


def streaming_response(client: Any) -> Any:
    with client.messages.with_streaming_response.create(**asked()) as response:
        return response.parse().content
