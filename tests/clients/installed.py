"""The real programs, in a folder of their own: installed from npm and PyPI, then found there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
FOLDER = Path(os.environ.get("FOLDLOG_CLIENTS") or ROOT / "build" / "clients").absolute()
"""Where they are; ``FOLDLOG_CLIENTS`` names another place."""

PINS: dict[str, Any] = tomllib.loads(Path(__file__).with_name("pins.toml").read_text("utf-8"))


def install() -> None:
    """Install every program that is not there yet.

    Raises:
        SystemExit: npm is missing, or an installation failed.
    """
    if shutil.which("npm") is None:
        raise SystemExit("npm is needed to install the clients, and is not on the PATH")
    for package, versions in PINS["npm"].items():
        for version in versions:
            place = npm_folder(package, version)
            if not (place / "package-lock.json").is_file():  # it is written last
                place.mkdir(parents=True, exist_ok=True)
                options = ("--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
                _run("npm", "install", *options, "--prefix", place, f"{package}@{version}")
    wanted = [f"{package}=={version}" for package, version in PINS["pypi"].items()]
    stamp = FOLDER / "python" / "installed.txt"
    if not stamp.is_file() or stamp.read_text("utf-8").split() != wanted:
        place = FOLDER / "python"
        _run(sys.executable, "-m", "venv", "--clear", "--without-pip", place)
        _run(sys.executable, "-m", "pip", "--python", python(), "install", "--quiet", *wanted)
        stamp.write_text("\n".join(wanted), encoding="utf-8")


def npm_folder(package: str, version: str) -> Path:
    """Where a version of an npm package is installed."""
    return FOLDER / f"{package.rpartition('/')[2]}-{version}"


def claude(version: str) -> Path:
    """The program of a version of Claude Code; for any platform it is a package of its own.

    Raises:
        FileNotFoundError: It is not installed.
    """
    folder = npm_folder("@anthropic-ai/claude-code", version) / "node_modules" / "@anthropic-ai"
    found = [path for path in folder.glob("claude-code-*/claude*") if path.stem == "claude"]
    if not found:
        raise FileNotFoundError(f"no Claude Code {version} in {folder}; `make clients` installs it")
    return found[0]


def python() -> Path:
    """The Python that has the clients from PyPI."""
    return FOLDER / "python" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def _run(*command: str | Path) -> None:
    done = subprocess.run([str(part) for part in command], check=False)
    if done.returncode:
        raise SystemExit(f"failed: {' '.join(map(str, command))}")
