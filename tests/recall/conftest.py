"""A session of which much is out of sight, and what reads it."""

from __future__ import annotations

import pytest

from foldlog.eventstore import EventDraft, EventStore
from foldlog.projections import Session
from tests.projections.build import call, shown, thinking

LONG = "".join(f"{n:04} a line of the build log\n" for n in range(1_000))


@pytest.fixture
def session(store: EventStore) -> Session:
    """Versions 2 to 7 are behind the summary 12, 9 is cleared, 10 is seen."""
    session = Session(store, "work")
    session.append(EventDraft("session.started", {"title": "work"}))  # 1
    session.user("Find the parser bug. The token is BLUE-HERON-7.")  # 2
    session.assistant([thinking("Look."), call("t1", "Bash", command="make")])  # 3
    session.tool_result("t1", LONG)  # 4
    session.assistant([call("t2", "Read", file_path="a.py")])  # 5
    session.tool_result("t2", "def parse(): ...")  # 6
    session.assistant([{"type": "text", "text": "Found it."}])  # 7
    session.assistant([call("t3", "Bash", command="ls")])  # 8
    session.tool_result("t3", "alpha.py\nbeta.py")  # 9
    session.user("Go on with the kestrel.")  # 10
    session.edit("clear_results", "old results", [shown(9, 9, "cleared", text="[cleared]")])  # 11
    session.edit(  # 12 and 13
        "summarize",
        "over budget",
        [shown(2, 7, "summary", summary=12)],
        before=[EventDraft("summary.written", {"text": "A bug.", "covers": [[2, 7]]})],
    )
    return session


@pytest.fixture
def old_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sessions may begin with any id, as they could when many stores were written."""
    monkeypatch.setattr("foldlog.eventstore.recording.check_new_session", lambda session: None)
