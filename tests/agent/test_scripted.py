"""A scripted model answers the real SDK as the API does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anthropic
import httpx2
import pytest

from foldlog.cli.agent.models import Scripted
from foldlog.cli.agent.scripted import Script, ScriptError
from foldlog.eventstore import EventDraft, EventStore
from foldlog.projections import Session

TOML = """
model = "claude-opus-5-5"

[[reply]]
thinking = "I should look."
text = "Let me look: naïve 你好."
calls = [
    { name = "read", input = { path = "a.py" } },
    { name = "task", replies = [{ text = "inner", calls = [{ name = "bash" }] }] },
]

[[reply]]
errors = ["overloaded", "break"]
text = "All is well."

[[summary]]
text = "A summary."
"""


def played(tmp_path: Path, text: str = TOML, name: str = "demo.toml") -> tuple[Script, Session]:
    path = tmp_path / name
    path.write_text(text, "utf-8")
    script, session = Script.read(path), Session(EventStore(":memory:"), "s")
    session.user("hi")
    return script, session


def asked(script: Script, session: Session, **more: Any) -> anthropic.types.Message:
    client = Scripted(script).client(session)
    said = [{"role": "user", "content": "hi"}]
    with client.messages.stream(
        model=script.model, max_tokens=100, messages=said, **more
    ) as stream:
        return stream.get_final_message()


def test_a_streamed_reply_is_what_the_script_says(tmp_path: Path) -> None:
    script, session = played(tmp_path)
    message = asked(script, session)
    assert [block.type for block in message.content] == ["thinking", "text", "tool_use", "tool_use"]
    assert message.content[1].text == "Let me look: naïve 你好."
    assert message.content[2].input == {"path": "a.py"}
    assert message.stop_reason == "tool_use"
    assert message.usage.input_tokens > 0


def test_a_plain_reply_is_the_same(tmp_path: Path) -> None:
    script, session = played(tmp_path)
    client = Scripted(script).client(session)
    said = [{"role": "user", "content": "hi"}]
    plain = client.messages.create(model=script.model, max_tokens=100, messages=said)
    assert plain.to_dict()["content"] == asked(script, session).to_dict()["content"]


def test_it_goes_on_where_the_log_says(tmp_path: Path) -> None:
    script, session = played(tmp_path)
    session.assistant([{"type": "text", "text": "half"}], partial=True)
    assert asked(script, session).content[0].type == "thinking"
    session.assistant([{"type": "text", "text": "whole"}])
    session.append(EventDraft("request.failed", {}))
    with pytest.raises(httpx2.RemoteProtocolError):
        asked(script, session)
    session.append(EventDraft("request.failed", {}))
    assert asked(script, session).content[0].text == "All is well."


def test_errors_are_those_of_the_api(tmp_path: Path) -> None:
    script, session = played(tmp_path)
    session.assistant([{"type": "text", "text": "whole"}])
    with pytest.raises(anthropic.OverloadedError):
        asked(script, session)
    small = Script("small", [], window=2)
    with pytest.raises(anthropic.BadRequestError, match=r"prompt is too long: .* > 2 maximum"):
        asked(small, session)
    with pytest.raises(anthropic.BadRequestError, match="has 0 replies"):
        asked(Script("none", []), session)


def test_a_subagent_has_the_script_of_its_call(tmp_path: Path) -> None:
    script, session = played(tmp_path)
    ids = [block.id for block in asked(script, session).content if block.type == "tool_use"]
    inner = asked(script.of_call(ids[1]), session)
    assert inner.content[0].text == "inner"
    assert inner.content[1].id not in ids
    assert script.of_call("toolu_other").replies == ()


def test_a_summarizer_is_told_the_summaries(tmp_path: Path) -> None:
    from foldlog.cli.agent.scripted import Progress
    from foldlog.cli.agent.scripted_api import transport

    script, session = played(tmp_path)
    session.append(EventDraft("summary.requested", {}))
    client = anthropic.Anthropic(
        api_key="k",
        http_client=httpx2.Client(
            transport=transport(script, Progress(session.store, session.id), summaries=True)
        ),
    )
    said = [{"role": "user", "content": "hi"}]
    message = client.messages.create(model="m", max_tokens=9, messages=said)
    assert message.content[0].text == "A summary."


def test_json_is_the_same(tmp_path: Path) -> None:
    script, session = played(tmp_path, json.dumps({"reply": [{"text": "hi"}]}), "demo.json")
    assert asked(script, session).content[0].text == "hi"


@pytest.mark.parametrize(
    "text",
    [
        "nonsense",
        "reply = 3",
        '[[reply]]\nword = "x"',
        '[[reply]]\nerrors = ["lunch"]',
        "[[reply]]\ncalls = [{ input = {} }]",
    ],
)
def test_what_is_no_script_is_told(tmp_path: Path, text: str) -> None:
    with pytest.raises(ScriptError, match=r"demo\.toml"):
        played(tmp_path, text)


def test_a_script_that_is_not_there_is_told() -> None:
    with pytest.raises(ScriptError, match=r"none\.toml"):
        Script.read("none.toml")
