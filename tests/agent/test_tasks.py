"""``tasks``: one board for several agents, and conflicts are told."""

from __future__ import annotations

from foldlog.cli.agent.tools.tasks import board_of
from tests.agent.conftest import Make


class TestTheBoard:
    def test_is_told_after_each_change(self, make: Make) -> None:
        hands = make()
        assert hands.text("tasks", action="list") == "[There are no tasks]"
        told = hands.text("tasks", action="create", subject="write it")
        assert told == "Created task 1.\n\n1: write it (pending) [version 1]"
        told = hands.text("tasks", action="create", subject="ship it", blocked_by=["1"])
        assert told.endswith("2: ship it (pending; after 1) [version 2]")
        told = hands.text("tasks", action="claim")
        assert told.startswith("Claimed task 1.")
        told = hands.text("tasks", action="update", id="1", status="completed")
        assert "1: write it (completed, s) [version 4]" in told
        assert hands.text("tasks", action="claim", id="2").startswith("Claimed task 2.")
        assert "Nothing is ready" in hands.text("tasks", action="claim")

    def test_what_cannot_be_is_told_with_the_board(self, make: Make) -> None:
        hands = make()
        hands.text("tasks", action="create", subject="one")
        hands.text("tasks", action="create", subject="two", blocked_by=["1"])
        assert "waits for 1" in hands.error("tasks", action="claim", id="2")
        assert "1: one (pending)" in hands.error("tasks", action="update", id="9", subject="x")
        assert "needs a subject" in hands.error("tasks", action="create")
        assert "Name the task" in hands.error("tasks", action="update", subject="x")
        assert "nothing is changed" in hands.error("tasks", action="update", id="1")

    def test_is_named_in_the_state_so_that_it_survives_a_compaction(self, make: Make) -> None:
        hands = make()
        hands.text("tasks", action="create", subject="one")
        hands.text("tasks", action="list")
        assert [data["value"] for data in hands.events("state.set")] == [{"board": "s"}]


class TestSeveralAgents:
    def test_share_a_board_and_a_conflict_is_told(self, make: Make) -> None:
        first, second = make(session="first"), make(session="second")
        first.text("tasks", action="create", subject="one")
        second.session.state("tasks", {"board": "first"})
        assert board_of(second.session).session == board_of(first.session).session
        first.text("tasks", action="update", id="1", version=1, description="more")
        told = second.error("tasks", action="claim", id="1", version=1)
        assert "changed by somebody else" in told
        assert "1: one (pending) [version 2]" in told
        second.text("tasks", action="claim", id="1", version=2)
        assert "is second's" in first.error("tasks", action="claim", id="1")
