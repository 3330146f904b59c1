"""Run the main job on a real transcript, one command after the other, as a person would.

    python -m demo [FOLDER]

FOLDER, ``demo-output`` without one, takes the store and the exported transcript; it is made anew.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

TRANSCRIPT = Path(__file__).with_name("839b35f7-4dbd-4d93-9772-3c272cc87caa.jsonl")
WIDTH = 100


class Step(NamedTuple):
    """A command, why it is run, and how much of what it prints is shown."""

    why: str
    command: str
    lines: int = 30


STEPS = (
    Step("A transcript goes in.", "foldlog import {transcript}"),
    Step("It is a session now.", "foldlog sessions"),
    Step(
        "In the middle, it ran out of context and was summarized. This is what the model saw"
        " just before:",
        "foldlog view last --at before-compaction:1 --as text",
        lines=24,
    ),
    Step("And this is what it sees now: pieces of the log.", "foldlog view last --as pieces"),
    Step(
        "What the compaction took away, by which rule, what it saved:",
        "foldlog diff last before-compaction:1 edit:-1",
    ),
    Step("How one tool result came to be out of sight:", "foldlog why last 33", lines=12),
    Step(
        "The session as a document; what the model no longer sees is marked.",
        "foldlog export last --to markdown -o {folder}/session.md",
    ),
    Step("Every hash, order, payload and view, derived anew.", "foldlog verify last --views"),
)


def run(folder: Path) -> int:
    """Run all steps; the first exit code that is not 0, else 0."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    names = {"transcript": _relative(TRANSCRIPT), "folder": _relative(folder)}
    environment = {
        **os.environ,
        "FOLDLOG_DB": str(folder / "sessions.db"),
        "COLUMNS": str(WIDTH),
        "PYTHONIOENCODING": "utf-8",
    }
    for step in STEPS:
        command = step.command.format(**names)
        print(f"\n{_bold(step.why)}\n{_dim('$')} {_bold(command)}", flush=True)
        arguments = [sys.executable, "-m", "foldlog", *shlex.split(command)[1:]]
        done = subprocess.run(
            arguments,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
        )
        print(_shortened(done.stdout, step.lines), flush=True)
        if done.returncode:
            return done.returncode
    print(
        f"\nEverything is in {names['folder']}. Try: foldlog --db {names['folder']}/sessions.db …"
    )
    return 0


def _relative(path: Path) -> str:
    """A path as a person would type it."""
    path = path.resolve()
    return (path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path).as_posix()


def _shortened(text: str, lines: int) -> str:
    """The first lines, none wider than the page, and how many more there are."""
    all_lines = text.rstrip("\n").split("\n")
    shown = [line if len(line) <= WIDTH else line[: WIDTH - 1] + "…" for line in all_lines[:lines]]
    if len(all_lines) > lines:
        shown.append(_dim(f"… {len(all_lines) - lines:,} more lines"))
    return "\n".join(shown)


def _bold(text: str) -> str:
    return _styled("1", text)


def _dim(text: str) -> str:
    return _styled("2", text)


def _styled(code: str, text: str) -> str:
    """Styled on a terminal, plain elsewhere."""
    return f"\033[{code}m{text}\033[0m" if sys.stdout.isatty() else text


if __name__ == "__main__":
    sys.exit(run(Path(sys.argv[1] if len(sys.argv) > 1 else "demo-output")))
