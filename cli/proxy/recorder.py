"""Where requests and replies are recorded: one thread, so that everything has one order.

A request is recorded before it is sent, a reply before the client has the end of it. SQLite has one
writer anyway; with one thread the next request of a session never overtakes the reply before it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakSet

from foldlog.cli.proxy.bodies import json_object
from foldlog.cli.proxy.described import first_words, folder_of
from foldlog.cli.proxy.grouping import (
    Conversations,
    Destination,
    Sender,
    Transcript,
    new_session,
    passages,
    sender,
)
from foldlog.cli.proxy.secrets import hidden, secrets
from foldlog.eventstore import EventDraft, FoldlogError, Store, VersionConflict
from foldlog.eventstore.codec import dumps, loads
from foldlog.projections import Session, open_view
from foldlog.projections.render.render import open_calls
from foldlog.projections.wire.blocks import content_of, plain_text

if TYPE_CHECKING:
    from foldlog.projections.live.outgoing import Outgoing, Reading
    from foldlog.projections.live.recording import Recording
    from foldlog.projections.view.view import View

T = TypeVar("T")
Body = dict[str, Any]

ATTEMPT = "x-stainless-retry-count"
"""Anthropic's SDKs tell in it how often a request was sent before."""

TRIES = 10
"""How often a request is begun while another program, a second proxy perhaps, appends to its
session each time."""

IDLE = 1_800.0
"""Seconds after which a session that is not heard of leaves memory; the store still has it."""

RECALLED = 20
"""How many sessions with the same beginning are looked through for one that a list goes on from."""

SAID = ("message.user", "message.assistant", "tool.result")


class Recorder:
    """Records what passes, and decides what is sent.

    Args:
        store: Where it is recorded.
        session: The one session of all requests; None for each its own.
        title: The title of sessions that begin here.
        policy: Manage views by this policy; None to observe only.
        tell: Called with a line that a person should read.
        name: Makes the id of a session that nothing names.
        forks: A session of a harness that begins with the past of another one is a fork of it.
        more: What else a ``Recording`` is to know.
    """

    def __init__(
        self,
        store: Store,
        *,
        session: str | None = None,
        title: str | None = None,
        policy: str | None = None,
        tell: Callable[[str], None],
        name: Callable[[], str] = new_session,
        forks: bool = True,
        **more: Any,
    ) -> None:
        self.tell = tell
        self._name = name
        self._forks = forks
        self.conversations = Conversations()
        self._store = store
        self._session = session
        self._title = title
        self._policy = policy
        self._more = more
        self._recordings: dict[str, Recording] = {}
        self._heard: dict[str, float] = {}
        self._tickets: WeakSet[Ticket] = WeakSet()
        self._thread = ThreadPoolExecutor(1, "recording")

    def soon(self, work: Callable[[], T]) -> Future[T]:
        """Do some work in its thread, after all that was given before."""
        return self._thread.submit(work)

    def close(self) -> None:
        """Finish what was given, and take no more."""
        self._thread.shutdown(wait=True)

    # -- in its thread ---------------------------------------------------------------------------

    def begin(
        self, headers: Mapping[str, str], body: Body, betas: frozenset[str], path: str = ""
    ) -> Ticket:
        """Record a request that is about to be sent.

        Args:
            headers: Only who speaks is taken from them, and what must not be recorded.
            path: What it was asked for, with its query: the same.

        Raises:
            FoldlogError: It cannot be recorded.
        """
        attempt = _number(headers.get(ATTEMPT))
        who = sender(headers, body)
        named = self._session or who.session
        transcript = None if named else self._transcript(body)
        destination = (
            self._destination(who, transcript, again=attempt > 0)
            if transcript
            else who.destination(str(named))
        )
        outgoing = self._begun(destination, body, betas, attempt)
        if transcript is not None:
            self.conversations.sent(transcript, destination.session)
        return Ticket(self, destination.session, transcript, outgoing, secrets(headers, path))

    def forget(self, idle: float = IDLE) -> None:
        """Let go of sessions that were not heard of for so many seconds and wait for no reply."""
        now, waiting = time.monotonic(), {ticket.session for ticket in self._tickets}
        gone = {session for session, heard in self._heard.items() if now - heard >= idle} - waiting
        for session in gone:
            self._recordings.pop(session, None)
            del self._heard[session]
        if gone:
            self.conversations.forget(gone)

    def opened(self, ticket: Ticket) -> None:
        """Take up a request that is on its way."""
        self._tickets.add(ticket)
        self._heard[ticket.session] = time.monotonic()

    def _begun(
        self, destination: Destination, body: Body, betas: frozenset[str], attempt: int
    ) -> Outgoing:
        """Begin in a session; once more where another program appends to it just then."""
        for left in reversed(range(TRIES)):
            try:
                recording = self._recording(destination, body)
                _caught_up(recording.session)
                return recording.begin(body, betas=betas, attempt=attempt)
            except VersionConflict:  # what it said is taken up first
                if not left:
                    raise
        raise AssertionError("the last try raises")

    def _destination(self, who: Sender, transcript: Transcript, *, again: bool) -> Destination:
        """Return where a request belongs that names no session."""
        known = self.conversations.find(transcript, again=again) or self._recalled(transcript)
        return Destination(known or self._name(), {**who.origin, "opening": transcript.opening})

    def _transcript(self, body: Body) -> Transcript:
        """Read the messages of a request, and what they go on from if the API holds that."""
        from foldlog.projections.live.request import HarnessRequest

        previous = HarnessRequest(body).previous_reply
        if previous and not self.conversations.knows(previous):
            self._recall(bool)
        return self.conversations.transcript(body["messages"], previous)

    def _recalled(self, transcript: Transcript) -> str | None:
        """Return the session of an earlier run that a list continues."""
        if not transcript.replied:
            return None
        self._recall(lambda opening: opening == transcript.opening)
        return self.conversations.find(transcript)

    def _recall(self, wanted: Callable[[str], bool]) -> None:
        """Remember the newest sessions of earlier runs, by how they began."""
        known = (
            info.session
            for info in self._store.sessions()
            if isinstance(info.origin, dict) and wanted(info.origin.get("opening") or "")
        )
        for _, session in zip(range(RECALLED), known, strict=False):
            if session not in self._recordings:
                self._heard.setdefault(session, time.monotonic())
                self.conversations.remember(session, self._messages(session))

    def _messages(self, session: str) -> list[dict[str, Any]]:
        """Return what the lineage of a session says, whatever is shown of it."""
        view = open_view(self._store, session)
        events = self._store.read_ranges(session, view.lineage, SAID)
        return [_message(event.type, event.data) for event in events]

    def _recording(self, destination: Destination, body: Body) -> Recording:
        from foldlog.projections.live.recording import Recording

        known = self._recordings.get(destination.session)
        if known is not None:
            return known
        session = Session(self._store, destination.session)
        if session.version == 0:
            parent = self._forked(destination, body) if self._forks else None
            if parent is not None:
                title = self._title or first_words(body)
                session = Session(self._store, parent).fork(title=title, new=session.id)
            else:
                session.append(EventDraft("session.started", self._started(destination, body)))
            self.tell(f"Recording session {destination.session}.")
        observe = self._policy is None
        made = Recording(session, observe=observe, policy=self._policy, **self._more)
        self._recordings[destination.session] = made
        return made

    def _forked(self, destination: Destination, body: Body) -> str | None:
        """Return the session that a new one of a harness continues under another id; None for a
        conversation that begins here.

        A harness that forks sends the whole past at once: the replies in it are known.
        """
        if destination.parent is not None or "session" not in destination.origin:
            return None
        wanted = set(passages(body["messages"]))
        if not wanted:
            return None
        shared = {name: len(wanted & self._passages(name)) for name in self._newest(destination)}
        best = max(shared, key=lambda name: shared[name], default=None)
        return best if best is not None and shared[best] else None

    def _newest(self, destination: Destination) -> list[str]:
        """Return the newest sessions of the same program."""
        client = destination.origin.get("client")
        infos = (info for info in self._store.sessions() if isinstance(info.origin, dict))
        same = (
            info.session
            for info in infos
            if info.origin.get("client") == client and "agent" not in info.origin
        )
        return list(islice(same, RECALLED))

    def _passages(self, session: str) -> set[bytes]:
        return set(passages(self._messages(session)))

    def _started(self, destination: Destination, body: Body) -> dict[str, Any]:
        origin = {**destination.origin, "model": body.get("model")}
        found: dict[str, Any] = {"origin": {k: v for k, v in origin.items() if v is not None}}
        said = {"title": first_words(body), "cwd": folder_of(body)}
        if destination.parent is None and self._title is not None:
            said["title"] = self._title
        found |= {key: value for key, value in said.items() if value}
        if destination.parent is not None and self._store.exists(destination.parent):
            view = open_view(self._store, destination.parent)
            parent = {"session": destination.parent, "version": view.version, "kind": "subagent"}
            call = _spawning(view, body)
            found["parent"] = {**parent, "tool_use_id": call} if call else parent
        return found


class Ticket:
    """A request on its way.

    What happens to it is recorded if that can be done; if not, a person reads why, and the reply
    reaches the client all the same.

    Attributes:
        session: Where it is recorded.
        managed: What to send in place of what the harness sent; None to send that as it came.
        betas: Names that are to be added to the ``anthropic-beta`` header.
    """

    def __init__(
        self,
        recorder: Recorder,
        session: str,
        transcript: Transcript | None,
        outgoing: Outgoing,
        secrets: frozenset[bytes],
    ) -> None:
        self.session = session
        self._secrets = secrets
        self._recorder = recorder
        self._transcript = transcript
        self._outgoing = outgoing
        recorder.opened(self)

    @property
    def managed(self) -> Body | None:
        return dict(self._outgoing.body) if self._outgoing.is_changed else None

    @property
    def betas(self) -> frozenset[str]:
        return frozenset(self._outgoing.betas)

    def refused(self, status: int, error: bytes, request_id: str | None) -> Ticket | None:
        """Record that the API refused it; return a smaller one to send instead, if there is one."""

        def record() -> Ticket | None:
            told = hidden(error, self._secrets)
            other = self._outgoing.refused(status, told, request_id)
            if other is None:
                return None
            return Ticket(self._recorder, self.session, self._transcript, other, self._secrets)

        return self._kept(record)

    def failed(self, problem: str) -> None:
        """Record that no response came."""
        self._kept(lambda: self._outgoing.failed(problem))

    def replied(self, message: bytes, request_id: str | None) -> None:
        """Record the reply, whole."""

        def record() -> None:
            read = json_object(message) or {}
            is_message = isinstance(read.get("content"), list)
            self._outgoing.replied(
                message if is_message else hidden(message, self._secrets), request_id
            )
            self._answered(read)

        self._kept(record)

    def reading(self, request_id: str | None) -> Reading | None:
        """Return what reads a streamed reply as it passes."""
        return self._kept(lambda: self._outgoing.reading(request_id))

    def read(self, reading: Reading, problem: str | None = None) -> None:
        """Record that a streamed reply ended, or broke off for that reason."""

        def record() -> None:
            stream = reading.stream
            if stream.error is not None:
                stream.error = loads(hidden(dumps(stream.error), self._secrets))
            reading.close(problem)
            self._answered(stream.message or {})

        self._kept(record)

    def _answered(self, reply: Mapping[str, Any]) -> None:
        if self._transcript is not None:
            self._recorder.conversations.answered(self._transcript, reply, self.session)

    def _kept(self, record: Callable[[], T]) -> T | None:
        try:
            return record()
        except Exception as error:
            self._recorder.tell(
                f"Not recorded in {self.session}: {_words(error)} The client has it all the same."
            )
            return None


def _spawning(view: View, body: Body) -> str | None:
    """Return the open call that a subagent was started by: its prompt is in the first message."""
    users = (message for message in body["messages"] if message["role"] == "user")
    words = plain_text(next((content_of(message.get("content")) for message in users), ""))
    calls = [call.block for call in open_calls(view)]
    prompts = [(call, (call.get("input") or {}).get("prompt")) for call in calls]
    ids = [call["id"] for call, prompt in prompts if isinstance(prompt, str) and prompt in words]
    return str(ids[0]) if len(ids) == 1 else None


def _caught_up(session: Session) -> None:
    """Take up what another program appended meanwhile, such as a compaction by hand."""
    if session.store.last(session.id) > session.version > 0:
        session.view()


def _message(type: str, data: Mapping[str, Any]) -> dict[str, Any]:
    if type == "tool.result":
        result = {"type": "tool_result", "tool_use_id": data.get("tool_use_id")}
        return {"role": "user", "content": [result]}
    said = {"role": type.removeprefix("message."), "content": data.get("content")}
    return {**said, "id": data["id"]} if "id" in data else said


def _number(text: str | None) -> int:
    return int(text) if text and text.isascii() and text.isdecimal() and len(text) < 6 else 0


def _words(error: Exception) -> str:
    return str(error) if isinstance(error, FoldlogError) else f"{type(error).__name__}: {error}."
