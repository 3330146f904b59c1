"""The resume algorithm, rule by rule: which lines Claude Code 2.1.332 sends, and in which order.

Each probe is a transcript of a few lines; what was sent for it was observed (``EXPECTED.jsonl``,
which the golden test compares in full). Here each rule says what its probes are about.
"""

from __future__ import annotations

from typing import Any

import pytest

from foldlog.cli.formats.claude_code import tree
from foldlog.cli.formats.claude_code.resume import (
    LastPrompt,
    Turn,
    bring_back,
    cut_at_boundary,
    descendants,
    last_prompt_of,
    resume,
    turns,
    walk,
)
from foldlog.cli.formats.claude_code.tree import Bridges, Node, index, node_of, seconds
from tests.formats.claude_code.cases import PROBES, lines_of


def sent(probe: str) -> list[str]:
    """What the lines say that a resume of a probe sends."""
    nodes: list[Node] = []
    says: dict[int, str] = {}
    prompt = None
    for place, record in enumerate(lines_of(PROBES / f"{probe}.jsonl")):
        line = record.value or {}
        if line.get("type") == "last-prompt":
            prompt = last_prompt_of(line)
        node = node_of(line, place)
        if node is not None:
            nodes.append(node)
            says[place] = _says(line)
    return [says[node.order] for node in resume(nodes, prompt)]


def _says(line: dict[str, Any]) -> str:
    content = line.get("message", line).get("content")
    if isinstance(content, str):
        return content
    block = content[0] if content else {}
    return str(block.get("text", block.get("id", block.get("tool_use_id", block.get("type")))))


def node(uuid: str, parent: str | None, **fields: Any) -> Node:
    """A user line that hangs on another."""
    order = fields.pop("order", int(uuid) if uuid.isdigit() else 0)
    return Node(uuid, parent, order, fields.pop("type", "user"), sent=True, **fields)


class TestDuplicates:
    """Step 1: of two lines with one uuid the later counts, at its place."""

    def test_the_same_line_again_at_the_end_is_the_newest_line(self) -> None:
        assert sent("D1_dup_same_at_end") == ["U1"]

    def test_a_changed_line_takes_the_place_of_the_first(self) -> None:
        assert sent("D3_dup_leaf_changed") == ["U1", "A1", "U2", "A2 CHANGED"]
        assert sent("D4_dup_mid_changed_inplace") == ["U1", "A1 CHANGED", "U2", "A2"]

    def test_a_line_that_hangs_elsewhere_now_moves(self) -> None:
        assert sent("D5_dup_reparented") == ["U1", "U2 REPARENTED"]

    def test_a_span_that_was_written_twice_is_sent_once(self) -> None:
        assert sent("T05_dup_span") == ["U1", "A1", "U2", "A2", "U3", "A3"]

    def test_an_early_line_that_is_written_again_late_ends_the_conversation(self) -> None:
        assert sent("T04_late_dup") == ["U1 REWRITTEN"]

    def test_index_keeps_the_last_at_its_place(self) -> None:
        first, second, again = node("1", None), node("2", "1"), node("1", None, order=3)
        assert list(index([first, second, again]).values()) == [second, again]


class TestMissingParents:
    """Step 2: a parent that was never written is bridged, if the line before is close in time."""

    def test_a_gap_of_a_second_is_bridged(self) -> None:
        assert sent("T06_orphan_parent") == ["U1", "A1", "U2", "A2"]
        assert sent("P7_phantom_assistant") == ["U1", "A1", "U2", "A2"]

    def test_a_gap_of_more_than_five_seconds_is_not(self) -> None:
        for probe in ("W6_gap", "W7_gap", "W8_gap", "W10_gap"):
            assert sent(probe) == ["U2", "A2"]

    def test_a_line_that_is_later_in_time_is_no_bridge(self) -> None:
        assert sent("P14_phantom_prev_later_but_older_exists") == ["U1", "U2", "A2"]

    def test_the_bridge_is_the_newest_line_on_any_branch(self) -> None:
        assert sent("P4_phantom_prev_other_branch") == ["U1", "A1", "BR2", "Y2", "U2", "A2"]

    def test_the_bridge_is_the_newest_line_wherever_it_is_in_the_file(self) -> None:
        assert sent("W_order_ts") == ["U1", "A1", "U2", "ORPHAN"]
        assert sent("W_order_ts_two") == ["U1", "A1", "ORPHAN"]
        assert sent("W_newest_first") == ["U1", "ORPHAN"]
        assert sent("W_older_than_last") == ["ORPHAN"]

    def test_of_lines_with_one_time_the_first_is_the_bridge(self) -> None:
        assert sent("W_tie") == ["U1", "A1", "ORPHAN"]

    def test_progress_system_lines_and_attachments_are_bridges_too(self) -> None:
        for probe in (
            "P9_phantom_progress",
            "P10_phantom_progress_system",
            "P11_phantom_attachment",
        ):
            assert [text for text in sent(probe) if text[0] in "UA"] == ["U1", "A1", "U2", "A2"]

    def test_a_snapshot_between_is_no_line_of_the_tree(self) -> None:
        assert sent("P16_phantom_with_fileSnapshot_between") == ["U1", "A1", "U2", "A2"]

    def test_a_result_is_a_bridge(self) -> None:
        assert sent("P15_phantom_after_toolresult") == ["U1", "toolu_1", "toolu_1", "U2", "A2"]

    def test_two_gaps_are_two_bridges(self) -> None:
        assert sent("P17_two_phantoms") == ["U1", "A1", "U2", "A2", "U3", "A3"]

    def test_a_parent_that_is_written_later_is_no_gap(self) -> None:
        assert sent("T13_child_before_parent") == ["U1", "A1", "U2", "A2"]

    def test_a_sidechain_is_no_bridge(self) -> None:
        at = "2026-11-20T10:00:01.000Z"
        main, side = node("1", None, timestamp=at), node("2", None, timestamp=at, sidechain=True)
        assert Bridges([main, side]).find(node("3", "gone", timestamp=at)) == "1"

    def test_a_line_without_a_time_is_a_root(self) -> None:
        assert Bridges([node("1", None)]).find(node("3", "gone")) is None

    def test_each_time_is_read_a_few_times_however_many_gaps_there_are(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        read: list[str] = []
        monkeypatch.setattr(tree, "seconds", lambda time: read.append(time) or seconds(time))
        times = [f"2026-11-20T{n // 60:02}:{n % 60:02}:00Z" for n in range(300)]
        nodes = [node(str(n), f"gone {n}", timestamp=time) for n, time in enumerate(times)]
        assert len(resume(nodes)) == 1
        assert len(read) <= 4 * len(nodes)


class TestCompaction:
    """Step 3 and the cut of step 5: what a boundary keeps, and what it hides."""

    def test_nothing_before_the_boundary_is_sent(self) -> None:
        assert sent("T26_no_compactMetadata") == ["SUMMARY", "U3", "A3"]

    def test_of_two_boundaries_the_last_one_on_the_chain_counts(self) -> None:
        assert sent("T09_two_boundaries") == ["SUMMARY2", "X2", "Y2"]

    def test_a_boundary_cuts_also_when_it_hangs_on_a_line(self) -> None:
        assert sent("B1_boundary_nonnull_parent") == ["SUMMARY", "U3", "A3"]

    def test_a_boundary_in_a_sidechain_is_none(self) -> None:
        assert sent("B2_sidechain_boundary") == ["U1", "A1", "U3", "A3"]

    def test_if_a_kept_line_is_missing_all_of_them_are_lost(self) -> None:
        assert sent("T25_preserved_missing") == ["SUMMARY", "U3", "A3"]

    def test_a_branch_from_before_the_boundary_revives_the_history(self) -> None:
        assert sent("T27_branch_before_boundary") == ["U1", "A1", "PRE-BOUNDARY BRANCH", "Z2"]

    def test_a_summary_without_a_boundary_is_a_message(self) -> None:
        assert sent("C9_isMeta_false_summary_visible") == ["U1", "A1", "LONE COMPACT SUMMARY", "A2"]

    def test_kept_lines_stand_behind_the_anchor(self) -> None:
        assert self._resumed(anchor="4") == ["4", "2", "5"]

    def test_kept_lines_stand_before_the_summary_when_the_boundary_is_their_anchor(self) -> None:
        assert self._resumed(anchor="3") == ["2", "4", "5"]

    def test_an_older_boundary_names_the_two_ends_of_what_it_keeps(self) -> None:
        segment = {"headUuid": "1", "tailUuid": "2", "anchorUuid": "4"}
        assert self._resumed({"preservedSegment": segment}) == ["4", "1", "2", "5"]

    def _resumed(self, metadata: Any = None, anchor: str = "") -> list[str]:
        """One and two, a boundary that keeps some of them, its summary, and what came next."""
        boundary = node("3", None, type="system", subtype="compact_boundary")
        kept = {"preservedMessages": {"anchorUuid": anchor, "uuids": ["2"]}}
        boundary.preserved, boundary.sent = metadata or kept, False
        nodes = [node("1", None), node("2", "1"), boundary, node("4", "3"), node("5", "4")]
        return [found.uuid for found in resume(nodes)]

    def test_cut_at_boundary_leaves_a_chain_without_one_alone(self) -> None:
        chain = [node("1", None), node("2", "1")]
        assert cut_at_boundary(chain) == chain


class TestLeaf:
    """Step 4: where the conversation ends."""

    def test_without_a_last_prompt_it_is_the_last_message_of_the_file(self) -> None:
        assert sent("T28_two_roots") == ["U2 ROOT2", "A2"]
        assert sent("C2_old_leaf_then_user") == ["U1", "LATE SIBLING of A1"]

    def test_a_sidechain_is_never_the_leaf(self) -> None:
        assert sent("T16_sidechain_newest") == ["U1", "A1"]

    def test_progress_at_the_end_is_no_leaf(self) -> None:
        assert sent("T20_progress_tail") == ["U1", "A1"]

    def test_a_last_prompt_overrides_newer_lines_on_other_branches(self) -> None:
        assert sent("L10_lp_old_other_branch_then_linear") == ["U1", "A1", "BR1", "Q1"]

    def test_of_two_last_prompts_the_last_counts(self) -> None:
        assert sent("L9_lp_two") == ["U1", "A1", "BR1", "Q1"]

    def test_a_last_prompt_names_a_branch_not_a_line(self) -> None:
        assert sent("L8_lp_leaf_is_system") == ["U1", "A1", "BR1", "Q1"]

    def test_an_explicit_one_names_exactly_that_line(self) -> None:
        assert sent("T15b_lastprompt_explicit") == ["U1", "A1", "BR1", "Q1"]
        assert sent("T15c_lastprompt_explicit_inner") == ["U1", "A1"]

    def test_one_that_names_no_line_of_the_file_counts_as_none(self) -> None:
        assert sent("L4_lp_missing_leaf") == ["U1", "A1", "BR1", "Q1"]
        assert sent("L6_lp_noleaf") == ["U1", "A1", "BR2", "Y2"]

    def test_zeros_name_no_line(self) -> None:
        assert sent("L7_lp_zero_explicit") == ["U1", "A1", "BR1", "Q1"]
        zeros = {"leafUuid": "00000000-0000-0000-0000-000000000000", "explicit": True}
        assert last_prompt_of(zeros) == LastPrompt(None, explicit=True)

    def test_a_file_without_messages_has_none(self) -> None:
        assert resume([node("1", None, type="progress")]) == []

    def test_descendants_include_the_line_itself(self) -> None:
        assert descendants("2", {"1": None, "2": "1", "3": "2", "4": "3", "5": "1"}) == {
            "2",
            "3",
            "4",
        }


class TestChain:
    """Step 5: from the leaf to the root."""

    def test_progress_lines_link_the_chain_and_are_not_sent(self) -> None:
        assert sent("P12_progress_chain_ok") == ["U1", "A1", "U2", "A2"]

    def test_a_cycle_ends_it(self) -> None:
        assert sent("C1_cycle") == ["U1", "A1", "U2", "A2"]
        one, two = node("1", "2"), node("2", "1")
        assert walk(two, {"1": one, "2": two}, {"1": "2", "2": "1"}) == [one, two]


class TestParallelCalls:
    """Step 6: blocks of a reply that the chain misses come back, and so do their results."""

    def test_no_call_and_no_result_is_lost(self) -> None:
        assert sent("T21_parallel") == [
            "U1",
            "go",
            "toolu_1",
            "toolu_2",
            "toolu_1",
            "toolu_2",
            "A4",
        ]

    def test_blocks_come_in_file_order_and_results_behind_the_last(self) -> None:
        tree = {
            n.uuid: n
            for n in (
                node("1", None, type="assistant", message_id="m"),
                node("2", "1", type="assistant", message_id="m"),
                node("3", "1", results=("a",)),
                node("4", "2", results=("b",)),
            )
        }
        parents = {uuid: found.parent for uuid, found in tree.items()}
        chain = [tree["1"], tree["3"]]
        assert [n.uuid for n in bring_back(chain, tree, parents)] == ["1", "2", "4", "3"]


class TestWhatIsSent:
    """Step 7: which lines of the chain are messages."""

    def test_local_commands_are_sent(self) -> None:
        assert [text[:20] for text in sent("T10_local_command")] == [
            *("U1", "A1", "<command-name>/usage", "<local-command-stdou", "U2", "A2"),
        ]

    def test_what_is_only_visible_in_the_transcript_is_sent_all_the_same(self) -> None:
        assert sent("T02_visible_only") == ["U1", "A1", "U2 VISIBLE ONLY", "A2"]

    def test_an_error_of_the_api_is_not(self) -> None:
        line = {
            "type": "assistant",
            "uuid": "1",
            "message": {"content": []},
            "isApiErrorMessage": True,
        }
        found = node_of(line, 1)
        assert found is not None
        assert not found.sent

    def test_a_line_that_says_nothing_is_no_line_of_the_tree(self) -> None:
        for message in (None, "text", {"role": "user"}, {"content": ["no block"]}):
            assert node_of({"type": "user", "uuid": "1", "message": message}, 1) is None


class TestTurns:
    """Step 8: the messages that lines make."""

    def test_lines_of_one_reply_are_one_message_across_results(self) -> None:
        reply = {"type": "assistant", "message_id": "m"}
        result = {"results": ("a",), "only_results": True}
        nodes = [node("1", None, **reply), node("2", "1", **result), node("3", "1", **reply)]
        assert turns(nodes) == [("assistant", ("1", "3")), ("user", ("2",))]

    def test_in_a_user_turn_results_come_first_then_attachments_then_text(self) -> None:
        text, attached = node("1", None), node("2", "1", type="attachment")
        result = node("3", "2", results=("a",), only_results=True)
        assert turns([text, attached, result]) == [self._user("3", "2", "1")]

    def test_a_reply_is_not_joined_across_text(self) -> None:
        reply = {"type": "assistant", "message_id": "m"}
        nodes = [node("1", None, **reply), node("2", "1"), node("3", "2", **reply)]
        assert [role for role, _ in turns(nodes)] == ["assistant", "user", "assistant"]

    def _user(self, *uuids: str) -> Turn:
        return "user", uuids
