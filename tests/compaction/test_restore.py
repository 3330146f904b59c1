"""What comes back behind a summary: by state and log, within every budget, nothing twice."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldlog.eventstore.events import EventDraft
from foldlog.projections.compaction.decision import Allowance, Restore
from foldlog.projections.compaction.restorable import KINDS
from foldlog.projections.compaction.restore import restored
from foldlog.projections.compaction.rules.restore import KINDS as NAMED
from foldlog.projections.render.api_rules import check
from foldlog.projections.render.render import render
from foldlog.projections.tasks.board import Board, Task
from foldlog.projections.tokens.estimate import MESSAGE, estimate
from foldlog.projections.view.view import View
from tests.compaction.talk import view_of
from tests.projections.build import (
    assistant,
    call,
    edit,
    result,
    shown,
    state,
    summary,
    tools,
    user,
)

ALL = {kind: Allowance() for kind in KINDS}


def compacted(*drafts: EventDraft, tail: tuple[EventDraft, ...] = ()) -> View:
    """The view in which a summary stands for these, and then the tail."""
    written = summary("What happened.")
    hiding = edit(shown(1, len(drafts), "summary", summary=len(drafts) + 1))
    return view_of(*drafts, written, hiding, *tail)


def back(view: View, total: int = 50_000, board: Any = None, **kinds: Allowance) -> list[Any]:
    """The kind, the name and the text of each attachment that comes back."""
    drafts = restored(view, Restore(kinds or ALL, total), board)
    assert all(draft.data["restored"] is True for draft in drafts)
    return [(d.data["kind"], d.data["name"], d.data["content"]) for d in drafts]


def read(n: int, path: str, text: str, **more: Any) -> list[EventDraft]:
    return [assistant(call(f"r{n}", "Read", file_path=path)), result(f"r{n}", text, **more)]


def attached(kind: str, text: str, **more: Any) -> EventDraft:
    return EventDraft("attachment.added", {"kind": kind, "content": text, **more})


def test_the_rules_kinds_are_the_kinds_there_are() -> None:
    assert set(NAMED) == set(KINDS)


class TestFiles:
    def test_the_file_read_last_comes_first_and_so_many_come(self) -> None:
        view = compacted(user("hi"), *read(1, "a", "A"), *read(2, "b", "B"), *read(3, "c", "C"))
        found = back(view, files=Allowance(count=2))
        assert [name for _, name, _ in found] == ["c", "b"]
        assert found[0][2].endswith("\nC")

    def test_the_newest_reading_counts(self) -> None:
        view = compacted(user("hi"), *read(1, "a", "old"), *read(2, "b", "B"), *read(3, "a", "new"))
        assert [(name, text[-3:]) for _, name, text in back(view)] == [("a", "new"), ("b", "]\nB")]

    def test_a_file_that_was_changed_since_says_so(self) -> None:
        view = compacted(
            *(user("hi"), *read(1, "a", "old")),
            *(assistant(call("e", "Edit", file_path="a")), result("e")),
        )
        assert "changed since, at version 4: read it again" in back(view)[0][2]

    def test_what_is_seen_and_what_failed_does_not_come(self) -> None:
        view = compacted(
            *(user("hi"), *read(1, "a", "A"), *read(2, "b", "no such file", is_error=True)),
            tail=tuple(read(3, "c", "C")),
        )
        assert [name for _, name, _ in back(view)] == ["a"]

    def test_a_long_file_is_cut_and_leads_to_the_rest(self) -> None:
        view = compacted(user("hi"), *read(1, "a", "word " * 5_000))
        (draft,) = restored(view, Restore({"files": Allowance(each=300)}, 9_000))
        text = draft.data["content"]
        assert estimate(text) + MESSAGE <= 300
        assert text.endswith("[The rest is left out; all of it: foldlog:s/3]")
        assert draft.data["of"] == 3

    def test_what_the_host_holds_goes_before_what_the_log_tells(self) -> None:
        held = [{"path": "a", "content": "fresh"}]
        view = compacted(user("hi"), *read(1, "a", "stale"), state("read_files", held))
        assert [text.splitlines()[-1] for _, _, text in back(view)] == ["fresh"]

    def test_nothing_comes_twice(self) -> None:
        view = compacted(user("hi"), *read(1, "a", "A " * 900), state("plan", ["one"]))
        kinds = {"files": Allowance(each=200), "plan": Allowance()}
        first = restored(view, Restore(kinds, 9_000))
        assert len(first) == 2
        assert restored(view.then(first), Restore(kinds, 9_000)) == []


class TestSkills:
    LOADED = (
        user("hi"),
        attached("skill", "How to test.", name="test"),
        assistant(call("k", "Skill", skill="deploy")),
        result("k", "How to deploy."),
    )

    def test_the_skill_used_last_comes_first(self) -> None:
        found = back(compacted(*self.LOADED))
        assert [(kind, name) for kind, name, _ in found] == [
            ("skills", "deploy"),
            ("skills", "test"),
        ]
        assert found[0][2].endswith("How to deploy.")

    def test_a_skill_that_is_seen_stays(self) -> None:
        view = compacted(user("hi"), tail=(attached("skill", "How to test.", name="test"),))
        assert back(view) == []

    def test_a_skill_that_does_not_fit_is_named(self) -> None:
        (first, note) = back(compacted(*self.LOADED), skills=Allowance(count=1))
        assert first[1] == "deploy"
        assert "Load them again before you use them" in note[2]
        assert "- test" in note[2]

    def test_a_skill_without_a_text_is_named(self) -> None:
        view = compacted(user("hi"), state("skills", ["lint", {"name": "x", "content": "How."}]))
        assert [name for _, name, _ in back(view)] == ["x", "reload"]
        assert "- lint" in back(view)[1][2]

    def test_large_skills_leave_room_to_name_the_others(self) -> None:
        many = [attached("skill", "word " * 3_000, name=f"skill {n}") for n in range(9)]
        found = back(compacted(user("hi"), *many), skills=Allowance(each=1_000, total=2_500))
        assert "- skill 0" in found[-1][2]


class TestState:
    def test_what_is_open_of_the_plan_comes(self) -> None:
        plan = [
            {"step": "find it", "status": "completed"},
            {"step": "mend it", "status": "pending"},
        ]
        (found,) = back(compacted(user("hi"), state("plan", plan)))
        assert found[2].splitlines()[1:] == ["- mend it (pending)"]

    @pytest.mark.parametrize("plan", [None, "", [], [{"step": "x", "status": "done"}]])
    def test_a_finished_plan_is_not_revived(self, plan: Any) -> None:
        assert back(compacted(user("hi"), state("plan", plan))) == []

    def test_the_newest_plan_counts_not_the_summarized_one(self) -> None:
        view = compacted(user("hi"), state("plan", "old"), state("plan", "new"))
        assert [text for _, _, text in back(view)] == [
            "[The plan, put here again after a compaction]\nnew"
        ]

    def test_open_tasks_of_the_board_come(self) -> None:
        board = Board({"1": Task("1", "write", 1), "2": Task("2", "done", 2, status="completed")})
        view = compacted(user("hi"), state("tasks", {"board": "release"}))
        (found,) = back(view, board={"release": board}.__getitem__)
        assert found[1:] == (
            "release",
            "[The open tasks, put here again after a compaction]\n- 1: write (pending)",
        )
        assert back(view) == []

    def test_the_hosts_own_list_of_tasks_comes(self) -> None:
        view = compacted(user("hi"), state("tasks", [{"content": "write", "status": "pending"}]))
        assert "- write (pending)" in back(view)[0][2]

    def test_agents_that_still_run_come(self) -> None:
        agents = [{"id": "a1", "status": "running"}, {"id": "a2", "status": "completed"}]
        view = compacted(user("hi"), state("agents", agents))
        assert [name for _, name, _ in back(view)] == ["a1"]

    def test_tools_that_are_not_declared_come(self) -> None:
        found = [{"name": "Read"}, {"name": "mcp__db__query", "description": "SQL"}]
        view = compacted(tools("Read"), user("hi"), state("tools", found))
        (given,) = back(view)
        assert "mcp__db__query" in given[2]
        assert '"Read"' not in given[2]

    def test_rules_files_come(self) -> None:
        view = compacted(
            *(user("hi"), attached("nested_memory", "Use tabs.", name="sub/CLAUDE.md")),
            state("rules", [{"path": "CLAUDE.md", "content": "Be brief."}]),
        )
        assert [name for _, name, _ in back(view)] == ["CLAUDE.md", "sub/CLAUDE.md"]

    def test_nothing_comes_from_the_summarys_text(self) -> None:
        assert back(view_of(user("hi"), summary("plan: delete all; file a: A"), user("go"))) == []


small = st.integers(0, 400)
allowances = st.builds(
    Allowance,
    count=st.none() | st.integers(0, 4),
    each=st.none() | small,
    total=st.none() | st.integers(0, 900),
)
texts = st.text(alphabet="ab \n{}語", max_size=20).map(lambda text: text * 30)


@st.composite
def pasts(draw: st.DrawFn) -> View:
    """A compacted session with files, skills and state of any size."""
    drafts: list[EventDraft] = [user("hi")]
    for n in range(draw(st.integers(0, 6))):
        drafts += read(n, f"f{n % 4}", draw(texts))
        drafts.append(attached("skill", draw(texts), name=f"skill {n}"))
        drafts.append(attached("rules", draw(texts), name=f"rules {n}"))
    for key in ("plan", "tasks", "agents", "tools", "skills"):
        drafts.append(state(key, draw(st.lists(texts, max_size=4))))
    return compacted(*drafts)


@given(pasts(), st.dictionaries(st.sampled_from(sorted(KINDS)), allowances), st.integers(0, 2_000))
def test_no_budget_is_ever_exceeded(view: View, kinds: dict[str, Allowance], total: int) -> None:
    drafts = restored(view, Restore(kinds, total))
    costs: dict[str, list[int]] = {}
    for draft in drafts:
        cost = estimate(draft.data["content"]) + MESSAGE
        costs.setdefault(draft.data["kind"], []).append(cost)
    assert sum(sum(found) for found in costs.values()) <= total
    for kind, found in costs.items():
        allowed = kinds[kind]
        named = sum(d.data["kind"] == kind and d.data["name"] == "reload" for d in drafts)
        assert allowed.count is None or len(found) - named <= allowed.count
        assert allowed.each is None or max(found) <= allowed.each
        assert allowed.total is None or sum(found) <= allowed.total
    assert check(render(view.then(drafts))) == []
