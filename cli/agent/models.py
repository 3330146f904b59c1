"""Who answers: a model of the API, or a script that is played. The real SDK talks to both."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from foldlog.cli.agent.scripted import Progress, Script
from foldlog.cli.agent.scripted_api import transport
from foldlog.eventstore import FoldlogError
from foldlog.projections import Session
from foldlog.projections.summaries import Summarizer
from foldlog.projections.summaries import summarizer as named_summarizer

if TYPE_CHECKING:
    from anthropic import Anthropic

DEFAULT = "claude-opus-5-5"
"""The model that is asked where none is named."""

SCRIPTED = "scripted:"
"""How the name of a script begins, as ``--model`` takes it."""


class NoKey(FoldlogError):
    """There is nothing to authenticate with."""

    def __init__(self) -> None:
        super().__init__(
            "no API key was found. Set ANTHROPIC_API_KEY (https://platform.claude.com makes"
            f" one), or play a script with --model {SCRIPTED}FILE."
        )


class RequestFailed(FoldlogError):
    """The API did not answer. What was recorded stays; the turn can be gone on with."""


def reason(error: Exception) -> str:
    """Return what the API, or the way to it, said."""
    body = getattr(error, "body", None)
    inner = body.get("error") if isinstance(body, dict) else None
    words = inner.get("message") if isinstance(inner, dict) else None
    return str(words or error).strip().rstrip(".") or type(error).__name__


def advice(error: Exception) -> str:
    """Return why a request failed and what to do about it: for a person, in one line."""
    import anthropic

    if isinstance(error, anthropic.AuthenticationError):
        return f"the API rejected this key: {reason(error)}. Check ANTHROPIC_API_KEY."
    if isinstance(error, anthropic.APIStatusError):
        later = "Try again later" if error.status_code >= 429 else "Nothing is lost"
        return (
            f"the API refused the request ({error.status_code}): {reason(error)}."
            f" {later}; `foldlog resume` continues."
        )
    return (
        f"the API was not reached: {reason(error)}. Check the network; `foldlog resume` continues."
    )


class Model(Protocol):
    """Who answers.

    Attributes:
        name: What requests name.
        window: The most tokens that it reads, where known; None where not.
    """

    @property
    def name(self) -> str: ...
    @property
    def window(self) -> int | None: ...

    def client(self, session: Session) -> Anthropic:
        """Return what talks to it for a session."""
        ...

    def summarizer(self, name: str, session: Session) -> Summarizer:
        """Return the summarizer of that name, who may ask it."""
        ...

    def of_call(self, tool_use_id: str) -> Model:
        """Return who answers the subagent that a call starts."""
        ...


@dataclass(frozen=True)
class Api:
    """A model of the API."""

    name: str
    window: int | None = None

    def client(self, session: Session) -> Anthropic:
        return self._client

    def summarizer(self, name: str, session: Session) -> Summarizer:
        return named_summarizer(name, model=self.name, client=self._client)

    def of_call(self, tool_use_id: str) -> Model:
        return self

    @cached_property
    def _client(self) -> Anthropic:
        from anthropic import Anthropic

        return Anthropic()

    def checked(self) -> Api:
        """Return the same, if there is something to authenticate with.

        Raises:
            NoKey: There is not.
        """
        client = self._client
        if not (client.api_key or client.auth_token or client.credentials):
            raise NoKey
        return self


@dataclass(frozen=True)
class Scripted:
    """A script that is played: no key, no network."""

    script: Script

    @property
    def name(self) -> str:
        return self.script.model

    @property
    def window(self) -> int | None:
        return self.script.window

    def client(self, session: Session) -> Anthropic:
        return self._client(session, summaries=False)

    def summarizer(self, name: str, session: Session) -> Summarizer:
        client = self._client(session, summaries=True)
        return named_summarizer(name, model=self.name, client=client)

    def of_call(self, tool_use_id: str) -> Model:
        return Scripted(self.script.of_call(tool_use_id))

    def _client(self, session: Session, *, summaries: bool) -> Anthropic:
        import httpx2
        from anthropic import Anthropic

        progress = Progress(session.store, session.id)
        played = transport(self.script, progress, summaries=summaries)
        client = httpx2.Client(transport=played)
        return Anthropic(api_key="scripted", base_url="http://scripted", http_client=client)


def named_model(name: str) -> Model:
    """Return the model that a person means: ``scripted:FILE``, or a name of the API.

    Raises:
        ScriptError: The file is not there, or no script.
        NoKey: There is nothing to authenticate with at the API.
    """
    if name.startswith(SCRIPTED):
        return Scripted(Script.read(name.removeprefix(SCRIPTED)))
    return Api(name).checked()
