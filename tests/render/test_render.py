"""Requests: how the events of a view become messages."""

from __future__ import annotations

from typing import Any

import pytest

from foldlog.eventstore.errors import InvalidView
from foldlog.eventstore.events import EventDraft
from foldlog.projections.render.render import open_calls, render, repairs
from foldlog.projections.render.replies import INTERRUPTED, interruption
from foldlog.projections.view.open import project
from tests.projections.build import (
    assistant,
    call,
    later,
    log,
    result,
    system,
    thinking,
    tools,
    user,
)


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def answer(id: str, content: Any = "done", **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id, "content": content, **more}


def attachment(content: Any, **more: Any) -> EventDraft:
    return EventDraft("attachment.added", {"kind": "file", "content": content, **more})


def told(content: Any, **more: Any) -> EventDraft:
    return EventDraft("message.system", {"content": content, **more})


def messages(*drafts: EventDraft, **how: Any) -> list[tuple[str, Any]]:
    request = render(project(log(*drafts)), **how)
    assert all(list(message)[:2] == ["role", "content"] for message in request["messages"])
    return [(message["role"], message["content"]) for message in request["messages"]]


class TestRequest:
    def test_system_and_tools_are_those_set_last(self) -> None:
        view = project(log(system("old"), tools("a"), system("new"), user("hi")))
        assert render(view) == {
            "system": "new",
            "tools": [{"name": "a"}],
            "messages": [{"role": "user", "content": "hi"}],
        }

    def test_what_was_never_set_is_null(self) -> None:
        assert render(project(log(user("hi")))) == {
            "system": None,
            "tools": None,
            "messages": [{"role": "user", "content": "hi"}],
        }

    def test_the_view_of_nothing_has_no_messages(self) -> None:
        assert render(project([]))["messages"] == []

    def test_content_is_the_very_object_that_was_recorded(self) -> None:
        events = log(user([{"type": "novel", "z": 1, "a": 2}]))
        (message,) = render(project(events))["messages"]
        assert message["content"] is events[0].data["content"]


class TestTurns:
    def test_roles_are_merged(self) -> None:
        drafts = [user("one"), user([text("two")]), assistant("three"), assistant("four")]
        assert messages(*drafts) == [
            ("user", [text("one"), text("two")]),
            ("assistant", [text("three"), text("four")]),
        ]

    def test_results_come_first_in_the_order_in_which_they_came(self) -> None:
        drafts = [user("go"), assistant(call("t1"), call("t2")), result("t2"), result("t1")]
        assert messages(*drafts, user("and?"))[2:] == [
            ("user", [answer("t2"), answer("t1"), text("and?")])
        ]

    def test_then_attachments_then_text(self) -> None:
        drafts = [user("go"), assistant(call("t1")), result("t1"), user("and?"), attachment("file")]
        assert messages(*drafts)[2] == ("user", [answer("t1"), text("file"), text("and?")])

    def test_a_result_is_found_wherever_it_stands_behind_its_call(self) -> None:
        drafts = [user("go"), assistant(call("t1")), user("hurry"), assistant("Yes."), result("t1")]
        assert messages(*drafts) == [
            ("user", "go"),
            ("assistant", [call("t1")]),
            ("user", [answer("t1"), text("hurry")]),
            ("assistant", [text("Yes.")]),
        ]

    def test_results_within_an_imported_user_message_are_results(self) -> None:
        parts = [text("before"), answer("t1"), text("behind")]
        drafts = [user("go"), assistant(call("t1")), user(parts)]
        assert messages(*drafts)[2] == ("user", [answer("t1"), text("before"), text("behind")])

    def test_an_attachment_that_joins_is_appended_to_the_last_result(self) -> None:
        drafts = [user("go"), assistant(call("t1"), call("t2")), result("t1"), result("t2", "out ")]
        joining = attachment("<note>", join=True)
        assert messages(*drafts, joining)[2] == (
            "user",
            [answer("t1"), answer("t2", "out\n\n<note>")],
        )

    def test_to_a_result_of_blocks_it_is_appended_as_a_block(self) -> None:
        drafts = [user("go"), assistant(call("t1")), result("t1", [text("out")])]
        joining = attachment([text("<note>")], join=True)
        assert messages(*drafts, joining)[2] == (
            "user",
            [answer("t1", [text("out"), text("<note>")])],
        )

    @pytest.mark.parametrize("between", [user("said"), attachment("other")])
    def test_behind_anything_but_results_it_does_not_join(self, between: EventDraft) -> None:
        drafts = [user("go"), assistant(call("t1")), result("t1"), between]
        (_, content) = messages(*drafts, attachment("<note>", join=True))[2]
        assert content[0] == answer("t1")
        assert text("<note>") in content

    def test_a_failed_result_is_joined_by_text_only(self) -> None:
        image = {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}}
        drafts = [user("go"), assistant(call("t1")), result("t1", "bad", is_error=True)]
        assert messages(*drafts, attachment([image], join=True))[2] == (
            "user",
            [answer("t1", "bad", is_error=True), image],
        )


class TestReplies:
    def test_the_parts_of_a_reply_are_joined_across_results(self) -> None:
        drafts = [
            user("go"),
            assistant(thinking(), call("t1"), id="m1"),
            result("t1"),
            assistant(call("t2"), id="m1"),
            result("t2"),
            assistant("Done.", id="m2"),
        ]
        assert messages(*drafts) == [
            ("user", "go"),
            ("assistant", [thinking(), call("t1"), call("t2")]),
            ("user", [answer("t1"), answer("t2")]),
            ("assistant", [text("Done.")]),
        ]

    def test_and_across_attachments_and_replies_that_ran_beside(self) -> None:
        drafts = [
            user("go"),
            assistant(call("t1"), id="m1"),
            attachment("note"),
            assistant(call("t2"), id="m2"),
            assistant(call("t3"), id="m1"),
            result("t1"),
            result("t2"),
            result("t3"),
        ]
        assert [role for role, _ in messages(*drafts)] == [
            "user",
            "assistant",
            "user",
            "assistant",
            "user",
        ]
        assert messages(*drafts)[1] == ("assistant", [call("t1"), call("t3")])

    def test_but_not_across_what_the_user_said(self) -> None:
        drafts = [user("a"), assistant("b", id="m1"), user("c"), assistant("d", id="m1")]
        assert [role for role, _ in messages(*drafts)] == ["user", "assistant"] * 2


class TestSystemMessages:
    def test_one_behind_a_user_message_stays_there(self) -> None:
        assert messages(user("a"), told("s"), assistant("b")) == [
            ("user", "a"),
            ("system", "s"),
            ("assistant", [text("b")]),
        ]

    def test_one_within_a_user_turn_waits_for_its_end(self) -> None:
        assert messages(user("a"), told("s"), user("b")) == [
            ("user", [text("a"), text("b")]),
            ("system", "s"),
        ]

    def test_one_between_a_call_and_its_result_waits_for_the_result(self) -> None:
        drafts = [user("a"), assistant(call("t1")), told("s"), result("t1"), assistant("b")]
        assert [role for role, _ in messages(*drafts)] == [
            "user",
            "assistant",
            "user",
            "system",
            "assistant",
        ]

    def test_several_are_one_message_with_their_fields(self) -> None:
        request = render(project(log(user("a"), told("s"), told([text("t")], clear_at="never"))))
        assert request["messages"][1] == {
            "role": "system",
            "content": [text("s"), text("t")],
            "clear_at": "never",
        }

    def test_behind_the_result_of_a_server_tool_the_assistant_may_go_on(self) -> None:
        search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
        found = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
        drafts = [user("a"), assistant(search, found), told("s"), assistant("b")]
        assert [role for role, _ in messages(*drafts)] == [
            "user",
            "assistant",
            "system",
            "assistant",
        ]

    def test_but_not_while_a_call_of_it_waits_for_its_result(self) -> None:
        search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
        found = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
        drafts = [user("a"), assistant(call("t1"), search, found), told("s"), assistant("b")]
        assert messages(*drafts, result("t1")) == [
            ("user", "a"),
            ("assistant", [call("t1"), search, found, text("b")]),
            ("user", [answer("t1")]),
            ("system", "s"),
        ]


class TestOpenCalls:
    OPEN = (user("go"), assistant(call("t1"), call("t2", "read"), id="m1"), result("t1"))

    def test_they_are_an_error_with_a_way_out(self) -> None:
        with pytest.raises(InvalidView, match=r"no result: t2\. .*foldlog recover s"):
            render(project(log(*self.OPEN)))

    def test_they_can_be_kept(self) -> None:
        assert messages(*self.OPEN, open="keep") == [
            ("user", "go"),
            ("assistant", [call("t1"), call("t2", "read")]),
            ("user", [answer("t1")]),
        ]

    def test_recover_shows_what_recording_the_interruption_would_show(self) -> None:
        view = project(log(*self.OPEN))
        drafts = [EventDraft("tool.result", interruption(c.block)) for c in open_calls(view)]
        recorded = project(later(log(*self.OPEN), *drafts))
        assert render(view, open="recover") == render(recorded)
        assert render(recorded)["messages"][2]["content"] == [
            answer("t1"),
            answer("t2", INTERRUPTED, is_error=True),
        ]

    def test_they_are_named_with_the_event_that_made_them(self) -> None:
        (found,) = open_calls(project(log(*self.OPEN)))
        assert (found.version, found.id, found.name) == (2, "t2", "read")

    def test_all_parts_of_the_newest_reply_count(self) -> None:
        drafts = [user("go"), assistant(call("t1"), id="m"), assistant(call("t2"), id="m")]
        assert [c.id for c in open_calls(project(log(*drafts)))] == ["t1", "t2"]

    def test_an_attachment_does_not_close_them(self) -> None:
        assert open_calls(project(log(*self.OPEN, attachment("note"))))

    def test_once_the_user_has_spoken_or_another_reply_came_nothing_is_open(self) -> None:
        assert open_calls(project(log(*self.OPEN, user("stop")))) == []
        assert open_calls(project(log(*self.OPEN, assistant("Well.", id="m2")))) == []

    def test_a_call_whose_id_was_used_before_is_open_under_that_id(self) -> None:
        drafts = [user("go"), assistant(call("t1"), id="m1"), result("t1"), user("on")]
        view = project(log(*drafts, assistant(call("t1"), id="m2")))
        assert [(c.version, c.id, c.block) for c in open_calls(view)] == [(5, "t1", call("t1"))]

    def test_a_call_that_was_recorded_twice_is_not_rendered_so_it_is_not_open(self) -> None:
        drafts = [user("go"), assistant(call("t1"), id="m1"), result("t1")]
        assert open_calls(project(log(*drafts, assistant(call("t1"), id="m1")))) == []

    def test_the_calls_of_server_tools_are_never_ours_to_answer(self) -> None:
        search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
        paused = log(user("go"), assistant(search))
        assert open_calls(project(paused)) == []
        assert render(project(paused))["messages"][1]["content"] == [search]

    def test_an_interrupted_result_echoes_the_toolset_of_its_call(self) -> None:
        click = {**call("t1"), "toolset_name": "browser"}
        (role, content) = messages(user("go"), assistant(click), open="recover")[2]
        assert (role, content[0]["toolset_name"]) == ("user", "browser")

    def test_open_calls_are_no_damage(self) -> None:
        assert repairs(project(log(*self.OPEN))) == []
