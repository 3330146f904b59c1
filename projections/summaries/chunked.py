"""A summary in chunks, for what is too long to be summarized at once.

Each chunk is summarized with the summary of those before it, so that the last one is the
summary of all. The number of requests is bounded.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from foldlog.projections.render.items import Item
from foldlog.projections.summaries.failure import TOO_LONG, SummaryFailed
from foldlog.projections.summaries.source import rounds
from foldlog.projections.summaries.task import Summarizer, SummaryReply, SummaryTask
from foldlog.projections.tokens.estimate import estimate


class ChunkedSummarizer:
    """Gives another summarizer one chunk after the other.

    Args:
        inner: Who summarizes a chunk.
        tokens: The most estimated tokens of a chunk; a round that is longer is a chunk by itself.
        most: How many chunks there may be.
    """

    def __init__(self, inner: Summarizer, tokens: int, *, most: int = 8) -> None:
        self._inner = inner
        self._tokens = tokens
        self._most = most

    @property
    def name(self) -> str:
        """That of the summarizer that it asks."""
        return self._inner.name

    @property
    def asks_model(self) -> bool:
        """As the summarizer that it asks."""
        return self._inner.asks_model

    def summarize(self, task: SummaryTask) -> SummaryReply:
        """Return the summary of the last chunk, which carries on all before it.

        Raises:
            SummaryFailed: ``too_long``: there are too many chunks; or what a chunk failed for.
        """
        chunks = list(self._chunks(task))
        if len(chunks) > min(self._most, task.requests or self._most):
            raise SummaryFailed("too_long", TOO_LONG, requests=0)
        previous, requests, reply = task.previous, 0, None
        for number, items in enumerate(chunks, start=1):
            left = None if task.requests is None else task.requests - requests
            part = self._part(task, items, previous)
            if left is not None:
                part = replace(part, requests=left - (len(chunks) - number))
            try:
                reply = self._inner.summarize(part)
            except SummaryFailed as failure:
                failure.details["requests"] = requests + failure.details.get("requests", 1)
                raise
            previous, requests = reply.text, requests + reply.requests
            if not previous.strip() or reply.calls or reply.stop_reason == "max_tokens":
                break
        if reply is None:
            raise SummaryFailed("nothing", "there is no conversation in the range.")
        return replace(reply, requests=requests)

    def _part(self, task: SummaryTask, items: list[Item], previous: str | None) -> SummaryTask:
        """Return the task of one chunk: the conversation as text, what came before as a summary."""
        prompt = replace(task.prompt, form="text", shares_prefix=False)
        rest = tuple(item for item in items if item.kind != "summary")
        return replace(task, items=rest, before=(), previous=previous, prompt=prompt)

    def _chunks(self, task: SummaryTask) -> Iterator[list[Item]]:
        chunk: list[Item] = []
        size = 0
        for part in rounds(task.items):
            cost = sum(estimate(item.content) for item in part)
            if chunk and size + cost > self._tokens:
                yield chunk
                chunk, size = [], 0
            chunk.extend(part)
            size += cost
        if chunk:
            yield chunk
