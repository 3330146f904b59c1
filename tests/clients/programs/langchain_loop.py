"""The plain loop of langchain-anthropic: each prompt of the command line, its tools run."""

import sys

from langchain_anthropic import ChatAnthropic
from langchain_core.messages import HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool
from tools import Failed, bash, read

TOOLS = {"Bash": tool("Bash")(bash), "Read": tool("Read")(read)}

chat = ChatAnthropic(
    model="claude-sonnet-4-6", max_tokens=4000, max_retries=0, thinking={"type": "adaptive"}
).bind_tools(list(TOOLS.values()))
messages = [SystemMessage("You work in a folder.")]
for prompt in sys.argv[1:]:
    messages.append(HumanMessage(prompt))
    while True:
        reply = chat.invoke(messages)
        messages.append(reply)
        if not reply.tool_calls:
            break
        for call in reply.tool_calls:
            try:
                messages.append(TOOLS[call["name"]].invoke(call))
            except Failed as failed:
                messages.append(ToolMessage(str(failed), tool_call_id=call["id"], status="error"))
print(len(messages))
