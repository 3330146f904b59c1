"""Exit codes, and errors as one line: a command never ends with a traceback."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

import click

from foldlog.cli.safe import one_line
from foldlog.eventstore.errors import FoldlogError

FAILED = 2
"""The exit code of what could not be done."""

INTERRUPTED = 130
"""The exit code after Ctrl-C: 128 and the number of SIGINT, as shells have it."""


def print_error(error: BaseException) -> int:
    """Print on stderr what is wrong and what to do, and return the exit code for it."""
    if isinstance(error, click.Abort | KeyboardInterrupt) or _hides_ctrl_c(error):
        return INTERRUPTED
    if isinstance(error, OSError):
        let_go_of_stdout()
    click.echo(f"Error: {one_line(_message(error))}", err=True)
    return FAILED


def let_go_of_stdout() -> None:
    """Send what is still buffered nowhere, so that Python does not fail on it at its end."""
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _message(error: BaseException) -> str:
    if isinstance(error, FoldlogError):
        return str(error)
    if isinstance(error, click.UsageError):
        path = error.ctx.command_path if error.ctx else "foldlog"
        return f"{_sentence(error.format_message())} `{path} --help` lists the options."
    if isinstance(error, click.ClickException):
        return error.format_message()
    if isinstance(error, OSError):
        name = f"{error.filename}: " if error.filename else ""
        return f"{name}{error.strerror or error}. Check the path, its permissions and the disk."
    return (
        f"this should not happen: {type(error).__name__}: {error}."
        " Please report it, with the command that you ran."
    )


def _hides_ctrl_c(error: BaseException) -> bool:
    """Return whether a library wrapped a Ctrl-C in an error of its own, as pydantic does while it
    builds its classes. Only the quoted name shows it."""
    known = isinstance(error, FoldlogError | click.ClickException | OSError)
    return not known and KeyboardInterrupt.__name__ in str(error)


def _sentence(text: str) -> str:
    return text if text.endswith((".", "?", ")")) else f"{text}."
