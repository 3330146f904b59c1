"""A run: where its files are, how large it is, and how it starts a measurement."""

from __future__ import annotations

import hashlib
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import venv
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks import corpus

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from benchmarks.measure import Facts

HERE = Path(__file__).parent
PEERS_ENV = HERE / ".venv-peers"
REQUIREMENTS = HERE / "peers.txt"
PATIENCE = 300
"""Seconds after which a measurement is given up."""

ROUGH = 1.5
"""A round whose raw median is so many times the best was disturbed by others."""


class Failed(Exception):
    """A measurement ended in an error; the message is its last line."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much a run does.

    Attributes:
        rounds: How often a measurement is repeated.
        bulk: Messages in one transaction.
        long: Messages of the long session.
        writers: Messages of each of the writing processes.
        disk: The lengths whose bytes on disk are reported.
        starts: How often a command is started.
        forms: Turns of a loop that is recorded in two forms.
    """

    rounds: int
    bulk: int
    long: int
    writers: int
    disk: tuple[int, ...]
    starts: int
    forms: int


FULL = Sizes(5, 10_000, 100_000, 500, (100, 1_000, 10_000, 100_000), 15, 400)
QUICK = Sizes(3, 5_000, 20_000, 200, (100, 1_000, 10_000), 7, 60)


@dataclass
class Run:
    """Starts measurements, each in its own process, and keeps their files in one folder."""

    sizes: Sizes
    best: dict[str, float] = field(default_factory=dict)
    folder: Path = field(default_factory=lambda: Path(tempfile.mkdtemp(dir=HERE, prefix=".work-")))

    def calmest(self, kind: str, measure: Callable[[], Facts], rounds: int) -> list[Facts]:
        """Rounds in which raw sqlite3 (``theirs``, seconds) was about as fast as ever in this run.

        Where a commit takes ten times as long as before, because others use the disk, every store
        looks as good as raw: such rounds are repeated, but no more than twice over.
        """
        found: list[Facts] = []
        for _ in range(3 * rounds):
            found.append(measure())
            best = min(self.best.get(kind, math.inf), *(facts["theirs"] for facts in found))
            self.best[kind] = best
            if sum(facts["theirs"] <= ROUGH * best for facts in found) >= rounds:
                break
        return sorted(found, key=lambda facts: float(facts["theirs"]))[:rounds]

    def close(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    @cached_property
    def corpus(self) -> Path:
        messages = corpus.session(max(self.sizes.long, *self.sizes.disk))
        return corpus.write(messages, self.folder / "corpus.jsonl")

    @cached_property
    def peers_python(self) -> Path:
        return peers_python()

    def fresh(self) -> Path:
        """Return an empty folder for one store, kept to the end of the run."""
        return Path(tempfile.mkdtemp(dir=self.folder))

    @contextmanager
    def scratch(self) -> Iterator[Path]:
        """Yield an empty folder for one measurement: some peers write gigabytes."""
        folder = self.fresh()
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def filled(self, store: str, count: int) -> Path:
        """Return the folder of a store that holds the first messages."""
        folder = self.fresh()
        self.call("parts.bulk:fill", store=store, corpus=self.corpus, folder=folder, count=count)
        return folder

    def python(self, store: str) -> Path:
        """Return the interpreter that has what the store needs."""
        ours = store in ("raw", "foldlog", "jsonl")
        return Path(sys.executable) if ours else self.peers_python

    def call(self, target: str, **arguments: Any) -> Facts:
        """Run ``benchmarks.TARGET`` in a process of its own and return what it found.

        Raises:
            Failed: It ended in an error or took too long.
        """
        return self.execute(self.command(target, arguments))

    def execute(self, command: Sequence[str]) -> Facts:
        try:
            ended = subprocess.run(
                command,
                capture_output=True,
                text=True,
                timeout=PATIENCE,
                env=self.environment,
                cwd=HERE.parent,
            )
        except subprocess.TimeoutExpired:
            raise Failed(f"took longer than {PATIENCE} s") from None
        return result(ended.returncode, ended.stdout, ended.stderr)

    def together(self, target: str, arguments: Iterable[dict[str, Any]]) -> list[Facts]:
        """Start processes, and let them go at the same moment when all have said ``ready``."""
        started = [
            subprocess.Popen(
                self.command(target, one),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env=self.environment,
                cwd=HERE.parent,
            )
            for one in arguments
        ]
        for process in started:
            assert process.stdout is not None
            process.stdout.readline()
        for process in started:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        ended = [(process.communicate(timeout=PATIENCE), process) for process in started]
        return [result(process.returncode, *texts) for texts, process in ended]

    def command(self, target: str, arguments: dict[str, Any]) -> list[str]:
        python = self.python(str(arguments.get("store", "foldlog")))
        encoded = json.dumps(arguments, default=str)
        return [str(python), "-m", "benchmarks.worker", f"benchmarks.{target}", encoded]

    @property
    def environment(self) -> dict[str, str]:
        """Modules are compiled once; peers keep their files here and send no telemetry."""
        quiet = {"OTEL_SDK_DISABLED": "true", "PYTHONWARNINGS": "ignore"}
        ours = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        return {**ours, **quiet, "LLM_USER_PATH": str(self.folder / "llm")}


def result(code: int, output: str, errors: str) -> Facts:
    if code or not output.strip():
        raise Failed(last_line(errors) or f"exit code {code}")
    found: Facts = json.loads(output.strip().splitlines()[-1])
    return found


def last_line(text: str) -> str:
    return (text.strip().splitlines() or [""])[-1][:200]


def medians(rounds: Sequence[Facts], key: str) -> float:
    """Return the median of a figure over the rounds."""
    return float(statistics.median(facts[key] for facts in rounds))


def peers_python() -> Path:
    """Return the interpreter of the peers' environment, which is made if its requirements changed.

    A requirement that cannot be installed is left out: its peer is then reported as missing.
    """
    python = PEERS_ENV / ("Scripts" if os.name == "nt" else "bin") / "python"
    wanted = hashlib.sha256(REQUIREMENTS.read_bytes()).hexdigest()
    stamp = PEERS_ENV / "installed"
    if stamp.exists() and stamp.read_text() == wanted:
        return python
    print("installing the peers into benchmarks/.venv-peers", file=sys.stderr)
    venv.create(PEERS_ENV, with_pip=True, clear=True)
    install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    if subprocess.run([*install, "-r", str(REQUIREMENTS)]).returncode:
        lines = REQUIREMENTS.read_text().splitlines()
        for requirement in (line for line in lines if line and not line.startswith("#")):
            subprocess.run([*install, requirement])
    stamp.write_text(wanted)
    return python
