"""A session told as passages: each thing once, with its result, and how it is seen."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given

from foldlog.eventstore import EventDraft, EventStore, InvalidView, SessionNotFound
from foldlog.eventstore.events import Event
from foldlog.eventstore.memory import MemoryStore
from foldlog.projections import open_view
from foldlog.projections.explain.narrative import (
    SPEAKERS,
    Block,
    Call,
    Child,
    Edit,
    Heading,
    Media,
    Note,
    Passage,
    Prompt,
    Result,
    Rewind,
    Said,
    SummaryText,
    Thinking,
    Title,
    Toolset,
    narrate,
)
from foldlog.projections.explain.why import IN_PLACE, sight
from tests.projections.build import (
    assistant,
    call,
    edit,
    moved,
    result,
    shown,
    summary,
    system,
    thinking,
    tools,
    user,
)
from tests.projections.logs import logs

IMAGE = {"type": "image", "source": {"type": "url", "url": "https://x.example/y.png"}}


def told(*drafts: EventDraft, until: int | None = None) -> list[Any]:
    """The passages of a session, without its title."""
    store = MemoryStore()
    store.append("s", drafts)
    return list(narrate(store, "s", until))[1:]


def outline(passages: Iterable[Any]) -> list[str]:
    return [f"{type(p).__name__} {p.version}" for p in passages if not isinstance(p, Child)]


def test_it_begins_with_what_the_list_says_of_the_session() -> None:
    store = MemoryStore()
    store.append("s", [user("hello"), moved(0)])
    [title, *_] = narrate(store, "s")
    assert isinstance(title, Title)
    assert (title.info.session, title.info.preview, title.version, title.head) == (
        "s",
        "hello",
        2,
        0,
    )


def test_each_thing_is_told_in_its_order_and_by_its_type() -> None:
    passages = told(
        system("be brief"),
        tools("bash", "Read"),
        user("go"),
        assistant(thinking(), "I look.", call("a")),
        result("a", "x"),
        assistant("Done."),
        summary("short"),
        edit(shown(3, 6, "summary", summary=7)),
        moved(3),
        EventDraft("source.unreadable", {"text": "{", "reason": "no JSON"}),
        EventDraft("request.sent", {"digest": "sha256:0"}),
    )
    assert outline(passages) == [
        *("Prompt 1", "Toolset 2", "Heading 3", "Said 3", "Heading 4", "Thinking 4", "Said 4"),
        *("Call 4", "Heading 6", "Said 6", "SummaryText 7", "Edit 8", "Rewind 9", "Note 10"),
    ]
    prompt, toolset, thought, summed, edited, rewound, note = (
        next(passage for passage in passages if isinstance(passage, kind))
        for kind in (Prompt, Toolset, Thinking, SummaryText, Edit, Rewind, Note)
    )
    assert (prompt.text, toolset.names, thought.text) == ("be brief", ["bash", "Read"], "hm")
    assert summed.blocks == [{"type": "text", "text": "short"}]
    assert (edited.rule, edited.reason, edited.compacts) == ("test", "because", True)
    assert edited.covers == [(3, 6, "summary")]
    assert (rewound.to, note.reason) == (3, "no JSON")


class TestCalls:
    def test_a_result_is_told_with_its_call_and_not_again(self) -> None:
        passages = told(
            assistant(call("a", "Read", path="x"), call("b")),
            result("b", "second", is_error=True),
            user("and this"),
            result("a", [{"type": "text", "text": "first"}, IMAGE]),
        )
        assert outline(passages) == ["Heading 1", "Call 1", "Call 1", "Heading 3", "Said 3"]
        one, two = (p for p in passages if isinstance(p, Call))
        assert (one.id, one.name, one.input, one.unanswered) == ("a", "Read", {"path": "x"}, False)
        assert one.result is not None
        assert two.result is not None
        assert (one.result.version, one.result.failed) == (4, False)
        assert (two.result.version, two.result.failed) == (2, True)
        words, image = one.result.parts
        assert isinstance(words, Said)
        assert words.text == "first"
        assert isinstance(image, Media)
        assert str(image.handle) == "foldlog:s/4#2"

    def test_a_second_result_and_one_without_a_call_are_told_by_themselves(self) -> None:
        passages = told(
            result("x", "orphan"), assistant(call("a")), result("a", "1"), result("a", "2")
        )
        results = [p for p in passages if isinstance(p, Result)]
        assert [(p.version, next(p.parts).content["text"]) for p in results] == [
            (1, "orphan"),
            (4, "2"),
        ]
        assert [p.who for p in results] == ["tool", "tool"]

    def test_a_call_without_a_result_says_so(self) -> None:
        server = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
        passages = told(assistant(call("a"), server))
        assert [p.unanswered for p in passages if isinstance(p, Call)] == [True, False]


class TestHeadings:
    def test_a_reply_in_several_events_has_one(self) -> None:
        passages = told(
            user("go"), *(assistant(word, id="m") for word in "ab"), assistant("c", id="n")
        )
        assert outline(p for p in passages if isinstance(p, Heading)) == [
            *("Heading 1", "Heading 2", "Heading 4")
        ]

    def test_a_part_that_is_seen_differently_has_its_own(self) -> None:
        parts = [assistant(word, id="m") for word in "abc"]
        cleared = edit(shown(2, 2, "cleared", text="[gone]"))
        headings = [p for p in told(*parts, cleared) if isinstance(p, Heading)]
        assert [(p.version, p.sight.seen) for p in headings] == [
            *((1, "whole"), (2, "no"), (3, "whole"))
        ]

    def test_an_attachment_has_its_kind(self) -> None:
        attached = EventDraft("attachment.added", {"kind": "file", "content": "x"})
        heading, said = told(attached)
        assert (heading.label, heading.who, said.text) == ("file", "harness", "x")

    def test_a_message_without_words_has_none(self) -> None:
        assert told(assistant(" ", "\n")) == []


def test_how_it_is_seen_is_told_with_the_edit_that_decides() -> None:
    passages = told(
        assistant(call("a")),
        result("a", "0123456789"),
        user("left behind"),
        moved(2),
        edit(shown(2, 2, "preview", chars=3, before="<", after=">"), rule="shorten"),
    )
    (made,) = (p for p in passages if isinstance(p, Call))
    (said,) = (p for p in passages if isinstance(p, Said))
    assert made.result is not None
    assert (made.sight.seen, made.result.sight.seen, said.sight.seen) == ("whole", "part", "no")
    assert made.result.sight.cause is not None
    assert said.sight.cause is not None
    assert (made.result.sight.cause.rule, made.result.sight.cause.version) == ("shorten", 5)
    assert (said.sight.words, said.sight.cause.version) == ("left behind", 4)


def test_it_tells_how_things_were_seen_at_an_earlier_version() -> None:
    drafts = [user("a"), edit(shown(1, 1, "hidden"))]
    assert [p.sight.seen for p in told(*drafts, until=1)] == ["whole", "whole"]
    assert [p.sight.seen for p in told(*drafts) if isinstance(p, Said)] == ["no"]


def test_children_are_told_with_the_call_that_started_them_or_at_the_end() -> None:
    store = MemoryStore()
    store.append("s", [assistant(call("a", "Task"), call("b", "Task"))])

    def start(name: str, **parent: str) -> None:
        data = {"parent": {"session": "s", "version": 1, "kind": "subagent", **parent}}
        store.append(name, [EventDraft("session.started", data), user("look")])

    start("one", tool_use_id="a")
    start("two")
    store.fork("s", new="three")
    passages = list(narrate(store, "s"))
    calls = [[c.session for c in p.children] for p in passages if isinstance(p, Call)]
    assert calls == [["one"], []]
    rest = {(p.info.session, p.info.parent_kind) for p in passages if isinstance(p, Child)}
    assert rest == {("two", "subagent"), ("three", "fork")}
    assert outline(narrate(store, "one"))[1:] == ["Heading 2", "Said 2"]


def test_a_long_session_is_not_held() -> None:
    """Never half of what is told is in memory, with what the store itself remembers."""
    size = 400_000
    with EventStore(":memory:") as store:
        for number in range(60):
            text = f"{number} ".ljust(size, "x")
            drafts = [assistant(text, call(str(number))), result(str(number), f"{text}.")]
            store.append("s", drafts)
        tracemalloc.start()
        try:
            length = sum(_length(passage) for passage in narrate(store, "s"))
            _, most = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert length >= 120 * size
    assert most < length / 2, f"{most:,} bytes of {length:,} at a time"


def _length(passage: object) -> int:
    if isinstance(passage, Call) and passage.result:
        return sum(len(str(part.content)) for part in passage.result.parts)
    return len(passage.text) if isinstance(passage, Said) else 0


@given(logs())
def test_all_that_was_said_is_told_once_and_as_the_view_shows_it(events: list[Event]) -> None:
    store = MemoryStore()
    store.append("s", [EventDraft(event.type, event.data) for event in events] or [user("x")])
    try:
        view = open_view(store, "s")
        passages = list(narrate(store, "s"))
    except InvalidView:
        return
    said = [event.version for event in store.read("s", types=tuple(IN_PLACE))]
    assert [p.version for p in passages if isinstance(p, Said)] == said
    for passage in passages:
        if isinstance(passage, Passage):
            assert passage.sight == sight(view, view.event(passage.version))


def test_every_event_that_is_shown_in_its_place_has_a_speaker() -> None:
    assert SPEAKERS.keys() == IN_PLACE


def test_anchors_are_names_of_their_own() -> None:
    passages = told(user([{"type": "text", "text": w} for w in "ab"]), user("c"))
    anchors = [p.anchor for p in passages if isinstance(p, Block)]
    assert anchors == ["v1-1", "v1-2", "v2-1"]


def test_a_session_that_is_not_there() -> None:
    with pytest.raises(SessionNotFound):
        narrate(MemoryStore(), "nobody")
