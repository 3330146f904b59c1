"""The summarizer that asks a model.

Its own overflow is handled here: the oldest rounds are left out and it is asked again, as often as
the prompt allows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from foldlog.projections.render.items import items
from foldlog.projections.render.repairs.thinking import newest_model
from foldlog.projections.summaries.api import Messages
from foldlog.projections.summaries.failure import SummaryFailed
from foldlog.projections.summaries.prompts import unwrap
from foldlog.projections.summaries.source import messages, shares_prefix, shortened
from foldlog.projections.summaries.task import SummaryReply, SummaryTask
from foldlog.projections.wire.blocks import CALLS, content_of, kind, plain_text
from foldlog.projections.wire.tool_calls import calls, file_lines, files

if TYPE_CHECKING:
    from anthropic import Anthropic

MODEL = "claude-haiku-5-5"
"""The model that is asked where nobody names one and the session knows none. Chosen: small, and
current in November 2026."""


class AnthropicSummarizer:
    """Asks a model of the Messages API for a summary.

    Args:
        model: The model that is asked; of several, the first that answers. Without one it is that
            of the session's newest reply, whose prompt cache can be read.
        client: The client to ask with; without one, a client from the environment.
        params: Further parameters of the request, such as ``thinking``.
    """

    name = "anthropic"
    asks_model = True

    def __init__(
        self,
        model: str | Sequence[str] | None = None,
        *,
        client: Anthropic | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> None:
        self._models = (model,) if isinstance(model, str) else tuple(model or ())
        self._api = Messages(client)
        self._params = dict(params or {})

    def summarize(self, task: SummaryTask) -> SummaryReply:
        """Return the summary of a task.

        Raises:
            SummaryFailed: ``nothing`` to summarize; ``too_long`` however much is left out;
                ``api_error``, with the code of the API.
        """
        if not task.items:
            raise SummaryFailed("nothing", "there is no conversation in the range.")
        asking = _Asking(self._api, task.requests)
        try:
            reply = self._fitting(asking, task)
        except SummaryFailed as failure:
            failure.details["requests"] = asking.made
            raise
        text = _with_files(reply.text, task) if reply.text else ""
        return replace(reply, text=text, requests=asking.made)

    def _fitting(self, asking: _Asking, task: SummaryTask) -> SummaryReply:
        """Return the reply, once so much was left out that the input is not too long."""
        for _ in range(task.prompt.retries):
            try:
                return self._answered(asking, task)
            except SummaryFailed as failure:
                if failure.reason != "too_long" or asking.is_over:
                    raise
            task = shortened(task, task.prompt.drop)
        return self._answered(asking, task)

    def _answered(self, asking: _Asking, task: SummaryTask) -> SummaryReply:
        """Return the reply of the first model that answers."""
        models = self._models or (newest_model(items(task.view)) or MODEL,)
        for model in models[:-1]:
            try:
                return self._asked(asking, task, model)
            except SummaryFailed as failure:
                if failure.reason != "api_error" or asking.is_over:
                    raise
        return self._asked(asking, task, models[-1])

    def _asked(self, asking: _Asking, task: SummaryTask, model: str) -> SummaryReply:
        request = request_of(task, model) | self._params
        message = asking.create(request)
        reply = _reply(message, task)
        if not task.review or asking.is_over or reply.calls or not reply.text:
            return reply
        review = {"role": "user", "content": task.prompt.review}
        draft = {"role": "assistant", "content": plain_text(content_of(message.get("content")))}
        second = asking.create({**request, "messages": [*request["messages"], draft, review]})
        return replace(_reply(second, task), usage=[message.get("usage"), second.get("usage")])


class _Asking:
    """The requests of one task, counted."""

    def __init__(self, api: Messages, most: int | None) -> None:
        self._api = api
        self._most = most
        self.made = 0

    @property
    def is_over(self) -> bool:
        """Whether no more may be made."""
        return self._most is not None and self.made >= self._most

    def create(self, request: Mapping[str, Any]) -> dict[str, Any]:
        self.made += 1
        return self._api.create(request)


def request_of(task: SummaryTask, model: str) -> dict[str, Any]:
    """Return the request that asks a model for the summary of a task."""
    prompt, view = task.prompt, task.view
    system = (view.system or {}).get("system") if shares_prefix(task) else prompt.system
    tools = (view.tools or {}).get("tools") if prompt.form == "conversation" else None
    request = {
        "model": model,
        "max_tokens": task.max_tokens,
        "system": system,
        "tools": tools,
        "messages": messages(task, model),
    }
    return {key: value for key, value in request.items() if value}


def _reply(message: Mapping[str, Any], task: SummaryTask) -> SummaryReply:
    content = content_of(message.get("content"))
    raw = plain_text(content)
    return SummaryReply(
        text=unwrap(raw, task.prompt),
        raw=raw,
        model=message.get("model"),
        usage=message.get("usage"),
        stop_reason=message.get("stop_reason"),
        prompt=task.prompt.id,
        calls=tuple(_called(content)),
        dropped=task.dropped,
        requests=1,
    )


def _called(content: str | list[Any]) -> Iterator[str]:
    for block in content if isinstance(content, list) else ():
        if kind(block) in CALLS:
            yield str(block.get("name"))


def _with_files(text: str, task: SummaryTask) -> str:
    """Return the summary with the part that the log writes: which files were read and changed."""
    if task.prompt.files is None:
        return text
    lines = file_lines(files(calls(task.events()))) or ["none"]
    return "\n".join([text, "", f"## {task.prompt.files}", *lines])
