"""Where the full content of what left a view can be found: a handle, or a file.

Without a folder the text is a handle, ``foldlog:SESSION/VERSION``, which resolves in the store. A
policy that materializes names a folder; then a plan says which files should be there before its
edits are recorded. A name comes from the id of a call, which a model or a server chose: it is
sanitized, and a file that holds something else is never overwritten.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path

from foldlog.eventstore.events import Json
from foldlog.projections.compaction.decision import File
from foldlog.projections.compaction.sizes import dumped
from foldlog.projections.compaction.visible import Visible
from foldlog.projections.wire.blocks import content_of, plain_text

RESULTS = ".task_outputs/tool-results"
TRANSCRIPTS = ".transcripts"
"""The folders of learn-claude-code, below the one that a policy names."""

NAME = 120
"""The most characters of a file's name, its ending aside (learn-claude-code)."""


def safe_name(name: str) -> str:
    """Make a file's name of any text: letters, digits, dots, dashes; no folder, not hidden.

    A name that had to be changed is distinguished by its digest.
    """
    safe = re.sub(r"[^A-Za-z0-9._-]", "_", name)[:NAME].lstrip(".")
    if safe and safe == name:
        return safe
    return "-".join(filter(None, (safe, sha256(name.encode("utf-8", "replace")).hexdigest()[:8])))


def result_file(folder: str, part: Visible) -> File:
    """Return the file of a result's full content."""
    assert part.event is not None
    name = "+".join(part.calls)
    return File(f"{folder}/{RESULTS}/{safe_name(name)}.txt", full_text(part))


def transcript_file(folder: str, session: str, version: int, messages: Iterable[Json]) -> File:
    """Return the file of what stood there before a version: one message a line."""
    name = safe_name(f"transcript_{session}_{version}")
    lines = "".join(dumped(message) + "\n" for message in messages)
    return File(f"{folder}/{TRANSCRIPTS}/{name}.jsonl", lines)


def full_text(part: Visible) -> str:
    """Return what a result holds, as text: texts as they are, anything else as JSON."""
    assert part.event is not None
    whole = content_of(part.event.data.get("content"))
    if isinstance(whole, str) or all(block.get("type") == "text" for block in whole):
        return plain_text(whole)
    return dumped(whole)


def write(files: Iterable[File]) -> dict[str, str]:
    """Write the files of a plan; what is there already stays.

    Returns:
        The paths that had to be changed, because a file of that name holds something else; see
        ``Plan.moved``.
    """
    moved: dict[str, str] = {}
    for file in files:
        for path in (file.path, _other(file)):
            if _put(Path(path), file.text):
                if path != file.path:
                    moved[file.path] = path
                break
        else:
            raise FileExistsError(file.path)
    return moved


def _other(file: File) -> str:
    """Return a path with a digest of the content, for where the plain one is taken."""
    path = Path(file.path)
    digest = sha256(file.text.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return str(path.with_name(f"{path.stem}-{digest}{path.suffix}"))


def _put(path: Path, text: str) -> bool:
    """Create a file, or find that it holds the text already."""
    data = text.encode("utf-8", "surrogatepass")
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    try:
        with path.open("xb") as file:
            path.chmod(0o600)
            file.write(data)
        return True
    except FileExistsError:
        return path.is_file() and path.read_bytes() == data
