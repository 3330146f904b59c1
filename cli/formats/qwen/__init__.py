"""Qwen Code: ``~/.qwen/projects/<project>/``, where a session is a tree of lines.

sources  which files there are       lines      a line → the events it becomes
tree     what the chain of a line    importing  one session for each file
         says
"""

from __future__ import annotations

from foldlog.cli.formats.qwen.importing import import_source
from foldlog.cli.formats.qwen.sources import default_locations, find

__all__ = ["default_locations", "find", "import_source"]
