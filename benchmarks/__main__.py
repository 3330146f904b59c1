"""``python -m benchmarks [PART…] [--quick] [--write]``: measure, print the table."""

from __future__ import annotations

import argparse
import importlib
import sys
import time

from benchmarks.machine import facts
from benchmarks.run import FULL, HERE, QUICK, Failed, Run
from benchmarks.table import Report, markdown, write

PARTS = (
    "append",
    "bulk",
    "resume",
    "read",
    "concurrency",
    "disk",
    "startup",
    "import",
    "fold",
    "prepare",
    "proxy",
    "live",
    "forms",
    "serve",
)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], metavar="PART", default=[])
    parser.add_argument("--quick", action="store_true", help="fewer messages: about 3 minutes")
    parser.add_argument("--write", action="store_true", help="put the table into README.md")
    options = parser.parse_args()
    run, reports, began = Run(QUICK if options.quick else FULL), [], time.monotonic()
    try:
        for part in options.parts or PARTS:
            reports.append(measure(run, part))
    finally:
        run.close()
    minutes = (time.monotonic() - began) / 60
    text = markdown(reports, facts(sys.argv[1:], minutes))
    print(text)
    if options.write:
        write(text, HERE / "README.md")


def measure(run: Run, part: str) -> Report:
    began = time.monotonic()
    module = "imports" if part == "import" else part
    try:
        report: Report = importlib.import_module(f"benchmarks.parts.{module}").run(run)
    except Failed as failure:
        report = Report(missing=f"{part} was not measured: {failure}")
    print(f"{part}: {time.monotonic() - began:.0f} s", file=sys.stderr)
    return report


if __name__ == "__main__":
    main()
