"""Compaction: decide (pure), summarize (calls a model), record (one append), project.

budget      what a view must fit into            window      what rules look at
counting    what the next request takes          money       what it costs, and what an edit does
rules       one small file for each kind         policy      rules with parameters, in TOML
plan        what a policy would do               candidate   may that be recorded?
summaries   a stretch becomes a text             restore    what comes back behind it
tasks       a board that agents share            hooks      what runs before and after
"""

from foldlog.projections.compaction.board import TaskRefused
from foldlog.projections.compaction.budget import Budget
from foldlog.projections.compaction.candidate import judge
from foldlog.projections.compaction.counting import Count, Counting, ask_count, count
from foldlog.projections.compaction.decision import (
    Allowance,
    Ask,
    Decision,
    Edits,
    File,
    Restore,
    Summarize,
)
from foldlog.projections.compaction.errors import CandidateRefused, PolicyError
from foldlog.projections.compaction.money import EditPrice, Prices, cost, edit_price, prices
from foldlog.projections.compaction.plan import Done, Plan, plan
from foldlog.projections.compaction.policy import Policy, policy, presets
from foldlog.projections.compaction.reading import Reading
from foldlog.projections.compaction.summaries.failure import SummaryFailed
from foldlog.projections.compaction.window import Window
from foldlog.projections.compaction.windows import ModelWindow, ask_window, window_of

__all__ = [
    "Allowance",
    "Ask",
    "Budget",
    "CandidateRefused",
    "Count",
    "Counting",
    "Decision",
    "Done",
    "EditPrice",
    "Edits",
    "File",
    "ModelWindow",
    "Plan",
    "Policy",
    "PolicyError",
    "Prices",
    "Reading",
    "Restore",
    "Summarize",
    "SummaryFailed",
    "TaskRefused",
    "Window",
    "ask_count",
    "ask_window",
    "cost",
    "count",
    "edit_price",
    "judge",
    "plan",
    "policy",
    "presets",
    "prices",
    "window_of",
]
