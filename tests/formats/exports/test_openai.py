"""Requests for OpenAI's APIs: what the openai package's own types take, and nothing lost unsaid."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming
from openai.types.responses.response_create_params import ResponseCreateParamsNonStreaming
from pydantic import TypeAdapter

from foldlog.cli.formats import import_path
from foldlog.cli.formats.to_openai import ID_CHARS
from foldlog.eventstore import EventStore
from foldlog.projections import Session
from tests.formats.exports.conftest import exported, is_golden
from tests.formats.exports.sessions import EVERYTHING
from tests.projections.build import call

CLAUDE = Path(__file__).parents[2] / "fixtures" / "claude"
TRANSCRIPTS = (
    "ccl_claude_p_errors_2.1.17.jsonl",
    "ccl_small_parallel_2.0.28.jsonl",
    "entire_compact_2.0.76.jsonl",
    "packmind_image_2.1.45.jsonl",
    "omp_refusal_fallback_2.1.217.jsonl",
    "gen_v332_parallel_error_cjk_image_big_compact",
)
TYPES = {
    "openai": TypeAdapter(ResponseCreateParamsNonStreaming),
    "openai-chat": TypeAdapter(CompletionCreateParamsNonStreaming),
}


def seen(value: Any) -> Any:
    """What the types made of a request: pydantic checks a lazy list when it is read."""
    if isinstance(value, dict):
        return {key: seen(each) for key, each in value.items()}
    if isinstance(value, str | int | float | None):
        return value
    return [seen(each) for each in value]


def body(store: EventStore, session: str, form: str, **options: Any) -> dict[str, Any]:
    """A request, once the package's types took it without leaving anything out."""
    content, _ = exported(store, session, form, **options)
    made: dict[str, Any] = json.loads(content)
    asked = {"model": "gpt-5", **made}
    assert seen(TYPES[form].validate_python(asked)) == asked
    return made


def sessions(store: EventStore) -> Iterator[str]:
    """The sessions of some transcripts of Claude Code."""
    for name in TRANSCRIPTS:
        for report in import_path(store, CLAUDE / name):
            if report.session:
                yield report.session


@pytest.mark.parametrize("form", TYPES)
def test_it_is_what_it_was(store: EventStore, form: str) -> None:
    content, lost = exported(store, EVERYTHING, form)
    body(store, EVERYTHING, form)
    assert is_golden(f"{form}.json", content)
    assert is_golden(f"{form}.lost.json", json.dumps(lost, indent=1).encode() + b"\n")


@pytest.mark.parametrize("form", TYPES)
def test_the_types_take_the_transcripts_of_claude_code(form: str) -> None:
    with EventStore(":memory:") as store:
        for session in set(sessions(store)):
            body(store, session, form)
            body(store, session, form, whole=True)


def test_each_call_of_responses_has_its_output_after_it() -> None:
    with EventStore(":memory:") as store:
        for session in set(sessions(store)):
            waiting, done = set(), set()
            for item in body(store, session, "openai")["input"]:
                if item["type"] == "function_call":
                    assert item["call_id"] not in waiting | done
                    waiting.add(item["call_id"])
                elif item["type"] == "function_call_output":
                    waiting.remove(item["call_id"])
                    done.add(item["call_id"])
            assert waiting == set()


def test_each_call_of_chat_is_answered_at_once() -> None:
    with EventStore(":memory:") as store:
        for session in set(sessions(store)):
            waiting: list[str] = []
            for message in body(store, session, "openai-chat")["messages"]:
                if message["role"] == "tool":
                    waiting.remove(message["tool_call_id"])
                else:
                    assert waiting == []
                    waiting = [each["id"] for each in message.get("tool_calls", [])]
            assert waiting == []


def test_the_view_is_exported_and_whole_all_of_it(store: EventStore) -> None:
    shown = json.dumps(body(store, EVERYTHING, "openai"))
    assert "It was about tests." in shown
    assert "An old answer." not in shown
    assert "[cleared: foldlog:e/17]" in shown
    whole = json.dumps(body(store, EVERYTHING, "openai", whole=True))
    assert "It was about tests." not in whole
    assert "An old answer." in whole
    assert "7\\\\n8\\\\n9" in whole.replace("\\n", "\\\\n")


def test_an_earlier_version_is_exported_as_it_was(store: EventStore) -> None:
    made = body(store, EVERYTHING, "openai", until=5)
    said = [item["content"] for item in made["input"]]
    assert said == [[{"type": "input_text", "text": "An old question."}], "An old answer."]


@pytest.mark.parametrize("form", TYPES)
def test_an_id_that_is_too_long_is_shortened_alike_in_call_and_result(
    store: EventStore, form: str
) -> None:
    session = Session(store, "long-ids")
    session.user("hi")
    session.assistant([call("call_1|" + "fc_" * 40)])
    session.tool_result("call_1|" + "fc_" * 40, "done")
    ids = [value for key, value in _fields(body(store, "long-ids", form)) if key.endswith("_id")]
    ids += [
        each["id"]
        for key, value in _fields(body(store, "long-ids", form))
        if key == "tool_calls"
        for each in value
    ]
    assert len(ids) == 2
    assert len(set(ids)) == 1
    assert len(ids[0]) <= ID_CHARS


def _fields(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, each in value.items():
            yield key, each
            yield from _fields(each)
    elif isinstance(value, list):
        for each in value:
            yield from _fields(each)
