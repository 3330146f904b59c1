"""Sessions that the tests are about."""

from __future__ import annotations

from typing import Any

from foldlog.eventstore import Store
from foldlog.projections.render.api_rules import check
from foldlog.projections.render.render import render
from foldlog.projections.session import Session
from foldlog.projections.view.view import View

LINES = "".join(f"{number:04} a line of the build log\n" for number in range(200))


def work(store: Store, turns: int, result: str = LINES) -> Session:
    """Return a session in which that many commands were run, three events each, for one task."""
    session = Session(store, "work")
    session.user("Fix the failing build.")
    for turn in range(1, turns + 1):
        call = {"type": "tool_use", "id": f"t{turn}", "name": "Bash", "input": {"command": "make"}}
        session.assistant([text(f"Attempt {turn}."), call])
        session.tool_result(f"t{turn}", f"attempt {turn}\n{result}")
        session.user(f"Go on after attempt {turn}.")
    return session


def text(said: str) -> dict[str, Any]:
    """Return a text block."""
    return {"type": "text", "text": said}


def is_valid(view: View) -> bool:
    """Return whether the Messages API would take the request that shows a view."""
    return not check(render(view))
