"""What left the view can be had back, page by page, and only from one's own session."""

from __future__ import annotations

import re
from typing import Any

import pytest

from foldlog.eventstore import EventDraft, EventStore
from foldlog.projections import Session
from foldlog.projections.recall import PAGE, TOOL, Recall
from tests.cli.demo import PNG
from tests.projections.build import call, shown
from tests.recall.conftest import LONG

FENCE = re.compile(r"<record ([0-9a-f]{16})>\n(.*?)\n</record \1>", re.DOTALL)


def said(recall: Recall, **arguments: Any) -> str:
    answer = recall.answer(arguments)
    assert not answer.is_error, answer
    assert isinstance(answer.content, str)
    return answer.content


def trouble(recall: Recall, *arguments: Any, **named: Any) -> str:
    answer = recall.answer(arguments[0] if arguments else named)
    assert answer.is_error
    assert isinstance(answer.content, str)
    return answer.content


def record(answer: str) -> str:
    """What an answer quotes."""
    found = FENCE.search(answer)
    assert found, answer
    return found[2]


def frame(answer: str) -> str:
    """What an answer says itself."""
    return FENCE.sub("", answer)


def following(answer: str) -> int | None:
    found = re.search(r'"from": (\d+)', frame(answer))
    return int(found[1]) if found else None


@pytest.fixture
def recall(session: Session) -> Recall:
    return Recall(session)


# -- show ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["9", "foldlog:work/9", "`foldlog:work/9`", "[foldlog:work/9]."])
def test_a_cleared_result_comes_back(recall: Recall, name: str) -> None:
    answer = said(recall, show=name)

    assert "alpha.py\nbeta.py" in record(answer)
    assert 'answers: Bash {"command": "ls"}' in record(answer)
    assert "In your view now: cleared." in frame(answer)
    assert "clear_results (version 11): old results" in record(answer)


def test_what_is_behind_a_summary_is_listed_and_opened(recall: Recall) -> None:
    summary = said(recall, show="12")
    assert "A bug." in record(summary)
    assert '{"show": "2-7"}' in frame(summary)

    listed = record(said(recall, show="2-7")).splitlines()
    assert [line.split()[0] for line in listed] == ["2", "3", "4", "5", "6", "7"]
    assert "replaced by summary 12: Find the parser bug." in listed[0]
    assert listed[2].startswith("4  tool.result Bash")

    opened = said(recall, show="2")
    assert "BLUE-HERON-7" in record(opened)
    assert "In your view now: replaced by summary 12." in frame(opened)


def test_a_block_of_an_event(recall: Recall) -> None:
    assert "make" in record(said(recall, show="foldlog:work/3#2"))
    assert "has the blocks #1 to #2, not #3" in trouble(recall, show="3#3")


def test_without_arguments_it_lists_what_is_out_of_sight(recall: Recall) -> None:
    listed = record(said(recall)).splitlines()
    assert [line.split()[0] for line in listed] == ["2-7", "9"]
    assert "replaced by summary 12: A bug." in listed[0]


def test_a_receipt_leads_to_the_view_that_was(session: Session) -> None:
    receipt = session.append(EventDraft("snapshot.taken", {"version": 13}))[0]
    session.edit("snip", "room", [shown(10, 10, "hidden")])

    listed = record(said(Recall(session), show=f"foldlog:work/{receipt.version}"))
    assert "10  message.user  23 characters  seen: Go on" in listed


def test_a_name_of_a_version_leads_to_the_view_there(recall: Recall) -> None:
    listed = record(said(recall, show="before-compaction:1"))
    assert "2  message.user" in listed
    assert "replaced by summary" not in listed


def test_what_a_rewind_left_behind_can_be_had(session: Session) -> None:
    session.rewind(8)
    answer = said(Recall(session), show="10")
    assert "kestrel" in record(answer)
    assert "left behind" in frame(answer)


def test_what_is_seen_is_said_to_be_seen(recall: Recall) -> None:
    assert "You see it now, in full." in frame(said(recall, show="10"))


def test_nothing_is_written_and_the_session_is_not_moved(session: Session) -> None:
    before, recall = session.version, Recall(session)
    session.store.append(session.id, [EventDraft("message.user", {"content": "another writer"})])
    for arguments in ({}, {"show": "4"}, {"show": "2-7"}, {"search": "parser"}):
        recall.call(arguments)
    assert session.store.last(session.id) == before + 1
    assert session.version == before


# -- pages -----------------------------------------------------------------------------------


def pages(recall: Recall, **arguments: Any) -> list[str]:
    found, start = [], 0
    while start is not None:
        answer = said(recall, **arguments, **({"from": start} if start else {}))
        content = record(answer)
        found.append(content if start else content.split("\n\n", 1)[1])
        start = following(answer)  # type: ignore[assignment]
    return found


def test_the_pages_of_a_large_content_are_the_content(recall: Recall) -> None:
    found = pages(recall, show="4")
    assert "".join(found) == LONG
    assert len(found) == 4
    assert all(page.endswith("\n") for page in found)


def test_one_endless_line_of_any_script_is_cut_into_whole_characters(session: Session) -> None:
    whole = "测😀é" * 10_000
    session.user(whole)
    assert "".join(pages(Recall(session), show="14")) == whole


def test_a_list_goes_on_where_it_ended(session: Session) -> None:
    for n in range(400):
        session.user(f"remark {n} " + "x" * 100)
    recall, found, start = Recall(session), [], 0
    while start is not None:
        answer = said(recall, show="14-413", **({"from": start} if start else {}))
        found += [int(line.split()[0]) for line in record(answer).splitlines()]
        start = following(answer)  # type: ignore[assignment]
    assert found == list(range(14, 414))


def test_no_answer_grows_without_bound(store: EventStore, old_ids: None) -> None:
    session = Session(store, "s\n" + "ü" * 240)
    huge = "y" * 100_000
    session.assistant([call("t" + huge, huge, **{huge: huge}), {"type": huge, huge: [huge]}])
    session.tool_result("t" + huge, huge, is_error=True)
    session.append(EventDraft("x" * 400, {huge: [[huge]]}), EventDraft("message.user", {}))
    session.edit(huge, huge, [shown(2, 2, "cleared", text=huge)])
    for everything in (False, True):
        recall = Recall(session, everything=everything)
        asked: list[Any] = [{}, huge, {huge: 1}, {"show": huge}, {"search": huge}, {"search": "y*"}]
        asked += [{"show": name} for name in ("1", "1#1", "2", "3", "4", "1-4", "head", "z" * 999)]
        for arguments in asked:
            answer = recall.call(arguments)
            assert isinstance(answer, str)
            assert len(answer) < PAGE + 4_000, arguments


# -- search ----------------------------------------------------------------------------------


def test_search_finds_what_is_out_of_sight(recall: Recall) -> None:
    found = record(said(recall, search="heron"))
    assert found.startswith("2  message.user")
    assert "replaced by summary 12" in found


def test_search_can_leave_out_what_is_seen(recall: Recall) -> None:
    assert "kestrel" in record(said(recall, search="kestrel"))
    assert "Nothing was found" in said(recall, search="kestrel", out_of_sight=True)
    assert "2  message.user" in record(said(recall, search="heron", out_of_sight=True))


def test_search_goes_on_where_it_ended(session: Session) -> None:
    for n in range(90):
        session.user(f"remark {n} about the plover")
    recall, found, start = Recall(session), [], 0
    while start is not None:
        answer = said(recall, search="plover", **({"from": start} if start else {}))
        found += [int(line.split()[0]) for line in record(answer).splitlines()]
        start = following(answer)  # type: ignore[assignment]
        session.user("another plover, said between two pages")
    assert found == list(range(103, 13, -1))


# -- its own session and no other ------------------------------------------------------------


def test_another_session_is_refused_and_not_told_of(recall: Recall, store: EventStore) -> None:
    Session(store, "secret").user("the osprey")
    refused = trouble(recall, show="foldlog:secret/1")
    assert "no other" in refused
    assert refused.replace("secret", "absent") == trouble(recall, show="foldlog:absent/1")
    assert "osprey" not in said(recall, search="osprey")
    assert "no other" in trouble(recall, show="foldlog:secret/head")
    assert "no other" in trouble(recall, show="foldlog:secret/1-2")


def test_a_fork_reads_what_it_inherits_and_nothing_later(session: Session) -> None:
    fork = session.fork(13, new="branch")
    session.user("said later by the parent: osprey")
    fork.user("said by the fork: bittern")
    recall = Recall(fork)

    assert "BLUE-HERON-7" in record(said(recall, show="foldlog:work/2"))
    assert "BLUE-HERON-7" in record(said(recall, show="foldlog:branch/2"))
    assert "2  message.user" in record(said(recall, search="heron"))
    assert "no other" in trouble(recall, show="foldlog:work/14")
    assert "no other" in trouble(recall, show="foldlog:work/2-14")
    assert "osprey" not in said(recall, search="osprey")
    assert "osprey" not in said(recall, show="14-15")

    parent = Recall(session)
    assert "BLUE-HERON-7" in record(said(parent, show="foldlog:branch/2"))
    assert "no other" in trouble(parent, show="foldlog:branch/15")


def test_all_sessions_where_it_was_started_so(session: Session, store: EventStore) -> None:
    Session(store, "other").user("the osprey")
    recall = Recall(session, everything=True)
    found = record(said(recall, search="osprey"))
    assert found.startswith("foldlog:other/1")
    answer = said(recall, show="foldlog:other/1")
    assert "the osprey" in record(answer)
    assert "another session" in frame(answer)
    assert "2  message.user" in record(said(recall, search="heron"))


# -- answers that are recalled ---------------------------------------------------------------


@pytest.mark.parametrize("tool", ["recall", "mcp__foldlog__recall"])
def test_a_recalled_answer_leads_to_the_source(session: Session, tool: str) -> None:
    name, asked = "4", {"show": "4", "from": 7975}
    for turn in range(3):
        session.assistant([call(f"r{turn}", tool, **asked)])
        session.tool_result(f"r{turn}", Recall(session).call(asked))
        name = str(session.version)
        asked = {"show": f"foldlog:work/{name}"}

    answer = said(Recall(session), show=name)
    assert record(answer).startswith(LONG[7975:8100])
    assert "<record" not in record(answer)
    assert frame(answer).count('"show": "4"') == 1


def test_search_finds_the_source_and_not_its_echoes(session: Session) -> None:
    asked = {"search": "heron"}
    session.assistant([call("r", "recall", **asked)])
    session.tool_result("r", Recall(session).call(asked))
    session.assistant([{"type": "text", "text": "The heron!"}, call("q", "recall", show="2")])
    session.tool_result("q", Recall(session).call({"show": "2"}))

    found = record(said(Recall(session), **asked)).splitlines()
    assert [line.split()[0] for line in found] == ["16", "2"]


def test_a_tool_of_that_name_that_is_another_is_shown(session: Session) -> None:
    session.assistant([call("r", "recall", query="x")])
    session.tool_result("r", "what the other tool said")
    assert "what the other tool said" in record(said(Recall(session), show="15"))


# -- images ----------------------------------------------------------------------------------


def image(data: str = PNG, kind: str = "image/png") -> dict[str, Any]:
    return {"type": "image", "source": {"type": "base64", "media_type": kind, "data": data}}


def test_images_come_as_images_where_they_can_be_taken(session: Session) -> None:
    session.assistant([call("i", "Screenshot")])
    session.tool_result("i", [{"type": "text", "text": "the screen"}, image()])

    told = said(Recall(session), show="15")
    assert "1 of 1 images are not shown here" in frame(told)
    assert "[image: image/png" in record(told)

    shown_again = Recall(session, media=True).call({"show": "15"})
    assert isinstance(shown_again, list)
    assert [block["type"] for block in shown_again] == ["text", "image"]
    assert shown_again[1] == image()


def test_an_image_that_the_api_would_refuse_is_told_of(session: Session) -> None:
    session.user([image("bm8gaW1hZ2U="), image(PNG, "image/jpeg"), *[image()] * 5])
    answer = Recall(session, media=True).call({"show": "14"})
    assert isinstance(answer, list)
    assert answer[1:] == [image()] * 4  # the wrong name is set right, no more than four are shown
    assert "3 of 7 images are not shown" in answer[0]["text"]


# -- mistakes --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("12", "must be an object"),
        ({"query": "x"}, "choose from search, out_of_sight, show, from"),
        ({"search": "x", "show": "2"}, "not both"),
        ({"search": "  "}, "must be a text that is not empty"),
        ({"search": "?!"}, "no word to look for"),
        ({"show": "999"}, "has the versions 1 to 13, not 999"),
        ({"show": "900-999"}, "has the versions 1 to 13, not 900"),
        ({"show": "7-2"}, "name 2-7"),
        ({"show": "12#0"}, "blocks are 12#1"),
        ({"show": "the parser"}, "does not name a version"),
        ({"show": "2", "from": -1}, "from must be the number"),
        ({"show": "2", "from": True}, "from must be the number"),
        ({"show": "2", "from": 10**30}, "from must be the number"),
        ({"show": "2", "from": 1_000}, "ends at 47"),
        ({"search": "x", "out_of_sight": "yes"}, "true or false"),
        ({"show": "..."}, "names nothing"),
        ({"show": ["2"]}, "must be a text that is not empty"),
    ],
)
def test_a_mistake_is_told_with_the_next_step(recall: Recall, arguments: Any, words: str) -> None:
    assert words in trouble(recall, arguments)


def test_slips_that_can_mean_one_thing_only_are_taken(recall: Recall) -> None:
    assert "alpha.py" in said(recall, show=9, search=None)
    assert "lpha" in said(recall, show="9", **{"from": "1"})


def test_a_session_in_which_nothing_is_recorded(store: EventStore) -> None:
    assert "nothing is recorded" in trouble(Recall(Session(store, "new")), {})


def test_the_definition_is_a_tool_definition() -> None:
    assert set(TOOL) == {"name", "description", "input_schema"}
    assert TOOL["input_schema"]["type"] == "object"
