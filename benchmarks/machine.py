"""What a table was measured on: machine, disk, versions."""

from __future__ import annotations

import os
import platform
import shlex
import sqlite3
import statistics
import time
from contextlib import suppress
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from benchmarks.run import HERE

PACKAGES = ("foldlog", "orjson", "zstandard", "sqlite-utils", "click")


def facts(arguments: list[str], minutes: float) -> list[str]:
    """Lines of Markdown for the head of the table."""
    command = shlex.join(["python", "-m", "benchmarks", *arguments])
    cores, gigabytes = os.cpu_count(), memory() / 2**30
    return [
        f"`{command}`, {date.today().isoformat()}, {minutes:.0f} minutes",
        "",
        f"* {processor()}, {cores} cores, {gigabytes:.0f} GB, {platform.platform()}",
        f"* append and fsync of 4 KB: {fsync_time() * 1e6:.0f} µs; {load()}",
        f"* Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}, {versions()}",
    ]


def processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(": ")[2]
    return platform.processor() or platform.machine()


def memory() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def load() -> str:
    """Return whether others were at work: a run keeps one core busy, or all of them for a
    moment.
    """
    return f"load of the last quarter of an hour: {os.getloadavg()[2]:.1f}"


def fsync_time(rounds: int = 200) -> float:
    """Return the median of an append of one page and its fsync, beside the stores that are
    measured.
    """
    path = HERE / ".fsync"
    seconds = []
    try:
        with path.open("wb", buffering=0) as file:
            for _ in range(rounds):
                start = time.perf_counter()
                file.write(bytes(4096))
                os.fsync(file.fileno())
                seconds.append(time.perf_counter() - start)
    finally:
        path.unlink(missing_ok=True)
    return statistics.median(seconds)


def versions() -> str:
    found = []
    for package in PACKAGES:
        with suppress(PackageNotFoundError):
            found.append(f"{package} {version(package)}")
    return ", ".join(found)
