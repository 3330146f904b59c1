"""The importer of Claude Code passes the tests that every importer passes."""

from __future__ import annotations

from foldlog.cli.formats.testing import ImporterTests, Sample
from tests.formats.claude_code.cases import CLAUDE, PROBES


class TestClaudeCode(ImporterTests):
    format = "claude-code"
    samples = (
        Sample(
            CLAUDE / "gen_v332_rewind_then_compact.jsonl",
            {"message.user": 9, "message.assistant": 6, "summary.written": 1},
        ),
        Sample(
            CLAUDE / "ccl_inline_sidechain_1.0.35.jsonl",
            {"message.user": 1, "message.assistant": 6, "tool.result": 1},
        ),
        Sample(
            CLAUDE / "entire_compact_2.0.76.jsonl",
            {
                "message.user": 5,
                "message.assistant": 32,
                "tool.result": 10,
                "summary.written": 1,
            },
        ),
        Sample(PROBES / "C7_bom_crlf.jsonl", {"message.user": 1, "message.assistant": 1}),
        Sample(
            CLAUDE / "gen_v197_subagents",
            {"message.user": 4, "message.assistant": 9, "tool.result": 4},
            main="bbbbbbbb-2222-4222-8222-222222222222.jsonl",
        ),
    )
