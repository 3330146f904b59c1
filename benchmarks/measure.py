"""What one process measures about itself."""

from __future__ import annotations

import inspect
import re
import statistics
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence
    from cProfile import Profile

Facts = dict[str, Any]


class Watch:
    """Times a block; ``profiler``, if there is one, sees the same block and nothing else."""

    profiler: Profile | None = None

    def __enter__(self) -> Watch:
        if self.profiler:
            self.profiler.enable()
        self.seconds = -time.perf_counter()
        return self

    def __exit__(self, *error: object) -> None:
        self.seconds += time.perf_counter()
        if self.profiler:
            self.profiler.disable()


def summary(seconds: Sequence[float]) -> Facts:
    """Median, 95th percentile and worst."""
    return {
        "median": statistics.median(seconds),
        "p95": sorted(seconds)[int(len(seconds) * 0.95)],
        "worst": max(seconds),
    }


async def settle(value: Any) -> Any:
    """Return the value itself, or what it promises."""
    return await value if inspect.isawaitable(value) else value


def size(folder: Path) -> int:
    """Bytes of all files below a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def peak_memory() -> int:
    """Return the most bytes this process held so far."""
    status = Path("/proc/self/status")
    if status.exists():  # here ru_maxrss would begin with the peak of the process that started us
        found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text())
        return int(found[1]) * 1024 if found else 0
    import resource  # not on Windows

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
