"""The real programs, in a folder of their own: installed from npm and PyPI, then found there."""

from __future__ import annotations

import os
import platform
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
    own = {} if _node_is_new() else {node_package(): [PINS["node"]["version"]]}
    for package, versions in (PINS["npm"] | own).items():
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


def opencode() -> Path:
    """The program of OpenCode; for any platform it is a package of its own.

    Raises:
        FileNotFoundError: It is not installed.
    """
    folder = npm_folder("opencode-ai", PINS["npm"]["opencode-ai"][0]) / "node_modules"
    found = list(folder.glob("opencode-*-*/bin/opencode*"))
    if not found:
        raise FileNotFoundError(f"no OpenCode in {folder}; `make clients` installs it")
    return min(found, key=lambda path: len(str(path)))  # not that for old processors


def script(package: str, name: str) -> Path:
    """The script by which an npm package is started.

    Raises:
        FileNotFoundError: It is not installed.
    """
    found = npm_folder(package, PINS["npm"][package][0]) / "node_modules" / ".bin" / name
    if not found.exists():
        raise FileNotFoundError(f"no {found}; `make clients` installs it")
    return found.resolve()


def node() -> str:
    """A node that is new enough for all programs: that on the PATH, or one from npm."""
    if _node_is_new():
        return "node"
    package = node_package()
    place = npm_folder(package, PINS["node"]["version"]) / "node_modules" / package / "bin" / "node"
    return str(place)


def node_package() -> str:
    """The npm package that is a node for this platform."""
    machine = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64"}
    name = platform.machine().lower()
    return f"node-{sys.platform}-{machine.get(name, name)}"


def _node_is_new() -> bool:
    found = shutil.which("node")
    if found is None:
        return False
    said = subprocess.run([found, "--version"], capture_output=True, encoding="utf-8", check=True)
    version, least = said.stdout.strip().removeprefix("v"), PINS["node"]["least"]
    return _numbers(version) >= _numbers(least)


def _numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]


def python() -> Path:
    """The Python that has the clients from PyPI."""
    return FOLDER / "python" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def _run(*command: str | Path) -> None:
    done = subprocess.run([str(part) for part in command], check=False)
    if done.returncode:
        raise SystemExit(f"failed: {' '.join(map(str, command))}")
