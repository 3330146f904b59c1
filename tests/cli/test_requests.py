"""Whatever shows a request shows what was sent, and says where that is not the view."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from foldlog import EventStore, Session, render
from foldlog.cli.main import foldlog
from foldlog.projections.live.recording import Recording

MODEL = "claude-opus-5-5"
MARK = {"type": "ephemeral"}


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **more}


TURNS = [
    [user([text("one", cache_control=MARK)])],
    [user([text("one")]), {"role": "assistant", "content": "First.\n"}, user("two")],
]
SIDES = [[user("A title, please.")], [user("A topic, please.")]]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store of one session: a turn, two side requests, and a turn that differs from its view."""
    path = tmp_path / "sessions.db"
    with EventStore(path) as store:
        recording = Recording(Session(store, "s"), observe=True)
        for messages in (TURNS[0], *SIDES, TURNS[1]):
            system = {} if messages in SIDES else {"system": "Be brief."}
            body = {"model": MODEL, "max_tokens": 9, **system, "messages": messages}
            sent = recording.begin(json.loads(json.dumps(body)))
            sent.replied({"id": "msg", "model": MODEL, "content": [text("First.")]})
    return path


def run(path: Path, *words: str) -> Result:
    done = CliRunner().invoke(foldlog, ["--db", str(path), *words])
    assert done.exit_code == 0, done.output
    return done


def shown(path: Path, number: int, *more: str) -> Any:
    done = run(path, "view", "s", "--at", f"request:{number}", "--as", "request", *more)
    return json.loads(done.stdout)["messages"]


def test_a_request_is_printed_as_it_was_sent(path: Path) -> None:
    assert shown(path, 1) == [user([text("one")])]
    assert shown(path, 2) == SIDES[0]
    assert shown(path, 3) == SIDES[1]
    assert json.dumps(shown(path, 4)) == json.dumps(TURNS[1])


def test_with_its_marks_if_asked(path: Path) -> None:
    assert json.dumps(shown(path, 1, "--exact")) == json.dumps(TURNS[0])


def test_python_gives_the_same(path: Path) -> None:
    with EventStore(path) as store:
        session = Session(store, "s")
        assert session.render("request:4")["messages"] == TURNS[1]
        assert render(session.view("request:3"))["messages"] == SIDES[1]
        version = session.view("request:4").version
        assert session.render(version)["messages"] != TURNS[1], "a version is the fold"


def test_a_person_is_told_where_it_is_not_the_view(path: Path) -> None:
    asked = ("view", "s", "--as", "request", "--at")
    assert run(path, *asked, "request:1").stderr == ""
    assert "request:2" in run(path, *asked, "request:2").stderr
    [line] = run(path, *asked, "request:4").stderr.splitlines()
    assert "foldlog diff SESSION request:4 view" in line


def test_the_text_of_a_side_request_is_its_own(path: Path) -> None:
    printed = run(path, "view", "s", "--at", "request:3").stdout
    assert "A topic, please." in printed
    assert "one" not in printed


def test_the_difference_can_be_seen(path: Path) -> None:
    done = run(path, "diff", "s", "request:4", "view", "--json")
    [change] = map(json.loads, done.stdout.splitlines())
    assert (change["before"], change["after"], change["rule"]) == ("sent", "whole", "sent")
    assert change["sent"]["messages"] == [TURNS[1][1]]
    assert "First." in change["reason"]
    assert run(path, "diff", "s", "request:1", "view", "--json").stdout == ""


def test_two_requests_can_be_compared(path: Path) -> None:
    lines = run(path, "diff", "s", "request:1", "request:4", "--json").stdout.splitlines()
    changes = [json.loads(line) for line in lines]
    assert [c["before"] for c in changes if c["after"] == "sent"] == ["whole"]
    refused = CliRunner().invoke(foldlog, ["--db", str(path), "diff", "s", "request:2", "view"])
    assert refused.exit_code == 2
    assert "on the side" in refused.output


@pytest.mark.parametrize("form", ["markdown", "html", "jsonl", "claude-code", "openai"])
def test_an_export_says_that_it_is_of_the_view(path: Path, form: str, tmp_path: Path) -> None:
    done = run(path, "export", "s", "--to", form, "--at", "request:4", "-o", str(tmp_path / "out"))
    [line] = [line for line in done.stderr.splitlines() if line.startswith("Note: ")]
    assert "exports the view at version" in line
    command = line.split("`")[1].split()
    assert json.loads(run(path, *command[1:]).stdout)["messages"] == TURNS[1]
    done = run(path, "export", "s", "--to", form, "--at", "request:1", "-o", str(tmp_path / "1"))
    assert "Note: " not in done.stderr
