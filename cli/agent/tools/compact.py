"""``compact``: the model asks for a compaction; the policy makes it before the next request."""

from __future__ import annotations

from foldlog.cli.agent.tool import Tool
from foldlog.projections.compaction import compact_tool as called

COMPACT = Tool(
    name=called.NAME,
    description=called.TOOL["description"],
    input_schema=called.TOOL["input_schema"],
    run=lambda arguments, context: called.ANSWER,
)
