"""Compaction: decide (pure), summarize (calls a model), record (one append), project.

budget      what a view must fit into            window      what rules look at
counting    what the next request takes          money       what it costs, and what an edit does
rules       one small file for each kind         policy      rules with parameters, in TOML
plan        what a policy would do               candidate   may that be recorded?
summaries   a stretch becomes a text             restore    what comes back behind it
tasks       a board that agents share            hooks      what runs before and after
"""

from foldlog.projections.compaction.budget import Budget
from foldlog.projections.compaction.checks import judge
from foldlog.projections.compaction.decision import (
    Allowance,
    Ask,
    Decision,
    Edits,
    File,
    Restore,
    Summarize,
)
from foldlog.projections.compaction.errors import CandidateRefused, ForeignPolicy, PolicyError
from foldlog.projections.compaction.plan import Done, Plan, plan
from foldlog.projections.compaction.policy import Policy, policy, presets
from foldlog.projections.compaction.reading import Reading
from foldlog.projections.compaction.window import Window
from foldlog.projections.summaries.failure import SummaryFailed
from foldlog.projections.tasks.board import TaskRefused
from foldlog.projections.tokens.counting import Count, Counting, ask_count, count
from foldlog.projections.tokens.model_windows import ModelWindow, ask_window, window_of
from foldlog.projections.tokens.prices import EditPrice, Prices, cost, edit_price, prices

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
    "ForeignPolicy",
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
