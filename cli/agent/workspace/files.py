"""Files as the tools treat them: known by what they held, written whole or not at all."""

from __future__ import annotations

import os
import secrets
import stat
from codecs import BOM_UTF8 as BOM
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from foldlog.cli.agent.tool import Context, ToolFailed

WHOLE_BYTES = 10 * 1024 * 1024
"""Up to this size a file is loaded whole and known by its content, a larger one by its size and
time."""


def regular(path: Path, context: Context) -> os.stat_result:
    """Return the facts of a file that is there, and is neither a folder nor a device.

    Raises:
        ToolFailed: It is something else.
    """
    name = context.shown(path)
    try:
        found = path.stat()
    except FileNotFoundError:
        raise ToolFailed(f"{name} does not exist.") from None
    except (OSError, ValueError) as error:
        raise ToolFailed(f"{name} cannot be read: {error}.") from error
    if stat.S_ISDIR(found.st_mode):
        raise ToolFailed(f"{name} is a folder. List what is in it with glob.")
    if not stat.S_ISREG(found.st_mode):
        raise ToolFailed(f"{name} is not a file but a device, a pipe or a socket.")
    return found


def load(path: Path, context: Context) -> bytes:
    """Return all of a file that is small enough.

    Raises:
        ToolFailed: It is not, or cannot be read.
    """
    if (size := regular(path, context).st_size) > WHOLE_BYTES:
        raise ToolFailed(
            f"{context.shown(path)} has {size:,} bytes, more than {WHOLE_BYTES:,}: change it with a"
            " command."
        )
    try:
        return path.read_bytes()
    except OSError as error:
        raise ToolFailed(f"{context.shown(path)} cannot be read: {error.strerror}.") from error


def fingerprint(path: Path, data: bytes | None = None) -> str:
    """Return what a file holds, in a few characters.

    Args:
        data: Its content, where it was loaded.
    """
    found = path.stat()
    if data is None and found.st_size <= WHOLE_BYTES:
        data = path.read_bytes()
    if data is not None:
        return f"sha256:{sha256(data).hexdigest()}"
    return f"{found.st_ino}:{found.st_size}:{found.st_mtime_ns}"


def check_seen(path: Path, data: bytes, context: Context) -> None:
    """Refuse to change what the model does not know.

    Raises:
        ToolFailed: It never read the file, or the file was changed since.
    """
    name, seen = context.shown(path), context.seen.get(path)
    if seen is None:
        raise ToolFailed(f"{name} was not read yet. Read it, then change it.")
    if seen != fingerprint(path, data):
        raise ToolFailed(f"{name} was changed since you read it. Read it again, then change it.")


def text_of(data: bytes) -> str:
    """Return the text of a file; bytes that are not UTF-8 survive ``encoded``."""
    return data.decode("utf-8", "surrogateescape")


def encoded(text: str) -> bytes:
    """Return a text as a file holds it.

    Raises:
        ToolFailed: No encoding takes it.
    """
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise ToolFailed(f"The text holds half a character: {error.reason}.") from error


def like(before: bytes, text: str) -> str:
    """Return a text with the line ends and the byte order mark of the file that it replaces."""
    if b"\r\n" in before and before.count(b"\n") == before.count(b"\r\n"):
        text = text.replace("\r\n", "\n").replace("\n", "\r\n")
    marked = before.startswith(BOM) and not text.startswith("\ufeff")
    return f"\ufeff{text}" if marked else text


def replace(path: Path, data: bytes, context: Context) -> None:
    """Write a file: all of it or nothing, with the permissions that it had.

    Raises:
        ToolFailed: It cannot be written; it is as it was.
    """
    temporary = path.with_name(f".foldlog-{secrets.token_hex(8)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(temporary, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileNotFoundError):
            _as_before(temporary, path.stat())
        temporary.replace(path)
    except OSError as error:
        raise ToolFailed(f"{context.shown(path)} cannot be written: {error.strerror}.") from error
    finally:
        with suppress(OSError):
            temporary.unlink()
    context.seen[path] = fingerprint(path, data)


def _as_before(file: Path, found: os.stat_result) -> None:
    """Give a file the owner, where we may, and the mode of another one."""
    with suppress(PermissionError):
        os.chown(file, found.st_uid, found.st_gid)
    file.chmod(stat.S_IMODE(found.st_mode))
