"""What was recorded, sent once more: through foldlog, and what foldlog shows of it.

    with EventStore(path) as store:
        for sent in replay(store, exchanges.read("claude-code-2.1.332/compact")):
            assert shown(store, sent) == asked(sent.body)

A server answers as it answered then, so that a request is answered only if it comes as it was sent.
"""

from __future__ import annotations

import json
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import httpx2
from anthropic import Anthropic, Stream
from anthropic.types import Message, RawMessageStreamEvent
from click.testing import CliRunner

from foldlog import EventStore, Session
from foldlog.cli.main import foldlog
from foldlog.projections.explain.proof import has_diverged
from foldlog.projections.render.digest import digest
from tests.clients.exchanges import Exchange
from tests.proxy.conftest import running
from tests.server import Received, Refusal, Server, serving
from tests.server.api import Answer

ASKED = ("system", "tools", "messages")
"""What a request says; the rest are its settings."""


@dataclass(frozen=True)
class Sent:
    """A request that was sent, and where it is recorded.

    Attributes:
        session: The session.
        number: Which of its requests it is, from 1 on: ``request:NUMBER`` is its name.
        body: Its JSON, with what its message thread holds.
    """

    session: str
    number: int
    body: dict[str, Any]


class Again(Server):
    """A server that answers what it was asked then, in that order.

    Args:
        exchanges: What it was asked, and its answers.
    """

    def __init__(self, exchanges: Sequence[Exchange]) -> None:
        super().__init__()
        self._coming = deque(exchanges)

    def post(self, received: Received, raw: bytes) -> Answer:
        received.body = json.loads(raw)
        self.requests.append(received)
        then = self._coming.popleft()
        if json.dumps(received.body) != json.dumps(then.body):
            raise Refusal(500, "api_error", "This is not what was sent then")
        if then.status != 200:
            error = then.answer["error"]
            raise Refusal(then.status, error["type"], error["message"], error.get("details"))
        return Answer(then.answer)


def replay(store: EventStore, exchanges: Sequence[Exchange]) -> list[Sent]:
    """Send what was sent through the proxy, which observes; where each request is recorded."""
    with (
        serving(Again(exchanges)) as then,
        running(store, then.url) as proxy,
        httpx2.Client(trust_env=False, timeout=30) as client,
    ):
        for one in exchanges:
            content = json.dumps(one.body).encode()
            headers = {**one.headers, "x-api-key": "test", "content-type": "application/json"}
            answer = client.post(proxy.url + one.path, content=content, headers=headers)
            assert answer.status_code == one.status, answer.text
    return located(store, exchanges)


def replay_through_the_sdk(store: EventStore, exchanges: Sequence[Exchange]) -> list[Sent]:
    """Send what was sent with the SDK, whose middleware observes, into one session."""
    session = Session(store, "s")
    with serving(Again(exchanges)) as then:
        plain = httpx2.Client(trust_env=False, verify=False)
        given: dict[str, Any] = {"api_key": "test", "max_retries": 0, "http_client": plain}
        middleware = [session.middleware(observe=True)]
        client = Anthropic(base_url=then.url, middleware=middleware, **given)
        for one in exchanges:
            _post(client, one)
    return located(store, exchanges)


def _post(client: Anthropic, one: Exchange) -> None:
    """Post a body as it is, and read what comes back to its end."""
    beta = one.headers.get("anthropic-beta")
    options: Any = {"headers": {"anthropic-beta": beta} if beta else {}}
    if not one.body.get("stream"):
        client.post(one.path, cast_to=Message, body=one.body, options=options)
        return
    streamed = Stream[RawMessageStreamEvent]
    with client.post(
        one.path,
        cast_to=Message,
        body=one.body,
        options=options,
        stream=True,
        stream_cls=streamed,
    ) as events:
        for _ in events:
            pass


def located(store: EventStore, exchanges: Sequence[Exchange]) -> list[Sent]:
    """Where requests are recorded: each by its digest, equal ones in their order.

    What a message thread left to the API belongs to a request: it is part of what the model reads.

    Raises:
        AssertionError: One is not recorded.
    """
    recorded = [
        (event.data["digest"], info.session, number)
        for info in sorted(store.sessions(), key=lambda info: info.session)
        for number, event in enumerate(store.read(info.session, types=["request.sent"]), 1)
    ]
    assert len(recorded) == len(exchanges), f"{len(recorded)} recorded, {len(exchanges)} sent"
    places: dict[str, deque[tuple[str, int]]] = defaultdict(deque)
    for name, session, number in recorded:
        places[name].append((session, number))
    bodies = list(wholes(exchanges))
    found = [places[digest(body)] and places[digest(body)].popleft() for body in bodies]
    left = deque(place for rest in places.values() for place in rest)
    return [Sent(*(at or left.popleft()), body) for at, body in zip(found, bodies, strict=True)]


def wholes(exchanges: Iterable[Exchange]) -> Iterator[dict[str, Any]]:
    """Each request with what its message thread holds: all that the model reads."""
    held: dict[str, dict[str, Any]] = {}
    for one in exchanges:
        body = one.body
        before = held.get((body.get("thread") or {}).get("previous_message_id"))
        if before is not None:
            body = {**before, **body, "messages": [*before["messages"], *body["messages"]]}
        yield body
        if one.status == 200:
            reply = {"role": "assistant", "content": one.answer["content"]}
            held[one.answer["id"]] = {**body, "messages": [*body["messages"], reply]}


def misshown(store: EventStore, sent: Iterable[Sent], *, exact: bool = False) -> list[str]:
    """The requests that are not shown as they were sent, each with the first difference.

    Args:
        exact: With their marks for the prompt cache.
    """
    found = ((one, _mistake(store, one, exact)) for one in sent)
    return [f"request:{one.number} of {one.session}: {text}" for one, text in found if text]


def _mistake(store: EventStore, sent: Sent, exact: bool) -> str:
    try:
        if exact:
            return difference(printed(store, sent, "--exact"), sent.body)
        return difference(shown(store, sent), asked(sent.body))
    except AssertionError as error:
        return str(error)


def diverging(store: EventStore) -> list[int]:
    """The versions of the requests that are recorded as something else than the view."""
    requests = (event for event in store.events() if event.type == "request.sent")
    return [event.version for event in requests if has_diverged(event)]


def shown(store: EventStore, sent: Sent) -> dict[str, Any]:
    """What ``foldlog view SESSION --at request:K --as request`` prints, without its settings."""
    return asked(printed(store, sent))


def printed(store: EventStore, sent: Sent, *more: str) -> dict[str, Any]:
    """The same as it is printed."""
    command = ("view", sent.session, "--at", f"request:{sent.number}", "--as", "request", *more)
    done = CliRunner().invoke(foldlog, ["--db", store.path, *command])
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def asked(body: dict[str, Any]) -> dict[str, Any]:
    """What a request says, without marks for the prompt cache."""
    return {key: unmarked(body[key]) for key in ASKED if key in body}


def unmarked(value: Any) -> Any:
    """A value without ``cache_control``; the order of keys is kept."""
    if isinstance(value, list):
        return [unmarked(each) for each in value]
    if isinstance(value, dict):
        return {key: unmarked(each) for key, each in value.items() if key != "cache_control"}
    return value


def difference(ours: dict[str, Any], theirs: dict[str, Any]) -> str:
    """The first place where two requests differ, the order of keys included; empty for none."""
    for key in ASKED:
        one, other = ours.get(key), theirs.get(key)
        if isinstance(one, list) and isinstance(other, list):
            for at, (left, right) in enumerate(zip(one, other, strict=False)):
                if json.dumps(left) != json.dumps(right):
                    return f"{key}[{at}]:\n  shown {_line(left)}\n  sent  {_line(right)}"
            if len(one) != len(other):
                return f"{key}: {len(one)} shown, {len(other)} sent"
        elif json.dumps(one) != json.dumps(other):
            return f"{key}:\n  shown {_line(one)}\n  sent  {_line(other)}"
    return ""


def _line(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 2_000 else f"{text[:2_000]}…"
