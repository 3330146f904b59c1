"""What is built and installed once for the tests of this folder: offline, with what is there."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def run(*command: str | Path, cwd: Path) -> str:
    """What a command prints, or an error that shows it."""
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, capture_output=True, text=True, encoding="utf-8"
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


class Environment:
    """A virtual environment that has this one's dependencies, but not this one's foldlog."""

    def __init__(self, folder: Path) -> None:
        venv.create(folder, symlinks=sys.platform != "win32")
        self.scripts = folder / ("Scripts" if sys.platform == "win32" else "bin")
        self.python = self.scripts / "python"
        self._elsewhere = folder.parent
        # A path in a .pth file is searched, but the .pth files in it (editable installs) are not.
        packages = Path(self.run("import sysconfig; print(sysconfig.get_path('purelib'))").strip())
        (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")

    def install(self, *arguments: str | Path) -> None:
        pip = ("-m", "pip", "--python", self.python, "install", "--quiet", "--no-index")
        run(sys.executable, *pip, "--no-deps", *arguments, cwd=self._elsewhere)

    def run(self, code: str) -> str:
        """What a program prints that runs far from the project."""
        return run(self.python, "-I", "-c", code, cwd=self._elsewhere)

    def foldlog(self, *arguments: str | Path) -> str:
        """What the installed command prints."""
        return run(self.scripts / "foldlog", *arguments, cwd=self._elsewhere)


def build(kind: str, source: Path, into: Path) -> Path:
    """Build ``wheel`` or ``sdist`` from a source tree; the one file that comes out."""
    run(sys.executable, "-m", "build", f"--{kind}", "--no-isolation", "--outdir", into, cwd=source)
    (built,) = into.iterdir()
    return built


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the project."""
    return build("wheel", ROOT, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="session")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source distribution, built from the project."""
    return build("sdist", ROOT, tmp_path_factory.mktemp("sdist"))


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """An environment with the wheel alone."""
    environment = Environment(tmp_path_factory.mktemp("installed") / "venv")
    environment.install(wheel)
    return environment
