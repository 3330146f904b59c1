"""Each way of showing, on what it is meant for; the event's own data never changes."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from foldlog.eventstore.events import EventDraft
from foldlog.projections.render.items import Item, items
from foldlog.projections.render.render import render
from foldlog.projections.render.showing import SHORTENED
from foldlog.projections.view.open import project
from foldlog.projections.view.view import View
from tests.projections.build import (
    assistant,
    call,
    edit,
    later,
    log,
    moved,
    result,
    shown,
    state,
    summary,
    thinking,
    user,
)

IMAGE = {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}}


def view(*drafts: EventDraft, **shown_as: Any) -> View:
    """A view in which version 1 is shown some way."""
    edits = [edit({"first": 1, "last": 1, **shown_as})] if shown_as else []
    return project(log(*drafts, *edits))


def content(*drafts: EventDraft, **shown_as: Any) -> Any:
    (item,) = items(view(*drafts, **shown_as))
    return item.content


def test_whole_content_is_the_very_object_that_was_recorded() -> None:
    event = log(user([{"type": "unheard_of", "z": 1, "a": [2]}]))[0]
    (item,) = items(project([event]))
    assert item == Item(1, "user", "message", event.data["content"], event)
    assert item.content is event.data["content"]


def test_cleared_keeps_role_ids_errors_and_unknown_fields() -> None:
    failed = result("t1", "a long output", is_error=True, novel={"kept": 1})
    assert content(failed, shown="cleared", text="[cleared]") == [
        {
            "type": "tool_result",
            "tool_use_id": "t1",
            "content": "[cleared]",
            "is_error": True,
            "novel": {"kept": 1},
        }
    ]


def test_cleared_results_of_one_imported_line_are_cleared_each_and_its_text_stays() -> None:
    parts = [
        {"type": "tool_result", "tool_use_id": "t1", "content": "one"},
        {"type": "text", "text": "and go on"},
        {"type": "tool_result", "tool_use_id": "t2", "content": [IMAGE], "is_error": False},
    ]
    found = items(view(user(parts), shown="cleared", text="[x]"))
    assert [(item.kind, item.content) for item in found] == [
        ("result", [{"type": "tool_result", "tool_use_id": "t1", "content": "[x]"}]),
        (
            "result",
            [{"type": "tool_result", "tool_use_id": "t2", "content": "[x]", "is_error": False}],
        ),
        ("message", [{"type": "text", "text": "and go on"}]),
    ]


def test_a_cleared_reply_keeps_its_calls_and_the_results_of_server_tools() -> None:
    search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
    hits = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
    reply = assistant(thinking(), search, hits, "I look.", call("t1"))
    assert content(reply, shown="cleared", text="[x]") == [
        {"type": "text", "text": "[x]"},
        search,
        hits,
        call("t1"),
    ]


def test_preview_is_the_head_between_two_texts() -> None:
    (block,) = content(result("t1", "abcdefgh"), shown="preview", chars=3, before="<", after=">")
    assert block["content"] == "<abc>"


def test_preview_of_blocks_names_media_and_counts_characters_not_bytes() -> None:
    parts = [{"type": "text", "text": "中文字"}, IMAGE, {"type": "text", "text": "end"}]
    (block,) = content(result("t1", parts), shown="preview", chars=13, before="<", after=">")
    assert block["content"] == "<中文字\n[image]\ne>"


def test_preview_of_an_attachment() -> None:
    file = EventDraft("attachment.added", {"kind": "file", "content": "abcdefgh"})
    assert content(file, shown="preview", chars=2, before="", after=" …") == "ab …"


@pytest.mark.parametrize(
    ("placeholder", "left"), [(None, []), ("[gone]", [{"type": "text", "text": "[gone]"}])]
)
def test_without_thinking_takes_the_redacted_too(placeholder: str | None, left: list[Any]) -> None:
    reply = assistant({"type": "redacted_thinking", "data": "x"}, "Said.")
    kept = content(reply, shown="without", kinds=["thinking"], placeholder=placeholder)
    assert kept == [*left, {"type": "text", "text": "Said."}]


def test_without_images_reaches_into_results() -> None:
    (block,) = content(
        result("t1", [IMAGE, {"type": "text", "text": "a red square"}]),
        shown="without",
        kinds=["image"],
        placeholder="[image]",
    )
    assert block["content"] == [
        {"type": "text", "text": "[image]"},
        {"type": "text", "text": "a red square"},
    ]


def test_inputs_shortens_long_strings_at_any_depth_and_stays_an_object() -> None:
    long = "0123456789" * 10
    (block,) = content(
        assistant(call("t1", text=long, n=7, edits=[{"old": long, "new": "b"}])),
        shown="inputs",
        chars=4,
    )
    assert block["input"] == {
        "text": "0123" + SHORTENED,
        "n": 7,
        "edits": [{"old": "0123" + SHORTENED, "new": "b"}],
    }
    assert list(block) == ["type", "id", "name", "input"]


def test_inputs_never_makes_an_argument_longer() -> None:
    reply = assistant(call("t1", path="/tmp/a.py"))
    event = log(reply)[0]
    assert content(reply, shown="inputs", chars=4) == event.data["content"]


def test_a_marker_is_one_user_message_for_its_range() -> None:
    drafts = [user("one"), assistant("two"), user("three")]
    archived = edit(shown(1, 2, "marker", text="[2 messages archived]"))
    found = items(project(log(*drafts, archived)))
    assert [(i.version, i.role, i.kind, i.content) for i in found] == [
        (1, "user", "marker", "[2 messages archived]"),
        (3, "user", "message", "three"),
    ]


def test_a_marker_across_a_gap_is_shown_once() -> None:
    events = log(user("one"), user("left"), moved(1), user("two"))
    seen = items(project(later(events, edit(shown(1, 4, "marker", text="[2 messages]")))))
    assert [(item.version, item.content) for item in seen] == [(1, "[2 messages]")]


def test_a_summary_is_shown_once_where_its_first_piece_stands() -> None:
    drafts = [user("one"), user("two"), user("three"), summary("S"), user("four")]
    ranges = [shown(1, 1, "summary", summary=4), shown(3, 3, "summary", summary=4)]
    found = items(project(log(*drafts, edit(*ranges))))
    assert [(item.kind, item.content) for item in found] == [
        ("summary", "S"),
        ("message", "two"),
        ("message", "four"),
    ]


def test_a_summary_may_be_blocks() -> None:
    blocks = [{"type": "text", "text": "S"}, IMAGE]
    drafts = [user("one"), EventDraft("summary.written", {"content": blocks})]
    found = items(project(log(*drafts, edit(shown(1, 1, "summary", summary=2)))))
    assert found[0].content == blocks


def test_hidden_and_bookkeeping_show_nothing() -> None:
    drafts = [
        user("one"),
        user("two"),
        state("plan", 1),
        EventDraft("unheard.of", {"content": "x"}),
    ]
    found = items(project(log(*drafts, edit(shown(1, 1, "hidden")))))
    assert [item.version for item in found] == [2]


def test_an_attachment_that_cannot_be_reproduced_shows_nothing() -> None:
    assert items(view(EventDraft("attachment.added", {"kind": "file", "content": None}))) == []


@pytest.mark.parametrize(
    "shown_as",
    [
        {"shown": "cleared", "text": "[x]"},
        {"shown": "preview", "chars": 1, "before": "", "after": ""},
        {"shown": "without", "kinds": ["text", "thinking", "image"], "placeholder": None},
        {"shown": "inputs", "chars": 1},
    ],
)
@pytest.mark.parametrize(
    "draft",
    [
        assistant(thinking(), "text", call("t1", long="x" * 99)),
        result("t1", [{"type": "text", "text": "abc"}, IMAGE]),
        user([{"type": "tool_result", "tool_use_id": "t", "content": "abc"}]),
    ],
)
def test_an_event_is_never_changed(draft: EventDraft, shown_as: dict[str, Any]) -> None:
    events = log(draft, edit({"first": 1, "last": 1, **shown_as}))
    before = deepcopy([event.data for event in events])
    render(project(events), open="keep")
    assert [event.data for event in events] == before
