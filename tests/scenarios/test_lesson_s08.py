"""The three experiments of learn-claude-code, lesson s08, and a summary that fails."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from foldlog.projections import Session
from foldlog.projections.compaction import SummaryFailed, policy
from tests.compaction.talk import Scripted
from tests.scenarios.told import begun, events, messages, reads, results, rules, text_of

POLICY = "learn-claude-code"
ROOM = 1_000_000
"""A window so large that only the lesson's own limits count."""


def test_earlier_results_are_replaced() -> None:
    """Eight files of 8,000 characters: over 50,000, so the old ones become a line each."""
    session = begun()
    reads(session, 8, 8_000)
    session.assistant("I have read them all.")
    session.user("Good. Go on.")
    session.prepare(POLICY, window=ROOM)
    assert rules(session) == ["clear_results"]
    shown = list(results(session).values())
    cleared = [text for text in shown if len(text) < 120]
    assert cleared
    assert all(text.startswith("[Earlier tool result saved at foldlog:s/") for text in cleared)
    assert all(len(text) == 8_000 for text in shown[-3:])
    assert sum(map(len, shown)) < 40_000


def test_and_can_be_read_again_at_the_place_that_the_line_names() -> None:
    session = begun()
    reads(session, 8, 8_000)
    session.assistant("I have read them all.")
    session.user("Good. Go on.")
    session.prepare(POLICY, window=ROOM)
    version = int(results(session)["f0"].rpartition("/")[2].rstrip("]"))
    assert session.store.get("s", version).data["content"].startswith("f0 xxx")


def test_a_large_result_is_moved_out() -> None:
    """One batch of more than 200,000 characters: the largest becomes a preview of 2,000."""
    session = begun()
    reads(session, 1, 210_000)
    session.prepare(POLICY, window=ROOM)
    assert rules(session) == ["offload"]
    (shown,) = results(session).values()
    assert shown.startswith("<persisted-output>\nFull output: foldlog:s/3\nPreview:\nf0 xxx")
    assert shown.endswith("x\n</persisted-output>")
    assert 2_000 < len(shown) < 2_100


def test_over_50_000_characters_of_talk_are_summarized() -> None:
    """No result to clear: the history becomes one message, with the request verbatim."""
    session = begun("Write me a long story.")
    for n in range(6):
        session.assistant(f"Chapter {n}. " + "word " * 2_000)
        session.user(f"And chapter {n + 1}?")
    session.prepare(POLICY, summarizer=Scripted("A story was written."), window=ROOM)
    (message,) = messages(session)
    text = text_of(message["content"])
    assert text.startswith("[Compacted]\n\nCurrent user request:\nAnd chapter 6?\n\n")
    summary = "Conversation summary (reference only):\n" + json.dumps("A story was written.")
    assert summary in text
    assert "Full transcript: foldlog:s/" in text


def test_it_says_so_to_a_person() -> None:
    session = long_talk()
    session.prepare(POLICY, summarizer=Scripted("A story was written."), window=ROOM)
    assert session.prepared is not None
    (receipt,) = events(session, "snapshot.taken")
    saved = f"[transcript saved: foldlog:s/{receipt.version}]"
    assert session.prepared.notices == ("[auto compact]", saved)


def test_it_says_so_when_the_api_refused() -> None:
    session = long_talk()
    session.overflowed("prompt is too long", POLICY, summarizer=Scripted("A story."), window=ROOM)
    assert session.prepared is not None
    assert session.prepared.notices[0] == "[reactive compact]"


def test_it_says_where_it_saved_what_it_snipped(tmp_path: Path) -> None:
    session = begun()
    reads(session, 30, 10)
    session.prepare(policy(POLICY).into(tmp_path), window=ROOM)
    assert session.prepared is not None
    (notice,) = session.prepared.notices
    saved = notice.removeprefix("[transcript saved: ").removesuffix("]")
    assert Path(saved).parent == tmp_path / ".transcripts"
    assert Path(saved).read_text().count("\n") == 61


def test_where_nothing_was_done_nothing_is_said() -> None:
    session = begun()
    session.prepare(POLICY, window=ROOM)
    assert session.prepared is not None
    assert session.prepared.notices == ()


@pytest.mark.parametrize("reply", ["", " \n", "<summary></summary>"])
def test_a_summary_that_fails_leaves_the_history_as_it_was(reply: str) -> None:
    session = long_talk()
    before = messages(session)
    session.prepare(POLICY, summarizer=Scripted(reply, reply), window=ROOM)
    assert messages(session) == before
    assert rules(session) == []
    assert len(events(session, "summary.failed")) == 2
    assert session.prepared is not None
    assert isinstance(session.prepared.refusal, SummaryFailed)


def test_a_model_that_cannot_be_reached_too() -> None:
    session = long_talk()
    before = messages(session)
    down = Scripted(*[SummaryFailed("api_error", "overloaded")] * 9)
    for _ in range(5):
        session.prepare(POLICY, summarizer=down, window=ROOM)
    assert messages(session) == before
    assert len(down.tasks) <= 3


def long_talk() -> Session:
    session = begun("Write me a long story.")
    for n in range(6):
        session.assistant(f"Chapter {n}. " + "word " * 2_000)
        session.user(f"And chapter {n + 1}?")
    return session
