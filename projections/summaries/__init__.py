"""Summaries: a stretch of a conversation becomes a text, made by a model or from the log.

    task = plan.summarize.task(plan.after.view)
    accepted = attempt(task, summarizer("anthropic"), record, ledger(events), Limits(turn=7))
    drafts = plan.summarized(view, plan.summarize.accepted(accepted))

``attempt`` records each attempt before the call and each failure after it. What is accepted is
recorded by the caller, in one append with the edit that shows it.
"""

from foldlog.projections.summaries.attempt import Accepted, Limits, attempt
from foldlog.projections.summaries.chunked import ChunkedSummarizer
from foldlog.projections.summaries.digest import DigestSummarizer
from foldlog.projections.summaries.failure import Reason, SummaryFailed
from foldlog.projections.summaries.ledger import Ledger, ledger
from foldlog.projections.summaries.model import AnthropicSummarizer
from foldlog.projections.summaries.overflow import is_overflow
from foldlog.projections.summaries.prompts import (
    Prompt,
    Section,
    prompt,
    prompts,
)
from foldlog.projections.summaries.registry import FileSummarizer, summarizer
from foldlog.projections.summaries.server import ServerSummarizer
from foldlog.projections.summaries.task import Summarizer, SummaryReply, SummaryTask

__all__ = [
    "Accepted",
    "AnthropicSummarizer",
    "ChunkedSummarizer",
    "DigestSummarizer",
    "FileSummarizer",
    "Ledger",
    "Limits",
    "Prompt",
    "Reason",
    "Section",
    "ServerSummarizer",
    "Summarizer",
    "SummaryFailed",
    "SummaryReply",
    "SummaryTask",
    "attempt",
    "is_overflow",
    "ledger",
    "prompt",
    "prompts",
    "summarizer",
]
