"""A thread of Codex that was imported is exported as Codex itself sent it, reasoning included.

Where a request holds injected context (skills, environment) it is left aside: the view puts system
messages where the Messages API wants them, and Codex injects its own again.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from foldlog.cli.formats import export_lines
from tests.formats.codex.cases import THREAD
from tests.formats.codex.test_requests import COMPACTION, OWN, WIRE, store

Item = dict[str, Any]

UNSAID = {"id", "status", "internal_chat_message_metadata_passthrough"}
"""What the API gives an item, and the program notes of it."""


def plain(items: list[Item]) -> list[Item]:
    """Items without what is of the API, and without injected context."""
    return [_plain(item) for item in items if not _is_injected(item)]


def _is_injected(item: Item) -> bool:
    if item["type"] != "message":
        return False
    return item["role"] == "developer" or item["content"][0].get("text", "").startswith("<")


def _plain(item: Item) -> Item:
    made = {key: value for key, value in item.items() if key not in UNSAID}
    match made["type"]:
        case "message":
            parts = made["content"]
            made["content"] = [{k: v for k, v in p.items() if k != "annotations"} for p in parts]
        case "reasoning":
            made.pop("content", None)
        case "function_call":
            made["arguments"] = json.loads(made["arguments"])
        case "custom_tool_call":
            made |= {"type": "function_call", "arguments": {"input": made.pop("input")}}
        case "custom_tool_call_output":
            made["type"] = "function_call_output"
    return made


@pytest.mark.parametrize(("reply", "place"), list(enumerate(OWN)))
def test_it_is_what_codex_sent(reply: int, place: int) -> None:
    firsts: dict[str, int] = {}
    for event in store().read(THREAD, types=["message.assistant"]):
        firsts.setdefault(event.data["id"], event.version)
    until = list(firsts.values())[reply] - 1
    lines = map(json.loads, export_lines(store(), THREAD, format="codex", until=until))
    mine = plain([line["payload"] for line in lines if line["type"] == "response_item"])
    sent = plain(WIRE[place][1:])
    sent = sent[:-1] if place == COMPACTION else sent  # the words that ask for a summary
    assert len(mine) == len(sent)
    pairs = zip(mine, sent, strict=True)
    assert [m for m, s in pairs if "[elided" not in json.dumps(s) and m != s] == []
    if place == OWN[1]:
        assert [item["type"] for item in mine].count("reasoning") == 1
