"""The tools of the loops that are written here: they answer what a shell in the folder would."""

from pathlib import Path


class Failed(Exception):
    """A command ended with an error."""


def bash(command: str) -> str:
    """Run a command."""
    if "exit" in command:
        raise Failed("Exit code 3\n你好")
    return "notes.txt\nfound"


def read(file_path: str) -> str:
    """Read a file."""
    return Path(file_path).read_text("utf-8")
