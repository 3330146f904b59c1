"""Reconciling: given a log and a harness's list, what is recorded and where the head goes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from foldlog.eventstore import Event, EventDraft
from foldlog.projections import Session
from foldlog.projections.live.recording import Recording
from tests.live.harness import MODEL, TOOLS, Message, events, problems, session, types

Log = list[tuple[str, dict[str, Any]]]


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **more}


def user(content: Any) -> Message:
    return {"role": "user", "content": content}


def said(content: Any) -> Message:
    return {"role": "assistant", "content": content}


def call(id: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": "bash", "input": {}}


def result(id: str, content: Any = "out", **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id, "content": content, **more}


TALK = [user("one"), said([text("First.")]), user("two"), said([text("Second.")])]
WORK = [
    user("work"),
    said([text("I look."), call("a"), call("b")]),
    user([result("a", "A"), result("b", "B")]),
    said([text("Done.")]),
]


def given(*messages: Message) -> Session:
    """A session in which a harness said all that, and the model replied."""
    found = session()
    recording = Recording(found, observe=True)
    for at, message in enumerate(messages):
        if message["role"] == "assistant":
            sent = recording.begin(body(*messages[:at]))
            sent.replied({"id": f"msg_{at}", "model": MODEL, "content": message["content"]})
    return found


def body(*messages: Message, **more: Any) -> dict[str, Any]:
    return {"model": MODEL, "max_tokens": 9, "messages": list(messages), **more}


def when(found: Session, *messages: Message, observe: bool = True, **more: Any) -> list[Event]:
    """What is recorded when a harness sends that list, its request left out."""
    before = found.version
    Recording(found, observe=observe).begin(body(*messages, **more))
    assert problems(found) == []
    return [e for e in found.store.read("s", after=before) if e.type != "request.sent"]


class TestKnownIsWhatSaysTheSame:
    SAME: tuple[tuple[str, list[Message]], ...] = (
        ("marks", [user([text("one", cache_control={"type": "ephemeral"})]), *TALK[1:]]),
        ("a text as a block", [user([text("one")]), *TALK[1:]]),
        ("a block as a text", [TALK[0], said("First."), *TALK[2:]]),
        ("the order of keys", [user([{"text": "one", "type": "text"}]), *TALK[1:]]),
        ("nulls", [TALK[0], said([text("First.", citations=None)]), *TALK[2:]]),
        ("blanks at the end", [TALK[0], said([text("First.\n")]), *TALK[2:]]),
    )

    @pytest.mark.parametrize("list_", [s[1] for s in SAME], ids=[s[0] for s in SAME])
    def test_nothing_is_recorded(self, list_: list[Message]) -> None:
        added = when(given(*TALK), *list_, user("three"))
        assert [event.type for event in added] == ["message.user"]
        assert added[0].data == {"content": "three"}

    @pytest.mark.parametrize(
        "reply",
        [
            said([call("a"), call("b")]),
            said([text("I looked."), call("a"), call("b")]),
            said([{**call("a"), "caller": {"type": "direct"}}, call("b")]),
        ],
        ids=["text dropped", "text changed", "fields of the SDK"],
    )
    def test_a_reply_is_known_by_its_calls(self, reply: Message) -> None:
        added = when(given(*WORK), WORK[0], reply, *WORK[2:], user("more"))
        assert [event.type for event in added] == ["message.user"]

    @pytest.mark.parametrize(
        "results",
        [
            [result("b", "B"), result("a", "A")],
            [result("a", [text("A")]), result("b", "B", is_error=False)],
            [result("a", "A"), result("b", "B"), text("")],
        ],
        ids=["another order", "a text as a block", "a blank text"],
    )
    def test_results_are_known_by_their_calls(self, results: list[Any]) -> None:
        added = when(given(*WORK), *WORK[:2], user(results), WORK[3], user("more"))
        kept = [event for event in added if event.type == "message.user"]
        assert "head.moved" not in [event.type for event in added] or results[-1] == text("")
        assert kept[-1].data["content"] == "more"


class TestWhatIsNew:
    def test_each_result_is_an_event(self) -> None:
        added = when(given(*WORK[:2]), *WORK[:2], user([*WORK[2]["content"], text("And?")]))
        assert [event.type for event in added] == ["tool.result", "tool.result", "message.user"]
        assert added[0].data == {"tool_use_id": "a", "content": "A"}
        assert added[2].data == {"content": [text("And?")]}

    def test_results_that_were_recorded_as_they_came_are_known(self) -> None:
        found = given(*WORK[:2])
        found.tool_result("b", "B")
        found.tool_result("a", "A")
        assert when(found, *WORK[:3]) == []

    def test_the_first_list_of_all_is_recorded_whole(self) -> None:
        system = {"role": "system", "content": "Now be kind."}
        added = when(session(), *WORK, user("two"), system, system="Hi.", tools=TOOLS)
        assert [event.type for event in added] == [
            "system.set", "tools.set", "message.user", "message.assistant", "tool.result",
            "tool.result", "message.assistant", "message.user", "message.system",
        ]  # fmt: skip

    def test_settings_are_recorded_where_they_differ(self) -> None:
        found = session()
        when(found, TALK[0], system="Hi.", tools=TOOLS)
        marked = [{**TOOLS[0], "cache_control": {"type": "ephemeral"}}]
        assert when(found, TALK[0], system="Hi.", tools=marked) == []
        [changed] = when(found, TALK[0], system="Hello.", tools=TOOLS)
        assert changed.data == {"system": "Hello."}
        [gone] = when(found, TALK[0], system="Hello.")
        assert gone.data == {"tools": None}

    def test_a_result_that_says_it_was_interrupted_gives_way_to_the_real_one(self) -> None:
        found = given(*WORK[:2])
        shown = found.render(open="recover")["messages"]
        added = when(found, *shown)
        assert [event.data["synthesized"] for event in added] == [True, True]
        when(found, *WORK[:3])
        assert found.render()["messages"][-1]["content"] == WORK[2]["content"]


class TestWhatTheListNoLongerHolds:
    def test_a_shorter_list_moves_the_head(self) -> None:
        found = given(*TALK)
        [move] = when(found, *TALK[:3])
        assert move.type == "head.moved"
        assert found.render()["messages"] == [TALK[0], TALK[1], TALK[2]]

    def test_an_edit_is_a_rewind_and_a_branch(self) -> None:
        found = given(*TALK)
        added = when(found, *TALK[:2], user("other"))
        assert [event.type for event in added] == ["head.moved", "message.user"]

    def test_going_back_to_a_branch_records_nothing_twice(self) -> None:
        found = given(*TALK)
        when(found, *TALK[:2], user("other"))
        added = when(found, *TALK, user("three"))
        assert [event.type for event in added] == ["head.moved", "message.user"]
        assert [m["content"] for m in found.render()["messages"]][-1] == "three"

    def test_also_after_a_resume(self) -> None:
        when(found := given(*TALK), *TALK[:2], user("other"))
        added = when(Session(found.store, "s"), *TALK, user("three"))
        assert [event.type for event in added] == ["head.moved", "message.user"]

    def test_what_foldlog_added_stays(self) -> None:
        found = given(*TALK)
        found.attach("file", "what a file holds")
        added = when(found, *TALK, user("three"))
        assert [event.type for event in added] == ["message.user"]
        assert "what a file holds" in str(found.render()["messages"])

    def test_an_edit_of_what_stays_is_kept(self) -> None:
        found = given(*WORK)
        [first, _] = events(found, "tool.result")
        at = first.version
        cleared = {"first": at, "last": at, "shown": "cleared", "text": "[cleared]"}
        found.edit("user", "no longer needed", [cleared])
        when(found, *WORK[:3], user("other"), observe=False)
        assert len(events(found, "head.moved")) == 1
        assert found.render()["messages"][2]["content"][0]["content"] == "[cleared]"

    def test_a_list_that_begins_in_the_middle_hides_what_it_left_out(self) -> None:
        found = given(*TALK)
        added = when(found, *TALK[2:], user("three"))
        assert [event.type for event in added] == ["view.edited", "message.user"]
        assert found.render()["messages"] == [*TALK[2:], user("three")]


class TestBesideTheConversation:
    def test_nothing_in_common_and_no_reply(self) -> None:
        found = given(*TALK)
        assert when(found, user("A title, please.")) == []
        [*_, sent] = events(found, "request.sent")
        assert sent.data["purpose"] == "side"
        assert sent.data["sent"]["messages"] == [user("A title, please.")]

    def test_the_same_first_words_without_system_and_tools(self) -> None:
        found = session()
        when(found, *TALK[:3], system="Hi.", tools=TOOLS)
        assert when(found, TALK[0], system="A title!") == []
        assert found.render()["messages"] == TALK[:3]

    def test_a_list_that_goes_on_from_it_is_a_branch_from_the_beginning(self) -> None:
        found = given(*TALK)
        sent = Recording(found, observe=True).begin(body(user("anew")))
        content = [text("Hello.")]
        sent.replied({"id": "msg_anew", "content": content, "usage": {"input_tokens": 7}})
        added = when(found, user("anew"), said(content), user("on"))
        assert [e.type for e in added] == [
            "head.moved", "message.user", "message.assistant", "message.user",
        ]  # fmt: skip
        assert added[2].data["usage"] == {"input_tokens": 7}

    def test_a_first_request_without_tools_gives_way_to_one_with_tools(self) -> None:
        found = given(user("A title, please."), said([text("A title")]))
        added = when(found, user("work"), tools=TOOLS)
        assert [event.type for event in added] == ["head.moved", "tools.set", "message.user"]


class TestDivergence:
    def test_the_view_gives_the_harness_s_bytes_where_it_can(self) -> None:
        found = given(*WORK)
        assert all("divergence" not in e.data for e in events(found, "request.sent"))

    def test_so_it_does_in_the_form_in_which_the_harness_writes_it_from_then_on(self) -> None:
        found = given(*WORK)
        reply = said([text("I look."), call("a") | {"caller": None}, call("b")])
        apart = [user("and"), {"content": [{"text": "so", "type": "text"}], "role": "user"}]
        results = user([{"tool_use_id": id, "type": "tool_result", "content": id} for id in "xy"])
        asks = said([call("x"), call("y")])
        list_ = [user([text("work")]), reply, *WORK[2:3], said("Done."), *apart]
        when(found, *list_)
        when(found, *list_, asks, results)
        assert found.render()["messages"] == [*list_, asks, results]
        assert json.dumps(found.render()["messages"]) == json.dumps([*list_, asks, results])
        assert all("divergence" not in e.data for e in events(found, "request.sent"))

    def test_else_it_is_kept_with_the_request(self) -> None:
        found = given(*TALK)
        when(found, TALK[0], said("First.\n"), *TALK[2:], user("three"))
        [*_, sent] = events(found, "request.sent")
        reply = events(found, "message.assistant")[0].version
        assert sent.data["divergence"]["instead"] == {str(reply): [said("First.\n")]}

    def test_once_and_it_holds_until_it_changes(self) -> None:
        found = given(*TALK)
        list_ = [TALK[0], said("First.\n"), *TALK[2:]]
        for last in (user("three"), said("Third."), user("four")):
            list_.append(last)
            when(found, *list_)
        when(found, *TALK, *list_[4:], said("Fourth."), user("five"))
        *_, first, _, third, fourth = (
            e.data.get("divergence") for e in events(found, "request.sent")
        )
        reply = str(events(found, "message.assistant")[0].version)
        assert list(first["instead"]) == [reply]
        assert "instead" not in third, "it holds"
        assert fourth is None, "the view is sent again"

    def test_there_is_none_in_a_session_that_was_managed_and_is_observed_now(self) -> None:
        found = given(*WORK)
        at = events(found, "tool.result")[0].version
        cleared = {"first": at, "last": at, "shown": "cleared", "text": "[cleared]"}
        found.edit("clear_old", "no longer needed", [cleared])
        for more in ([], [said("Yes."), user("And then?")]):
            when(found, *WORK, user("more"), *more)
        assert "[cleared]" not in str(found.render()["messages"])
        assert not [e.version for e in events(found, "request.sent") if "divergence" in e.data]

    def test_a_false_one_is_found(self) -> None:
        found = given(*TALK)
        when(found, TALK[0], said("First.\n"), *TALK[2:], user("three"))
        [*_, sent] = events(found, "request.sent")
        false = {**sent.data["divergence"], "instead": {"2": [said("Never sent.")]}}
        found.append(EventDraft("request.sent", {**sent.data, "divergence": false}))
        assert len(problems(found)) == 1

    def test_so_is_one_that_differed_from_another_view(self) -> None:
        found = given(*TALK)
        when(found, TALK[0], said("First.\n"), *TALK[2:], user("three"))
        [*_, sent] = events(found, "request.sent")
        false = {**sent.data["divergence"], "digest": "sha256:" + "0" * 64}
        found.append(EventDraft("request.sent", {**sent.data, "divergence": false}))
        assert len(problems(found)) == 1

    def test_thinking_sent_behind_less_than_the_view_is_dropped_once_it_is_managed(self) -> None:
        thinking = {"type": "thinking", "thinking": "Hm.", "signature": "x"}
        found = given(TALK[0], said([thinking, text("First.")]), user("two"), said([text("2.")]))
        recording = Recording(found, observe=True)
        sent = recording.begin(body(*TALK[:2], user("two"), said([text("2.")]), user("three")))
        sent.replied({"id": "msg_9", "model": MODEL, "content": [text("Third.")]})
        list_ = [*TALK[:2], user("two"), said([text("2.")]), user("three"), said([text("Third.")])]
        outgoing = Recording(found, policy="adaptive").begin(body(*list_, user("four")))
        assert outgoing.body["thinking"]["block_binding"]


class TestWhatIsNoConversation:
    @pytest.mark.parametrize("odd", [{}, {"messages": "hello"}, {"messages": ["hello"]}])
    def test_is_sent_as_it_is_and_not_recorded(self, odd: dict[str, Any]) -> None:
        found = session()
        outgoing = Recording(found).begin(odd)
        outgoing.failed("nobody there")
        assert outgoing.refused(400, b"<html>") is None
        assert outgoing.replied(b"{}") is None
        assert (outgoing.body, outgoing.request) == (odd, None)
        assert found.version == 0

    @pytest.mark.parametrize("observe", [True, False])
    @pytest.mark.parametrize("content", ["", []])
    def test_a_first_message_that_says_nothing_is_for_the_api_to_refuse(
        self, content: Any, observe: bool
    ) -> None:
        found = session()
        outgoing = Recording(found, observe=observe).begin(body(user(content)))
        assert outgoing.body["messages"] == [user(content)]
        assert outgoing.refused(400, {"error": {"message": "no content"}}) is None
        assert types(found) == ["request.sent", "request.failed"]
        assert problems(found) == []

    @pytest.mark.parametrize("content", ["", [], [text(" ")]])
    def test_a_later_one_is_sent_as_it_is_if_only_observed(self, content: Any) -> None:
        found = given(*TALK)
        outgoing = Recording(found, observe=True).begin(body(*TALK, user(content)))
        assert outgoing.body["messages"] == [*TALK, user(content)]
        assert found.render("request:-1")["messages"] == [*TALK, user(content)]
        assert problems(found) == []

    def test_secrets_of_a_request_are_not_recorded(self) -> None:
        found = session()
        server = {"type": "url", "url": "https://x", "authorization_token": "secret"}
        when(found, TALK[0], mcp_servers=[server])
        assert "secret" not in str([event.data for event in found.store.read("s")])
        assert types(found)[-1] == "request.sent"
