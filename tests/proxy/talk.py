"""What tests ask of recorded sessions."""

from __future__ import annotations

from typing import Any

import httpx2
from anthropic import Anthropic
from click.testing import CliRunner

from foldlog import Event, EventStore
from foldlog.cli.main import foldlog
from tests.proxy.conftest import Running

MODEL = "claude-opus-5"


def client(proxy: Running | str, **options: Any) -> Anthropic:
    """The real SDK, pointed at the proxy; it does not retry unless it is told to."""
    plain = httpx2.Client(trust_env=False, verify=False)
    given: dict[str, Any] = {"api_key": "sk-ant-secret", "max_retries": 0, "http_client": plain}
    url = proxy if isinstance(proxy, str) else proxy.url
    return Anthropic(base_url=url, **(given | options))


def say(client: Anthropic, *messages: dict[str, Any], **more: Any) -> Any:
    """One request; what the SDK makes of its reply."""
    asked: dict[str, Any] = {"model": MODEL, "max_tokens": 1_000, **more}
    return client.messages.create(messages=list(messages), **asked)  # type: ignore[arg-type]


def user(words: Any) -> dict[str, Any]:
    return {"role": "user", "content": words}


def assistant(words: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": words}


def sessions(store: EventStore) -> list[str]:
    return sorted(info.session for info in store.sessions())


def only(store: EventStore) -> str:
    """The one session that there is."""
    (session,) = sessions(store)
    return session


def events(store: EventStore, *types: str, session: str | None = None) -> list[Event]:
    return list(store.read(session or only(store), types=types or None))


def verify(store: EventStore) -> None:
    """Every request that was sent can be shown again; every hash is right."""
    done = CliRunner().invoke(foldlog, ["--db", store.path, "verify", "--views"])
    assert done.exit_code == 0, done.output
