"""What a program sent and what it was answered: recorded as lines of JSON, made neutral.

A line is an exchange: ``path``, ``headers`` (those that say who speaks and what is asked for),
``body`` (the request as it was sent, the order of its keys kept), ``status`` and ``answer`` (the
message, or the error). Nothing of a person or a machine is in it: folders, devices and keys are
replaced, and the long texts of a program (its instructions, its tools) are cut to a few lines, each
in the same way wherever it occurs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tests.server import Received, Server

FIXTURES = Path(__file__).parents[1] / "fixtures" / "clients"

HEADERS = re.compile(r"anthropic-(beta|version)|user-agent|x-app|x-claude-code-.*|x-stainless-.*")
"""The headers that are kept."""

HOME = "/home/user"
"""What stands for the folder that a program ran in."""

TOOLS = ("Agent", "Task", "Bash", "Read")
"""The tools that are kept of those that a harness brings."""

LONG, LONG_MESSAGE = 300, 1_500
"""Characters from which a text is cut: in instructions and tools, in messages."""


@dataclass(frozen=True)
class Exchange:
    """A request and its answer.

    Attributes:
        path: The path it was sent to.
        headers: Some of its headers, the names in lower case.
        body: Its JSON.
        status: The HTTP status.
        answer: The message, or the body of the error.
    """

    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    status: int
    answer: dict[str, Any]


def read(name: str) -> list[Exchange]:
    """The exchanges of a loop, as recorded."""
    lines = (FIXTURES / f"{name}.jsonl").read_text("utf-8").splitlines()
    return [Exchange(**json.loads(line)) for line in lines]


def write(name: str, exchanges: Iterable[Exchange]) -> Path:
    """Record the exchanges of a loop."""
    path = FIXTURES / f"{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = (json.dumps(asdict(one), ensure_ascii=False) + "\n" for one in exchanges)
    path.write_text("".join(lines), encoding="utf-8", newline="\n")
    return path


def recorded() -> list[str]:
    """The names of all loops that are recorded."""
    files = FIXTURES.glob("*/*.jsonl")
    return sorted(file.relative_to(FIXTURES).with_suffix("").as_posix() for file in files)


def heard(api: Server) -> list[Exchange]:
    """The messages that a server was asked for, and its answers."""
    return [_exchange(one) for one in api.requests if one.path == "/v1/messages"]


def _exchange(received: Received) -> Exchange:
    headers = {name: text for name, text in received.headers.items() if HEADERS.fullmatch(name)}
    if received.refusal is not None:
        status, answer = received.refusal.status, received.refusal.body("req_1")
    else:
        status, answer = 200, received.message or {}
    return Exchange(received.path, headers, received.body, status, answer)


def neutral(exchanges: Iterable[Exchange], root: Path) -> list[Exchange]:
    """The same exchanges without what is of one person or machine, and without long texts.

    Args:
        exchanges: As they were heard.
        root: The folder that the program ran in.
    """
    return [_neutral(one, root) for one in exchanges]


def _neutral(one: Exchange, root: Path) -> Exchange:
    body = {key: _CUTS.get(key, _same)(value) for key, value in one.body.items()}
    plain = json.dumps({**asdict(one), "body": body}, ensure_ascii=False)
    for pattern, text in (
        (re.escape(str(root)), HOME),
        (re.escape(re.sub(r"[^A-Za-z0-9]", "-", str(root))), HOME.replace("/", "-")),
        (r"(device_id\W+)[0-9a-f]{64}", r"\g<1>" + "0" * 64),
        (r"OS Version: [^\\\"]*", "OS Version: Linux 6.1.0"),
        (r"x64|arm64", "x64"),
    ):
        plain = re.sub(pattern, text, plain)
    return Exchange(**json.loads(plain))


def _same(value: Any) -> Any:
    return value


def _system(system: Any) -> Any:
    return _texts(system, lambda text: cut(text, LONG))


def _tools(tools: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The tools that the loops use; of many, no others."""
    few = [tool for tool in tools if len(tools) < 9 or tool.get("name") in TOOLS]
    return [_texts(tool, lambda text: cut(text, 80)) for tool in few]


def _messages(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Texts of the user, which a harness adds to; the model's own stay as they are."""
    return [
        _texts(message, lambda text: cut(text, LONG_MESSAGE))
        if message["role"] == "user"
        else message
        for message in messages
    ]


_CUTS: dict[str, Callable[[Any], Any]] = {
    "system": _system,
    "tools": _tools,
    "messages": _messages,
}


def _texts(value: Any, change: Callable[[str], str]) -> Any:
    """A value with each text in it changed."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [_texts(each, change) for each in value]
    if isinstance(value, dict):
        return {key: _texts(each, change) for key, each in value.items()}
    return value


def cut(text: str, most: int) -> str:
    """A long text by its first and last lines, and the lines that name where a program runs."""
    if len(text) <= most:
        return text
    lines = text.split("\n")
    named = [
        line for line in lines[2:-2] if re.match(r"# Environment| - [A-Z][\w ]+: .{1,60}$", line)
    ]
    shown = [*lines[:2], *named[:8], f"[{len(text)} characters, cut]", *lines[2:][-2:]]
    return "\n".join(line if len(line) <= 100 else f"{line[:80]}…" for line in shown)
