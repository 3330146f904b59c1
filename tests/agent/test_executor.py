"""The executor: whatever a call is, its result is recorded, and nothing is raised into the loop."""

from __future__ import annotations

import io
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from foldlog import EventStore, Session
from foldlog.cli.agent.executor import Executor
from foldlog.cli.agent.permissions import Answer, Permissions, Question
from foldlog.cli.agent.tool import Arguments, Context, Tool
from foldlog.projections.installation import installation
from tests.agent.conftest import Hands, Make

ANY = {"type": "object"}


def giving(output: object) -> Tool:
    """A tool that gives something."""
    return Tool("odd", "", ANY, lambda arguments, context: output)  # type: ignore[arg-type, return-value]


def nested(depth: int) -> Any:
    """A block that is nested so deeply."""
    found: Any = 1
    for _ in range(depth):
        found = [found]
    return {"type": "x", "value": found}


class TestRecordsEachStep:
    def test_permission_then_start_then_result(self, make: Make) -> None:
        hands = make(allow=("bash",))
        seen = list[str]()
        hands.executor.tools["look"] = Tool(
            "look", "", ANY, lambda arguments, context: str(seen.extend(types(hands))), writes=True
        )
        hands.executor.permissions = Permissions(hands.session, allow=["look"])
        hands.call("look")
        assert seen[-3:] == ["message.assistant", "permission.decided", "tool.started"]
        assert types(hands)[-1] == "tool.result"

    def test_calls_with_an_id_that_is_used_again_run_each_once(self, hands: Hands) -> None:
        for words in (["one"], ["two", "three"]):
            calls = [
                {
                    "type": "tool_use",
                    "id": "call_1",
                    "name": "bash",
                    "input": {"command": f"echo {w}"},
                }
                for w in words
            ]
            hands.session.assistant(calls)
            for call in calls:
                hands.executor.run(call)
        said = [result["content"] for result in hands.events("tool.result")]
        assert [text.split()[0] for text in said] == ["one", "two", "three"]
        hands.session.render()

    def test_parallel_calls_are_recorded_one_by_one(self, hands: Hands) -> None:
        calls = [
            {"type": "tool_use", "id": f"c{n}", "name": "bash", "input": {"command": f"echo {n}"}}
            for n in range(3)
        ]
        hands.session.assistant(calls)
        for call in calls:
            hands.executor.run(call)
        results = hands.events("tool.result")
        assert [result["tool_use_id"] for result in results] == ["c0", "c1", "c2"]
        step = ["permission.decided", "tool.started", "tool.result"]
        assert types(hands)[-9:] == step * 3
        hands.session.render()

    def test_the_toolset_is_echoed(self, hands: Hands) -> None:
        call = {**hands.ask("bash", {"command": "true"}), "toolset_name": "computer"}
        assert hands.executor.run(call).data["toolset_name"] == "computer"


class TestAnswersACallThatIsNone:
    def test_of_a_tool_that_is_not_there(self, hands: Hands) -> None:
        told = hands.error("shell", command="ls")
        assert "Unknown tool 'shell'; choose from bash, read, write" in told
        assert hands.events("tool.started") == []

    @pytest.mark.parametrize(
        ("arguments", "told"),
        [
            ({}, "'command' is a required property"),
            ({"command": 1}, "command: 1 is not of type 'string'"),
            ({"command": ""}, "command: '' should be non-empty"),
            ({"command": "ls", "cwd": "/"}, "('cwd' was unexpected)"),
            ({"command": "ls", "timeout": 10_000}, "timeout: 10000 is greater than the maximum"),
            ({"command": "ls", "timeout": 0}, "timeout: 0 is less than or equal to the minimum"),
            ("ls", "'ls' is not of type 'object'"),
            (None, "None is not of type 'object'"),
        ],
    )
    def test_with_arguments_that_are_none(self, hands: Hands, arguments: Any, told: str) -> None:
        result = hands.executor.run(hands.ask("bash", arguments)).data
        assert result["is_error"]
        assert "The arguments of bash are not valid. Call it again:" in result["content"]
        assert told in result["content"]
        assert hands.events("tool.started") == []

    def test_that_is_long_in_few_words(self, hands: Hands) -> None:
        assert len(hands.error("bash", command=["x" * 100_000])) < 1_000

    def test_with_a_path_that_is_none(self, hands: Hands) -> None:
        assert "null" in hands.error("read", path="a\0b")
        assert "is not a path" in hands.error("read", path="~nobody-has-this-name/x")


class TestAnswersWhateverAToolDoes:
    def test_that_raises(self, make: Make) -> None:
        def broken(arguments: Arguments, context: Context) -> str:
            raise KeyError("gone")

        assert make(tools=(Tool("odd", "", ANY, broken),)).error("odd") == "KeyError: 'gone'"

    @pytest.mark.parametrize(
        ("output", "told"),
        [
            ("lone \ud800 half", "lone \\ud800 half"),
            ("", "(no output)"),
            ([], "(no output)"),
        ],
    )
    def test_a_text_that_cannot_be_sent(self, make: Make, output: object, told: str) -> None:
        assert make(tools=(giving(output),)).text("odd") == told

    def test_a_text_that_is_huge(self, make: Make) -> None:
        told = make(tools=(giving("a" * 10_000_000 + "end"),)).text("odd")
        assert len(told) < 101_000
        assert told.endswith("aend")
        assert "9,900,003 characters left out" in told

    @pytest.mark.parametrize("output", [None, 5, b"bytes", {"type": "text"}, object()])
    def test_what_is_no_content(self, make: Make, output: object) -> None:
        assert "which is not content" in make(tools=(giving(output),)).error("odd")

    @pytest.mark.parametrize(
        ("block", "told"),
        [
            ("x", "which is not a block"),
            ({"text": "x"}, "which is not a block"),
            ({"type": "x", "value": object()}, "cannot be sent"),
            ({"type": "x", "value": float("nan")}, "cannot be sent"),
            ({"type": "image", "data": "a" * 11 * 1024 * 1024}, "too large to be sent"),
            ({"type": "text", "text": "\ud800"}, "\\ud800"),
            (nested(100_000), "cannot be sent"),
        ],
    )
    def test_a_block_that_cannot_be_sent(self, make: Make, block: object, told: str) -> None:
        good = {"type": "text", "text": "good"}
        content = make(tools=(giving([good, block]),)).call("odd").data["content"]
        assert content[0] == good
        assert told in content[1]["text"]

    def test_many_texts_are_bounded_together(self, make: Make) -> None:
        block = {"type": "text", "text": "a" * 60_000}
        content = make(tools=(giving([block] * 4),)).call("odd").data["content"]
        assert sum(len(block["text"]) for block in content) < 101_000

    def test_one_that_can_be_sent_and_not_be_recorded(self, make: Make) -> None:
        told = make(tools=(giving([nested(500)]),)).error("odd")
        assert "could not be recorded" in told

    def test_all_of_it_can_be_rendered(self, make: Make) -> None:
        hands = make(tools=(giving(["\ud800", {"type": "text", "text": ""}]),))
        hands.call("odd")
        hands.session.render()


class TestNoCallRunsTwice:
    def test_not_in_this_process_and_not_in_the_next(self, make: Make) -> None:
        hands = make(allow=("bash",))
        call = hands.ask("bash", {"command": "echo x >> count; cat count"})
        assert not hands.executor.run(call).data["is_error"]
        for other in (hands, make(allow=("bash",))):
            assert "no call runs twice" in other.executor.run(call).data["content"]

    def test_one_that_was_left_behind_by_a_rewind_may_be_made_anew(self, make: Make) -> None:
        hands = make(allow=("bash",))
        hands.executor.run({"type": "tool_use", "id": "a", "name": "bash", "input": _TRUE})
        hands.session.rewind(1)
        call = {"type": "tool_use", "id": "a", "name": "bash", "input": _TRUE}
        hands.session.assistant([call])
        assert not hands.executor.run(call).data["is_error"]


class TestAPersonStops:
    def test_while_being_asked(self, make: Make) -> None:
        def stop(question: Question) -> Answer:
            raise KeyboardInterrupt

        hands = make(ask=stop)
        call = hands.ask("bash", {"command": "ls"})
        with pytest.raises(KeyboardInterrupt):
            hands.executor.run(call)
        (result,) = hands.events("tool.result")
        assert "did not run" in result["content"]
        assert result["is_error"]
        hands.session.render()

    def test_while_a_tool_runs(self, make: Make) -> None:
        def stopped(arguments: Arguments, context: Context) -> str:
            raise KeyboardInterrupt

        hands = make(tools=(Tool("odd", "", ANY, stopped),))
        with pytest.raises(KeyboardInterrupt):
            hands.call("odd")
        assert "It may have run in part" in hands.events("tool.result")[0]["content"]

    def test_the_rest_of_a_batch_is_closed(self, hands: Hands) -> None:
        call = hands.ask("bash", {"command": "ls"})
        assert "did not run" in hands.executor.skip(call).data["content"]
        hands.session.render()


class TestTheStandardTools:
    def test_as_the_api_takes_them(self, hands: Hands) -> None:
        from jsonschema import Draft202012Validator

        told = hands.executor.definitions()
        names = ["bash", "read", "write", "edit", "glob", "grep", "compact", "recall", "tasks"]
        assert [tool["name"] for tool in told] == names
        for tool in told:
            Draft202012Validator.check_schema(tool["input_schema"])
            assert tool["input_schema"]["type"] == "object"
            assert tool["description"]

    def test_compact_asks_for_a_compaction(self, hands: Hands) -> None:
        from foldlog.projections.compaction.compact_tool import ANSWER

        assert hands.text("compact", instructions="keep the names") == ANSWER

    def test_recall_gives_back_what_was_cleared(self, hands: Hands) -> None:
        version = hands.call("bash", command="echo needle").version
        edit = {"first": version, "last": version, "shown": "cleared", "text": "[gone]"}
        hands.session.edit("user", "to see", [edit])
        assert "needle" in str(hands.call("recall", show=str(version)).data["content"])
        assert "Nothing was recalled" in hands.error("recall", show="999")

    def test_nothing_is_printed(self, hands: Hands) -> None:
        with redirect_stdout(io.StringIO()) as out:
            hands.call("bash", command="echo hello")
        assert out.getvalue() == ""

    def test_the_folder_is_that_of_the_session(self, store: EventStore) -> None:
        from foldlog import EventDraft

        session = Session(store, "elsewhere")
        started = EventDraft("session.started", {"cwd": "/"})
        session.append(installation().sealed("elsewhere", started))
        assert str(Executor(session, [], Permissions(session)).cwd) == "/"
        fork = session.fork()
        assert str(Executor(fork, [], Permissions(fork)).cwd) == "/"

    def test_another_program_s_folder_is_not_taken(self, store: EventStore) -> None:
        from foldlog import EventDraft

        session = Session(store, "imported")
        session.append(EventDraft("session.started", {"cwd": "/"}))
        assert Executor(session, [], Permissions(session)).cwd == Path.cwd()


_TRUE = {"command": "true"}


def types(hands: Hands) -> list[str]:
    """The types of all events so far."""
    return [event.type for event in hands.session.store.read(hands.session.id)]
