"""What each program is made to do, by its name and the name of the loop.

To run one by hand: ``python -m tests.clients run claude-code-2.1.332/compact`` (see __main__).
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, TypeAlias

from tests.clients import installed
from tests.clients.script import AGENT, LOOK, MUCH, SOME

PROGRAMS = Path(__file__).with_name("programs")
MODEL = "claude-sonnet-4-6"
SESSION = "11111111-2222-4333-8444-555555555555"
LIMIT = 120
"""Seconds that one run of a program may take; each takes a few."""

QUIET = (
    *("DISABLE_TELEMETRY", "DISABLE_AUTOUPDATER", "DISABLE_ERROR_REPORTING"),
    *("DISABLE_BUG_COMMAND", "DISABLE_FEEDBACK_COMMAND"),
)
ALONE = "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"


@dataclass(frozen=True)
class Desk:
    """Where a program runs: a folder with a home, a configuration and some work, and an API.

    Attributes:
        root: The folder.
        url: The address of the API.
    """

    root: Path
    url: str

    @classmethod
    def made(cls, root: Path, url: str) -> Desk:
        """A desk in an empty folder."""
        for name in ("home", "config", "work"):
            (root / name).mkdir(parents=True)
        (root / "work" / "notes.txt").write_text("笔记: the tests are in tests/.\n", "utf-8")
        return cls(root, url)

    @property
    def work(self) -> Path:
        return self.root / "work"

    def run(self, *command: str | Path, input: str = "", **more: str) -> str:
        """Run a program to its end; what it printed.

        It has a home and a key of its own, and reaches nothing but the API.

        Raises:
            AssertionError: It failed or took too long; with what it printed.
        """
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.root / "home"),
            "CLAUDE_CONFIG_DIR": str(self.root / "config"),
            "LLM_USER_PATH": str(self.root / "config"),
            "ANTHROPIC_BASE_URL": self.url,
            "ANTHROPIC_API_KEY": "test-key-of-a-client",
            "HTTPS_PROXY": "http://127.0.0.1:9",  # nothing listens there
            "NO_PROXY": "127.0.0.1",
            "CLIENT_WORK": str(self.work),
            **dict.fromkeys(QUIET, "1"),
            **more,
        }
        words = [str(part) for part in command]
        try:
            done = subprocess.run(
                words,
                cwd=self.work,
                env=environment,
                input=input,
                capture_output=True,
                encoding="utf-8",
                timeout=LIMIT,
            )
        except subprocess.TimeoutExpired as late:
            raise AssertionError(
                f"{words} did not end within {LIMIT} s:\n{late.stdout!r}\n{late.stderr!r}"
            ) from None
        assert done.returncode == 0, f"{words}\n{done.stdout}\n{done.stderr}"
        return done.stdout


Loop: TypeAlias = Callable[[Desk], object]


class ClaudeCode:
    """The loops of a version of Claude Code, each prompt a run of the program."""

    TOOLS = ("--allowedTools", "Bash", "Read", "Agent", "Task")

    def __init__(self, version: str) -> None:
        self.version = version

    def loops(self) -> dict[str, Loop]:
        """The loops by name."""
        named = (self.loop, self.compact, self.automatic, self.agent, self.stream)
        return {f"claude-code-{self.version}/{loop.__name__}": loop for loop in named}

    def loop(self, desk: Desk) -> None:
        """Several turns, each resumed."""
        self._ask(desk, LOOK, "--session-id", SESSION)
        self._ask(desk, MUCH, "--resume", SESSION)
        self._ask(desk, "And again, please.", "--resume", SESSION)

    def resume(self, desk: Desk) -> None:
        """One more turn of a session that is there."""
        self._ask(desk, "And once more, please.", "--resume", SESSION)

    def compact(self, desk: Desk) -> None:
        """A person compacts, and goes on."""
        self._ask(desk, LOOK, "--session-id", SESSION)
        self._ask(desk, "/compact", "--resume", SESSION)
        self._ask(desk, LOOK, "--resume", SESSION)

    def automatic(self, desk: Desk) -> None:
        """The program compacts by itself, since little of the window may be used."""
        little = {"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": self.PERCENT[self.version]}
        little["CLAUDE_CODE_AUTO_COMPACT_WINDOW"] = "200000"
        self._ask(desk, SOME, "--session-id", SESSION, **little)
        self._ask(desk, SOME, "--resume", SESSION, **little)
        self._ask(desk, LOOK, "--resume", SESSION, **little)

    PERCENT: ClassVar = {"2.1.332": "21", "2.1.197": "25"}
    """How much may be used: more than an empty conversation takes, less than with two results."""

    def agent(self, desk: Desk) -> None:
        """A subagent works for the first one."""
        self._ask(desk, AGENT, "--session-id", SESSION)
        self._ask(desk, "And again, please.", "--resume", SESSION)

    def stream(self, desk: Desk) -> None:
        """All that a person says in one run, with what is asked by the way (2.1.197: a title)."""
        told = (LOOK, "And again, please.")
        said = [{"type": "user", "message": {"role": "user", "content": text}} for text in told]
        streams = ("--input-format", "stream-json", "--output-format", "stream-json", "--verbose")
        given = (*streams, "--session-id", SESSION)
        lines = "".join(json.dumps(line) + "\n" for line in said)
        self._run(desk, *given, input=lines)

    def _ask(self, desk: Desk, prompt: str, *options: str, **more: str) -> None:
        self._run(desk, prompt, *options, **{ALONE: "1", **more})

    def _run(self, desk: Desk, *options: str, **more: str) -> None:
        program = installed.claude(self.version)
        desk.run(program, "-p", *options, "--model", MODEL, *self.TOOLS, **more)


def library(program: str) -> Loop:
    """A loop that is written against a library from PyPI."""
    return lambda desk: desk.run(installed.python(), PROGRAMS / program, LOOK, "And again, please.")


def typescript(program: str) -> Loop:
    """A loop that is written against the TypeScript SDK."""
    (version,) = installed.PINS["npm"]["@anthropic-ai/sdk"]
    folder = installed.npm_folder("@anthropic-ai/sdk", version)
    return lambda desk: desk.run(
        "node", PROGRAMS / program, LOOK, "And again, please.", CLIENT_FOLDER=str(folder)
    )


def _loops() -> dict[str, Loop]:
    npm, pypi = installed.PINS["npm"], installed.PINS["pypi"]
    loops: dict[str, Loop] = {}
    for version in npm["@anthropic-ai/claude-code"]:
        loops |= ClaudeCode(version).loops()
    loops[f"typescript-{npm['@anthropic-ai/sdk'][0]}/loop"] = typescript("typescript.mjs")
    loops[f"typescript-{npm['@anthropic-ai/sdk'][0]}/runner"] = typescript("tool_runner.mjs")
    for package, program in {
        "anthropic": "python_dump.py",
        "claude-agent-sdk": "agent_sdk.py",
        "langchain-anthropic": "langchain_loop.py",
        "pydantic-ai-slim[anthropic]": "pydantic_loop.py",
        "llm": "llm_loop.py",
    }.items():
        loops[f"{package.partition('[')[0]}-{pypi[package]}/loop"] = library(program)
    return loops


LOOPS = _loops()
"""Each loop by the program, its version and its own name."""
