"""Which session a request belongs to.

    named     the proxy was started for one session, or the client names it: ``x-foldlog-session``
    harness   Claude Code says which session of its own it is in, and which subagent speaks
    else      the conversation itself: the session whose messages this list goes on from

Conversations are known by digests of what was said, block by block, so that it does not matter how
a harness cuts its messages. A reply counts by its calls, else by its text: what a harness leaves
out of it (thinking, fields) makes no other conversation of it. A message thread names the reply
that it goes on from; what was said up to there is known by that.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any
from uuid import uuid4

from foldlog.cli.proxy.bodies import json_object
from foldlog.cli.proxy.headers import SESSION
from foldlog.cli.safe import LONGEST_NAME, plain_name
from foldlog.eventstore.codec import dumps
from foldlog.projections.live.restart import repeats
from foldlog.projections.wire.blocks import blocks, content_of, objects, plain_text

CLAUDE_SESSION, CLAUDE_AGENT = "x-claude-code-session-id", "x-claude-code-agent-id"
"""What Claude Code tells of itself in headers (seen in 2.1.332; 2.1.197 sends no agent)."""

_OLD_USER_ID = re.compile(r"_session_([0-9a-fA-F-]{36})$")
"""``metadata.user_id`` of older versions: ``user_…_account_…_session_<uuid>``; later it is JSON."""

NEWEST = 64
"""How many of the newest replies a list is compared with that begins with a summary."""

LEAST = 60
"""Bytes of a passage that tells one conversation from others."""

_ODD = re.compile(r"[^A-Za-z0-9._:-]")


@dataclass(frozen=True, slots=True)
class Destination:
    """Where a request belongs.

    Attributes:
        session: The id of the session in the store.
        origin: What is known of who speaks, for ``session.started``.
        parent: The session that this one is a subagent of.
    """

    session: str
    origin: Mapping[str, Any] = field(default_factory=dict)
    parent: str | None = None


@dataclass(frozen=True, slots=True)
class Sender:
    """What a request says about who sends it.

    Attributes:
        session: The session as foldlog is to call it; None where nothing names one.
        agent: The subagent that speaks.
        origin: For ``session.started``.
    """

    session: str | None = None
    agent: str | None = None
    origin: Mapping[str, Any] = field(default_factory=dict)

    def destination(self, session: str) -> Destination:
        """Return the session itself, or the session of the subagent that speaks."""
        if self.agent is None:
            return Destination(session, self.origin)
        return Destination(
            f"{session}-agent-{self.agent}", {**self.origin, "agent": self.agent}, session
        )


def sender(headers: Mapping[str, str], body: Mapping[str, Any]) -> Sender:
    """Return who sends a request, as its headers and its ``metadata`` say.

    A session of a harness is called ``proxy-`` and the id there: the bare id is that of the
    transcript which the harness keeps itself, and which may be imported into the same store.
    """
    origin = {"program": "foldlog proxy", "client": _client(headers), "version": _version(headers)}
    agent = plain_name(headers.get(CLAUDE_AGENT, "").strip()) or None
    named = plain_name(headers.get(SESSION, "").strip())
    if named:
        return Sender(named, agent, origin)
    claude = plain_name(headers.get(CLAUDE_SESSION, "").strip() or _session_in(body) or "")
    if claude:
        return Sender(f"proxy-{claude}", agent, {**origin, "session": claude})
    return Sender(None, None, origin)


class Conversations:
    """The conversations that are known, and the session of each."""

    def __init__(self) -> None:
        self._sessions: dict[bytes, str] = {}
        self._answered: dict[bytes, str] = {}
        self._replies: dict[str, bytes] = {}
        self._passages: dict[bytes, str] = {}
        self._newest: deque[tuple[str, str]] = deque(maxlen=NEWEST)

    def transcript(
        self, messages: Sequence[Mapping[str, Any]], previous: str | None = None
    ) -> Transcript:
        """Read a list of messages.

        Args:
            messages: The list.
            previous: The id of the reply that it goes on from, where the API holds all up to there
                (a message thread).
        """
        return Transcript(messages, self._replies.get(previous or "", b""))

    def knows(self, reply: str) -> bool:
        """Return whether a reply with this id was recorded or remembered."""
        return reply in self._replies

    def find(self, transcript: Transcript, *, again: bool = False) -> str | None:
        """Return the session whose conversation a list of messages continues; None for a new one.

        A list without any reply in it begins a new one, even if another began with the same words
        and was answered.

        Args:
            again: The request is sent once more, because it failed before.
        """
        if not transcript.replied and transcript.last in self._answered and not again:
            return None
        found = (self._sessions.get(digest) for digest in reversed(transcript.digests))
        known = next((session for session in found if session is not None), None)
        return known or self._edited(transcript)

    def _edited(self, transcript: Transcript) -> str | None:
        """Return the session of a list that lost its beginning: it holds a passage that was said in
        no other session, or begins with a summary that the model just wrote in one."""
        found = (self._passages.get(passage) for passage in reversed(transcript.passages))
        known = next((session for session in found if session), None)
        if known is not None or transcript.replied:
            return known
        written = reversed(self._newest)
        return next((name for text, name in written if repeats(transcript.beginning, text)), None)

    def sent(self, transcript: Transcript, session: str) -> None:
        """Remember that a list of messages was sent in a session."""
        self._sessions[transcript.last] = session
        self._said(transcript.passages, session)

    def _said(self, passages: Iterable[bytes], session: str) -> None:
        """Remember passages; one that is said in two sessions tells nothing."""
        for passage in passages:
            if self._passages.setdefault(passage, session) != session:
                self._passages[passage] = ""

    def answered(self, transcript: Transcript, reply: Mapping[str, Any], session: str) -> None:
        """Remember that a list of messages was answered in a session."""
        after = chain([{**reply, "role": "assistant"}], transcript.last)
        if after:
            self._answered[transcript.last] = session
            self._sessions[after[-1]] = session
            self._replies[str(reply.get("id"))] = after[-1]
            self._newest.append((plain_text(content_of(reply.get("content"))), session))

    def forget(self, sessions: Set[str]) -> None:
        """Let go of what was said in these sessions."""
        for known in (self._sessions, self._answered, self._passages):
            for digest in [digest for digest, session in known.items() if session in sessions]:
                del known[digest]
        kept = [(text, session) for text, session in self._newest if session not in sessions]
        self._newest = deque(kept, NEWEST)

    def remember(self, session: str, messages: Iterable[Mapping[str, Any]]) -> None:
        """Remember what was said in a session, as far as nobody else said the same."""
        messages = list(messages)
        self._said(passages(messages), session)
        last = b""
        for message in messages:
            for digest in chain([message], last):
                self._sessions.setdefault(digest, session)
                last = digest
            if isinstance(message.get("id"), str):
                self._replies.setdefault(message["id"], last)


class Transcript:
    """A list of messages, as conversations know it.

    Attributes:
        digests: One for each thing that was said: of it and of all that was said before.
        replied: Whether a reply of the assistant is in it, or before it.
        passages: One for each reply that it holds, with what was said just before it.
        beginning: The text of its first message.

    Args:
        messages: The list.
        before: The digest of what was said before it, where the list does not hold that.
    """

    def __init__(self, messages: Sequence[Mapping[str, Any]], before: bytes = b"") -> None:
        self.digests = [*([before] if before else []), *chain(messages, before)]
        spoken = any(message.get("role") == "assistant" for message in messages)
        self.replied = spoken or bool(before)
        self.passages = passages(messages)
        first = messages[0].get("content") if messages else None
        self.beginning = plain_text(content_of(first))

    @property
    def last(self) -> bytes:
        return self.digests[-1] if self.digests else b""

    @property
    def opening(self) -> str:
        """How the conversation begins: its first thing said."""
        return next(iter(self.digests), b"").hex()


def chain(messages: Iterable[Mapping[str, Any]], last: bytes = b"") -> list[bytes]:
    """Return a digest for each thing that was said, after what was said before."""
    digests = []
    for message in messages:
        for part in _parts(message):
            last = blake2b(last + part, digest_size=16).digest()
            digests.append(last)
    return digests


def passages(messages: Iterable[Mapping[str, Any]]) -> list[bytes]:
    """Return a digest for each reply and what was said just before it, wherever they stand; not
    for short ones, which anybody may say."""
    found, before = [], b""
    for message in messages:
        for part in _parts(message):
            if message.get("role") == "assistant" and len(before) + len(part) >= LEAST:
                found.append(blake2b(before + part, digest_size=16).digest())
            before = part
    return found


def _parts(message: Mapping[str, Any]) -> Iterator[bytes]:
    """Yield what a message says, in the parts that count; system messages do not."""
    role, said = message.get("role"), objects(blocks(content_of(message.get("content"))))
    if role == "assistant":
        calls = [str(block.get("id")) for block in said if block.get("type") == "tool_use"]
        text = "".join(str(block.get("text")) for block in said if block.get("type") == "text")
        if calls or text:
            yield dumps(["assistant", *calls] if calls else ["assistant", None, text])
    elif role == "user":
        yield from (_part(block) for block in said)


def _part(block: Mapping[str, Any]) -> bytes:
    if block.get("type") == "text":
        return dumps(["text", block.get("text")])
    if block.get("type") == "tool_result":
        return dumps(["result", block.get("tool_use_id")])
    return dumps({key: block[key] for key in sorted(block) if key != "cache_control"})


def new_session() -> str:
    """Return an id for a conversation that nothing names."""
    return f"proxy-{uuid4()}"


def _session_in(body: Mapping[str, Any]) -> str | None:
    """Return the session that ``metadata.user_id`` names, in either of its forms."""
    metadata = body.get("metadata")
    user = metadata.get("user_id") if isinstance(metadata, Mapping) else None
    if not isinstance(user, str):
        return None
    old = _OLD_USER_ID.search(user)
    if old:
        return old[1]
    told = (json_object(user.encode("utf-8", "replace")) or {}).get("session_id")
    return told.strip() if isinstance(told, str) else None


def _client(headers: Mapping[str, str]) -> str | None:
    """Return the program that sends, as its ``User-Agent`` begins."""
    name = _ODD.sub("-", headers.get("user-agent", "").split(" ")[0])
    return name if 0 < len(name) <= LONGEST_NAME else None


def _version(headers: Mapping[str, str]) -> str | None:
    """Return the version of that program, where it says one."""
    found = re.match(r"[^/\s]+/([0-9A-Za-z.+-]{1,40})", headers.get("user-agent", ""))
    return found[1] if found else None
