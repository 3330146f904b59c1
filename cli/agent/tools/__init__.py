"""The tools of the reference agent, one file each."""

from __future__ import annotations

from foldlog.cli.agent.tool import Tool


def standard() -> list[Tool]:
    """The tools that every agent has, in the order in which the model is told of them."""
    from foldlog.cli.agent.tools.bash import BASH
    from foldlog.cli.agent.tools.read import READ

    return [BASH, READ]
