"""The task board: shared by agents, decided on what is there now, each task claimed once."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldlog.eventstore import EventDraft, EventStore, VersionConflict
from foldlog.projections.tasks.board import (
    OVER,
    STATUSES,
    Board,
    TaskRefused,
    board,
    created,
    updated,
)
from foldlog.projections.tasks.task_board import TaskBoard, board_named_by, session_of
from tests.compaction.talk import Recorder, view_of
from tests.projections.build import log, state, user


@pytest.fixture
def tasks() -> Any:
    with EventStore(":memory:") as store:
        yield TaskBoard(store, "release")


def refused(change: Any) -> str:
    """Why a change is refused."""
    with pytest.raises(TaskRefused) as failed:
        change()
    return failed.value.why


class TestCreate:
    def test_tasks_are_numbered_and_pending(self, tasks: TaskBoard) -> None:
        first, second = tasks.create("write"), tasks.create("print", by="a")
        assert (first.id, first.status, first.owner) == ("1", "pending", None)
        assert second.id == "2"
        assert tasks.session == "tasks:release"
        assert [e.type for e in tasks.store.read("tasks:release")] == ["task.created"] * 2

    def test_what_blocks_what_is_told_from_both_sides(self, tasks: TaskBoard) -> None:
        tasks.create("write")
        tasks.create("print")
        tasks.create("check", blocked_by=["1"], blocks=["2"])
        found = tasks.board().tasks
        assert (found["1"].blocks, found["3"].blocked_by) == (("3",), ("1",))
        assert (found["3"].blocks, found["2"].blocked_by) == (("2",), ("3",))

    def test_what_cannot_be_is_refused_and_not_recorded(self, tasks: TaskBoard) -> None:
        tasks.create("write")
        assert refused(lambda: tasks.create("x", id="1")) == "invalid"
        assert refused(lambda: tasks.create("  ")) == "invalid"
        assert refused(lambda: tasks.create("x", blocked_by=["9"])) == "unknown"
        assert refused(lambda: tasks.create("x", blocks=["9"])) == "unknown"
        assert refused(lambda: tasks.create("x", blocked_by=["1"], blocks=["1"])) == "cycle"
        assert refused(lambda: tasks.create("x", id="n", blocked_by=["n"])) in ("cycle", "unknown")
        assert tasks.board().version == 1

    def test_what_has_started_cannot_be_made_to_wait(self, tasks: TaskBoard) -> None:
        tasks.claim(tasks.create("write"), "a")
        assert refused(lambda: tasks.create("first this", blocks=["1"])) == "blocked"


class TestClaim:
    def test_a_claim_starts_the_task(self, tasks: TaskBoard) -> None:
        mine = tasks.claim(tasks.create("write"), "a")
        assert (mine.status, mine.owner, mine.version) == ("in_progress", "a", 2)

    def test_a_claim_on_stale_knowledge_is_a_conflict(self, tasks: TaskBoard) -> None:
        task = tasks.create("write")
        other = TaskBoard(tasks.store, "release")
        seen = other.board().get("1")
        tasks.claim(task, "a")
        with pytest.raises(VersionConflict) as conflict:
            other.claim(seen, "b")
        assert (conflict.value.expected, conflict.value.actual) == (1, 2)
        assert refused(lambda: other.claim(other.board().get("1"), "b")) == "owned"

    def test_that_another_task_was_changed_is_no_conflict(self, tasks: TaskBoard) -> None:
        write, print_ = tasks.create("write"), tasks.create("print")
        other = TaskBoard(tasks.store, "release")
        other.board()
        tasks.claim(write, "a")
        assert other.claim(print_, "b").owner == "b"

    def test_an_update_on_stale_knowledge_is_a_conflict(self, tasks: TaskBoard) -> None:
        task = tasks.create("write")
        tasks.update(task, description="in prose")
        with pytest.raises(VersionConflict):
            tasks.update(task, description="in verse")

    def test_a_new_blocker_is_news_for_who_would_claim(self, tasks: TaskBoard) -> None:
        task = tasks.create("write")
        tasks.create("think first", blocks=["1"])
        with pytest.raises(VersionConflict):
            tasks.claim(task, "a")

    def test_nothing_starts_before_its_blockers_are_done(self, tasks: TaskBoard) -> None:
        write = tasks.create("write")
        wait = tasks.create("print", blocked_by=["1"])
        assert refused(lambda: tasks.claim(wait, "a")) == "blocked"
        assert refused(lambda: tasks.update(wait, status="in_progress")) == "blocked"
        assert refused(lambda: tasks.complete(wait)) == "blocked"
        tasks.complete(tasks.claim(write, "a"))
        assert tasks.claim(wait, "a").status == "in_progress"

    def test_a_cancelled_blocker_holds_nothing_up(self, tasks: TaskBoard) -> None:
        write = tasks.create("write")
        wait = tasks.create("print", blocked_by=["1"])
        tasks.update(write, status="cancelled")
        assert tasks.claim(wait, "a").owner == "a"

    def test_what_is_over_is_not_claimed(self, tasks: TaskBoard) -> None:
        done = tasks.complete(tasks.create("write"))
        assert refused(lambda: tasks.claim(done, "a")) == "over"

    def test_a_task_can_be_given_back(self, tasks: TaskBoard) -> None:
        mine = tasks.claim(tasks.create("write"), "a")
        free = tasks.update(mine, owner=None, status="pending")
        assert free.owner is None
        assert tasks.claim(free, "b").owner == "b"

    def test_the_next_one_is_the_first_that_is_ready(self, tasks: TaskBoard) -> None:
        tasks.create("write")
        tasks.create("print", blocked_by=["1"])
        tasks.create("somebody's", owner="b")
        tasks.create("call")
        claimed = [tasks.claim_next("a") for _ in range(3)]
        assert [task and task.id for task in claimed] == ["1", "4", None]


class TestUpdate:
    def test_who_did_it_is_recorded_where_it_is_known(self, tasks: TaskBoard) -> None:
        task = tasks.create("write", by="ann")
        task = tasks.update(task, status="in_progress", by="bob")
        tasks.complete(task)
        events = list(tasks.store.read(tasks.session))
        assert [event.data.get("by") for event in events] == ["ann", "bob", None]
        assert "by" not in events[-1].data

    def test_a_refusal_says_what_is_wrong(self, tasks: TaskBoard) -> None:
        with pytest.raises(TaskRefused) as error:
            tasks.create(" ")
        assert error.value.why == "invalid"
        assert str(error.value) == "a task needs a subject that says what is to be done."

    def test_cycles_are_refused_however_long(self, tasks: TaskBoard) -> None:
        first = tasks.create("one")
        for n in range(1, 5):
            tasks.create(f"after {n}", blocked_by=[str(n)])
        assert refused(lambda: tasks.update(first, blocked_by=["5"])) == "cycle"
        assert refused(lambda: tasks.update(first, blocked_by=["1"])) == "cycle"
        assert tasks.update(tasks.board().get("5"), blocked_by=["1"]).blocked_by == ("1",)
        assert tasks.update(tasks.board().get("1"), blocked_by=[]).blocked_by == ()

    @pytest.mark.parametrize(
        "change", [{}, {"colour": "red"}, {"status": "later"}, {"subject": ""}]
    )
    def test_a_change_that_makes_no_sense_is_refused(
        self, tasks: TaskBoard, change: dict[str, Any]
    ) -> None:
        task = tasks.create("write")
        assert refused(lambda: tasks.update(task, **change)) == "invalid"

    def test_a_task_that_is_not_there(self, tasks: TaskBoard) -> None:
        assert refused(lambda: tasks.board().get("1")) == "unknown"


class TestBoard:
    def test_events_that_cannot_be_meant_are_left_aside(self) -> None:
        found = board(
            log(
                EventDraft("task.updated", {"id": "1", "status": "completed"}),
                EventDraft("task.created", {"id": "1", "subject": "a", "blocked_by": ["9", "1"]}),
                EventDraft("task.created", {"id": "1", "subject": "again"}),
                EventDraft("task.created", {"subject": "no id"}),
                user("not about tasks"),
            )
        )
        assert [(task.subject, task.status) for task in found.tasks.values()] == [("a", "pending")]
        assert found.version == 5

    def test_a_session_names_its_board(self) -> None:
        assert board_named_by(view_of(state("tasks", {"board": "release"}))) == "release"
        assert board_named_by(view_of(state("tasks", ["a list"]))) is None
        assert session_of("release") == session_of("tasks:release") == "tasks:release"

    def test_a_task_as_a_command_tells_it(self, tasks: TaskBoard) -> None:
        tasks.create("write")
        task = tasks.create("print", owner="a", blocked_by=["1"])
        assert task.to_json() == {
            "id": "2",
            "subject": "print",
            "status": "pending",
            "owner": "a",
            "blocks": [],
            "blocked_by": ["1"],
        }
        assert task.line() == "2: print (pending, a; after 1)"


ids = st.sampled_from(["1", "2", "3", "4", "5"])
changes = st.tuples(
    st.sampled_from(["create", "update"]),
    ids,
    st.lists(ids, max_size=3),
    st.lists(ids, max_size=2),
    st.sampled_from(STATUSES),
)


@given(st.lists(changes, max_size=25))
def test_whatever_is_asked_no_rule_is_broken(asked: list[Any]) -> None:
    """No cycle ever, nothing under way that waits, and both sides of a wait agree."""
    record, now = Recorder(), Board()
    for what, id, waits, holds, status in asked:
        try:
            if what == "create":
                draft = created(now, {"subject": "x", "blocked_by": waits, "blocks": holds})
            else:
                change = {"status": status} | ({"blocked_by": waits} if holds else {})
                draft = updated(now, now.get(id), change)
        except TaskRefused:
            continue
        before, now = now, now.then(record(draft))
        for task in now.tasks.values():
            assert not any(now.waits(blocker, task.id) for blocker in task.blocked_by)
            assert all(task.id in now.tasks[blocker].blocks for blocker in task.blocked_by)
            assert all(task.id in now.tasks[held].blocked_by for held in task.blocks)
            old = before.tasks.get(task.id)
            if old and old.status != task.status and task.status not in ("pending", *OVER[1:]):
                assert not now.unfinished(task.blocked_by)
    assert now == board(record.events)


WORKER = """
import sys
from foldlog import EventStore
from foldlog.projections.tasks.task_board import TaskBoard

with EventStore(sys.argv[1]) as store:
    tasks = TaskBoard(store, "shared")
    while task := tasks.claim_next(sys.argv[2]):
        print(task.id, flush=True)
        if sys.argv[3] == "finish":
            tasks.complete(task)
"""


def work(path: Path, workers: int, *, finish: bool) -> list[list[str]]:
    """What each of several real processes claimed."""
    how = "finish" if finish else "keep"
    running = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, str(path), f"worker {n}", how],
            stdout=subprocess.PIPE,
            text=True,
        )
        for n in range(workers)
    ]
    outputs = [process.communicate()[0] for process in running]
    assert all(process.returncode == 0 for process in running)
    return [output.split() for output in outputs]


def test_of_many_processes_each_task_is_claimed_by_one(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with EventStore(path) as store:
        tasks = TaskBoard(store, "shared")
        for n in range(40):
            tasks.create(f"task {n}")
    claimed = work(path, 4, finish=False)
    counts = Counter(id for ids in claimed for id in ids)
    assert counts == {str(n): 1 for n in range(1, 41)}
    with EventStore(path) as store:
        found = TaskBoard(store, "shared").board().tasks.values()
        owners = {task.id: task.owner for task in found}
    assert owners == {id: f"worker {n}" for n, ids in enumerate(claimed) for id in ids}


def test_processes_that_finish_tasks_free_what_waits_for_them(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with EventStore(path) as store:
        tasks = TaskBoard(store, "shared")
        for n in range(1, 21):
            tasks.create(f"task {n}", blocked_by=[str(n - 2)] if n > 2 else [])
    claimed = [id for ids in work(path, 3, finish=True) for id in ids]
    assert len(claimed) == len(set(claimed))
    # a worker that finds nothing ready goes home; the others take what they finish themselves
    with EventStore(path) as store:
        events = list(store.read("tasks:shared"))
    now, started = Board(), []
    for event in events:
        if event.data.get("status") == "in_progress":
            assert not now.unfinished(now.get(event.data["id"]).blocked_by)
            started.append(event.data["id"])
        now = now.then(event)
    assert sorted(started) == sorted(claimed)
