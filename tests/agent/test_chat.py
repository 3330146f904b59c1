"""``foldlog chat`` and ``foldlog resume``, with a scripted model."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from foldlog.cli.agent.display import Display
from foldlog.cli.agent.models import DEFAULT
from foldlog.cli.main import foldlog
from foldlog.eventstore import Event, EventDraft, EventStore
from foldlog.projections import Session
from foldlog.projections.installation import installation
from tests.server import Server, reply

Talk = Callable[..., Result]

BASH = {"name": "bash", "input": {"command": "echo ran >> ran.txt"}}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, and no key."""
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_MODEL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("FOLDLOG_DB", "s.db")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def script(*replies: dict[str, Any], **more: Any) -> str:
    Path("script.json").write_text(json.dumps({"reply": replies, **more}))
    return "scripted:script.json"


def run(*arguments: str, input: str = "") -> Result:
    return CliRunner().invoke(foldlog, arguments, input=input)


def events(title: str | None = None, **how: Any) -> list[Event]:
    with EventStore("s.db") as store:
        found = [i.session for i in store.sessions() if i.parent is None or i.parent_kind == "fork"]
        return list(store.read(found[0], **how))


def types() -> list[str]:
    return [event.type for event in events()]


def results() -> list[str]:
    return [str(event.data["content"]) for event in events(types=["tool.result"])]


def assert_refused(result: Result, *words: str) -> None:
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    last = result.stderr.splitlines()[-1]
    assert last.startswith("Error: ")
    for word in words:
        assert word in last


class TestBeginning:
    def test_without_a_key_it_says_how_to_set_one_and_creates_nothing(self, here: Path) -> None:
        for arguments in (("chat",), ("chat", "-p", "hi")):
            assert_refused(run(*arguments), "ANTHROPIC_API_KEY", "scripted:FILE")
        assert list(here.iterdir()) == []

    @pytest.mark.parametrize(
        ("options", "word"),
        [
            (("--model", "scripted:none.toml"), "none.toml"),
            (("--policy", "none"), "none"),
            (("--allow", "("), "pattern"),
            (("--summarizer", "none"), "none"),
            (("--max-cost", "-1"), "max-cost"),
            (("--system", "none.txt"), "none.txt"),
        ],
    )
    def test_what_is_wrong_is_told_before_anything_is_created(
        self, here: Path, options: tuple[str, ...], word: str
    ) -> None:
        model = script({"text": "hi"})
        assert_refused(run("chat", "-p", "hi", "--model", model, *options), word)
        assert not (here / "s.db").exists()

    def test_a_session_that_is_not_there_is_told(self) -> None:
        run("chat", "-p", "hi", "--model", script({"text": "hi"}))
        assert_refused(run("resume", "nobody"), "nobody")

    def test_the_help_names_the_model_that_is_asked(self) -> None:
        assert f"else {DEFAULT}." in " ".join(run("chat", "--help").stdout.split())

    def test_a_prompt_in_the_place_of_a_session_is_told_where_it_belongs(self) -> None:
        run("chat", "-p", "hi", "--model", script({"text": "hi"}))
        assert_refused(run("chat", "fix the tests"), "no session is called 'fix the tests'", "-p")

    def test_leaving_at_once_records_nothing(self) -> None:
        result = run("chat", "--model", script(), input="/help\n/quit\n")
        assert result.exit_code == 0
        with EventStore("s.db") as store:
            assert store.sessions() == []


class TestOnePrompt:
    def test_stdout_holds_the_answer_and_nothing_else(self) -> None:
        model = script({"text": "I look.", "calls": [BASH]}, {"text": "Done: \x1b[2J 你好"})
        result = run("chat", "-p", "hi", "--model", model, "--allow", "bash")
        assert (result.exit_code, result.stdout) == (0, "Done: \x1b[2J 你好\n")
        assert "bash(command: echo ran >> ran.txt)" in result.stderr
        assert Path("ran.txt").read_text() == "ran\n"

    def test_what_was_not_allowed_is_refused_and_the_model_is_told(self) -> None:
        result = run("chat", "-p", "hi", "--model", script({"calls": [BASH]}, {"text": "Done."}))
        assert (result.exit_code, result.stdout) == (0, "Done.\n")
        assert not Path("ran.txt").exists()
        assert "Not allowed" in results()[0]

    def test_settings_allow_and_deny(self) -> None:
        Path("s.toml").write_text('[permissions]\nallow = ["bash"]\ndeny = ["bash(echo ran *)"]\n')
        other = {"name": "bash", "input": {"command": "echo other"}}
        model = script({"calls": [BASH, other]}, {"text": "Done."})
        run("chat", "-p", "hi", "--model", model, "--settings", "s.toml")
        denied, allowed = results()
        assert "Denied" in denied
        assert "other" in allowed

    def test_the_api_failing_is_an_error_and_can_be_gone_on_with(self) -> None:
        model = script({"errors": ["broken"] * 3, "text": "Done."})
        assert_refused(run("chat", "-p", "hi", "--model", model), "500", "resume")
        result = run("resume", "last")
        assert (result.exit_code, result.stdout) == (0, "Done.\n")

    def test_a_busy_api_and_a_broken_stream_are_tried_again(self) -> None:
        model = script({"errors": ["overloaded", "break"], "text": "All is well, here."})
        result = run("chat", "-p", "hi", "--model", model)
        assert (result.exit_code, result.stdout) == (0, "All is well, here.\n")
        partial = [e for e in events(types=["message.assistant"]) if e.data.get("partial")]
        assert len(partial) == 1, "it is kept in the log"
        assert run("verify", "--views").exit_code == 0

    def test_a_reply_whose_connection_dies_behind_its_end_came_whole(
        self, api: Server, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        api.script(reply("All is well.").dying(99))
        monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", api.url)
        result = run("chat", "-p", "hi", "--model", "claude-opus-5-5")
        assert (result.exit_code, result.stdout) == (0, "All is well.\n"), result.stderr
        assert len(api.requests) == 1, "it is not asked for again, behind itself"

    def test_a_stream_that_breaks_each_time_is_an_error(self) -> None:
        model = script({"errors": ["break"] * 9, "text": "All is well, here."})
        assert_refused(run("chat", "-p", "hi", "--model", model), "broke off")

    def test_an_overflow_is_compacted_and_goes_on(self) -> None:
        long = {"name": "bash", "input": {"command": "seq 2000"}}
        model = script(
            {"calls": [long]}, {"calls": [long]}, {"calls": [long]},
            {"errors": ["overflow"], "text": "Done."}, model="claude-opus-5-5",
        )  # fmt: skip
        result = run("chat", "-p", "hi", "--model", model, "--allow", "bash")
        assert (result.exit_code, result.stdout) == (0, "Done.\n"), result.stderr
        assert "view.edited" in types()
        assert run("verify", "--views").exit_code == 0

    @pytest.mark.parametrize(
        ("reason", "word"),
        [("max_tokens", "cut off"), ("model_context_window_exceeded", "/compact")],
    )
    def test_a_reply_that_was_cut_off_says_so(self, reason: str, word: str) -> None:
        result = run("chat", "-p", "hi", "--model", script({"text": "On", "stop_reason": reason}))
        assert (result.exit_code, result.stdout) == (0, "On\n")
        assert word in result.stderr

    def test_a_model_may_write_the_summaries(self) -> None:
        long = {"name": "bash", "input": {"command": "seq 3000"}}
        text = "1. Primary Request and Intent: numbers.\n" + "They were counted. " * 20
        model = script(
            *[{"calls": [long]}] * 4, {"text": "Done."}, {"text": "Yes."}, summary=[{"text": text}]
        )
        options = ("--model", model, "--allow", "bash", "--policy", "codex")
        said = "hi\n/compact\nand now?\n"
        result = run("chat", *options, "--summarizer", "anthropic", input=said)
        assert result.exit_code == 0, result.output
        (written,) = events(types=["summary.written"])
        assert "They were counted." in written.data["text"]
        assert run("verify", "--views").exit_code == 0

    def test_system_prompt_and_tools_are_recorded_once(self) -> None:
        Path("prompt.txt").write_text("Be brief.")
        model = script({"text": "One."}, {"text": "Two."})
        run("chat", "-p", "hi", "--model", model, "--system", "prompt.txt")
        run("chat", "last", "-p", "hi")
        assert [e.data["system"] for e in events(types=["system.set"])] == ["Be brief."]
        assert types().count("tools.set") == 1


class TestConversation:
    def test_each_line_of_a_pipe_is_a_turn(self) -> None:
        result = run(
            "chat", "--model", script({"text": "One."}, {"text": "Two."}), input="a\n\nb\n"
        )
        assert (result.exit_code, result.stdout) == (0, "One.\nTwo.\n")
        assert [e.data["content"] for e in events(types=["message.user"])] == ["a", "b"]

    def test_what_fails_in_a_pipe_ends_it(self) -> None:
        result = run("chat", "--model", script({"text": "One."}), input="a\nb\nc\n")
        assert result.exit_code == 2
        assert "script.json ends here" in result.stderr
        assert types().count("message.user") == 2

    def test_slash_commands_do_what_those_of_foldlog_do(self) -> None:
        model = script({"text": "One."}, {"text": "Two."})
        said = "hi\n/view --as text\n/why 5\n/log\n/tasks\n/export -o out.md\n/stats\n"
        result = run("chat", "--model", model, input=said)
        assert result.exit_code == 0, result.output
        for words in ("user 5\nhi", "5  message.user", "request.sent", "tokens"):
            assert words in result.stdout.replace("Tokens", "tokens")
        assert "One." in Path("out.md").read_text()

    @pytest.mark.parametrize(
        ("line", "words"),
        [
            ("/bogus", "unknown command /bogus"),
            ("/", "unknown command /"),
            ("/why", "Missing argument"),
            ("/why 900", "900"),
            ("/why 'x", "No closing quotation"),
            ("/rewind", "needs a version"),
            ("/rewind x", "'x'"),
            ("/policy", "adaptive"),
            ("/policy none", "none"),
            ("/export -o /nowhere/at/all", "/nowhere"),
        ],
    )
    def test_a_mistake_is_one_line_and_ends_nothing(self, line: str, words: str) -> None:
        model = script({"text": "One."}, {"text": "Two."})
        result = run("chat", "--model", model, input=f"hi\n{line}\nagain\n")
        assert (result.exit_code, result.stdout) == (0, "One.\nTwo.\n")
        errors = [line for line in result.stderr.splitlines() if line.startswith("Error: ")]
        assert len(errors) == 1
        assert words in errors[0]

    def test_rewind_goes_on_from_there(self) -> None:
        model = script({"text": "One."}, {"text": "Two."})
        run("chat", "--model", model, input="first\n/rewind 4\nsecond\n")
        shown = json.loads(run("view", "last", "--json").stdout)
        assert shown["messages"][0]["content"] == "second"
        assert "message.user" in types()[:5]

    def test_fork_goes_on_in_another_session(self) -> None:
        model = script({"text": "One."}, {"text": "Two."})
        run("chat", "--model", model, input="first\n/fork\nsecond\n")
        with EventStore("s.db") as store:
            parent, fork = sorted(store.sessions(), key=lambda info: info.parent is not None)
            said = [
                [e.data["content"] for e in store.read(i.session, types=["message.user"])]
                for i in (parent, fork)
            ]
        assert said == [["first"], ["first", "second"]]

    def test_compact_and_policy(self) -> None:
        long = {"name": "bash", "input": {"command": "seq 3000"}}
        model = script({"calls": [long]}, {"calls": [long]}, {"text": "Done."}, {"text": "Yes."})
        said = "hi\n/policy claude-code\n/compact keep the numbers\nand now?\n"
        result = run("chat", "--model", model, "--allow", "bash", input=said)
        assert result.exit_code == 0, result.output
        assert "summary.written" in types()
        assert "claude-code" in str([e.data for e in events(types=["policy.set"])])
        assert result.stdout.endswith("Yes.\n")
        assert run("verify", "--views").exit_code == 0


class TestResuming:
    def begun(self, *drafts: EventDraft, replies: tuple[dict[str, Any], ...] = ()) -> Session:
        """A session as a crash left it."""
        model = script({"calls": [BASH]}, *(replies or ({"text": "Done."},)))
        store = EventStore("s.db")
        session = Session(store, "s")
        state = {"model": f"scripted:{Path('script.json').absolute()}"}
        begun = (
            EventDraft("session.started", {"cwd": str(Path.cwd())}),
            EventDraft("state.set", {"key": "agent", "value": state}),
        )
        session.append(*(installation().sealed("s", draft) for draft in begun), *drafts)
        assert model
        return session

    asked = EventDraft("message.user", {"content": "hi"})
    called = EventDraft(
        "message.assistant",
        {
            "content": [
                {"type": "tool_use", "id": "toolu_1_1", **BASH},
                {"type": "tool_use", "id": "toolu_1_2", **BASH},
            ],
            "stop_reason": "tool_use",
        },
    )
    answered = EventDraft("tool.result", {"tool_use_id": "toolu_1_1", "content": "kept"})

    def test_open_calls_are_closed_and_the_turn_goes_on(self) -> None:
        self.begun(self.asked, self.called, self.answered)
        result = run("resume", "s", "--allow", "bash")
        assert (result.exit_code, result.stdout) == (0, "Done.\n"), result.stderr
        kept, closed = results()
        assert kept == "kept"
        assert "interrupted" in closed
        assert not Path("ran.txt").exists(), "no call runs twice"

    def test_a_prompt_without_a_reply_is_answered(self) -> None:
        self.begun(self.asked)
        result = run("resume", "s", "--allow", "bash")
        assert result.stdout.endswith("Done.\n")
        assert types().count("message.user") == 1

    def test_a_reply_that_broke_off_is_asked_for_again(self) -> None:
        text = {"type": "text", "text": "I be"}
        call = {"type": "tool_use", "id": "toolu_half", **BASH}
        half = EventDraft("message.assistant", {"content": [text, call], "partial": True})
        self.begun(self.asked, half)
        assert run("resume", "s", "--allow", "bash").stdout.endswith("Done.\n")
        shown = json.loads(run("view", "s", "--json").stdout)
        assert "I be" not in str(shown["messages"])
        assert len(results()) == 1, "the call of the half reply is left behind with it"
        assert run("log", "s", "--type", "message.assistant").stdout.count("\n") == 3

    def test_a_turn_that_was_answered_or_stopped_is_at_its_end(self) -> None:
        done = EventDraft("message.assistant", {"content": "Done.", "stop_reason": "end_turn"})
        stopped = EventDraft("turn.stopped", {"by": "user"})
        session = self.begun(self.asked, done)
        assert run("resume", "s").stdout == ""
        session.view()
        session.append(self.asked, stopped)
        assert run("resume", "s").stdout == ""
        assert types().count("request.sent") == 0

    def test_chat_waits_for_a_prompt(self) -> None:
        self.begun(self.asked, self.called, self.answered)
        assert run("chat", "s").stdout == ""
        assert "interrupted" in results()[1]
        assert types().count("request.sent") == 0

    def test_it_works_as_it_did_before(self) -> None:
        model = script({"text": "One."}, {"text": "Two."})
        run("chat", "-p", "hi", "--model", model, "--policy", "codex", "--window", "50000")
        assert run("chat", "last", "-p", "again").stdout == "Two.\n"
        (state,) = [e.data["value"] for e in events(types=["state.set"])]
        assert (state["policy"], state["window"]) == ("codex", 50_000)

    def test_it_works_in_the_folder_where_it_began(
        self, here: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        model = script({"text": "One."}, {"calls": [BASH]}, {"text": "Two."})
        run("chat", "-p", "hi", "--model", model)
        (here / "other").mkdir()
        monkeypatch.chdir("other")
        monkeypatch.setenv("FOLDLOG_DB", str(here / "s.db"))
        result = run("chat", "last", "-p", "again", "--allow", "bash")
        assert str(here) in result.stderr
        assert (here / "ran.txt").exists()

    def test_last_follows_the_folder_that_a_person_continues_in(
        self, here: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("FOLDLOG_DB", str(here / "s.db"))
        model = script({"text": "One."}, {"text": "Two."}, {"text": "Three."})
        script_file = str(here / model.removeprefix("scripted:"))
        run("chat", "-p", "hi", "--model", model)
        old = events()[0].session
        other = tmp_path_factory.mktemp("other")
        monkeypatch.chdir(other)
        run("chat", "-p", "hi", "--model", f"scripted:{script_file}")
        assert run("chat", old, "-p", "again").stdout == "Two.\n"
        assert run("chat", old, "-p", "and again").stdout == "Three.\n"
        monkeypatch.chdir(here)
        run("chat", "-p", "hi", "--model", model)
        monkeypatch.chdir(other)
        found = json.loads(run("log", "last", "--type", "session.moved", "--json").stdout)
        assert (found["session"], found["data"]) == (old, {"cwd": str(other)})

    def test_a_folder_within_that_of_the_session_is_no_move(
        self, here: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("FOLDLOG_DB", str(here / "s.db"))
        run("chat", "-p", "hi", "--model", script({"text": "One."}, {"text": "Two."}))
        (here / "below").mkdir()
        monkeypatch.chdir("below")
        assert run("chat", "last", "-p", "again").stdout == "Two.\n"
        assert run("log", "last", "--type", "session.moved", "--json").stdout == ""

    def test_the_second_is_told_who_has_it_and_can_fork(self) -> None:
        run("chat", "-p", "hi", "--model", script({"text": "One."}, {"text": "Two."}))
        name = events()[0].session
        with EventStore("s.db") as store, store.lease(name, holder="another"):
            assert_refused(run("resume", name), "another", "--fork")
            result = run("chat", name, "--fork", "-p", "again")
        assert (result.exit_code, result.stdout) == (0, "Two.\n")
        with EventStore("s.db") as store:
            assert sorted(str(info.parent_kind) for info in store.sessions()) == ["None", "fork"]


class TestStopping:
    def stop_at(self, monkeypatch: pytest.MonkeyPatch, name: str, at: int) -> None:
        """Press Ctrl-C when the display is told something for the n-th time."""
        real, calls = getattr(Display, name), 0

        def stopped(self: Display, given: Any) -> None:
            nonlocal calls
            calls += 1
            real(self, given)
            if calls == at:
                raise KeyboardInterrupt

        monkeypatch.setattr(Display, name, stopped)

    @pytest.mark.parametrize(
        ("name", "at"), [("streamed", 1), ("streamed", 8), ("call", 1), ("result", 1), ("call", 2)]
    )
    def test_ctrl_c_leaves_a_log_that_can_be_gone_on_with(
        self, monkeypatch: pytest.MonkeyPatch, name: str, at: int
    ) -> None:
        model = script(
            {"text": "I look, at length, at all that is there.", "calls": [BASH, BASH]},
            {"text": "One."},
            {"text": "Two."},
        )
        self.stop_at(monkeypatch, name, at)
        result = run("chat", "--model", model, "--allow", "bash", input="hi\nagain\n")
        assert result.exit_code == 0, result.stderr
        assert "turn.stopped" in types()
        assert result.stdout.rstrip().endswith(("One.", "Two."))
        assert run("verify", "--views").exit_code == 0
        ran = Path("ran.txt")
        told = [text for text in results() if "ran" in text or "exit code 0" in text]
        assert (ran.read_text().count("ran") if ran.exists() else 0) >= len(told)

    def test_what_came_of_a_reply_is_kept_as_partial(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.stop_at(monkeypatch, "streamed", 8)
        model = script({"text": "I look, at length, at all that is there."}, {"text": "One."})
        run("chat", "--model", model, input="hi\nagain\n")
        partial = [e.data for e in events(types=["message.assistant"]) if e.data.get("partial")]
        assert len(partial) == 1
        shown = json.loads(run("view", "last", "--json").stdout)
        assert "I look" in str(shown["messages"]), (
            "the person has read it, so the model has said it"
        )

    def test_with_one_prompt_it_is_130(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.stop_at(monkeypatch, "call", 1)
        model = script({"calls": [BASH]}, {"text": "One."})
        monkeypatch.setattr("foldlog.cli.agent.display.Quiet.call", Display.call)
        assert run("chat", "-p", "hi", "--model", model, "--allow", "bash").exit_code == 130
        assert types()[-1] == "turn.stopped"


class TestCost:
    MODEL = "claude-opus-5-5"

    def test_the_next_request_is_not_sent_once_the_limit_is_reached(self) -> None:
        model = script({"calls": [BASH]}, {"text": "Done."}, model=self.MODEL)
        options = ("--model", model, "--allow", "bash")
        result = run("chat", "-p", "hi", *options, "--max-cost", "0.000001")
        assert_refused(result, "$", "--max-cost")
        assert types().count("request.sent") == 1
        assert_refused(run("resume", "last", "--max-cost", "0.000001"), "$")
        assert types().count("request.sent") == 1
        assert run("resume", "last", "--max-cost", "5").stdout == "Done.\n"

    def test_unknown_prices_are_told(self) -> None:
        model = script({"calls": [BASH]}, {"text": "Done."})
        result = run("chat", "-p", "hi", "--model", model, "--max-cost", "1")
        assert result.stdout == "Done.\n"
        assert result.stderr.count("prices of scripted are not known") == 1

    def test_a_subagent_counts(self) -> None:
        task = {
            "name": "task",
            "input": {"description": "d", "prompt": "p"},
            "replies": [{"text": "word " * 10_000}],
        }
        model = script({"calls": [task]}, {"text": "Done."}, model=self.MODEL)
        assert_refused(run("chat", "-p", "hi", "--model", model, "--max-cost", "0.2"), "$")
        assert_refused(run("resume", "last", "--max-cost", "0.2"), "$")


class TestSubagents:
    def task(self, *replies: dict[str, Any]) -> dict[str, Any]:
        return {
            "name": "task",
            "input": {"description": "count", "prompt": "Count."},
            "replies": list(replies),
        }

    def child(self) -> list[Event]:
        with EventStore("s.db") as store:
            (info,) = [i for i in store.sessions() if i.parent_kind == "subagent"]
            return list(store.read(info.session))

    def test_only_its_answer_enters_the_parent(self) -> None:
        task = self.task({"text": "Inner.", "calls": [BASH]}, {"text": "There are 3."})
        model = script({"calls": [task]}, {"text": "Done."})
        result = run("chat", "-p", "hi", "--model", model, "--allow", "bash")
        assert (result.exit_code, result.stdout) == (0, "Done.\n")
        assert results() == ["There are 3."]
        assert "Inner." not in str([event.data for event in events()])
        child = self.child()
        parent = child[0].data["parent"]
        assert (parent["kind"], parent["tool_use_id"]) == ("subagent", "toolu_1_1")
        assert child[0].data["title"] == "count"
        (tools,) = [e.data["tools"] for e in child if e.type == "tools.set"]
        assert "bash" in [tool["name"] for tool in tools]
        assert "task" not in [tool["name"] for tool in tools]
        assert run("verify", "--views").exit_code == 0

    def test_what_the_parent_may_not_do_it_may_not(self) -> None:
        task = self.task({"calls": [BASH]}, {"text": "It was refused."})
        model = script({"calls": [task]}, {"text": "Done."})
        run("chat", "-p", "hi", "--model", model, "--allow", "bash", "--deny", "bash(echo *)")
        assert not Path("ran.txt").exists()

    def test_one_that_fails_is_an_error_that_the_parent_reads(self) -> None:
        model = script({"calls": [self.task()]}, {"text": "Done."})
        assert run("chat", "-p", "hi", "--model", model).stdout == "Done.\n"
        (result,) = events(types=["tool.result"])
        assert result.data["is_error"]
        assert "ends here" in result.data["content"]

    def test_one_that_says_nothing_is_an_error_too(self) -> None:
        model = script({"calls": [self.task({"text": " "})]}, {"text": "Done."})
        run("chat", "-p", "hi", "--model", model)
        assert "gave no answer" in results()[0]


class TestOddInput:
    @pytest.mark.parametrize("given", [b"\xff\xfe", "\ud800"])
    def test_half_a_character_in_a_prompt_is_written_out(self, given: bytes | str) -> None:
        model = script({"text": "Well."})
        text = given if isinstance(given, str) else given.decode(errors="surrogateescape")
        assert run("chat", "--model", model, "-p", f"Look: {text}").exit_code == 0
        [said] = events(types=["message.user"])
        assert said.data["content"] == f"Look: {text.encode(errors='backslashreplace').decode()}"

    def test_a_folder_that_is_no_unicode(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        model = script({"text": "Well."}).replace("script.json", str(tmp_path / "script.json"))
        odd = tmp_path / b"caf\xe9".decode(errors="surrogateescape")
        try:
            odd.mkdir()
        except OSError:
            pytest.skip("this file system has only Unicode")
        monkeypatch.chdir(odd)
        assert run("chat", "--model", model, "-p", "Hi").exit_code == 0

    def test_a_call_that_the_sdk_cannot_read_is_asked_for_again(self) -> None:
        deep: Any = 1
        for _ in range(250):
            deep = [deep]
        odd = [
            {"calls": [{"name": "bash", "input": {"command": given}}]} for given in ("\ud800", deep)
        ]
        result = run("chat", "--model", script(*odd, {"text": "Well."}), "-p", "Hi")
        assert result.exit_code == 2
        assert "broke off 3 times" in result.stderr
        assert "should not happen" not in result.stderr

    def test_half_a_character_that_was_recorded_elsewhere_is_sent_as_its_replacement(self) -> None:
        model = script({"text": "Well."}, {"text": "Once more."})
        run("chat", "--model", model, "-p", "Hi")
        with EventStore("s.db") as store:
            name = next(iter(store.sessions())).session
            Session(store, name).user("half: \ud800")
        assert run("chat", name, "-p", "And now?").output == "Once more.\n"

    @pytest.mark.parametrize(
        "wrong",
        [
            {"reply": [{"text": 5}]},
            {"reply": [{"thinking": 5}]},
            {"reply": [{"content": 5}]},
            {"reply": [{"content": [5]}]},
            {"reply": [], "window": "x"},
            {"reply": [], "pause": "x"},
            {"reply": [], "model": 5},
            {"reply": [], "window": -1},
        ],
    )
    def test_a_script_of_wrong_types_is_told(self, wrong: dict[str, Any]) -> None:
        Path("script.json").write_text(json.dumps(wrong))
        result = run("chat", "--model", "scripted:script.json", "-p", "Hi")
        assert_refused(result, "is not a script")
        assert not Path("s.db").exists()
