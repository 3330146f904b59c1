"""Summarizers by name, as a person or a policy names them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from foldlog.projections.compaction.summaries.digest import DigestSummarizer
from foldlog.projections.compaction.summaries.failure import SummaryFailed
from foldlog.projections.compaction.summaries.fixed import FileSummarizer
from foldlog.projections.compaction.summaries.model import AnthropicSummarizer
from foldlog.projections.compaction.summaries.server import ServerSummarizer
from foldlog.projections.compaction.summaries.task import Summarizer

if TYPE_CHECKING:
    from anthropic import Anthropic


def summarizer(
    name: str, *, model: str | None = None, client: Anthropic | None = None
) -> Summarizer:
    """The summarizer of that name.

    Args:
        name: ``digest``, ``anthropic``, ``api``, or the path of a file that holds the text.
        model: The model to ask; without, that of the session's newest reply.
        client: The client to ask with; without, one from the environment.

    Raises:
        SummaryFailed: ``unsupported``: it is none of these.
    """
    if name == "digest":
        return DigestSummarizer()
    if name == "anthropic":
        return AnthropicSummarizer(model, client=client)
    if name == "api":
        return ServerSummarizer(model, client=client)
    if Path(name).is_file():
        return FileSummarizer(name)
    raise SummaryFailed(
        "unsupported",
        f"no summarizer is called {name!r}, and there is no such file."
        " Name digest, anthropic, api, or a file that holds the summary.",
    )
