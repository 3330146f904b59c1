"""An agent of pydantic-ai: each prompt of the command line goes on from the messages before it."""

import sys

from pydantic_ai import Agent, ModelRetry, Tool
from pydantic_ai.models.anthropic import AnthropicModelSettings
from tools import Failed, bash, read


def retried(command: str) -> str:
    """Run a command."""
    try:
        return bash(command)
    except Failed as failed:
        raise ModelRetry(str(failed)) from failed


agent = Agent(
    "anthropic:claude-sonnet-4-6",
    instructions="You work in a folder.",
    tools=[Tool(retried, name="Bash"), Tool(read, name="Read")],
    model_settings=AnthropicModelSettings(max_tokens=4000, anthropic_thinking={"type": "adaptive"}),
    retries=3,
)
history = None
for prompt in sys.argv[1:]:
    done = agent.run_sync(prompt, message_history=history)
    history = done.all_messages()
print(len(history))
