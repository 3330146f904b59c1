"""The promises of a recorded harness."""

from __future__ import annotations

from typing import Any

import pytest

from foldlog.eventstore.testing import Conformance, is_sound
from foldlog.projections.live import Recording
from foldlog.projections.session import Session
from foldlog.projections.testing.talk import text

REPLY = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-test",
    "content": [{"type": "text", "text": "Hi."}],
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 9, "output_tokens": 3},
}


class Observing(Conformance):
    """Requests of a harness and their replies are recorded as they happen, each once."""

    @pytest.mark.parametrize("observe", [True, False])
    def test_a_conversation_is_recorded(self, store: Any, observe: bool) -> None:
        recording = Recording(Session(store, "s"), observe=observe)
        messages: list[dict[str, Any]] = [{"role": "user", "content": "Hello"}]
        body = {"model": "claude-test", "max_tokens": 100, "messages": messages}
        recording.begin(body).replied(REPLY)
        messages += [
            {"role": "assistant", "content": REPLY["content"]},
            {"role": "user", "content": [text("And now?")]},
        ]
        recording.begin(body).replied({**REPLY, "id": "msg_2"})
        types = [event.type for event in store.read("s") if event.type.startswith("message.")]
        assert types == ["message.user", "message.assistant"] * 2
        assert is_sound(store)

    def test_a_harness_goes_on_after_a_restart(self, store: Any) -> None:
        messages: list[dict[str, Any]] = [{"role": "user", "content": "Hello"}]
        body = {"model": "claude-test", "max_tokens": 100, "messages": messages}
        Recording(Session(store, "s")).begin(body).replied(REPLY)
        messages += [
            {"role": "assistant", "content": REPLY["content"]},
            {"role": "user", "content": "Still there?"},
        ]
        outgoing = Recording(Session(store, "s")).begin(body)
        assert [message["role"] for message in outgoing.body["messages"]] == [
            *("user", "assistant", "user")
        ]
        outgoing.replied({**REPLY, "id": "msg_2"})
        said = [event for event in store.read("s") if event.type == "message.user"]
        assert [event.data["content"] for event in said] == ["Hello", "Still there?"]
