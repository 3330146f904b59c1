"""The build hook of editable installs: it puts the package's folders in their place.

In a clone, ``foldlog/eventstore``, ``foldlog/projections`` and ``foldlog/cli`` are links to the
folders of those names at the top. A source distribution holds no links (some systems have none), so
an editable install makes them. A wheel needs none: its folders are copied.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FOLDERS = ("eventstore", "projections", "cli")


class Links(BuildHookInterface[Any]):
    """Link the folders before an editable install; do nothing for any other build."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            for folder in FOLDERS:
                link(Path(self.root), folder)


def link(root: Path, folder: str) -> None:
    """Make ``foldlog/FOLDER`` lead to ``FOLDER``.

    A checkout without links has a small text file there, which is replaced.

    Raises:
        RuntimeError: The system does not let a link be made.
    """
    place = root / "foldlog" / folder
    if place.is_dir():
        return
    place.unlink(missing_ok=True)
    try:
        place.symlink_to(Path("..") / folder, target_is_directory=True)
    except OSError as error:
        raise RuntimeError(
            f"cannot link {place} to {folder}: {error}. An editable install needs links: allow them"
            " (on Windows: developer mode), or install without --editable."
        ) from error
