"""Compaction: decide (pure), summarize (calls a model), record (one append), project.

prepare     before a model call, or asked for   carry_out   receipt, attempts, one append
budget      circumstances, and what must fit    window      what rules look at
rules       one small file for each kind        policy      rules with parameters, in TOML
plan        what a policy would do              checks      may that be recorded?
reading     views into windows, as they grow    restore     what comes back after a summary
"""

from typing import Any

from foldlog.projections.compaction.budget import Budget, Circumstances
from foldlog.projections.compaction.checks import judge
from foldlog.projections.compaction.decision import (
    Allowance,
    ApiRequestExtras,
    Decision,
    Edits,
    File,
    Restore,
    Summarize,
)
from foldlog.projections.compaction.edit_price import EditPrice, edit_price
from foldlog.projections.compaction.errors import (
    CandidateRefused,
    ForeignPolicy,
    MessageTooLarge,
    NothingToCompact,
    PolicyError,
    ViewTooLarge,
)
from foldlog.projections.compaction.plan import DecidedStep, Plan, plan
from foldlog.projections.compaction.policy import Policy, policy, presets
from foldlog.projections.compaction.reading import ViewReader
from foldlog.projections.compaction.window import Window
from foldlog.projections.summaries.failure import SummaryFailed
from foldlog.projections.tasks.board import TaskRefused
from foldlog.projections.tokens.counting import Count, ask_count, count
from foldlog.projections.tokens.model_windows import ModelWindow, ask_window, window_of
from foldlog.projections.tokens.prices import Prices, cost, prices

__all__ = [
    "Allowance",
    "ApiRequestExtras",
    "Budget",
    "CandidateRefused",
    "Circumstances",
    "Count",
    "DecidedStep",
    "Decision",
    "EditPrice",
    "Edits",
    "File",
    "ForeignPolicy",
    "MessageTooLarge",
    "ModelWindow",
    "NothingToCompact",
    "Plan",
    "Policy",
    "PolicyError",
    "Prices",
    "Restore",
    "Summarize",
    "SummaryFailed",
    "TaskRefused",
    "ViewReader",
    "ViewTooLarge",
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

_EARLIER = {
    "Ask": ApiRequestExtras,
    "Counting": ViewReader,
    "Done": DecidedStep,
    "Reading": ViewReader,
}
"""The names that these classes had before, which still work."""


def __getattr__(name: str) -> Any:
    if name not in _EARLIER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _EARLIER[name]
