"""Gemini CLI: ``~/.gemini/tmp/<project>/chats/``, and what ``/chat save`` wrote.

sources   which files there are               chat       what is known of a session
messages  a message → the events it becomes   importing  one session for each file
replay    the list after each operation
"""

from __future__ import annotations

from foldlog.cli.formats.gemini.importing import import_source
from foldlog.cli.formats.gemini.sources import default_locations, find

__all__ = ["default_locations", "find", "import_source"]
