"""The rules: one small file for each kind, pure functions of a window.

A policy is an ordered list of rules. ``RULES`` maps the names that a policy uses to the classes:
those below, those that a program registers, and those that other packages add (``foldlog.rules``).
"""

from foldlog.projections.compaction.rules.base import RULES, Rule, register_rule
from foldlog.projections.compaction.rules.clear_inputs import ClearInputs
from foldlog.projections.compaction.rules.clear_results import ClearResults
from foldlog.projections.compaction.rules.clear_thinking import ClearThinking
from foldlog.projections.compaction.rules.digest_all import DigestAll
from foldlog.projections.compaction.rules.fit import Fit
from foldlog.projections.compaction.rules.memory import Memory
from foldlog.projections.compaction.rules.offload import Offload
from foldlog.projections.compaction.rules.restore import RestoreState
from foldlog.projections.compaction.rules.server_edits import ServerEdits
from foldlog.projections.compaction.rules.snip import Snip
from foldlog.projections.compaction.rules.strip_media import StripMedia
from foldlog.projections.compaction.rules.summarize import SummarizeHistory
from foldlog.projections.compaction.rules.truncate import Truncate

__all__ = [
    "RULES",
    "ClearInputs",
    "ClearResults",
    "ClearThinking",
    "DigestAll",
    "Fit",
    "Memory",
    "Offload",
    "RestoreState",
    "Rule",
    "ServerEdits",
    "Snip",
    "StripMedia",
    "SummarizeHistory",
    "Truncate",
    "register_rule",
]
