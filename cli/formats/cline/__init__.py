"""Cline 3, and tasks of its VS Code extension, of Roo Code and of Kilo Code.

sources   which files there are       messages   a message → the events it becomes
lists     what of a list is sent      importing  one session for each file
"""

from __future__ import annotations

from foldlog.cli.formats.cline.importing import import_source
from foldlog.cli.formats.cline.sources import default_locations, find

__all__ = ["default_locations", "find", "import_source"]
