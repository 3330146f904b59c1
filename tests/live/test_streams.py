"""Replies that come as streams, that break off, come late, or come to several threads at once."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest

from foldlog.eventstore import EventStore
from foldlog.projections import Session
from foldlog.projections.live.recording import Outgoing, Recording
from tests.live.harness import MODEL, TOOLS, Harness, events, problems, session, texts, types
from tests.server import Server, call, overloaded, reply, thought


@pytest.fixture(params=[True, False], ids=["observed", "managed"])
def harness(api: Server, request: pytest.FixtureRequest) -> Harness:
    return Harness(api, Recording(session(), observe=request.param), system="Be brief.")


def streamed(harness: Harness, stop_after: int | None = None) -> Outgoing:
    """Send the list as a stream, and close it after some chunks."""
    import httpx2

    outgoing = harness.recording.begin({**harness.body(), "stream": True})
    body, headers = json.dumps(outgoing.body), {"x-api-key": "test"}
    with httpx2.Client(trust_env=False) as client:
        url = f"{harness.api.url}/v1/messages"
        with client.stream("POST", url, content=body, headers=headers) as response:
            reading = outgoing.reading(response.headers.get("request-id"))
            problem: Exception | None = None
            try:
                for count, chunk in enumerate(response.iter_raw()):
                    if count == stop_after:
                        break
                    reading.feed(chunk)
            except httpx2.HTTPError as error:
                problem = error
            reading.close(problem)
            reading.close()
    return outgoing


class TestStreams:
    def test_a_whole_one_is_as_the_message_would_have_been(self, harness: Harness) -> None:
        harness.api.script(reply(thought(), "One.", call("bash", "toolu_1", command="ls")))
        harness.more["tools"] = TOOLS
        harness.messages.append({"role": "user", "content": "one"})
        streamed(harness)
        [recorded] = events(harness.session, "message.assistant")
        assert harness.api.last.message is not None
        assert recorded.data["content"] == harness.api.last.message["content"]
        assert recorded.data["stop_reason"] == "tool_use"
        assert "partial" not in recorded.data

    def test_one_that_breaks_off_is_partial(self, harness: Harness) -> None:
        harness.api.script(reply("One two three.").dying(after=4), reply("Again."))
        harness.messages.append({"role": "user", "content": "one"})
        streamed(harness)
        [recorded] = events(harness.session, "message.assistant")
        assert recorded.data["partial"] is True
        assert recorded.data["problem"]
        harness.ask()
        assert texts(harness.session)[0] == "one"
        assert "One two" not in str(texts(harness.session))
        assert problems(harness.session) == []

    def test_one_that_the_harness_closes_is_partial(self, harness: Harness) -> None:
        harness.api.script(reply("One two three, and so on."))
        harness.messages.append({"role": "user", "content": "one"})
        streamed(harness, stop_after=2)
        [recorded] = events(harness.session, "message.assistant")
        assert recorded.data["partial"] is True

    def test_one_that_ends_in_an_error_tells_it(self, harness: Harness) -> None:
        harness.api.script(reply("One two three.").failing(overloaded(), after=4))
        harness.messages.append({"role": "user", "content": "one"})
        streamed(harness)
        [recorded] = events(harness.session, "message.assistant")
        assert recorded.data["problem"] == "Overloaded"

    def test_strange_bytes_are_kept_and_raise_nothing(self, harness: Harness) -> None:
        harness.messages.append({"role": "user", "content": "one"})
        reading = harness.recording.begin(harness.body()).reading()
        reading.feed(b"event: message_start\ndata: {\xff not json\n\n")
        reading.close()
        [failed] = events(harness.session, "request.failed")
        assert failed.data["error"]["message"]

    def test_a_call_that_broke_off_is_kept_and_not_shown(self, harness: Harness) -> None:
        harness.more["tools"] = TOOLS
        harness.api.script(reply(call("bash", "toolu_1", command="ls")).dying(after=3))
        harness.messages.append({"role": "user", "content": "one"})
        streamed(harness)
        [recorded] = events(harness.session, "message.assistant")
        assert recorded.data["unfinished"][0]["id"] == "toolu_1"
        assert recorded.data["content"] == []
        harness.session.user("two")
        assert harness.session.render()["messages"][0]["role"] == "user"
        assert len(harness.session.render()["messages"]) == 1

    def test_a_request_without_a_response_failed(self, harness: Harness) -> None:
        harness.messages.append({"role": "user", "content": "one"})
        harness.recording.begin(harness.body()).failed(TimeoutError())
        [failed] = events(harness.session, "request.failed")
        assert failed.data["error"] == {"message": "TimeoutError", "type": "TimeoutError"}


class TestOvertaken:
    def test_a_reply_whose_conversation_went_on_stands_beside_it(self, harness: Harness) -> None:
        harness.say("one")
        harness.messages.append({"role": "user", "content": "two"})
        slow = harness.recording.begin(harness.body())
        slow_list = list(harness.messages)
        harness.messages[-1] = {"role": "user", "content": "other"}
        harness.ask()
        content = [{"type": "text", "text": "Late."}]
        late = {"id": "msg_late", "model": MODEL, "content": content, "usage": {"input_tokens": 1}}
        slow.replied(late)
        assert "Late." not in str(texts(harness.session))
        assert len(events(harness.session, "request.answered")) == 1
        harness.messages = [*slow_list, {"role": "assistant", "content": content}]
        harness.say("go on")
        assert "Late." in str(texts(harness.session))
        recorded = events(harness.session, "message.assistant")
        [taken] = [event for event in recorded if event.data.get("id") == "msg_late"]
        assert taken.data["usage"] == {"input_tokens": 1}
        assert problems(harness.session) == []

    def test_a_reply_does_not_follow_what_was_said_after_its_request(
        self, harness: Harness
    ) -> None:
        harness.messages.append({"role": "user", "content": "one"})
        slow = harness.recording.begin(harness.body())
        harness.messages.append({"role": "user", "content": "and this"})
        harness.ask()
        slow.replied({"id": "msg_slow", "content": [{"type": "text", "text": "Late."}]})
        assert "Late." not in str(texts(harness.session))
        assert len(events(harness.session, "request.answered")) == 1

    def test_a_reply_is_kept_though_another_program_appended(self, harness: Harness) -> None:
        harness.messages.append({"role": "user", "content": "one"})
        outgoing = harness.recording.begin(harness.body())
        Session(harness.session.store, "s").user("from elsewhere")
        outgoing.replied({"id": "msg_1", "content": [{"type": "text", "text": "Paid for."}]})
        [answered] = events(harness.session, "request.answered")
        assert answered.data["content"][0]["text"] == "Paid for."

    def test_several_threads(self, harness: Harness) -> None:
        harness.say("one")
        begun = list(harness.messages)

        def run(number: int) -> None:
            said = {"role": "user", "content": f"thread {number}"}
            harness.send({**harness.body(), "messages": [*begun, said]})

        threads = [threading.Thread(target=run, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        answers = events(harness.session, "message.assistant", "request.answered")
        assert len(answers) == 9
        assert len({event.data["id"] for event in answers}) == 9
        assert len(events(harness.session, "request.sent")) == 9
        assert problems(harness.session) == []


class TestMessageThreads:
    def thread(self, harness: Harness, previous: str, said: Any) -> dict[str, Any]:
        thread = {"type": "continue", "previous_message_id": previous}
        messages = [{"role": "user", "content": said}]
        return {"model": MODEL, "max_tokens": 500, "messages": messages, "thread": thread}

    def test_a_delta_goes_behind_the_reply_that_it_names(self, api: Server) -> None:
        harness = Harness(api, Recording(session()), system="Be brief.", tools=TOOLS)
        first = harness.say("one")
        harness.send(self.thread(harness, first["id"], "two"))
        sent = harness.outgoing[-1].body
        assert [message["content"] for message in sent["messages"][::2]] == ["one", "two"]
        assert sent["system"] == "Be brief."
        assert sent["tools"] == TOOLS
        assert "thread" not in sent
        assert types(harness.session).count("system.set") == 1
        assert problems(harness.session) == []

    def test_going_on_from_an_earlier_reply_is_a_branch(self, api: Server) -> None:
        harness = Harness(api, Recording(session()), tools=TOOLS)
        first = harness.say("one")
        harness.say("two")
        harness.send(self.thread(harness, first["id"], "other"))
        shown = [m["content"] for m in harness.session.render()["messages"] if m["role"] == "user"]
        assert shown == ["one", "other"]

    def test_after_a_resume(self, api: Server) -> None:
        harness = Harness(api, Recording(session()), tools=TOOLS)
        first = harness.say("one")
        resumed = Session(harness.session.store, "s")
        harness.recording = Recording(resumed)
        harness.send(self.thread(harness, first["id"], "two"))
        assert [event.type for event in events(resumed, "message.user")] == ["message.user"] * 2
        assert not events(resumed, "head.moved")


class TestCrashes:
    def test_between_request_and_reply(self, harness: Harness) -> None:
        harness.say("one")
        harness.messages.append({"role": "user", "content": "two"})
        harness.recording.begin(harness.body())
        resumed = Session(harness.session.store, "s")
        harness.recording = Recording(resumed, observe=harness.recording.observe)
        harness.ask()
        assert len(events(resumed, "message.user")) == 2
        assert not events(resumed, "head.moved")
        assert problems(resumed) == []


class TestCost:
    def test_a_resumed_view_costs_what_it_shows(
        self, api: Server, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A harness that sends ``session.render()`` reads the view, however long the history is."""
        read = {length: self.read(api, monkeypatch, length) for length in (40, 400)}
        assert read[400] <= read[40] + 2

    def read(self, api: Server, monkeypatch: pytest.MonkeyPatch, length: int) -> int:
        store = EventStore(":memory:")
        before = Session(store, "s")
        for number in range(length):
            before.user(f"said {number}")
            before.assistant([{"type": "text", "text": f"Reply {number}."}], model=MODEL)
        last = before.version
        hidden = {"first": 1, "last": last, "shown": "marker", "text": "[Earlier messages.]"}
        before.edit("user", "long", [hidden])
        resumed = Session(store, "s")
        body = {"model": MODEL, "max_tokens": 9, "messages": resumed.render()["messages"]}
        body["messages"] = [{"role": "user", "content": [
            {"type": "text", "text": "[Earlier messages.]"}, {"type": "text", "text": "go on"}
        ]}]  # fmt: skip
        count = 0
        ranges, get = EventStore.read_ranges, EventStore.get

        def counted(*args: Any, **more: Any) -> Any:
            nonlocal count
            for event in ranges(*args, **more):
                count += 1
                yield event

        def one(*args: Any, **more: Any) -> Any:
            nonlocal count
            count += 1
            return get(*args, **more)

        with monkeypatch.context() as patched:
            patched.setattr(EventStore, "read_ranges", counted)
            patched.setattr(EventStore, "get", one)
            Recording(resumed, observe=True).begin(body)
        assert [event.data["content"][0]["text"] for event in events(resumed, "message.user")[-1:]]
        assert not events(resumed, "head.moved")
        return count
