"""What holds for every log, however broken: the request is valid, the log untouched."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from foldlog.eventstore import codec
from foldlog.eventstore.errors import InvalidView
from foldlog.eventstore.events import Event, EventDraft
from foldlog.projections.render.api_rules import check
from foldlog.projections.render.digest import digest
from foldlog.projections.render.render import open_calls, render, repairs
from foldlog.projections.render.repairs import RULES
from foldlog.projections.render.replies import interruption
from foldlog.projections.view.open import project
from tests.projections.build import assistant, call, edit, later, log, result, thinking, user

IDS = st.sampled_from(["t1", "t2", "t3", "t4"])
SERVER_IDS = st.sampled_from(["srvtoolu_1", "srvtoolu_2"])
WORDS = st.sampled_from(["words", "more words", "", " ", "\n\t", "\u3000", "\x1f"])
MODELS = st.sampled_from([None, "claude-opus-4-8", "claude-sonnet-4-5-20250929", "<synthetic>"])


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def answer(id: str, content: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id, "content": content}


def search(id: str) -> dict[str, Any]:
    return {"type": "server_tool_use", "id": id, "name": "web_search", "input": {}}


def hits(id: str) -> dict[str, Any]:
    return {"type": "web_search_tool_result", "tool_use_id": id, "content": []}


RESULT_CONTENT = st.one_of(WORDS, st.lists(WORDS.map(text), max_size=2))
OURS = st.one_of(IDS.map(call), IDS.map(lambda id: {**call(id), "toolset_name": "browser"}))
BLOCKS = st.one_of(
    WORDS.map(text),
    OURS,
    st.builds(answer, IDS, RESULT_CONTENT),
    st.builds(thinking),
    SERVER_IDS.map(search),
    SERVER_IDS.map(hits),
    st.sampled_from(
        [
            {"type": "redacted_thinking", "data": "x"},
            {"type": "fallback", "from": {"model": "claude-fable-5"}},
            {"type": "compaction", "content": "S"},
            {"type": "compaction", "content": None},
            {"type": "unheard_of", "x": 1},
        ]
    ),
)
CONTENT = st.one_of(WORDS, st.lists(BLOCKS, max_size=4))


@st.composite
def replies(draw: DrawFn) -> EventDraft:
    data = {
        "content": draw(CONTENT),
        "id": draw(st.sampled_from([None, "m1", "m2", "m3"])),
        "model": draw(MODELS),
    }
    return EventDraft("message.assistant", {k: v for k, v in data.items() if v is not None})


DRAFTS = st.one_of(
    CONTENT.map(user),
    replies(),
    replies(),
    st.builds(result, IDS, RESULT_CONTENT),
    st.builds(result, IDS, RESULT_CONTENT),
    IDS.map(lambda id: EventDraft("tool.result", interruption(call(id)))),
    WORDS.map(lambda words: EventDraft("message.system", {"content": words})),
    st.builds(
        lambda words, join: EventDraft("attachment.added", {"content": words, "join": join}),
        st.one_of(st.none(), WORDS),
        st.booleans(),
    ),
    WORDS.map(lambda words: EventDraft("summary.written", {"text": words})),
    st.just(EventDraft("unheard.of", {"content": "x"})),
)


@st.composite
def hostile(draw: DrawFn) -> list[Event]:
    """A log with every damage at once, shown through a random edit where one can be folded."""
    drafts = draw(st.lists(DRAFTS, max_size=16))
    events = log(*drafts)
    if not events or draw(st.booleans()):
        return events
    edited = later(events, edit(*draw(st.lists(entries(events), min_size=1, max_size=3))))
    try:
        project(edited)
    except InvalidView:
        return events
    return edited


@st.composite
def entries(draw: DrawFn, events: list[Event]) -> dict[str, Any]:
    versions = st.integers(1, len(events))
    first, last = sorted((draw(versions), draw(versions)))
    summaries = [e.version for e in events if e.type == "summary.written"]
    ways: list[dict[str, Any]] = [
        {"shown": "whole"},
        {"shown": "cleared", "text": "[cleared]"},
        {"shown": "preview", "chars": 3, "before": "<", "after": ">"},
        {"shown": "without", "kinds": ["thinking", "text"], "placeholder": None},
        {"shown": "inputs", "chars": 2},
        {"shown": "hidden"},
        {"shown": "marker", "text": "[archived]"},
        *({"shown": "summary", "summary": version} for version in summaries),
    ]
    return {"first": first, "last": last, **draw(st.sampled_from(ways))}


PAUSED = log(
    assistant({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}),
    EventDraft("attachment.added", {"content": "words"}),
)
"""A reply that paused for a server tool, and something that the harness put in behind it."""


@given(hostile(), MODELS)
def test_every_request_is_valid_once_open_calls_are_closed(
    events: list[Event], model: str | None
) -> None:
    request = render(project(events), open="recover", model=model)
    assert check(request) == []


@example(PAUSED)
@given(hostile())
def test_open_calls_are_all_that_is_missing_where_they_are_kept(events: list[Event]) -> None:
    view = project(events)
    rules = {violation.rule for violation in check(render(view, open="keep"))}
    assert rules <= ({"calls_answered_next"} if open_calls(view) else set())


@example(log(assistant(call("t1"), {"type": "compaction", "content": "S"})))
@given(hostile())
def test_recording_the_interruption_shows_what_recover_showed(events: list[Event]) -> None:
    view = project(events)
    drafts = [EventDraft("tool.result", interruption(c.block)) for c in open_calls(view)]
    recorded = project(later(events, *drafts))
    assert open_calls(recorded) == []
    assert render(recorded) == render(view, open="recover")


@given(hostile())
def test_a_request_is_the_same_bytes_when_it_is_rendered_again(events: list[Event]) -> None:
    again = deepcopy(events)
    one, two = (render(project(log), open="keep") for log in (events, again))
    assert codec.dumps(one) == codec.dumps(two)
    assert digest(one) == digest(two)


@given(hostile())
def test_no_event_is_changed(events: list[Event]) -> None:
    before = deepcopy(events)
    render(project(events), open="recover")
    assert events == before


@given(hostile())
def test_every_repair_is_named_and_has_a_version_of_the_log(events: list[Event]) -> None:
    found = repairs(project(events))
    assert all(repair.rule in RULES for repair in found)
    assert all(1 <= repair.version <= len(events) for repair in found)
    assert len(set(found)) == len(found)
