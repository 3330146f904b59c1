"""``adaptive`` is total: whatever happened, the next view is valid and fits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from foldlog.cli.formats import import_path
from foldlog.eventstore import EventDraft, EventStore
from foldlog.projections import Session, View, render
from foldlog.projections.compaction import Budget, Circumstances, MessageTooLarge
from foldlog.projections.render.api_rules import check
from foldlog.projections.render.replies import interruption
from foldlog.projections.tokens.estimate import estimate
from tests.compaction.sessions import IMAGE, words
from tests.formats.claude_code.cases import CORPUS, FIXTURES
from tests.projections.build import assistant, call, result, thinking, user

WINDOWS = [8_000, 16_000, 32_000, 64_000, 200_000]
TOOLS = ["Bash", "Read", "query_db", "browser_click", "Write", "skill"]
CHINESE = "修复登录问题并且不要修改计费代码。"


def takes(view: View) -> int:
    """What a view takes, whatever another harness once counted."""
    return estimate(render(view, open="error"))


def room(window: int) -> int:
    return Budget(Circumstances(window=window)).room


def text(size: int, seed: int) -> str:
    return (CHINESE * (size // len(CHINESE) + 1))[:size] if seed % 5 == 4 else words(size, seed)


@st.composite
def sessions(draw: DrawFn) -> list[EventDraft]:
    """Any session before a model call."""
    sizes = st.sampled_from([3, 60, 600, 6_000, 40_000, 300_000])
    drafts: list[EventDraft] = [user(text(draw(st.sampled_from([20, 400, 9_000])), 1))]
    late: list[str] = []
    for turn in range(draw(st.integers(1, 4))):
        for n in range(draw(st.integers(0, 12))):
            calls = [f"t{turn}_{n}_{at}" for at in range(draw(st.integers(1, 4)))]
            tool = draw(st.sampled_from(TOOLS))
            given = {"q": text(draw(st.sampled_from([10, 10, 3_000, 30_000])), n)}
            thought = [thinking()] if draw(st.integers(0, 2)) == 0 else []
            said = [text(draw(st.sampled_from([20, 20, 8_000])), n)] if draw(st.booleans()) else []
            drafts.append(assistant(*thought, *said, *(call(c, tool, **given) for c in calls)))
            for c in calls:
                if draw(st.integers(0, 11)) == 0:
                    drafts.append(EventDraft("tool.result", interruption(call(c, tool))))
                    late.append(c)
                    continue
                content: Any = text(draw(sizes), n)
                if draw(st.integers(0, 9)) == 0:
                    content = [
                        {"type": "text", "text": "a picture"},
                        *[IMAGE] * draw(st.integers(1, 5)),
                    ]
                drafts.append(result(c, content, is_error=draw(st.integers(0, 9)) == 0))
            if late and draw(st.integers(0, 3)) == 0:
                drafts.append(result(late.pop(), text(draw(sizes), n)))
            if draw(st.integers(0, 9)) == 0:
                more = {"kind": "file", "content": text(draw(sizes), n)}
                drafts.append(EventDraft("attachment.added", more))
        if draw(st.booleans()):
            drafts.append(assistant("That is done."))
            drafts.append(user(text(draw(st.sampled_from([20, 2_000, 40_000])), turn)))
    if drafts[-1].type == "message.assistant":
        drafts.append(user("And now?"))
    return drafts


def recorded(drafts: list[EventDraft]) -> Session:
    session = Session(EventStore(":memory:"), "s")
    session.append(*drafts)
    return session


def fits_or_says_why(session: Session, window: int) -> None:
    before = len(check(render(session.view(), open="recover")))
    spoken = list(session.store.read(session.id, types=("message.user",)))[-1:]
    too_large = [e.version for e in spoken if estimate(e.data["content"]) > room(window)]
    try:
        view = session.prepare("adaptive", window=window)
    except MessageTooLarge as error:
        if too_large and f"version {too_large[0]}, takes" in str(error):
            return
        raise
    assert takes(view) <= room(window)
    assert len(check(render(view, open="error"))) <= before


@settings(max_examples=40)
@given(sessions(), st.sampled_from(WINDOWS))
def test_any_session_in_any_window(drafts: list[EventDraft], window: int) -> None:
    fits_or_says_why(recorded(drafts), window)


@pytest.mark.parametrize("window", WINDOWS)
def test_five_hundred_exchanges_without_a_word_of_a_person(window: int) -> None:
    session = recorded([user("Go on until it is done.")])
    for n in range(500):
        thought = [thinking()] if n % 40 == 0 else []
        session.append(assistant(*thought, call(f"t{n}", TOOLS[n % 5], q=text(200, n))))
        session.append(result(f"t{n}", text(60 if n % 9 else 6_000, n)))
        if n % 50 == 49:
            fits_or_says_why(session, window)


FOLDERS = [path for path in (FIXTURES / "claude", CORPUS / "claude") if path.is_dir()]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.parents[1].name)
def test_every_transcript_fits_every_window(folder: Path, tmp_path: Path) -> None:
    """At its end; those that come with the project also where half of it had happened."""
    with EventStore(tmp_path / "s.db") as store:
        list(import_path(store, folder))
        for info in list(store.sessions()):
            last = store.last(info.session)
            for at in (last,) if folder.is_relative_to(CORPUS) else (max(1, last // 2), last):
                for window in WINDOWS:
                    session = Session(store, store.fork(info.session, at=at).session)
                    if not session.view().pieces:
                        continue
                    session.recover()
                    if session.render()["messages"]:
                        fits_or_says_why(session, window)
