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
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "picture.svg"
TRANSCRIPT = "839b35f7-4dbd-4d93-9772-3c272cc87caa.jsonl"
WIDTH = 100

COMMANDS = (
    f"foldlog import {TRANSCRIPT}",
    "foldlog diff last before-compaction:1 edit:-1",
    "foldlog why last 33",
    "foldlog verify last --views",
)


def draw() -> str:
    """The SVG of a terminal in which the commands were run."""
    console = Console(record=True, width=WIDTH, file=StringIO(), color_system="truecolor")
    with TemporaryDirectory() as folder:
        for command in COMMANDS:
            console.print(Text.assemble(("$ ", "bright_black"), (command, "bold")))
            console.print(Text.from_ansi(terminal(command, Path(folder))))
            console.print()
    return console.export_svg(title="foldlog", unique_id="foldlog")


def terminal(command: str, folder: Path) -> str:
    """What a command prints on a terminal, escape sequences included."""
    import pty

    parent, child = pty.openpty()
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "PYTHONPATH": str(ROOT),
        "FOLDLOG_DB": str(folder / "sessions.db"),
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "COLUMNS": str(WIDTH),
        "LINES": "50",
        "PAGER": "cat",
        "LANG": "C.UTF-8",
    }
    arguments = [sys.executable, "-m", "foldlog", *shlex.split(command)[1:]]
    process = subprocess.Popen(
        arguments, cwd=ROOT / "demo", env=environment, stdin=child, stdout=child, stderr=child
    )
    os.close(child)
    printed = b"".join(iter(lambda: _read(parent), b""))
    process.wait()
    os.close(parent)
    return printed.decode().replace("\r\n", "\n").rstrip("\n")


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 4096)
    except OSError:  # Linux says so when the other side is closed
        return b""


if __name__ == "__main__":
    Path(sys.argv[1] if len(sys.argv) > 1 else PICTURE).write_text(draw(), encoding="utf-8")
