"""What is left out where even the summary's input is too long."""

from __future__ import annotations

import pytest

from foldlog.projections.summaries.failure import SummaryFailed
from foldlog.projections.summaries.source import rounds, shortened
from foldlog.projections.summaries.task import SummaryTask
from tests.compaction.talk import task_of, work
from tests.projections.build import assistant, call, edit, result, shown, summary, user


def counts(task: SummaryTask) -> list[int]:
    return [len(part) for part in rounds(task.items)]


def test_a_round_begins_with_each_new_assistant_message() -> None:
    task = task_of(
        user("a"),
        assistant(call("x"), id="m1"),
        assistant(call("y"), id="m1"),
        result("x"),
        result("y"),
        assistant("b", id="m2"),
        user("c"),
        assistant("d"),
    )
    assert counts(task) == [1, 4, 2, 1]


@pytest.mark.parametrize(("count", "left"), [(2, 1), (4, 3), (9, 8), (10, 8), (24, 20)])
def test_the_oldest_fifth_goes_at_least_one_and_never_all(count: int, left: int) -> None:
    task = task_of(*(assistant(f"round {n}") for n in range(count)))
    fewer = shortened(task, "fifth")
    assert fewer.items[0].kind == "marker"
    assert [item.content[0]["text"] for item in fewer.items[1:]] == [  # type: ignore[index]
        f"round {n}" for n in range(count - left, count)
    ]


def test_one_after_the_other_until_one_is_left() -> None:
    task = task_of(*work(4))
    for dropped in range(1, 6):
        task = shortened(task, "round")
        assert task.dropped == dropped
        assert str(dropped) in str(task.items[0].content)
        assert [item.kind for item in task.items].count("marker") == 1
    with pytest.raises(SummaryFailed, match="Conversation too long, cannot compact"):
        shortened(task, "round")


def test_a_call_keeps_its_result() -> None:
    fewer = shortened(task_of(*work(8)), "fifth")
    calls = [block["id"] for i in fewer.items if i.role == "assistant" for block in i.content[1:]]  # type: ignore[index]
    answered = [i.content[0]["tool_use_id"] for i in fewer.items if i.kind == "result"]  # type: ignore[index]
    assert calls == answered


def test_an_earlier_summary_stays_at_the_beginning() -> None:
    task = task_of(
        user("a"),
        assistant("b"),
        summary("earlier"),
        edit(shown(1, 2, "summary", summary=3)),
        *(assistant(f"round {n}") for n in range(3)),
    )
    fewer = shortened(shortened(task, "round"), "round")
    assert [item.kind for item in fewer.items] == ["summary", "marker", "message"]


def test_nothing_to_drop_is_a_typed_failure() -> None:
    with pytest.raises(SummaryFailed) as failed:
        shortened(task_of(*work(4)), "nothing")
    assert failed.value.reason == "too_long"
