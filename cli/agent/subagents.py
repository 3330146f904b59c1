"""Subagents: the ``task`` tool runs a child session with its own window.

The child begins with nothing but its prompt, works with the same tools but this one, and what the
parent's permissions say holds for it. Only its answer enters the parent; all else stays in its own
session, which names the call that it came from.
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from foldlog.cli.agent.display import answer_of
from foldlog.cli.agent.permissions import Permissions
from foldlog.cli.agent.tool import Arguments, Context, Tool, ToolFailed
from foldlog.cli.agent.turn_state import newest
from foldlog.eventstore import EventDraft
from foldlog.projections import Session
from foldlog.projections.installation import installation

if TYPE_CHECKING:
    from foldlog.cli.agent.setup import Setup

NAME = "task"

DESCRIPTION = """\
Give a piece of work to an agent that has its own context: it begins with nothing but your prompt, \
works with the same tools, and only its final answer comes back. For searches and reading whose \
details you do not need, and for work that stands by itself. Say all that it has to know."""

SCHEMA = {
    "type": "object",
    "properties": {
        "description": {"type": "string", "description": "The work, in a few words."},
        "prompt": {
            "type": "string",
            "description": "The instructions for the agent.",
            "minLength": 1,
        },
    },
    "required": ["description", "prompt"],
    "additionalProperties": False,
}


def task_tool(setup: Setup, permissions: Permissions) -> Tool:
    """Return the tool that runs a subagent.

    Args:
        setup: How its agent is made.
        permissions: Those of the parent.
    """

    def run(arguments: Arguments, context: Context) -> str:
        child = _begun(arguments, context)
        with child.store.lease(child.id, holder="foldlog chat, a subagent"):
            agent = setup.subagent(permissions, child, context.call)
            agent.say(str(arguments["prompt"]))
        event = newest(child.view())
        answer = answer_of(event).strip() if event else ""
        if not answer:
            raise ToolFailed(f"The agent gave no answer. What it did is in session {child.id}.")
        return answer

    return Tool(NAME, DESCRIPTION, SCHEMA, run)


def _begun(arguments: Arguments, context: Context) -> Session:
    """Return the child session, which names the call that it comes from."""
    parent = context.session
    child = Session(parent.store, str(uuid.uuid4()))
    made = {"session": parent.id, "version": parent.version, "kind": "subagent"}
    data = {
        "title": str(arguments["description"]),
        "cwd": str(context.cwd),
        "origin": {"harness": "foldlog"},
        "parent": {**made, "tool_use_id": context.call},
    }
    child.append(installation().sealed(child.id, EventDraft("session.started", data)))
    return child
