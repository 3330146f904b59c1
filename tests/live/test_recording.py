"""Recording: each request and what became of it, once, and the view is what was sent."""

from __future__ import annotations

from typing import Any

import pytest

from foldlog.eventstore import InvalidDraft, VersionConflict
from foldlog.projections import Session
from foldlog.projections.live.recording import Recording
from tests.live.harness import TOOLS, Harness, events, problems, session, texts, types
from tests.server import Server, call, reply
from tests.soak.effort import watched


@pytest.fixture(params=[True, False], ids=["observed", "managed"])
def harness(api: Server, request: pytest.FixtureRequest) -> Harness:
    return Harness(api, Recording(session(), observe=request.param), system="Be brief.")


class TestEachThingOnce:
    def test_two_turns(self, harness: Harness) -> None:
        harness.say("one")
        harness.say("two")
        assert types(harness.session) == [
            "system.set", "message.user", "request.sent", "message.assistant",
            *([] if harness.recording.observe else ["policy.set"][:0]),
            "message.user", "request.sent", "message.assistant",
        ]  # fmt: skip
        assert problems(harness.session) == []

    def test_results_are_events_of_their_own(self, api: Server, harness: Harness) -> None:
        harness.more["tools"] = TOOLS
        api.script(reply(call("bash", "toolu_a"), call("bash", "toolu_b")), reply("Done."))
        harness.results(harness.say("work"), "first", "second")
        harness.ask()
        found = events(harness.session, "tool.result")
        assert [event.data["content"] for event in found] == ["first", "second"]
        assert problems(harness.session) == []

    def test_the_reply_is_as_it_came(self, harness: Harness) -> None:
        message = harness.say("one")
        [recorded] = events(harness.session, "message.assistant")
        assert recorded.data["content"] == message["content"]
        assert recorded.data["usage"] == message["usage"]
        assert recorded.data["id"] == message["id"]
        assert recorded.data["request_id"].startswith("req_")


class TestWhatCannotBeRecorded:
    @pytest.mark.parametrize("levels", [400, 600, 2_000, 50_000])
    def test_a_request_too_deep_is_refused(self, harness: Harness, levels: int) -> None:
        harness.say("one")
        before = types(harness.session)
        nested: list[Any] = []
        for _ in range(levels):
            nested = [nested]
        harness.messages.append({"role": "user", "content": [{"type": "odd", "odd": nested}]})
        with pytest.raises(InvalidDraft, match="nested too deeply"):
            harness.recording.begin(harness.body())
        assert types(harness.session) == before
        harness.messages.pop()
        harness.say("two")
        assert problems(harness.session) == []

    def test_a_list_that_says_nothing_is_sent_as_it_is(self, harness: Harness) -> None:
        outgoing = harness.recording.begin(harness.body())
        assert outgoing.request is None
        assert outgoing.body == harness.body()
        assert harness.session.store.last("s") == 0

    @pytest.mark.parametrize("levels", [400, 5_000])
    def test_an_answer_too_deep_is_kept_as_text(self, harness: Harness, levels: int) -> None:
        deep = b"[" * levels + b"]" * levels
        answer = b'{"id": "msg_1", "content": [{"type": "odd", "odd": %b}]}' % deep
        harness.messages.append({"role": "user", "content": "one"})
        harness.recording.begin(harness.body()).replied(answer)
        harness.recording.begin(harness.body()).refused(500, b'{"error": %b}' % deep)
        first, second = events(harness.session, "request.failed")
        assert "is no message" in first.data["error"]["message"]
        assert "[[[[[[[[" in second.data["error"]["message"]

    def test_numbers_of_any_length_come_back(self, harness: Harness) -> None:
        harness.messages.append({"role": "user", "content": "one"})
        outgoing = harness.recording.begin(harness.body())
        outgoing.replied(
            b'{"content": [{"type": "text", "text": "1", "n": 12345678901234567890123}]}'
        )
        [reply] = events(harness.session, "message.assistant")
        assert reply.data["content"][0]["n"] == 12345678901234567890123


class TestAnEditedHistory:
    def test_is_a_rewind_and_a_branch(self, harness: Harness) -> None:
        for words in ("one", "two", "three"):
            harness.say(words)
        harness.messages = harness.messages[:2]
        harness.say("other")
        [move] = events(harness.session, "head.moved")
        assert [t for t in texts(harness.session) if isinstance(t, str)] == ["one", "other"]
        assert harness.session.store.get("s", move.data["to"]).type == "message.assistant"
        assert problems(harness.session) == []


class TestSideRequests:
    def test_are_recorded_beside_the_conversation(self, api: Server, harness: Harness) -> None:
        harness.say("one")
        before = texts(harness.session)
        harness.send({**harness.body(), "messages": [{"role": "user", "content": "A title?"}]})
        assert texts(harness.session) == before
        [answered] = events(harness.session, "request.answered")
        assert answered.data["content"]
        harness.say("two")
        assert not events(harness.session, "head.moved")
        assert problems(harness.session) == []


class TestFailures:
    def test_a_refusal_is_recorded_with_its_request(self, api: Server, harness: Harness) -> None:
        from tests.server import overloaded

        api.faults.append(overloaded())
        with pytest.raises(Exception, match="Overloaded"):
            harness.say("one")
        [failed] = events(harness.session, "request.failed")
        [sent] = events(harness.session, "request.sent")
        assert failed.data["request"] == sent.version
        assert failed.data["error"]["status"] == 529

    def test_a_retry_is_the_same_request(self, api: Server, harness: Harness) -> None:
        from tests.server import overloaded

        harness.messages.append({"role": "user", "content": "one"})
        api.faults.append(overloaded())
        with pytest.raises(Exception, match="Overloaded"):
            harness.send(harness.body())
        harness.send(harness.body(), attempt=1)
        assert types(harness.session).count("request.sent") == 1
        assert types(harness.session).count("message.user") == 1

    def test_another_program_is_a_conflict(self, harness: Harness) -> None:
        harness.say("one")
        other = Session(harness.session.store, "s")
        other.user("from elsewhere")
        before = types(harness.session)
        with pytest.raises(VersionConflict):
            harness.say("two")
        assert types(harness.session) == before


class TestWhatItReads:
    def test_an_edit_reads_what_is_new_not_the_history(self, api: Server) -> None:
        harness = Harness(api, Recording(session(), policy="adaptive", window=3_000, reserve=300))
        for number in range(60):
            harness.say(f"say {number} " + "and more of it " * 30)
        assert events(harness.session, "summary.written")
        effort, read = watched(harness.session.store), []
        for number in range(4):
            before = effort.rows
            del harness.messages[-2:]
            harness.say(f"rather {number}")
            read.append(effort.rows - before)
        assert max(read[1:]) < len(types(harness.session)) / 2, read
