"""The tools of the reference agent, one file each."""

from __future__ import annotations

from foldlog.cli.agent.tool import Tool


def standard() -> list[Tool]:
    """Return the tools that every agent has, in the order in which the model sees them."""
    from foldlog.cli.agent.tools.bash import BASH
    from foldlog.cli.agent.tools.compact import COMPACT
    from foldlog.cli.agent.tools.edit import EDIT
    from foldlog.cli.agent.tools.glob import GLOB
    from foldlog.cli.agent.tools.grep import GREP
    from foldlog.cli.agent.tools.read import READ
    from foldlog.cli.agent.tools.recall import RECALL
    from foldlog.cli.agent.tools.tasks import TASKS
    from foldlog.cli.agent.tools.write import WRITE

    return [BASH, READ, WRITE, EDIT, GLOB, GREP, COMPACT, RECALL, TASKS]
