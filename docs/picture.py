"""The picture in the README: a real run on a real terminal, drawn as SVG.

    python -m docs.picture [FILE]

The commands run in a pseudo-terminal, so that they print what a person sees, colours included.
Linux and macOS have such terminals.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile

from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "picture.svg"
TRANSCRIPT = "839b35f7-4dbd-4d93-9772-3c272cc87caa.jsonl"
WIDTH = 100

COMMANDS = (
    f"foldlog import {TRANSCRIPT}",
    "foldlog view last --as pieces",
    "foldlog diff last before-compaction:1 edit:-1",
    "foldlog why last 33",
    "foldlog view last --at before-compaction:1 --as text | head -n 7",
)


def draw() -> str:
    """Return the SVG of a terminal in which the commands were run."""
    console = Console(record=True, width=WIDTH, file=StringIO(), color_system="truecolor")
    with TemporaryDirectory() as folder:
        for place, command in enumerate(COMMANDS):
            prompt = "\n$ " if place else "$ "
            console.print(Text.assemble((prompt, "bright_black"), (command, "bold")))
            console.print(Text.from_ansi(terminal(command, Path(folder))))
    return console.export_svg(title="foldlog", unique_id="foldlog")


def terminal(command: str, folder: Path) -> str:
    """Return what a command prints on a terminal, escape sequences included, then what it notes.

    Args:
        command: As a person types it; ``| head -n N`` shows the first N lines.
        folder: Where the store is, and nothing else: no settings of a person's own.
    """
    command, _, lines = command.partition(" | head -n ")
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "PYTHONPATH": str(ROOT),
        "FOLDLOG_DB": str(folder / "sessions.db"),
        "TERM": "xterm-256color",
        "COLUMNS": str(WIDTH),
        "LINES": "50",
        "PAGER": "cat",
        "LANG": "C.UTF-8",
    }
    arguments = [sys.executable, "-m", "foldlog", *shlex.split(command)[1:]]
    printed, noted = _run(arguments, environment)
    shown = (printed + noted).replace("\r\n", "\n").rstrip("\n").split("\n")
    return "\n".join(shown[: int(lines)] if lines else shown)


def _run(arguments: Sequence[str], environment: Mapping[str, str]) -> tuple[str, str]:
    """Run a program with a terminal as its stdout; what it prints there and on stderr."""
    import pty

    ours, theirs = pty.openpty()
    with TemporaryFile() as noted:
        process = subprocess.Popen(
            arguments, cwd=ROOT / "demo", env=environment, stdout=theirs, stderr=noted
        )
        os.close(theirs)
        printed = b"".join(iter(lambda: _read(ours), b""))
        os.close(ours)
        process.wait()
        noted.seek(0)
        return printed.decode(), noted.read().decode()


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 4096)
    except OSError:  # Linux says so when the other side is closed
        return b""


if __name__ == "__main__":
    Path(sys.argv[1] if len(sys.argv) > 1 else PICTURE).write_text(draw(), encoding="utf-8")
