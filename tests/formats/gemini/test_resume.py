"""The view of a chat is what Gemini CLI sent when it resumed it, request by request."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from foldlog.cli.formats.gemini_blocks import Calls, blocks_of
from tests.formats.claude_code.cases import CORPUS
from tests.formats.sent import brief, messages_of

DATA = Path(__file__).parent / "data"

SENT = [json.loads(line) for line in (DATA / "sent_0.61.jsonl").open(encoding="utf-8")]

PROMPT = {"role": "user", "content": [{"type": "text", "text": "THE NEXT PROMPT"}]}

INTERRUPTED = "[The previous response was interrupted before it completed.]"
"""What the program puts where no reply follows the results of a turn; it is not on disk."""


@pytest.mark.parametrize("sent", SENT, ids=lambda sent: f"{sent['file']}:{sent['lines']}")
def test_a_resume_sends_the_view(sent: dict[str, Any], tmp_path: Path) -> None:
    path = next(
        (p for p in (DATA / sent["file"], CORPUS / "gemini" / sent["file"]) if p.exists()), None
    )
    if path is None:
        pytest.skip("the corpus is not here")
    copy = tmp_path / path.name
    copy.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[: sent["lines"]]))
    assert as_sent(messages_of(copy, "gemini")) == in_blocks(sent["contents"])


def in_blocks(contents: list[Any]) -> list[Any]:
    """Return the contents of a request as messages, without the prompt that began it."""
    calls = Calls()
    messages = [
        {
            "role": {"user": "user", "model": "assistant"}[content["role"]],
            "content": each_once(blocks_of(content["parts"], calls, str(number))),
        }
        for number, content in enumerate(contents)
    ]
    assert messages.pop() == PROMPT
    if messages[-1]["content"] == [{"type": "text", "text": INTERRUPTED}]:
        messages.pop()
    return messages


def each_once(blocks: list[Any]) -> list[Any]:
    """Leave out marks of Gemini's own, and results that a request holds twice."""
    plain = [{key: block[key] for key in block if key != "thoughtSignature"} for block in blocks]
    return [block for place, block in enumerate(plain) if block not in plain[:place]]


def as_sent(messages: list[Any]) -> list[Any]:
    """Return messages as the program sends them: with its short ids, its context by its name."""
    text = json.dumps(brief(messages))
    text = re.sub(r'"(\w+)__(?=\1_)', '"', text)
    text = re.sub(r'"<session_context>[^"\\]*(\\.[^"\\]*)*"', '"<session_context>"', text)
    return with_context(json.loads(text))


def with_context(messages: list[Any]) -> list[Any]:
    """Put the context before chats of versions that did not record it; every resume sends one."""
    context = {"type": "text", "text": "<session_context>"}
    first = messages[0]["content"]
    return [
        {**messages[0], "content": [context, *(b for b in first if b != context)]},
        *messages[1:],
    ]
