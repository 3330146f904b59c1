"""What is left of a raw reply."""

from __future__ import annotations

import pytest

from foldlog.projections.summaries.prompts import prompt, unwrap

CLAUDE_CODE = prompt("claude-code")


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("<analysis>think</analysis>\n<summary>\nIt works.\n</summary>", "Summary:\nIt works."),
        ("<summary>It works.</summary>", "Summary:\nIt works."),
        ("No tags at all.", "No tags at all."),
        ("<analysis>think</analysis>\nOnly the draft had tags.", "Only the draft had tags."),
        ("before\n<summary>It works.</summary>\nafter", "before\nSummary:\nIt works.\nafter"),
        ("<summary>one\n\n\n \n\ntwo</summary>", "Summary:\none\n\ntwo"),
        ("<analysis>cut off in the dra", ""),
        ("<analysis>never closed <summary>It works.</summary>", "Summary:\nIt works."),
        ("<summary>cut off in the su", "Summary:\ncut off in the su"),
        ("The parser reads `<analysis>` tags.", "The parser reads `<analysis>` tags."),
    ],
)
def test_the_draft_goes_and_the_summary_is_unwrapped(raw: str, text: str) -> None:
    assert unwrap(raw, CLAUDE_CODE) == text


def test_a_snapshot_keeps_its_tag() -> None:
    raw = "<scratchpad>hm</scratchpad><state_snapshot><goal>x</goal></state_snapshot>"
    assert unwrap(raw, prompt("gemini")) == "<state_snapshot><goal>x</goal></state_snapshot>"
