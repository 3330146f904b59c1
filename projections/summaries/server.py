"""The API's own compaction: one signed block comes back, and is kept as it came.

It is the only summary after which thinking stays valid. The block has to be sent back byte for
byte, first of all messages, so it stands for everything from the first message on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from foldlog.projections.render.items import items
from foldlog.projections.render.render import messages_of
from foldlog.projections.render.repairs.thinking import newest_model
from foldlog.projections.summaries.api import Messages
from foldlog.projections.summaries.failure import SummaryFailed
from foldlog.projections.summaries.task import SummaryReply, SummaryTask
from foldlog.projections.wire.blocks import blocks, content_of, is_compaction

if TYPE_CHECKING:
    from anthropic import Anthropic

BETA = "compact-2026-09-04"
"""The beta header of ``compaction: {"type": "summarize"}``."""

NAME = "api:summarize"
"""What stands in place of a prompt's id: the prompt is the server's own."""


class ServerSummarizer:
    """Has the API compact the conversation.

    Args:
        model: The model; without one, that of the session's newest reply.
        client: The client to ask with; without one, a client from the environment.
    """

    name = "api"
    asks_model = True

    def __init__(self, model: str | None = None, *, client: Anthropic | None = None) -> None:
        self._model = model
        self._api = Messages(client)

    def summarize(self, task: SummaryTask) -> SummaryReply:
        """Return the compaction block of a task.

        Raises:
            SummaryFailed: ``unsupported`` where the range does not begin with the conversation, or
                no model is known; ``empty`` where the API could not; ``api_error``.
        """
        message = self._api.create_beta(self._request(task))
        raw = message.get("content")
        made = [block for block in blocks(content_of(raw)) if is_compaction(block)]
        if len(made) != 1:
            told = {"raw": raw, "model": message.get("model"), "usage": message.get("usage")}
            raise SummaryFailed("empty", "the API answered without a compaction block.", **told)
        return SummaryReply(
            text=str(made[0]["content"]),
            raw=raw,
            model=message.get("model"),
            usage=message.get("usage"),
            stop_reason=message.get("stop_reason"),
            prompt=NAME,
            block=made[0],
            requests=1,
        )

    def _request(self, task: SummaryTask) -> dict[str, Any]:
        model = self._model or newest_model(items(task.view))
        if task.before or not task.items or model is None:
            raise SummaryFailed(
                "unsupported",
                "the API compacts a conversation from its first message on, for a model that is"
                " named. Summarize from the beginning and name a model, or use another summarizer.",
            )
        instructions = "\n".join(task.instructions)
        request = {
            "model": model,
            "max_tokens": task.max_tokens,
            "system": (task.view.system or {}).get("system"),
            "tools": (task.view.tools or {}).get("tools"),
            "messages": messages_of(list(task.items), model=model),
            "compaction": {"type": "summarize"}
            | ({"instructions": instructions} if instructions else {}),
            "betas": [BETA],
        }
        return {key: value for key, value in request.items() if value}
