"""An importer in forty lines, what it answers, and the tests for it: docs/formats.md."""

from __future__ import annotations

import inspect
import json
from itertools import takewhile
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import dedent

from docs.examples import parley, parley_export
from docs.generate.markdown import fence, table
from docs.generate.signatures import member_of, summary
from foldlog.cli import formats
from foldlog.cli.formats import testing
from foldlog.cli.formats.import_run import ImportRun
from foldlog.cli.formats.protocols import NarrativeExporter, SessionsExporter
from foldlog.eventstore import EventStore

CHAT = (
    '{"speaker": "topic", "text": "lunch", "at": "2026-11-30T11:58:00Z"}\n'
    '{"speaker": "me", "text": "What is there to eat?", "at": "2026-11-30T11:59:00Z"}\n'
    '{"speaker": "bot", "text": "Soup.", "at": "2026-11-30T11:59:04Z"}\n'
    '{"speaker": "bot", "te\n'
    '{"speaker": "me", "text": "Aga'
)
"""A chat with a damaged line and a torn one."""


def importer_example() -> None:
    """The whole importer, as the tests install it."""
    fence(inspect.getsource(parley).rstrip(), "python")


def exporter_example() -> None:
    """The whole exporter, as the tests install it."""
    fence(inspect.getsource(parley_export).rstrip(), "python")


def importer_answers() -> None:
    """A chat, and what importing it answers and records."""
    fence(CHAT, "")
    with TemporaryDirectory() as folder, EventStore(":memory:") as store:
        path = Path(folder, "lunch.parley")
        path.write_text(CHAT, encoding="utf-8")
        run = ImportRun(store, "parley")
        for report in run.import_all(parley, parley.find(formats.SourceFiles(path, name="-"))):
            fence(json.dumps(report.to_json(), indent=2), "json")
        table(
            ("version", "type", "data"),
            *(
                (str(event.version), f"`{event.type}`", f"`{json.dumps(event.data)[:60]}`")
                for event in store.read("lunch")
            ),
        )


def format_protocols() -> None:
    """Print the functions of importers and exporters and what the protocols say of each."""
    exporters = formats.Exporter, formats.ViewExporter, formats.FolderExporter
    for protocol in (formats.Importer, *exporters, NarrativeExporter, SessionsExporter):
        print(f"\n### `{protocol.__name__}`\n\n{summary(protocol)}")
        lines: list[str] = []
        for name, method in vars(protocol).items():
            if inspect.isfunction(method) and not name.startswith("_"):
                lines += member_of(name, method)
        fence("\n".join(lines), "python")


def importer_tests() -> None:
    """Print how the tests are inherited, and what each of them promises."""
    code = (testing.__doc__ or "").partition("::\n")[2]
    shown = takewhile(lambda line: line[:1] in ("", " "), code.strip("\n").split("\n"))
    fence(dedent("\n".join(shown)).rstrip(), "python")
    print()
    for name in vars(testing.ImporterTests):
        if name.startswith("test_"):
            print(f"* {name.removeprefix('test_').replace('_', ' ')}")
