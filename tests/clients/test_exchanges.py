"""What is recorded is neutral: nothing of a person or a machine, of long texts only their shape."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.clients.exchanges import FIXTURES, HOME, LONG_MESSAGE, Exchange, cut, neutral, recorded

ROOT = Path("/tmp/client-x1")
LONG = "\n".join(f"Rule {n}: {'do this ' * 30}" for n in range(100))
DEVICE = json.dumps({"device_id": "6b" * 32, "session_id": "s"})
BODY: dict[str, Any] = {
    "system": f"{LONG}\n# Environment\n - Primary working directory: {ROOT}/work\n{LONG}",
    "tools": [{"name": f"Tool{n}", "description": LONG} for n in range(9)] + [{"name": "Bash"}],
    "messages": [
        {"content": f"{LONG} in {ROOT}", "role": "user"},
        {"content": f"I keep {LONG}", "role": "assistant"},
    ],
    "metadata": {"user_id": DEVICE},
}


def made() -> str:
    """What is recorded of a request, as text."""
    (one,) = neutral([Exchange("/v1/messages", {}, BODY, 200, {})], ROOT)
    return json.dumps(one.body)


def test_folders_and_devices_are_replaced() -> None:
    assert str(ROOT) not in made()
    assert f"Primary working directory: {HOME}/work" in made()
    assert "6b6b" not in made()


def test_the_texts_of_a_program_are_cut_and_the_replies_are_not() -> None:
    body = json.loads(made())
    assert len(body["system"]) < 1_000
    assert len(body["messages"][0]["content"]) < 1_000
    assert body["messages"][1] == BODY["messages"][1]


def test_the_order_of_keys_stays() -> None:
    body = json.loads(made())
    assert list(body) == list(BODY)
    assert [list(message) for message in body["messages"]] == [["content", "role"]] * 2


def test_of_many_tools_few_are_kept() -> None:
    assert json.loads(made())["tools"] == [{"name": "Bash"}]


def test_a_text_is_cut_in_the_same_way_wherever_it_is() -> None:
    assert cut(LONG, 300) == cut(LONG, 1_500)
    assert cut("short", 300) == "short"


@pytest.mark.parametrize("name", recorded())
def test_no_recording_holds_a_key_a_place_or_a_long_text(name: str) -> None:
    text = (FIXTURES / f"{name}.jsonl").read_text("utf-8")
    assert re.findall(r"sk-ant|test-key|/root\b|/tmp/|/Users/|\\\\Users", text) == []
    assert set(re.findall(r"/home/\w+", text)) <= {HOME}
    for line in text.splitlines():
        body = json.loads(line)["body"]
        texts = re.findall(r'"((?:[^"\\]|\\.)*)"', json.dumps(body, ensure_ascii=False))
        assert max(map(len, texts)) < LONG_MESSAGE
