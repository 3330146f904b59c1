"""One measurement in one process: ``python -m benchmarks.worker MODULE:FUNCTION JSON``.

Prints what the function returns, as JSON, on its last line. With ``"profile": true`` the blocks
that it times run under cProfile, and the result tells the costliest functions in ``profile``.
"""

from __future__ import annotations

import asyncio
import cProfile
import importlib
import inspect
import json
import os
import pstats
import sys
from pathlib import Path
from typing import Any

from benchmarks.measure import Watch

SHOWN = 8
"""Functions of a profile that are printed."""


def main() -> None:
    target, arguments = sys.argv[1], json.loads(sys.argv[2])
    module, _, name = target.partition(":")
    function = getattr(importlib.import_module(module), name)
    paths = {key: Path(arguments[key]) for key in ("folder", "corpus") if key in arguments}
    if arguments.pop("profile", False):
        Watch.profiler = cProfile.Profile()
    result = function(**{**arguments, **paths})
    if inspect.iscoroutine(result):
        result = asyncio.run(result)
    if Watch.profiler:
        result["profile"] = costliest(Watch.profiler)
    print(json.dumps(result), flush=True)
    os._exit(0)  # a peer's threads and exit handlers are not our business


def costliest(profiler: cProfile.Profile) -> list[str]:
    """Return the functions that took most time themselves: share, calls, name."""
    stats: dict[Any, Any] = pstats.Stats(profiler).stats  # type: ignore[attr-defined]
    total = sum(own for _, _, own, _, _ in stats.values())
    ranked = sorted(stats.items(), key=lambda item: -item[1][2])[:SHOWN]
    return [
        f"{own / total:4.0%}  {calls:>7,} ×  {place(file)}{name}"
        for (file, _, name), (_, calls, own, _, _) in ranked
    ]


def place(file: str) -> str:
    return "" if file in ("~", "") else f"{Path(file).stem}."


if __name__ == "__main__":
    main()
