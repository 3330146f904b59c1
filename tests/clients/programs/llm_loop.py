"""A conversation of ``llm`` with tools: each prompt of the command line is a chain of it."""

import sys

import llm
from tools import bash, read

model = llm.get_model("claude-opus-5")
tools = [llm.Tool.function(bash, name="Bash"), llm.Tool.function(read, name="Read")]
conversation = model.conversation(tools=tools)
for prompt in sys.argv[1:]:
    print(conversation.chain(prompt, system="You work in a folder.").text())
