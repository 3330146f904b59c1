"""A loop on the Python SDK that keeps replies as dumped models, each prompt of the command line."""

import sys

import anthropic
from tools import Failed, bash, read

TEXT = {"type": "string"}
TOOLS = [
    {
        "name": name,
        "description": run.__doc__,
        "input_schema": {"type": "object", "properties": {field: TEXT}, "required": [field]},
    }
    for name, run, field in (("Bash", bash, "command"), ("Read", read, "file_path"))
]


def answer(call):
    result = {"type": "tool_result", "tool_use_id": call["id"]}
    try:
        run = {"Bash": bash, "Read": read}[call["name"]]
        return {**result, "content": run(**call["input"]), "is_error": False}
    except Failed as failed:
        return {**result, "content": str(failed), "is_error": True}


def dumped(block):
    """A block as its model dumps it, nulls included but for the one that the API refuses."""
    fields = block.model_dump()
    return {key: value for key, value in fields.items() if key != "caller" or value is not None}


client = anthropic.Anthropic(max_retries=0)
messages = []
for prompt in sys.argv[1:]:
    messages.append({"role": "user", "content": prompt})
    while True:
        reply = client.messages.create(
            model="claude-sonnet-4-6",
            max_tokens=4000,
            thinking={"type": "adaptive"},
            tools=TOOLS,
            messages=messages,
        )
        content = [dumped(block) for block in reply.content]
        messages.append({"role": reply.role, "content": content})
        calls = [block for block in content if block["type"] == "tool_use"]
        if not calls:
            break
        messages.append({"role": "user", "content": [answer(call) for call in calls]})
print(len(messages))
