"""What Claude Code really sent, compared with what a view renders, difference by difference.

A request is compared block by block: role, type, ids, tool names, texts, failures. Where that
program adds something at a resume that is in no transcript, or changes a word, the difference has a
name here; docs/claude-code.md explains each. A difference without a name is a failure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable
from difflib import SequenceMatcher
from hashlib import sha256
from typing import Any, NamedTuple

NO_RESPONSE = "No response requested."
TOOL_LOADED = "Tool loaded."
NO_CONTENT = "(no content)"
SHOWN_FROM_HERE = "[The conversation is shown from here on.]"
RENAMED_TOOLS = {"Task": "Agent"}
PROBE_CHARS = 40


class Block(NamedTuple):
    """One block of a message, as far as it is compared.

    Attributes:
        role: ``u`` or ``a``.
        type: The block's type.
        name: The id of a call and its tool; the id that a result answers.
        text: The text of a text block, without white space at its ends.
        is_error: Of a result.
    """

    role: str
    type: str
    name: str = ""
    text: str = ""
    is_error: bool = False


def blocks_of(request: dict[str, Any]) -> list[Block]:
    """The blocks of a request, reminders left out: the truths leave them out too."""
    found = []
    for message in request["messages"]:
        content = message["content"]
        listed = [{"type": "text", "text": content}] if isinstance(content, str) else content
        found += [_block(message["role"][0], block) for block in listed]
    return [block for block in found if not block.text.startswith("<system-reminder>")]


def _block(role: str, block: dict[str, Any]) -> Block:
    kind = block["type"]
    if kind == "tool_use":
        return Block(role, kind, f"{block['id']} {renamed(block['name'])}")
    if kind == "tool_result":
        return Block(role, kind, block["tool_use_id"], is_error=bool(block.get("is_error")))
    return Block(role, kind, text=cleaned(block["text"]) if kind == "text" else "")


def renamed(tool: str) -> str:
    """The name of a tool as version 2.1.332 sends it."""
    return RENAMED_TOOLS.get(tool, tool)


def cleaned(text: str) -> str:
    """A text as it is compared: lone surrogates replaced, as that program does; ends stripped."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").strip()


def of_probe(row: Iterable[str]) -> list[Block]:
    """The blocks of a probe's truth, ``u:text:U1``; texts are cut after 40 characters."""
    found = []
    for entry in row:
        role, kind, rest = entry.split(":", 2)
        name = rest if kind in ("tool_use", "tool_result") else ""
        found.append(Block(role, kind, name, "" if name else rest.strip()))
    return found


def like_probe(blocks: Iterable[Block]) -> list[Block]:
    """Our blocks, as far as a probe's truth tells of them."""
    return [
        Block(b.role, b.type, b.name.split(" ")[0], b.text[:PROBE_CHARS].strip()) for b in blocks
    ]


def of_resume(row: Iterable[dict[str, Any]], texts: Iterable[str]) -> list[Block]:
    """The blocks of a resume's truth, which knows texts by their SHA-256 only.

    Args:
        texts: The texts that we render; one that was sent with a newline more is the same.
    """
    known = {}
    for text in (*texts, NO_RESPONSE, TOOL_LOADED, NO_CONTENT):
        for form in (text, text + "\n", cleaned(text)):
            known[_sha(form)] = cleaned(text)
    found = []
    for block in row:
        role, kind = block["role"][0], block["type"]
        name, text = block.get("id", ""), ""
        if kind == "tool_use":
            name = f"{name} {renamed(block['name'])}"
        elif kind == "text":
            text = known.get(block["sha"], f"? {block['head']}")
        found.append(Block(role, kind, name, text, bool(block.get("is_error"))))
    return found


def _sha(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def texts_of(request: dict[str, Any]) -> list[str]:
    """All texts of a request's text blocks, as they are rendered."""
    texts = []
    for message in request["messages"]:
        content = message["content"]
        listed = [{"type": "text", "text": content}] if isinstance(content, str) else content
        texts += [block["text"] for block in listed if block["type"] == "text"]
    return texts


def differences(ours: list[Block], theirs: list[Block], typed: Collection[str] = ()) -> list[str]:
    """The name of each difference, in order; one without a name is told in full.

    Args:
        typed: What a person typed while a turn was running: that is sent as a part of a result.
    """
    found = []
    if any(block.text in typed for block in ours):
        found.append("typed-while-working")
        ours = [block for block in ours if block.text not in typed]
    for op, a, b, c, d in SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes():
        if op != "equal":
            found += _named(ours[a:b], theirs[c:d], at_start=c == 0)
    return found


ADDED = {
    Block("a", "text", text=NO_RESPONSE): "no-response-requested",
    Block("u", "text", text=TOOL_LOADED): "tool-loaded",
}
"""What the program adds at a resume."""


def _named(ours: list[Block], theirs: list[Block], *, at_start: bool) -> list[str]:
    names = [ADDED[block] for block in theirs if block in ADDED]
    theirs = [block for block in theirs if block not in ADDED]
    if at_start and ours[:1] == [Block("u", "text", text=SHOWN_FROM_HERE)]:
        names.append("leading-assistant")
        ours = ours[1:]
    if ours == [Block("u", "text", text=NO_CONTENT)] and theirs == [Block("u", "text")]:
        names.append("blank-text")
        ours = theirs
    if theirs[-1:] == [Block("a", "thinking")] and ours == theirs[:-1]:
        names.append("thinking-last")
        ours = theirs
    return names if ours == theirs else [*names, f"unexplained: {ours} is {theirs}"]


class Sent(NamedTuple):
    """A block of a recorded request, in full.

    Attributes:
        role: Of its message.
        body: The block, ``cache_control`` left out, as canonical JSON.
    """

    role: str
    body: str


ELIDED = re.compile(
    r"\[elided \d+ chars of harness-owned text\]"
    r"|<system-reminder>\nThe task tools haven't been used recently\..*?</system-reminder>",
    re.DOTALL,
)
"""The program's own words. One reminder was left in the recorded request, not in the transcript."""

REMINDER = re.compile(r"\n*<system-reminder>.*</system-reminder>\n*\Z", re.DOTALL)


def sent_blocks(request: dict[str, Any], *, reminders: bool) -> list[Sent]:
    """The blocks of a request to compare in full: ids, inputs, thinking, images, results.

    Args:
        reminders: Compare what the harness put before the model too. Versions before 2.1.3xx do not
            record it.
    """
    found = []
    for message in request["messages"]:
        content = message["content"]
        listed = [{"type": "text", "text": content}] if isinstance(content, str) else content
        for block in listed:
            body = _without_marks(block, reminders)
            if body is not None:
                found.append(Sent(message["role"], json.dumps(body, sort_keys=True)))
    return found


def _without_marks(block: Any, reminders: bool) -> Any:
    """A block without ``cache_control``, white space at the ends of texts, elided words."""
    if isinstance(block, str):
        text = block if reminders else REMINDER.sub("", block)
        return ELIDED.sub("[elided]", text).strip()
    body = {key: value for key, value in block.items() if key != "cache_control"}
    for key in ("text", "content"):
        if isinstance(body.get(key), str):
            body[key] = _without_marks(body[key], reminders)
        elif isinstance(body.get(key), list):
            inner = (_without_marks(part, reminders) for part in body[key])
            body[key] = [part for part in inner if part is not None]
    harness = body.get("text") in ("", "[elided]") or _is_reminder(body.get("text"))
    return None if body["type"] == "text" and harness and not reminders else body


def _is_reminder(text: Any) -> bool:
    return isinstance(text, str) and text.startswith("<system-reminder>")
