"""The counter of what runs for a step: it sees foldlog's code in every thread, and no other."""

from __future__ import annotations

import json
import threading
from pathlib import Path

from benchmarks.trips import Seen, counted, trips
from foldlog import EventStore
from foldlog.eventstore.text import text_of
from tests.server import serving


def test_it_counts_what_runs_in_any_thread_and_only_that_of_foldlog() -> None:
    seen = Seen()
    with seen.looking():
        json.dumps({})
        thread = threading.Thread(target=text_of, args=("message.user", {"content": "x"}))
        thread.start()
        thread.join()
    modules, functions = seen.counts()
    assert modules >= 1
    assert functions >= 1
    before = Seen()
    with before.looking():
        json.dumps({})
    assert before.counts() == (0, 0)


def test_every_step_can_be_taken_and_an_append_is_the_shortest(tmp_path: Path) -> None:
    with EventStore(tmp_path / "s.db") as store, serving() as api:
        found = {name: counted(make) for name, make in trips(store, api).items()}
    assert len(found) == 5
    assert min(found.values()) == found["append"]
