"""``recall``: what left the view can be had back; only of the session itself."""

from __future__ import annotations

from foldlog.cli.agent.tool import Arguments, Context, Output, Tool, ToolFailed
from foldlog.projections.recall import TOOL, Recall
from foldlog.projections.wire.blocks import plain_text


def recall(arguments: Arguments, context: Context) -> Output:
    """Answer from the log; nothing is written."""
    answer = Recall(context.session, media=True).answer(arguments)
    if answer.is_error:
        raise ToolFailed(plain_text(answer.content))
    return answer.content


RECALL = Tool(
    name=TOOL["name"],
    description=TOOL["description"],
    input_schema=TOOL["input_schema"],
    run=recall,
)
