"""What the model says: it answers what a person asked for, in steps, whatever the harness.

    Look around…     thinks, makes two calls at once (the second fails), reads a file, is done
    Print much…      a call whose result is too long for the model, then done
    Print some…      a call whose result is long, then done
    Ask an agent…    a subagent reads the file, then done
    (a summary)      what a harness asks for when it compacts
    (no tools)       a title

Everything else is understood, and that is all.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.server import Received, Reply, call, reply, thought

LOOK, AGENT = "Look around. 你好！", "Ask an agent."
MUCH, SOME = "Print much.", "Print some."
"""What a person asks for."""

SUMMARY = "The notes say where the tests are (笔记). Next: nothing."
"""What a compaction makes of it all."""

ECHO, FAIL = "ls; echo found", "echo 你好; exit 3"
LONG = {"Print much": "seq 1 9000", "Print some": "seq 1 2000"}
"""The commands that are run."""


def model(folder: Path) -> Callable[[Received], Reply]:
    """A model that works in a folder."""

    def respond(received: Received) -> Reply:
        body = received.whole
        if "detailed summary" in _last(body["messages"]):
            return reply(
                f"<analysis>\nAll was read.\n</analysis>\n\n<summary>\n{SUMMARY}\n</summary>"
            )
        if not body.get("tools"):
            return reply('{"title": "The notes"}' if "title" in str(body) else "Understood.")
        asked, results = _asked(body["messages"])
        return _answer(asked, results, body, folder)

    return respond


def _answer(asked: str, results: int, body: dict[str, Any], folder: Path) -> Reply:
    thinks = (body.get("thinking") or {}).get("type", "disabled") != "disabled"
    notes = call("Read", file_path=str(folder / "notes.txt"))
    if "Look around" in asked and results == 0:
        calls = (call("Bash", command=ECHO), call("Bash", command=FAIL))
        return reply(*([thought("I look first.")] if thinks else []), "I look.", *calls)
    if "Look around" in asked and results == 2:
        return reply(notes)
    for words, command in LONG.items():
        if words in asked and results == 0:
            return reply("A long one.", call("Bash", command=command))
    if "Ask an agent" in asked and results == 0:
        return reply(_agent(body))
    if "Look at the notes" in asked and results == 0:
        return reply(notes)
    return reply(f"Done, 完成: {results} results.")


def _agent(body: dict[str, Any]) -> dict[str, Any]:
    """A call of a subagent, by the name that the tool has here."""
    names = {tool.get("name") for tool in body["tools"]}
    asked = {"description": "look", "prompt": "Look at the notes", "run_in_background": False}
    name = "Agent" if "Agent" in names else "Task"
    return call(name, **asked, subagent_type="general-purpose")


def _last(messages: list[dict[str, Any]]) -> str:
    """The last text of a request."""
    return str(_blocks(messages[-1])[-1].get("text", ""))


def _blocks(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _asked(messages: list[dict[str, Any]]) -> tuple[str, int]:
    """What a person said last, and how many results there are since."""
    results = 0
    for message in reversed(messages):
        for block in reversed(_blocks(message)):
            if block["type"] == "tool_result":
                results += 1
            elif message["role"] == "user" and block["type"] == "text":
                text = block["text"].strip()
                if not text.startswith("<"):
                    return text, results
    return "", results
