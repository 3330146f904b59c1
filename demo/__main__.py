"""Run the main job on a real transcript, one command after the other, as a person would.

    python -m demo [FOLDER]

FOLDER, ``demo-output`` without one, takes the store and the exported transcript; it is made again.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

TRANSCRIPT = Path(__file__).with_name("839b35f7-4dbd-4d93-9772-3c272cc87caa.jsonl")
SHOP = Path(__file__).with_name("shop")
SCRIPT = Path(__file__).with_name("agent.toml")
SALE = "sale {:04}: 4 lines of 1 at 0.125, each rounded to 0.12, in all 0.48\n"
WIDTH = 100
"""The characters of a line of transcript that are shown."""


class Step(NamedTuple):
    """A command and why it is run.

    Attributes:
        killed_at: The command is killed once it tells this.
    """

    why: str
    command: str
    killed_at: str | None = None


ASKED = "The till is off by some cents. Find out why and mend it."

STEPS = (
    Step("A transcript goes in.", "foldlog import {transcript}"),
    Step("It is a session now.", "foldlog sessions"),
    Step(
        "It ran out of context and was summarized. This is what the model saw just before:",
        "foldlog view last --at before-compaction:1 --as text | head -n 24",
    ),
    Step("And this is what it sees now: pieces of the log.", "foldlog view last --as pieces"),
    Step(
        "What the compaction took away, by which rule, and what that saved:",
        "foldlog diff last before-compaction:1 edit:-1",
    ),
    Step("How one tool result came to be out of sight:", "foldlog why last 33"),
    Step(
        "The session as a document. What the model no longer sees is marked.",
        "foldlog export last --to markdown | head -n 20",
    ),
    Step("All of it, in a file:", "foldlog export last --to markdown -o {folder}/session.md"),
    Step("Every hash, every payload and every view, derived anew:", "foldlog verify last --views"),
)

AGENT_STEPS = (
    Step(
        "An agent, whose model plays a script. The log that it reads overflows its window; it is"
        " compacted and goes on, until its process is killed (kill -9) in the middle of a call:",
        f"foldlog chat -p {shlex.quote(ASKED)} --model scripted:{{script}} --policy adaptive"
        " --allow bash --allow edit",
        killed_at="sleep 30",
    ),
    Step(
        "Resumed, it closes the open call as interrupted, tells the model so, and goes on:",
        "foldlog resume last --allow bash",
    ),
    Step("How the model came to see less:", "foldlog log last --type view.edited"),
    Step(
        "Each request that was sent, before the kill and after, rebuilt and proven:",
        "foldlog verify last --views",
    ),
)
"""They are run in the folder of a small shop."""


def run(folder: Path) -> int:
    """Run all steps; the first exit code that is not 0, else 0."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    names = {"transcript": _relative(TRANSCRIPT), "folder": _relative(folder)}
    code = _steps(STEPS, names, Path.cwd(), folder)
    if code:
        return code
    shop = folder / "shop"
    shutil.copytree(SHOP, shop)
    (shop / "shop.log").write_text("".join(map(SALE.format, range(1, 601))), encoding="utf-8")
    print(f"\n{_styled('1', f'$ cd {_relative(shop)}')}")
    code = _steps(AGENT_STEPS, {"script": os.path.relpath(SCRIPT, shop)}, shop, folder)
    if not code:
        print(f"\nThe store and the document are in {names['folder']}.")
    return code


def _steps(steps: Sequence[Step], names: Mapping[str, str], where: Path, folder: Path) -> int:
    environment = {
        **os.environ,
        "FOLDLOG_DB": str(folder.resolve() / "sessions.db"),
        "PAGER": "cat",
        "PYTHONIOENCODING": "utf-8",
    }
    for step in steps:
        command = step.command.format(**names)
        print(f"\n{_styled('2', '# ' + step.why)}\n{_styled('1', '$ ' + command)}", flush=True)
        if step.killed_at:
            _kill(command, step.killed_at, environment, where)
            continue
        code = _run(command, environment, where)
        if code:
            return code
    return 0


def _run(command: str, environment: Mapping[str, str], where: Path) -> int:
    """Run a command as a shell would; with ``| head -n N``, show the first N lines only."""
    command, _, lines = command.partition(" | head -n ")
    arguments = [sys.executable, "-m", "foldlog", *shlex.split(command)[1:]]
    if not lines:
        return subprocess.run(arguments, env=environment, cwd=where, check=False).returncode
    done = subprocess.run(
        arguments,
        env=environment,
        cwd=where,
        stdout=subprocess.PIPE,
        encoding="utf-8",
        check=False,
    )
    for line in done.stdout.split("\n")[: int(lines)]:
        print(line if len(line) <= WIDTH else line[: WIDTH - 1] + "…", flush=True)
    return done.returncode


def _kill(command: str, told: str, environment: Mapping[str, str], where: Path) -> None:
    """Run a command until it tells something; then kill it, so that it cannot clean up."""
    arguments = [sys.executable, "-m", "foldlog", *shlex.split(command)[1:]]
    with subprocess.Popen(
        arguments, env=environment, cwd=where, stderr=subprocess.PIPE, encoding="utf-8"
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            print(line, end="", flush=True)
            if told in line:
                process.kill()
    print(_styled("2", f"(killed: exit status {process.returncode})"), flush=True)


def _relative(path: Path) -> str:
    """Return a path as a person would type it."""
    path = path.resolve()
    return (path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path).as_posix()


def _styled(code: str, text: str) -> str:
    """Styled on a terminal, plain elsewhere."""
    return f"\033[{code}m{text}\033[0m" if sys.stdout.isatty() else text


if __name__ == "__main__":
    sys.exit(run(Path(sys.argv[1] if len(sys.argv) > 1 else "demo-output")))
