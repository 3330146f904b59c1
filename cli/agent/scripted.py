"""A scripted model: it says what a file says, through the real SDK, for demos and tests.

    model = "claude-opus-5-5"          # the name in requests and replies; without, "scripted"
    window = 8000                      # tokens; a longer request is refused, as the API does it
    pause = 0.02                       # seconds between two pieces of a stream; without, none

    [[reply]]
    thinking = "I should look first."
    text = "Let me look."
    calls = [{ name = "read", input = { path = "a.py" } }, { name = "bash", input = { … } }]

    [[reply]]
    errors = ["overloaded", "break"]   # what the first attempts get; then comes the reply
    text = "All is well."

    [[summary]]                        # what a model summarizer answers, one after the other
    text = "…"

A call may hold the ``replies`` of the subagent that it starts, and a reply its ``content`` as wire
blocks and its ``stop_reason``. The file is TOML, or JSON of the same shape (``.json``).

How far a session is in its script is folded from its log: as many replies as it holds were given,
as many attempts failed since. So a session that is resumed goes on where it was. ``scripted_api``
answers with it.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

from foldlog.eventstore import FoldlogError, Store

Block: TypeAlias = dict[str, Any]
Entry: TypeAlias = Mapping[str, Any]
"""A reply as the file holds it."""

OVERFLOW = "prompt is too long: {tokens} tokens > {window} maximum"

ERRORS: dict[str, tuple[int, str, str]] = {
    "overflow": (400, "invalid_request_error", OVERFLOW),
    "rate-limited": (429, "rate_limit_error", "This request would exceed your rate limit"),
    "broken": (500, "api_error", "Internal server error"),
    "overloaded": (529, "overloaded_error", "Overloaded"),
}
"""By name: the status, the type and the words that the API answers with."""

BREAK = "break"
"""The stream ends in its middle, without a word."""

KEYS = {"thinking", "text", "calls", "content", "stop_reason", "errors"}

TYPES: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("thinking", "text", "stop_reason"), (str,)),
    **dict.fromkeys(("calls", "content", "errors"), (list,)),
}
OPTIONS: dict[str, tuple[type, ...]] = {"model": (str,), "window": (int,), "pause": (int, float)}
"""What a script's values are."""


class ScriptError(FoldlogError):
    """A script cannot be read, or says what no model says."""


@dataclass(frozen=True)
class Script:
    """What a model says.

    Attributes:
        name: What the script is called in errors.
        replies: What it says, one after the other.
        summaries: What it says when it is asked for a summary.
        model: Its name.
        window: The most tokens that it reads; None for no limit.
        pause: Seconds between two pieces of a stream.
        ids: How the ids of its calls begin.
    """

    name: str
    replies: Sequence[Entry]
    summaries: Sequence[Entry] = ()
    model: str = "scripted"
    window: int | None = None
    pause: float = 0.0
    ids: str = "toolu_"

    @classmethod
    def read(cls, path: str | Path) -> Script:
        """Return the script in a file.

        Raises:
            ScriptError: It does not exist, or is not a script.
        """
        try:
            text = Path(path).read_text("utf-8")
            data = json.loads(text) if str(path).endswith(".json") else tomllib.loads(text)
            known = {k: _typed(k, data[k], kinds) for k, kinds in OPTIONS.items() if k in data}
            replies, summaries = data.get("reply", []), data.get("summary", [])
            for entry in (*replies, *summaries):
                _check(entry)
        except OSError as error:
            raise ScriptError(f"{path}: {error.strerror}. Name a file that is there.") from error
        except (ValueError, TypeError, AttributeError, RecursionError) as error:
            raise ScriptError(f"{path} is not a script: {error}") from error
        return cls(str(path), replies, summaries, **known)

    def of_call(self, tool_use_id: str) -> Script:
        """Return what the subagent says that a call starts."""
        found: Sequence[Entry] = ()
        for number, entry in enumerate(self.replies):
            made = zip(self.calls(number), entry.get("calls", ()), strict=True)
            for block, call in made:
                if block["id"] == tool_use_id:
                    found = call.get("replies", ())
        name = f"{self.name}, {tool_use_id}"
        return replace(self, name=name, replies=found, summaries=(), ids=f"{tool_use_id}_")

    def calls(self, number: int) -> list[Block]:
        """Return the calls of a reply, counted from 0. Their ids are the same each time."""
        return [
            {
                "type": "tool_use",
                "id": call.get("id") or f"{self.ids}{number + 1}_{at}",
                "name": call["name"],
                "input": call.get("input", {}),
            }
            for at, call in enumerate(self.replies[number].get("calls", ()), start=1)
        ]


def _typed(key: str, value: Any, kinds: tuple[type, ...]) -> Any:
    """Return a value of the type that the script's reader relies on."""
    if type(value) not in kinds or (type(value) in (int, float) and value < 0):
        raise ValueError(f"{key} is {value!r:.80}, and should be {kinds[-1].__name__}.")
    return value


def _check(entry: Any) -> None:
    unknown = set(entry) - KEYS
    if unknown:
        known = ", ".join(sorted(KEYS))
        raise ValueError(f"a reply holds {', '.join(sorted(unknown))}. Known are {known}.")
    for key, kinds in TYPES.items():
        if entry.get(key) is not None:
            _typed(key, entry[key], kinds)
    if not all(isinstance(block, dict) for block in entry.get("content", ())):
        raise ValueError("content is a list of blocks.")
    for error in entry.get("errors", ()):
        if error not in (*ERRORS, BREAK):
            known = ", ".join((*ERRORS, BREAK))
            raise ValueError(f"unknown error {error!r}; choose from {known}.")
    for call in entry.get("calls", ()):
        if not isinstance(call.get("name"), str):
            raise ValueError("a call has no name.")
        for inner in call.get("replies", ()):
            _check(inner)


@dataclass
class Progress:
    """How far a session is in its script: a fold of its log.

    Attributes:
        replies: The replies that came whole.
        failures: The attempts that failed since the last one.
        summaries: The summaries that were asked for.
    """

    store: Store
    session: str
    replies: int = 0
    failures: int = 0
    summaries: int = 0
    _seen: int = 0

    TYPES = ("message.assistant", "request.failed", "summary.requested")

    def now(self) -> Progress:
        """Return the same, with all that was recorded since."""
        for event in self.store.read(self.session, after=self._seen, types=self.TYPES):
            self._seen = event.version
            if event.type == "summary.requested":
                self.summaries += 1
            elif event.type == "request.failed" or event.data.get("partial"):
                self.failures += 1
            else:
                self.replies, self.failures = self.replies + 1, 0
        return self
