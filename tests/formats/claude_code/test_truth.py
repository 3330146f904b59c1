"""Golden: a view of an imported transcript is what Claude Code sent, up to named differences."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from foldlog.cli.formats import import_path
from foldlog.eventstore import EventStore
from tests.formats.claude_code.cases import (
    CLAUDE,
    CORPUS,
    FIXTURES,
    GENERATED,
    PROBES,
    TRUTH,
    imported,
    request,
)
from tests.formats.claude_code.truth import (
    ADDED,
    blocks_of,
    cleaned,
    differences,
    like_probe,
    of_probe,
    of_resume,
    sent_blocks,
    texts_of,
)

MODEL = "claude-sonnet-4-5"

NAMES = {
    *ADDED.values(),
    *("leading-assistant", "blank-text", "thinking-last", "typed-while-working"),
}
"""The names that a difference may have; docs/claude-code.md explains them."""


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


PROBE_ROWS = {row["case"]: row["resumed_2.1.332"] for row in rows(PROBES / "EXPECTED.jsonl")}
RESUMES = rows(TRUTH / "resumes.jsonl")


NOT_RECORDED = ("aaaaaaaa", "bbbbbbbb")
"""Sessions of version 2.1.197, which does not record reminders, system prompt and tools."""


OURS = {
    *("C5_spliced", "G5_dup_tool_use_ids"),
    *("X_call_reply_late_result", "X_call_reply_same_id"),
}
"""Probes of which foldlog shows more than is sent, or in another order; each has its own test."""


class TestProbes:
    """Tiny transcripts, each for one rule: the view at the head is what a resume sends."""

    @pytest.mark.parametrize("probe", sorted(PROBE_ROWS.keys() - OURS))
    def test_view_is_what_is_sent(self, probe: str) -> None:
        store, session = imported(PROBES / f"{probe}.jsonl")
        ours = like_probe(blocks_of(request(store, session, model=MODEL)))
        assert set(differences(ours, of_probe(PROBE_ROWS[probe]))) <= NAMES

    def test_a_call_whose_id_was_used_before_keeps_its_result(self) -> None:
        """The program blanks both (``repeated-id``); here the call gets an id of its own."""
        store, session = imported(PROBES / "G5_dup_tool_use_ids.jsonl")
        sent = request(store, session, model=MODEL)["messages"]
        blocks = [b for m in sent if isinstance(m["content"], list) for b in m["content"]]
        calls = [block["id"] for block in blocks if block["type"] == "tool_use"]
        assert calls[0] == "toolu_1" != calls[1]
        assert [b["tool_use_id"] for b in blocks if b["type"] == "tool_result"] == calls
        assert "a:text:[Tool use interrupted]" in PROBE_ROWS["G5_dup_tool_use_ids"]

    def test_a_record_behind_half_a_record_is_shown(self) -> None:
        """The program loses the whole line (``lost-line``); what the user said is kept here."""
        store, session = imported(PROBES / "C5_spliced.jsonl")
        ours = like_probe(blocks_of(request(store, session, model=MODEL)))
        assert [block.text for block in ours] == ["U1", "U2", "A2"]
        assert PROBE_ROWS["C5_spliced"] == ["u:text:U1", "a:text:A2"]

    def test_a_result_that_comes_after_the_next_reply_is_shown(self) -> None:
        """The program loses it (``late-result``) and sends that it is missing."""
        store, session = imported(PROBES / "X_call_reply_late_result.jsonl")
        view = request(store, session, model=MODEL)
        assert [(b.type, b.text) for b in blocks_of(view)] == [
            *(("text", "U1"), ("tool_use", ""), ("text", "A2"), ("tool_result", ""))
        ]
        assert view["messages"][-1]["content"][0]["content"] == "out"

    def test_a_call_before_a_text_of_its_reply_is_closed_where_it_is(self) -> None:
        """The program sends the call last (``interrupted-call``); the API takes both."""
        store, session = imported(PROBES / "X_call_reply_same_id.jsonl")
        ours = like_probe(blocks_of(request(store, session, model=MODEL)))
        theirs = of_probe(PROBE_ROWS["X_call_reply_same_id"])
        assert sorted(ours) == sorted(theirs[:-1])
        assert [block.type for block in ours] == ["text", "tool_use", "text", "tool_result"]


class TestResumes:
    """Whole sessions: the view at the head is what a resume sends."""

    @pytest.mark.parametrize("row", RESUMES, ids=[row["file"] for row in RESUMES])
    def test_view_is_what_is_sent(self, row: dict[str, Any]) -> None:
        assert set(resumed(CLAUDE.parent, row)) <= NAMES

    @pytest.mark.skipif(not CORPUS.is_dir(), reason="the large corpus is not there")
    def test_views_of_the_large_corpus_are_what_is_sent(self) -> None:
        truth = CORPUS / "claude_wire_truth" / "real_sessions_open.jsonl"
        found = {row["file"]: resumed(CORPUS, row) for row in rows(truth)}
        unexplained = {file: names for file, names in found.items() if not NAMES.issuperset(names)}
        assert not unexplained
        assert Counter(name for names in found.values() for name in names).keys() <= NAMES


def resumed(root: Path, row: dict[str, Any]) -> list[str]:
    """The differences between our view of a file and what was sent for it."""
    store, session = imported(root / row["file"])
    view = request(store, session, model=row["request_model"])
    typed = [
        cleaned(event.data["content"])
        for event in store.read(session, types=["message.user"])
        if "attachment" in event.meta["line"]
    ]
    return differences(blocks_of(view), of_resume(row["blocks"], texts_of(view)), typed)


class TestRequests:
    """The requests that were sent while sessions ran: each view can be shown again."""

    @pytest.mark.parametrize("session", sorted(GENERATED))
    def test_each_earlier_view_is_what_was_sent_then(self, session: str) -> None:
        store = EventStore(":memory:")
        reports = list(import_path(store, CLAUDE / GENERATED[session], format="claude-code"))
        views = answered(store, [report.session for report in reports if report.session])
        for row in rows(TRUTH / f"gen_wire_cc_{session}.jsonl"):
            view = views.get(row["response"]["id"])
            if view is None:
                assert row["scene"] == "compact", "only the summarizer's replies are not recorded"
                continue
            ours = request(store, *view, model=MODEL)
            self._compare(ours, row["request"], recorded=session not in NOT_RECORDED)

    def _compare(self, ours: dict[str, Any], theirs: dict[str, Any], *, recorded: bool) -> None:
        """In full; reminders and tools too, where the version records them."""
        options = {"reminders": recorded}
        assert sent_blocks(ours, **options) == sent_blocks(theirs, **options)
        tools = [tool["name"] for tool in ours["tools"] or ()]
        assert tools == (theirs["tools"] if recorded else [])

    @pytest.mark.parametrize("session", ["11111111", "33333333", "44444444", "aaaaaaaa"])
    def test_the_view_before_a_compaction_is_what_was_summarized(self, session: str) -> None:
        """The summarizer was sent that view, less what it keeps, and an instruction."""
        store = EventStore(":memory:")
        (report, *_) = import_path(store, CLAUDE / GENERATED[session], format="claude-code")
        assert report.session is not None
        (summary,) = store.read(report.session, types={"summary.written"})
        before = sent_blocks(request(store, report.session, summary.version - 1), reminders=False)
        (row,) = [
            r for r in rows(TRUTH / f"gen_wire_cc_{session}.jsonl") if r["scene"] == "compact"
        ]
        sent = sent_blocks(row["request"], reminders=False)
        assert "Respond with TEXT ONLY" in sent.pop().body
        kept = before[len(sent) :]
        assert before[: len(sent)] == sent
        assert all("Printed 20000 numbers" in block.body for block in kept)


def answered(store: EventStore, sessions: list[str]) -> dict[str, tuple[str, int]]:
    """By the id of each reply: the session and the version of the view that it answered."""
    views = {}
    for session in sessions:
        view = 0
        for event in store.read(session, types={"request.sent", "message.assistant"}):
            if event.type == "request.sent":
                view = event.data["view"]
            elif event.data["id"] not in views:
                views[event.data["id"]] = (session, view)
    return views


def test_a_difference_without_a_name_is_found() -> None:
    ours, theirs = of_probe(["u:text:U1", "a:text:A1"]), of_probe(["u:text:U1", "a:text:A2"])
    (difference,) = differences(ours, theirs)
    assert difference.startswith("unexplained")


def test_every_name_of_a_difference_is_explained() -> None:
    page = (FIXTURES.parents[1] / "docs" / "claude-code.md").read_text(encoding="utf-8")
    assert [name for name in sorted(NAMES) if f"`{name}`" not in page] == []
