"""What a harness does to its own list: each edit is recorded once, as what it is."""

from __future__ import annotations

from typing import Any

import pytest

from foldlog.eventstore import Event
from foldlog.projections import Session
from foldlog.projections.explain.why import why
from foldlog.projections.live.recording import Recording
from foldlog.projections.view.address import resolve
from tests.live.editor import IMAGE, Editor, repeated
from tests.live.harness import Message, events, problems


@pytest.fixture
def editor() -> Any:
    made = Editor()
    yield made
    assert problems(made.session) == []
    assert repeated(made.session) == []


def shown(session: Session) -> list[Any]:
    """What the view says, block by block: where its messages end is told elsewhere."""
    return flat(session.render(open="keep")["messages"])


def flat(messages: list[Message]) -> list[Any]:
    return [
        (message["role"], block)
        for message in messages
        for block in (
            [{"type": "text", "text": message["content"]}]
            if isinstance(message["content"], str)
            else message["content"]
        )
    ]


def edit(added: list[Event]) -> list[dict[str, Any]]:
    """The entries of the one edit that was recorded, by a harness."""
    [found] = [event for event in added if event.type == "view.edited"]
    assert found.data["via"] == "harness"
    assert found.data["reason"]
    return list(found.data["edits"])


def kinds(added: list[Event]) -> list[str]:
    return [event.type for event in added]


def talked(editor: Editor, turns: int = 5) -> None:
    for _ in range(turns):
        editor.say()


def new_turn(editor: Editor) -> list[Event]:
    """The list is sent with a new message at its end, and answered."""
    editor.messages.append({"role": "user", "content": editor.new("said")})
    reply = [{"type": "text", "text": editor.new("reply")}]
    added = editor.send(reply)
    editor.messages.append({"role": "assistant", "content": reply})
    assert shown(editor.session) == flat(editor.messages)
    return added


class TestLeftOut:
    def test_the_beginning(self, editor: Editor) -> None:
        talked(editor)
        del editor.messages[:4]
        added = new_turn(editor)
        assert kinds(added) == ["view.edited", "message.user"]
        [entry] = edit(added)
        assert entry["shown"] == "hidden"
        assert editor.send() == []

    def test_a_window_that_slides(self, editor: Editor) -> None:
        for _ in range(600):
            del editor.messages[:-8]
            editor.say()
        recorded = editor.session.version
        assert recorded <= 600 * 4 + 3
        assert not events(editor.session, "head.moved")
        newest = events(editor.session, "view.edited")[-1].data["edits"]
        assert len(newest) == 1
        assert len(editor.session.view().pieces) == 3

    def test_a_window_that_slides_over_calls_and_their_results(self, editor: Editor) -> None:
        for _ in range(30):
            editor.work()
            del editor.messages[: editor.turns()[-3] if len(editor.turns()) > 3 else 0]
        assert not events(editor.session, "head.moved")
        assert editor.session.version <= 30 * 8 + 3

    def test_a_middle(self, editor: Editor) -> None:
        talked(editor)
        del editor.messages[2:6]
        assert kinds(new_turn(editor)) == ["view.edited", "message.user"]

    def test_all_but_the_first_message(self, editor: Editor) -> None:
        talked(editor)
        del editor.messages[1:7]
        editor.messages.insert(1, {"role": "assistant", "content": "(earlier turns dropped)"})
        added = editor.send([{"type": "text", "text": "On."}])
        assert "message.user" not in kinds(added)

    def test_the_first_message_stays_and_the_rest_goes(self, editor: Editor) -> None:
        talked(editor, 6)
        editor.messages = [*editor.messages[:2], *editor.messages[-2:]]
        [entry] = edit(new_turn(editor))
        assert entry["shown"] == "hidden"

    def test_it_comes_back(self, editor: Editor) -> None:
        talked(editor)
        whole = list(editor.messages)
        editor.messages = whole[4:]
        new_turn(editor)
        editor.messages = [*whole, *editor.messages[-2:]]
        added = new_turn(editor)
        assert kinds(added) == ["view.edited", "message.user"]
        assert {entry["shown"] for entry in edit(added)} == {"whole"}

    def test_and_something_was_undone_at_the_end(self, editor: Editor) -> None:
        talked(editor)
        editor.messages = editor.messages[2:8]
        added = new_turn(editor)
        assert kinds(added) == ["head.moved", "view.edited", "message.user"]

    def test_also_after_a_resume(self, editor: Editor) -> None:
        talked(editor)
        del editor.messages[:4]
        resumed = Session(editor.session.store, "s")
        editor.recording = Recording(resumed, observe=True)
        assert kinds(new_turn(editor)) == ["view.edited", "message.user"]

    def test_a_pin_stays(self, editor: Editor) -> None:
        talked(editor)
        pinned = events(editor.session, "message.user")[0].version
        editor.session.pin(pinned)
        del editor.messages[:4]
        for _ in range(3):
            editor.say()
        assert shown(editor.session)[0][1]["text"] == "said 1"
        assert len(events(editor.session, "view.edited")) == 1


class TestOldResults:
    def test_become_a_placeholder(self, editor: Editor) -> None:
        editor.work()
        editor.work()
        editor.results()[0]["content"] = "[Old tool result content cleared]"
        added = new_turn(editor)
        assert kinds(added) == ["view.edited", "message.user"]
        [entry] = edit(added)
        assert (entry["shown"], entry["text"]) == ("cleared", "[Old tool result content cleared]")

    def test_become_their_beginning(self, editor: Editor) -> None:
        editor.work("one line of many that a tool wrote\n" * 50)
        block = editor.results()[0]
        block["content"] = "Output too large:\n" + block["content"][:200] + "\n[cut]"
        [entry] = edit(new_turn(editor))
        assert (entry["shown"], entry["chars"]) == ("preview", 200)
        assert (entry["before"], entry["after"]) == ("Output too large:\n", "\n[cut]")

    def test_are_cleared_one_more_each_turn(self, editor: Editor) -> None:
        for turn in range(12):
            editor.work()
            for block in editor.results()[: max(0, turn - 3)]:
                block["content"] = "[cleared]"
        cleared = [
            entry for e in events(editor.session, "view.edited") for entry in e.data["edits"]
        ]
        assert len(cleared) == len({entry["first"] for entry in cleared}) == 7

    def test_come_back(self, editor: Editor) -> None:
        editor.work("the whole of what a tool wrote")
        block = editor.results()[0]
        block["content"] = "[cleared]"
        new_turn(editor)
        block["content"] = "the whole of what a tool wrote"
        [entry] = edit(new_turn(editor))
        assert entry["shown"] == "whole"


class TestStripped:
    def test_thinking(self, editor: Editor) -> None:
        editor.work()
        editor.work()
        for message in editor.messages:
            if isinstance(message["content"], list):
                message["content"] = [b for b in message["content"] if b["type"] != "thinking"]
        added = new_turn(editor)
        assert kinds(added) == ["view.edited", "message.user"]
        assert {entry["shown"] for entry in edit(added)} == {"without"}
        assert editor.send() == []

    @pytest.mark.parametrize("placeholder", [None, "[image]"])
    def test_images(self, editor: Editor, placeholder: str | None) -> None:
        block = {"type": "text", "text": "What is this?"}
        editor.say([IMAGE, block])
        editor.say()
        left = [] if placeholder is None else [{"type": "text", "text": placeholder}]
        editor.messages[0]["content"] = [*left, block]
        [entry] = edit(new_turn(editor))
        assert (entry["shown"], entry["placeholder"]) == ("without", placeholder)

    def test_images_in_results(self, editor: Editor) -> None:
        editor.work([{"type": "text", "text": "a picture"}, IMAGE])
        said = editor.results()[0]["content"]
        said[1] = {"type": "text", "text": "[image removed]"}
        [entry] = edit(new_turn(editor))
        assert (entry["shown"], entry["placeholder"]) == ("without", "[image removed]")


SUMMARY = "The person wants the tests fixed; two of three pass; the third fails for a time zone."


class TestSummaries:
    def test_before_a_tail_that_stays(self, editor: Editor) -> None:
        """LangChain's SummarizationMiddleware."""
        talked(editor)
        text = f"Here is a summary of the conversation to date:\n\n{SUMMARY}"
        editor.messages = [{"role": "user", "content": text}, *editor.messages[-4:]]
        added = new_turn(editor)
        assert kinds(added) == ["summary.written", "view.edited", "message.user"]
        assert added[0].data["text"] == text
        assert {entry["shown"] for entry in edit(added)} == {"summary"}
        assert resolve(editor.session.store, "s", "before-compaction:1") == added[0].version - 1

    def test_behind_the_first_message(self, editor: Editor) -> None:
        talked(editor)
        summary = {"role": "user", "content": f"[Earlier conversation summary]\n{SUMMARY}"}
        editor.messages = [*editor.messages[:2], summary, *editor.messages[-3:]]
        del editor.messages[3]
        added = editor.send()
        assert kinds(added) == ["summary.written", "view.edited"]

    def test_of_a_list_that_restarts_from_its_own_reply(self, editor: Editor) -> None:
        """Anthropic's SDKs: the reply to the request for a summary is the new list's beginning."""
        talked(editor)
        editor.messages.append({"role": "user", "content": "Sum up what was done, for later."})
        editor.ask([{"type": "text", "text": f"<summary>\n{SUMMARY}\n</summary>"}])
        editor.messages = [{"role": "user", "content": f"<summary>\n{SUMMARY}\n</summary>"}]
        added = editor.send([{"type": "text", "text": "I go on."}])
        assert kinds(added) == ["summary.written", "view.edited"]
        [*_, sent] = events(editor.session, "request.sent")
        assert sent.data["purpose"] == "turn"
        assert [e.data["content"] for e in events(editor.session, "message.assistant")][-1] == [
            {"type": "text", "text": "I go on."}
        ]

    def test_of_a_list_that_restarts_from_a_side_request_s_reply(self, editor: Editor) -> None:
        """pi, Codex: the conversation goes to the model as a text, with a prompt of its own."""
        talked(editor)
        list_, system, tools = editor.messages, editor.system, editor.tools
        asked = {"role": "user", "content": f"Summarize:\n{list_}"}
        editor.messages, editor.system, editor.tools = [asked], "You sum up.", None
        editor.send([{"type": "text", "text": SUMMARY}])
        editor.system, editor.tools = system, tools
        editor.messages = [{"role": "user", "content": f"So far:\n\n{SUMMARY}"}]
        added = new_turn(editor) if not editor.messages else editor.send()
        assert kinds(added) == ["summary.written", "view.edited"]

    def test_one_after_another(self, editor: Editor) -> None:
        for turn in range(4):
            talked(editor, 4)
            text = f"Here is a summary of the conversation to date:\n\n{SUMMARY} {turn}"
            editor.messages = [{"role": "user", "content": text}, *editor.messages[-2:]]
        new_turn(editor)
        assert len(events(editor.session, "summary.written")) == 4
        assert not events(editor.session, "head.moved")
        view = editor.session.view()
        assert len([piece for piece in view.pieces if piece.hides]) == 1

    def test_a_request_for_one_is_not_part_of_the_conversation(self, editor: Editor) -> None:
        talked(editor)
        asked = "CRITICAL: Respond with TEXT ONLY. Do NOT call any tools.\n\nYour task is …"
        editor.messages.append({"role": "user", "content": asked})
        assert editor.send([{"type": "text", "text": f"<summary>{SUMMARY}</summary>"}]) == []
        [*_, sent] = events(editor.session, "request.sent")
        assert sent.data["purpose"] == "summary"
        assert len(str(sent.data)) < 1_500

    def test_a_new_message_that_says_what_an_old_one_said_is_new(self) -> None:
        editor = Editor()
        talked(editor)
        text = f"Here is a summary of the conversation to date:\n\n{SUMMARY}"
        editor.messages = [{"role": "user", "content": text}, {"role": "user", "content": "said 4"}]
        added = editor.send()
        assert kinds(added) == ["summary.written", "view.edited", "message.user"]
        assert added[-1].data["content"] == "said 4"
        assert problems(editor.session) == []

    def test_a_marker(self, editor: Editor) -> None:
        talked(editor)
        marker = {"role": "user", "content": "[6 earlier messages left out]"}
        editor.messages = [*editor.messages[:2], marker, *editor.messages[-3:]]
        added = editor.send()
        assert kinds(added) == ["view.edited"]
        assert edit(added)[0]["shown"] == "marker"

    def test_why_says_that_the_harness_did_it(self, editor: Editor) -> None:
        self.test_before_a_tail_that_stays(editor)
        found = why(editor.session.view(), events(editor.session, "message.user")[0].version)
        assert "harness" in str(found)


class TestOfNoKnownKind:
    def test_a_message_that_became_another_takes_its_place(self, editor: Editor) -> None:
        """Claude Code's reminders in the first message change: the rest is not recorded again."""
        talked(editor)
        editor.messages[0] = {"role": "user", "content": "said 1, as of today"}
        added = new_turn(editor)
        assert kinds(added) == ["message.user", "head.moved", "message.user"]
        assert added[0].data["content"] == "said 1, as of today"

    def test_something_put_in_between(self, editor: Editor) -> None:
        talked(editor)
        editor.messages.insert(2, {"role": "user", "content": "Mind the style guide."})
        added = editor.send()
        assert kinds(added) == ["message.user", "head.moved"]

    def test_a_call_without_its_result(self, editor: Editor) -> None:
        editor.work("A", "B")
        editor.work("C", "D")
        del editor.messages[2]["content"][1]
        editor.say()
        assert len(events(editor.session, "tool.result")) == 4

    def test_only_undone_is_a_branch(self, editor: Editor) -> None:
        talked(editor)
        del editor.messages[4:]
        assert kinds(new_turn(editor)) == ["head.moved", "message.user"]

    def test_a_list_that_has_nothing_in_common_is_a_side_request(self, editor: Editor) -> None:
        talked(editor)
        editor.messages = [{"role": "user", "content": "A title, please."}]
        assert editor.send() == []


class TestManaged:
    def test_what_the_harness_left_out_is_left_out(self) -> None:
        editor = Editor(observe=False)
        talked(editor)
        del editor.messages[:4]
        assert kinds(new_turn(editor)) == ["view.edited", "message.user"]

    def test_what_foldlog_compacted_stays_compacted(self) -> None:
        editor = Editor(observe=False)
        talked(editor)
        first, *_, last = events(editor.session, "message.user")[:3]
        editor.session.edit("user", "old", [
            {"first": first.version, "last": last.version - 1, "shown": "hidden"}
        ])  # fmt: skip
        editor.say()
        assert len(events(editor.session, "view.edited")) == 1
        del editor.messages[:2]
        editor.say()
        assert len(events(editor.session, "view.edited")) == 1
        assert len(events(editor.session, "head.moved")) == 0
        assert problems(editor.session) == []


def test_a_summary_that_slid_out_and_comes_back_is_shown_again(editor: Editor) -> None:
    talked(editor, 4)
    summary = {"role": "user", "content": "Summary of the conversation so far: they talked."}
    editor.messages[: editor.turns()[2]] = [summary]
    talked(editor, 2)
    kept = list(editor.messages)
    del editor.messages[: editor.turns()[2]]
    talked(editor, 1)
    editor.messages = [*kept, *editor.messages[-2:]]
    editor.say()
    assert shown(editor.session) == flat(editor.messages)
    assert len(events(editor.session, "summary.written")) == 1
    said = [event.data["content"] for event in events(editor.session, "message.user")]
    assert summary["content"] not in said
