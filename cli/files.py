"""Writing files that only their owner may read: whole, or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

import click


def write(path: Path, chunks: Iterable[bytes], *, force: bool) -> None:
    """Write a file, readable by its owner only. It appears when it is complete.

    What is there and is no regular file (a device, a pipe) is written to as it is.

    Args:
        force: Replace a file that is there.

    Raises:
        ClickException: There is a file at that path.
        OSError: It cannot be written.
    """
    if path.exists() and not path.is_file():
        with path.open("wb") as opened:
            opened.writelines(chunks)
        return
    if path.exists() and not force:
        raise click.ClickException(f"{path} exists already. Name another file, or use --force.")
    target = path.resolve()
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as opened:
            opened.writelines(chunks)
            opened.flush()
            os.fsync(opened.fileno())
        os.replace(name, target)
    except BaseException:
        os.unlink(name)
        raise
