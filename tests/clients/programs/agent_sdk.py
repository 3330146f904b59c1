"""The Claude Agent SDK: each prompt of the command line in one conversation of its client."""

import asyncio
import sys

from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient, ResultMessage


async def main() -> None:
    options = ClaudeAgentOptions(
        model="claude-sonnet-4-6", allowed_tools=["Bash", "Read"], system_prompt="Work in a folder."
    )
    async with ClaudeSDKClient(options) as client:
        for prompt in sys.argv[1:]:
            await client.query(prompt)
            async for message in client.receive_response():
                if isinstance(message, ResultMessage):
                    print(message.result)


asyncio.run(main())
