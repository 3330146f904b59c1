"""Examples that talk to the Messages API: they run against the server that the tests have."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import chdir, contextmanager, nullcontext
from typing import Any

from docs.generate.markdown import example


def live_example(
    code: str, *turns: Any, names: dict[str, Any] | None = None, folder: str | None = None
) -> dict[str, Any]:
    """Print code and what it prints, the API answering with these turns.

    Args:
        turns: What the model says, a reply a request (see ``tests.server``).
        names: What the code finds defined.
        folder: Where it runs; without, in a folder that is removed afterwards.
    """
    from tests.server import serving

    where = nullcontext(folder) if folder else tempfile.TemporaryDirectory()
    with serving() as api, where as place:
        api.script(*turns)
        given = {"ANTHROPIC_BASE_URL": api.url, "ANTHROPIC_API_KEY": "test", "NO_PROXY": "*"}
        with _environment(**given), chdir(place):
            return example(code, names)


@contextmanager
def _environment(**values: str) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


AGENT_SDK = """
import asyncio

from claude_agent_sdk import ClaudeAgentOptions, ResultMessage, query

PROXY = "http://127.0.0.1:4141"


async def main():
    options = ClaudeAgentOptions(
        env={"ANTHROPIC_BASE_URL": PROXY},
        allowed_tools=["Read", "Glob"],
        max_turns=10,
    )
    async for message in query(prompt="What is in this folder?", options=options):
        if isinstance(message, ResultMessage):
            print(message.result)


asyncio.run(main())
"""
"""How the Claude Agent SDK is recorded. Its program takes 400 MB, so it is not installed to write
this page; ``tests/clients/test_agent_sdk.py`` runs the example where it is."""
