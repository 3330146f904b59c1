"""Runs of ``foldlog`` in processes of their own, which die where a test says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.server import Server

ROOT = Path(__file__).parents[2]


class Runs:
    """The program that runs and kills, see ``tests.agent.killing``."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.agent.killing"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
        )

    def __call__(self, folder: Path, api: Server, *arguments: str, **order: Any) -> int:
        """The exit status of a run: its code, or below zero the signal that it died of."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        env = {
            "ANTHROPIC_API_KEY": "k",
            "ANTHROPIC_BASE_URL": api.url,
            "FOLDLOG_DB": str(folder / "s.db"),
        }
        told = {"stdout": str(folder / "out"), "stderr": str(folder / "err")}
        order = {"arguments": arguments, "cwd": str(folder), "env": env, **told, **order}
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        return os.waitstatus_to_exitcode(int(self._process.stdout.readline()))

    def end(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=60)
