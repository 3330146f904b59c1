"""What a client sent is rebuilt exactly, in the form in which it wrote it, and kept once."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from foldlog import EventStore, Session
from foldlog.eventstore import Event
from foldlog.projections.explain.proof import has_diverged
from foldlog.projections.live.recording import Recording
from foldlog.projections.render.sent import sent
from tests.clients.exchanges import Exchange
from tests.clients.replay import asked, replay_through_the_sdk
from tests.fixtures.stores.make_divergence_1 import CLAUDE_CODE, OTHER, WRITTEN
from tests.live.clients import CLIENTS, MODEL, loop
from tests.live.harness import events, problems, session

LATER = 10

STORES = Path(__file__).parents[1] / "fixtures" / "stores"


def record(found: Session, exchanges: Iterable[Exchange]) -> Session:
    """A session that recorded a loop as it passed."""
    recording = Recording(found, observe=True)
    for one in exchanges:
        recording.begin(one.body).replied(one.answer)
    return found


def observed(exchanges: Iterable[Exchange]) -> Session:
    """The same, of a session in memory."""
    return record(session(), exchanges)


def shown(found: Session, request: Event) -> dict[str, Any]:
    """What was sent, as foldlog shows it."""
    return sent(found.view(request.data["view"]), request)


def stored(path: Path, client: str, turns: int) -> tuple[int, int]:
    """The events and the bytes that a loop takes in a store's file."""
    with EventStore(path) as store:
        record(Session(store, "s"), loop(CLIENTS[client], turns))
        events = store.last("s")
    return events, path.stat().st_size


class TestAClientsOwnForm:
    @pytest.mark.parametrize("client", CLIENTS)
    def test_each_request_is_its_view(self, client: str) -> None:
        exchanges = list(loop(CLIENTS[client], 6))
        found = observed(exchanges)
        requests = events(found, "request.sent")
        assert [e.version for e in requests if has_diverged(e)] == []
        for one, request in zip(exchanges, requests, strict=True):
            assert json.dumps(shown(found, request)) == json.dumps(asked(one.body))
        assert problems(found) == []

    @pytest.mark.parametrize("client", CLIENTS)
    def test_it_takes_little_more_than_the_usual_one(self, client: str, tmp_path: Path) -> None:
        usual = stored(tmp_path / "usual.db", "canonical", 60)
        own = stored(tmp_path / "own.db", client, 60)
        assert own[0] == usual[0], "no event of its own"
        assert own[1] <= 1.1 * usual[1]

    def test_a_client_that_changes_its_form_is_followed(self) -> None:
        first, second = (list(loop(CLIENTS[c], 4)) for c in ("langchain", "python-sdk"))
        exchanges = [*first[:5], *second[5:]]
        found = observed(exchanges)
        requests = events(found, "request.sent")
        assert not any(map(has_diverged, requests))
        assert json.dumps(shown(found, requests[-1])) == json.dumps(asked(exchanges[-1].body))


class TestWhatWasRecordedBefore:
    """Differences in the form of 2026-11-30: from the first differing message to the last."""

    @pytest.mark.parametrize(
        ("name", "written"), [("claude-code", CLAUDE_CODE), ("other", WRITTEN), ("aside", OTHER)]
    )
    def test_it_is_still_proven_and_shown(self, name: str, written: Any, tmp_path: Path) -> None:
        path = shutil.copy(STORES / "divergence-1.db", tmp_path / "then.db")
        with EventStore(path) as store:
            found = Session(store, name)
            turns = [e for e in events(found, "request.sent") if "sent" not in e.data]
            for nth, request in enumerate(turns):
                assert has_diverged(request)
                whole = {"system": "Be \ud800.", "messages": written[: 2 * nth + 1]}
                assert json.dumps(shown(found, request)) == json.dumps(whole)
            assert problems(found) == []

    def test_and_goes_on_in_the_new_form(self, tmp_path: Path) -> None:
        path = shutil.copy(STORES / "divergence-1.db", tmp_path / "then.db")
        with EventStore(path) as store:
            found = Session(store, "claude-code")
            asks = [*CLAUDE_CODE, {"role": "user", "content": "More?"}]
            body = {"model": MODEL, "max_tokens": 9, "system": "Be \ud800.", "messages": asks}
            Recording(found, observe=True).begin(body)
            [*_, request] = events(found, "request.sent")
            assert json.dumps(shown(found, request)["messages"]) == json.dumps(asks)
            assert problems(found) == []


# -- any list in any form ----------------------------------------------------------------------


class Client:
    """Says new things and writes its list in forms that a test draws.

    Attributes:
        messages: Its list as it means it.
        written: Its list as it writes it.
    """

    def __init__(self, data: st.DataObject) -> None:
        self.data = data
        self.said = 0
        self.messages: list[dict[str, Any]] = []
        self.written: list[dict[str, Any]] = []

    def draw(self, strategy: st.SearchStrategy[Any]) -> Any:
        return self.data.draw(strategy)

    def new(self) -> str:
        """A text that was not said before."""
        self.said += 1
        return f"<{self.said}> " + "lorem ipsum " * 4

    def exchange(self, loose: bool, again: bool = True) -> Exchange:
        """The next request, and what it is answered."""
        self._say()
        self._rewrite(again)
        if loose:
            self._bend()
        reply = self._reply()
        body = {"model": MODEL, "max_tokens": 9, "messages": [*self.written]}
        answer = {"id": f"msg_{self.said}", "role": "assistant", "model": MODEL, "content": reply}
        self.messages.append({"role": "assistant", "content": reply})
        return Exchange("/v1/messages", {}, json.loads(json.dumps(body)), 200, answer)

    def _say(self) -> None:
        calls = [b for b in self._newest() if b["type"] == "tool_use"]
        results = [
            {"type": "tool_result", "tool_use_id": b["id"], "content": self._content()}
            | self.draw(st.sampled_from([{}, {"is_error": True}, {"is_error": None}]))
            for b in calls
        ]
        if results:
            self.messages.append({"role": "user", "content": results})
        if not results or self.draw(st.booleans()):
            parts = [self._content() for _ in range(self.draw(st.integers(1, 2)))]
            self.messages += [{"role": "user", "content": part} for part in parts]

    def _newest(self) -> list[dict[str, Any]]:
        return list(self.messages[-1]["content"]) if self.messages else []

    def _content(self) -> Any:
        block = {"type": "text", "text": self.new()}
        return self.draw(st.sampled_from([block["text"], [block]]))

    def _reply(self) -> list[dict[str, Any]]:
        made: list[dict[str, Any]] = []
        if self.draw(st.booleans()):
            made.append({"type": "thinking", "thinking": self.new(), "signature": self.new()})
        made.append({"type": "text", "text": self.new()} | self.draw(_CITATIONS))
        for _ in range(self.draw(st.integers(0, 2))):
            given = {"a": self.new(), "b": {"c": 1, "d": None}}
            made.append(
                {"type": "tool_use", "id": f"toolu_{self.said}", "name": "x", "input": given}
            )
        return made

    # -- how it writes it ----------------------------------------------------------------------

    def _rewrite(self, older: bool) -> None:
        """Write what is new; now and then write older messages in another form."""
        again = self.draw(st.sets(st.integers(0, LATER), max_size=2)) if older else set()
        for at, message in enumerate(self.messages):
            if at >= len(self.written):
                self.written.append(self._written(message))
            elif at in again:
                self.written[at] = self._written(message, list(self.written[at]))

    def _written(self, message: dict[str, Any], keys: list[str] | None = None) -> dict[str, Any]:
        content = message["content"]
        if isinstance(content, str):
            content = self.draw(st.sampled_from([content, [{"type": "text", "text": content}]]))
        elif [b["type"] for b in content] == ["text"] and self.draw(st.booleans()):
            content = content[0]["text"]
        if not isinstance(content, str):
            content = [self._block(block) for block in content]
        made = {"role": message["role"], "content": content}
        order = keys or self.draw(st.sampled_from([["role", "content"], ["content", "role"]]))
        return {key: made[key] for key in order if key in made}

    def _block(self, block: dict[str, Any]) -> dict[str, Any]:
        null = self.draw(st.sampled_from([{}, {}, {"citations": None}, {"caller": None}]))
        mark = self.draw(st.sampled_from([{}, {}, {"cache_control": {"type": "ephemeral"}}]))
        made = {**null, **block, **mark}
        return {key: made[key] for key in self.draw(st.permutations(list(made)))}

    def _bend(self) -> None:
        """Do to the written list what has no form."""
        at = self.draw(st.integers(0, len(self.written) - 1))
        message = self.written[at]
        content = message["content"]
        what = self.draw(st.sampled_from(["nothing", "blank", "words", "empty", "field"]))
        if what == "blank" and isinstance(content, list):
            self.written[at] = {**message, "content": [*content, {"type": "text", "text": " "}]}
        elif what == "words" and message["role"] == "assistant" and isinstance(content, str):
            self.written[at] = {**message, "content": content + "\n"}
        elif what == "field":
            self.written[at] = {**message, "name": "somebody"}


_CITATIONS = st.sampled_from([{}, {"citations": None}])


@given(st.data())
@settings(max_examples=60, deadline=None, phases=[Phase.generate])
def test_every_request_is_rebuilt_and_no_content_is_kept_twice(data: st.DataObject) -> None:
    client = Client(data)
    exchanges = [client.exchange(False) for _ in range(data.draw(st.integers(1, 6)))]
    with EventStore(":memory:") as store:
        replay_through_the_sdk(store, exchanges)
        found = Session(store, "s")
        requests = events(found, "request.sent")
        for one, request in zip(exchanges, requests, strict=True):
            assert json.dumps(shown(found, request)) == json.dumps(asked(one.body))
        assert [e.version for e in requests if has_diverged(e)] == []
        kept = json.dumps([e.data for e in store.read("s")])
        assert [n for n in range(1, client.said + 1) if kept.count(f"<{n}>") > 1] == []
        assert problems(found) == []


@given(st.data())
@settings(max_examples=60, deadline=None, phases=[Phase.generate])
def test_what_has_no_form_is_kept_once_and_holds(data: st.DataObject) -> None:
    client = Client(data)
    exchanges = [client.exchange(True) for _ in range(data.draw(st.integers(1, 5)))]
    with EventStore(":memory:") as store:
        found = record(Session(store, "s"), exchanges)
        before, said = found.version, client.said
        exchanges += [client.exchange(False, again=False) for _ in range(2)]
        if data.draw(st.booleans()):  # as another process goes on
            found = Session(store, "s")
        record(found, exchanges[-2:])
        requests = events(found, "request.sent")
        for one, request in zip(exchanges, requests, strict=True):
            assert json.dumps(shown(found, request)) == json.dumps(asked(one.body))
        added = json.dumps([e.data for e in store.read("s", after=before)])
        assert [n for n in range(1, said + 1) if f"<{n}>" in added] == []
        assert problems(found) == []
