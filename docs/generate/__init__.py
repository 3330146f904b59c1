"""The generated parts of the documentation: what cog asks for, told by the program itself.

Each function prints Markdown. ``make docs`` writes the pages anew; ``make lint`` fails where a page
does not say what the program says.
"""

from docs.generate.agent import script_format, scripted_session, slash_commands
from docs.generate.backends import (
    abilities,
    conformance,
    conformance_example,
    protocol,
    session_conformance,
    shelf_append,
    shelf_open,
)
from docs.generate.command_line import commands
from docs.generate.compaction import preset, presets, rule_kinds, settings
from docs.generate.event_format import canonical_form, file, limits, repairs, sql_functions
from docs.generate.format_table import format_table
from docs.generate.formats import (
    exporter_example,
    format_protocols,
    importer_answers,
    importer_example,
    importer_tests,
)
from docs.generate.live import live_example
from docs.generate.markdown import example
from docs.generate.place import Place
from docs.generate.python_api import errors, reference
from docs.generate.sql import queries

__all__ = [
    "Place",
    "abilities",
    "canonical_form",
    "commands",
    "conformance",
    "conformance_example",
    "errors",
    "example",
    "exporter_example",
    "file",
    "format_protocols",
    "format_table",
    "importer_answers",
    "importer_example",
    "importer_tests",
    "limits",
    "live_example",
    "preset",
    "presets",
    "protocol",
    "queries",
    "reference",
    "repairs",
    "rule_kinds",
    "script_format",
    "scripted_session",
    "session_conformance",
    "settings",
    "shelf_append",
    "shelf_open",
    "slash_commands",
    "sql_functions",
]
