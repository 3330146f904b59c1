"""The rules of the Messages API: for each, a request that obeys it and one that breaks it."""

from __future__ import annotations

import base64
import struct
from typing import Any

import pytest

from foldlog.projections.render.api_rules import RULES, Limits, check
from foldlog.projections.wire.models import model_version

CALL = {"type": "tool_use", "id": "t1", "name": "bash", "input": {}}
ANSWER = {"type": "tool_result", "tool_use_id": "t1", "content": "out"}
THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "s"}
SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
HITS = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
SUMMARY = {"type": "compaction", "content": "S"}
MARK = {"cache_control": {"type": "ephemeral"}}
HOUR = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}


def text(words: str = "words", **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **more}


def u(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks) or "words"}


def a(*blocks: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks) or "words"}


def s(*blocks: Any) -> dict[str, Any]:
    return {"role": "system", "content": list(blocks) or "words"}


def image(width: int, height: int) -> dict[str, Any]:
    header = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", width, height)
    data = base64.b64encode(header).decode()
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}


def broken(*messages: dict[str, Any], model: str | None = None, **more: Any) -> set[str]:
    return {violation.rule for violation in check({"messages": list(messages), **more}, model)}


GOOD: dict[str, list[dict[str, Any]]] = {
    "a word": [u()],
    "nothing": [],
    "a tool loop": [u(), a(THOUGHT, text(), CALL), u(ANSWER, text()), a()],
    "compacted": [a(SUMMARY, text()), u()],
    "a failed compaction": [u(), a({"type": "compaction", "content": None}, text())],
    "a server tool": [u(), a(SEARCH, HITS, text()), u()],
    "a server tool that goes on in a later reply": [u(), a(SEARCH, CALL), u(ANSWER), a(HITS)],
    "a server tool that pauses": [u(), a(SEARCH)],
    "a system message": [u(), s(), a()],
    "a system message at the end": [u(), a(CALL), u(ANSWER), s()],
    "a system message behind a server tool": [u(), a(SEARCH, HITS), s(), a()],
    "an empty final reply": [u(), {"role": "assistant", "content": []}],
    "two of one role, which the API merges": [u(), u(), a(), a(CALL), u(ANSWER), u()],
    "an empty result": [u(), a(CALL), u({**ANSWER, "content": ""})],
}


@pytest.mark.parametrize("messages", GOOD.values(), ids=GOOD)
def test_what_the_api_takes_breaks_no_rule(messages: list[dict[str, Any]]) -> None:
    assert check({"system": None, "tools": None, "messages": messages}) == []


BAD: dict[str, list[list[dict[str, Any]]]] = {
    "first_is_user": [[a(), u()], [s(), u()]],
    "no_blank_text": [
        [u(text(""))],
        [{"role": "user", "content": ""}],
        [u(), a(text(" \n"))],
        [u(), a(CALL), u({**ANSWER, "content": [text(" ")]})],
    ],
    "no_empty_message": [
        [{"role": "user", "content": []}],
        [u(), {"role": "assistant", "content": None}, u()],
    ],
    "blocks_in_role": [[u(THOUGHT, text())], [u(CALL)], [u(), a(ANSWER)], [u(), a(), u(HITS)]],
    "unique_ids": [[u(), a(CALL, CALL), u(ANSWER)], [u(), a(CALL), u(ANSWER), a(CALL), u(ANSWER)]],
    "calls_answered_next": [[u(), a(CALL), u()], [u(), a(CALL)]],
    "results_answer_calls": [[u(ANSWER)], [u(), a(CALL), u(ANSWER), a(), u(ANSWER)]],
    "one_result_each": [[u(), a(CALL), u(ANSWER, ANSWER)]],
    "results_first": [[u(), a(CALL), u(text(), ANSWER)]],
    "toolset_echoed": [[u(), a({**CALL, "toolset_name": "browser"}), u(ANSWER)]],
    "server_tools_paired": [
        [u(), a(SEARCH), u(), a()],
        [u(), a(HITS)],
        [u(), a(SEARCH, HITS, HITS)],
    ],
    "system_placed": [[s()], [u(), a(), s()], [u(), a(CALL), s(), u(ANSWER)], [u(), s(), u()]],
    "tool_changes_in_system": [[u({"type": "tool_addition", "tool": {}})]],
    "thinking_not_last": [[u(), a(THOUGHT), u()], [u(), a(text(), THOUGHT), u()]],
    "thinking_signed": [[u(), a({**THOUGHT, "signature": ""}, text()), u()]],
    "compaction_first": [
        [u(), a(SUMMARY)],
        [a(text(), SUMMARY)],
        [a(SUMMARY, SUMMARY)],
    ],
    "marks_at_most": [[u(*[text(**MARK)] * 5)]],
    "hours_before_minutes": [[u(text(**MARK), text(**HOUR))]],
    "marks_placed": [[u(), a({**THOUGHT, **MARK}, text())], [u(text("", **MARK))]],
    "images_fit": [[u(image(8001, 10))], [u(*[image(2001, 10)] * 21)]],
    "images_at_most": [[u(*[image(9, 9)] * 601)]],
}


@pytest.mark.parametrize(("rule", "requests"), BAD.items(), ids=BAD)
def test_what_the_api_refuses_is_named(rule: str, requests: list[list[dict[str, Any]]]) -> None:
    for messages in requests:
        assert rule in broken(*messages)


def test_a_violation_says_where_and_what() -> None:
    (violation,) = check({"messages": [u(), a(CALL), u()]})
    assert violation == ("calls_answered_next", 1, "the call t1 has no result in the next message")


def test_marks_count_over_tools_system_and_messages() -> None:
    marked = {"tools": [{"name": "x", **MARK}], "system": [text(**MARK)]}
    assert broken(u(*[text(**MARK)] * 3), **marked) == {"marks_at_most"}
    assert broken(u(*[text(**MARK)] * 2), **marked) == set()
    assert broken(u(text(**HOUR)), **marked) == {"hours_before_minutes"}


def test_a_blank_system_prompt() -> None:
    assert broken(u(), system=[text(" ")]) == {"no_blank_text"}


def test_images_within_results_count() -> None:
    shown = {**ANSWER, "content": [image(8001, 1)]}
    assert broken(u(), a(CALL), u(shown)) == {"images_fit"}


def test_twenty_images_may_be_large() -> None:
    assert broken(u(*[image(8000, 8000)] * 20)) == set()


@pytest.mark.parametrize(
    ("limits", "rule"),
    [
        (Limits(messages=1), "messages_at_most"),
        (Limits(bytes=10), "bytes_at_most"),
        (Limits(images=0), "images_at_most"),
        (Limits(image_bytes=5), "images_fit"),
        (Limits(image_side=5), "images_fit"),
    ],
)
def test_the_figures_are_given(limits: Limits, rule: str) -> None:
    found = check({"messages": [u(image(9, 9)), a()]}, limits=limits)
    assert {violation.rule for violation in found} == {rule}


class TestFinalAssistantMessage:
    @pytest.mark.parametrize("model", ["claude-opus-4-6", "claude-sonnet-5", "claude-opus-5-1"])
    def test_newer_models_refuse_it(self, model: str) -> None:
        assert broken(u(), a(), model=model) == {"no_prefill"}

    @pytest.mark.parametrize("model", ["claude-sonnet-4-5-20250929", "claude-3-5-sonnet-20241022"])
    def test_older_ones_refuse_white_space_at_its_end(self, model: str) -> None:
        assert broken(u(), a(), model=model) == set()
        assert broken(u(), a(text("so ")), model=model) == {"no_prefill"}

    def test_without_a_model_nothing_is_said(self) -> None:
        assert broken(u(), a(text("so "))) == set()

    @pytest.mark.parametrize(
        ("model", "version"),
        [
            ("claude-sonnet-4-5-20250929", (4, 5)),
            ("claude-sonnet-4-20250514", (4, 0)),
            ("claude-3-5-sonnet-20241022", (3, 5)),
            ("anthropic.claude-opus-4-8-v1:0", (4, 8)),
            ("claude-fable-5", (5, 0)),
            ("gpt-6", None),
            (None, None),
        ],
    )
    def test_versions_are_read_from_names(self, model: str | None, version: Any) -> None:
        assert model_version(model) == version


def test_an_open_loop_begins_with_its_thinking_where_that_is_enabled() -> None:
    loop = [u(), a(text(), CALL), u(ANSWER)]
    enabled = {"thinking": {"type": "enabled", "budget_tokens": 9}}
    assert broken(*loop, **enabled) == {"loop_opens_with_thinking"}
    assert broken(*loop, thinking={"type": "adaptive"}) == set()
    assert broken(u(), a(THOUGHT, CALL), u(ANSWER), **enabled) == set()


@pytest.mark.parametrize(
    ("model", "hears"),
    [
        ("claude-opus-4-7", False),
        ("claude-opus-4-8-20260528", True),
        ("anthropic.claude-sonnet-4-6-v1:0", False),
        ("claude-sonnet-5", False),
        ("claude-sonnet-5-5", True),
        ("something-new", True),
        (None, True),
    ],
)
def test_some_models_take_no_system_messages(model: str | None, hears: bool) -> None:
    found = check({"messages": [u(), s(), a(), u()]}, model)
    assert [violation.rule for violation in found] == ([] if hears else ["system_heard"])


def test_every_rule_has_a_case_here() -> None:
    elsewhere = {
        "system_heard",
        "no_prefill",
        "loop_opens_with_thinking",
        "messages_at_most",
        "bytes_at_most",
    }
    assert {rule.__name__ for rule in RULES} == {*BAD, *elsewhere}
