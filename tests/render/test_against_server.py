"""Two readings of the Messages API, made apart, agree on what it would refuse.

The checker of the project and the server of the tests share no code. Any conversation is put before
both; where they differ, one of them is wrong.
"""

from __future__ import annotations

from itertools import groupby
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from foldlog.eventstore.events import Event
from foldlog.projections.render.api_rules import check
from foldlog.projections.render.render import render
from foldlog.projections.view.open import project
from foldlog.projections.wire.models import hears_system
from tests.projections.build import later, user
from tests.render.test_render_properties import hostile
from tests.server import Api
from tests.server.models import MODELS

NEW, OLD = "claude-opus-5", "claude-haiku-4-5"
"""A model that hears system messages and takes no prefill; one of which neither is true."""


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **more}


def calls(id: str, **more: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": "bash", "input": {}, **more}


def answers(id: str, content: Any = "out", **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id, "content": content, **more}


MARK = {"type": "ephemeral"}
HOUR = {"type": "ephemeral", "ttl": "1h"}
USER = [
    text("words"),
    text(" \n"),
    text("kept", cache_control=MARK),
    text("kept", cache_control=HOUR),
    answers("a"),
    answers("b"),
    answers("a", "", is_error=True),
    answers("b", [text("")]),
    answers("b", [text("deep", cache_control=MARK)]),
]
ASSISTANT = [
    text("words"),
    text("words "),
    text(""),
    calls("a"),
    calls("b"),
    {"type": "thinking", "thinking": "hm", "signature": "s"},
    {"type": "thinking", "thinking": "hm", "signature": ""},
    {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}},
    {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
]


def said(role: str, blocks: list[dict[str, Any]], most: int = 3) -> st.SearchStrategy[Any]:
    content = st.lists(st.sampled_from(blocks), max_size=most)
    return content.map(lambda content: {"role": role, "content": content})


messages = st.lists(
    st.one_of(
        said("user", USER),
        said("assistant", ASSISTANT),
        said("user", USER[:1], most=1),
        said("system", USER[:1], most=1),
        said("user", ASSISTANT + USER, most=2),
        said("assistant", USER, most=1),
        st.just({"role": "user", "content": [answers("a"), answers("b")]}),
        st.just({"role": "assistant", "content": [text("words"), calls("a"), calls("b")]}),
    ),
    min_size=1,
    max_size=7,
)


def merged(said: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Messages of one role in a row as one: so a view renders them, and so the API reads them."""
    return [
        {"role": role, "content": [block for message in own for block in message["content"]]}
        for role, own in groupby(said, key=lambda message: str(message["role"]))
    ]


@settings(max_examples=500)
@given(messages, st.sampled_from([NEW, OLD]))
def test_what_one_refuses_the_other_refuses(said: list[dict[str, Any]], model: str) -> None:
    api = Api()
    api.checks_signatures = False
    conversation = merged(said)
    assume(conversation)
    violations = check({"messages": conversation}, model)
    refusal = api.refusal({"model": model, "messages": conversation})
    assert bool(violations) == bool(refusal), (violations, refusal)


@given(hostile(), st.sampled_from([NEW, OLD]))
def test_what_is_rendered_of_any_log_is_answered(events: list[Event], model: str) -> None:
    """Blocks of unheard-of types are carried through, for the API to judge."""
    said = later(events, user("Go on."))
    rendered = render(project(said), open="recover", model=model)
    request = {name: value for name, value in rendered.items() if value is not None}
    assume("unheard_of" not in str(request))
    api = Api()
    api.checks_signatures = False
    assert api.refusal({"model": model, **request}, ["compact-2026-01-12"]) is None


@pytest.mark.parametrize("model", sorted(MODELS))
def test_both_know_the_same_models_that_hear_system_messages(model: str) -> None:
    assert hears_system(model) == MODELS[model].hears_system
