"""What a person typed while a turn was running is theirs, in every shape that the program writes.

The lines are those that versions 2.1.197 and 2.1.332 wrote when two prompts came in at once.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from foldlog import EventStore, Session
from foldlog.cli.formats import export_lines, import_path
from foldlog.cli.formats.claude_code.tree import is_typed
from foldlog.projections.summaries.facts import Facts
from foldlog.projections.summaries.prompts import prompt, prompts
from foldlog.projections.summaries.task import SummaryTask
from tests.formats.claude_code.test_importing import Transcript

WORDS = "And the tests, please."
IMAGE = {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}}
REMINDER = f"<system-reminder>\nThe user sent a new message while you were working:\n{WORDS}"

SHAPES: dict[str, dict[str, Any]] = {
    "as before 2.1": {"prompt": WORDS},
    "2.1.197": {"prompt": WORDS, "commandMode": "prompt", "timestamp": "2026-11-30T09:26:27.781Z"},
    "2.1.219": {"prompt": WORDS, "commandMode": "prompt", "origin": {"kind": "human"}},
    "2.1.332": {"prompt": WORDS, "commandMode": "prompt", "hostsOwnTurn": True},
    "blocks": {"prompt": [{"type": "text", "text": WORDS}, IMAGE], "imagePasteIds": [1]},
    "spoken": {"prompt": WORDS, "origin": {"kind": "voice-call"}},
    "a command": {"prompt": WORDS, "commandMode": "bash"},
}

NOT_TYPED: dict[str, dict[str, Any]] = {
    "a task": {"prompt": "<task-notification>", "commandMode": "task-notification"},
    "a task by its origin": {"prompt": "done", "origin": {"kind": "task-notification"}},
    "a plugin": {"prompt": WORDS, "isMeta": True, "origin": {"kind": "plugin", "name": "p"}},
    "a channel": {"prompt": WORDS, "origin": {"kind": "channel", "server": "s"}},
    "an agent": {"prompt": WORDS, "origin": {"kind": "peer"}},
    "nothing": {"prompt": ""},
    "no prompt": {},
    "a number": {"prompt": 7},
}


def running(path: Path, attached: dict[str, Any], **fields: Any) -> Transcript:
    """A turn with a call, and what came in before the model went on."""
    transcript = Transcript(path).user("U1").call("A1", "c1").result("R1", "c1")
    attachment = {"type": "queued_command", **attached}
    return transcript.node("T1", "attachment", attachment=attachment, **fields).assistant("A2")


@pytest.fixture(params=SHAPES.values(), ids=SHAPES)
def typed(request: pytest.FixtureRequest, tmp_path: Path) -> Transcript:
    return running(tmp_path / "s.jsonl", request.param)


@pytest.fixture
def store(typed: Transcript) -> EventStore:
    store = EventStore(":memory:")
    list(import_path(store, typed.path))
    return store


def test_it_is_a_message_of_the_user(typed: Transcript) -> None:
    assert typed.events("attachment.added") == []
    first, second = typed.events("message.user")
    assert (first.data["content"], WORDS in json.dumps(second.data)) == ("U1", True)


def test_it_is_in_the_view_after_the_result(store: EventStore) -> None:
    last = Session(store, "s").render(open="error")["messages"][2]
    result, text, *_ = last["content"]
    assert (result["type"], text) == ("tool_result", {"type": "text", "text": WORDS})


def test_it_is_found(store: EventStore) -> None:
    assert [hit.type for hit in store.search("tests please")] == ["message.user"]


def test_summaries_have_to_quote_it(store: EventStore) -> None:
    view = Session(store, "s").view()
    task = SummaryTask.of(view, [(1, view.version)], prompt(prompts()[0]))
    assert list(task.spoken())[-1].startswith(WORDS)
    assert Facts(task).spoken[-1].text.startswith(WORDS)


def test_export_gives_the_line_back(store: EventStore, typed: Transcript) -> None:
    exported = b"".join(export_lines(store, "s"))
    assert [json.loads(line) for line in exported.splitlines()] == [
        json.loads(line) for line in typed.path.read_bytes().splitlines()
    ]


def test_the_words_that_the_program_adds_are_kept_with_the_line(tmp_path: Path) -> None:
    rendered = [{"content": REMINDER}]
    shape = SHAPES["2.1.332"]
    typed = running(tmp_path / "s.jsonl", shape, rendered=rendered, renderedRole="system")
    event = typed.events("message.user")[-1]
    assert event.data == {"content": WORDS}
    assert event.meta["line"]["rendered"] == rendered


@pytest.mark.parametrize("attached", NOT_TYPED.values(), ids=NOT_TYPED)
def test_what_others_put_in_is_an_attachment(attached: dict[str, Any], tmp_path: Path) -> None:
    typed = running(tmp_path / "s.jsonl", attached)
    (event,) = typed.events("attachment.added")
    assert event.data["kind"] == "queued_command"


@pytest.mark.parametrize("line", [{}, {"attachment": 7}, {"attachment": {"type": "file"}}])
def test_other_lines_are_not_typed(line: dict[str, Any]) -> None:
    assert not is_typed(line)
