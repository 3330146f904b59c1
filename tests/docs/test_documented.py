"""What a user may meet is documented: event types, fields, tables, errors, links."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import foldlog.eventstore
import foldlog.projections.compaction
from foldlog import EventDraft, EventStore, FoldlogError, Session
from foldlog.cli.event_types import TYPES
from foldlog.cli.formats import import_path
from foldlog.cli.formats.registry import BUILT_IN_IMPORTERS
from foldlog.cli.main import COMMANDS
from foldlog.eventstore.errors import ContextError

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "ARCHITECTURE.md", *sorted((ROOT / "docs").glob("*.md"))]
FORMAT = (ROOT / "docs" / "event-format.md").read_text(encoding="utf-8")

KINDS = "session system tools message tool permission attachment state request view summary task"
TYPE = re.compile(rf"({'|'.join(KINDS.split())}|snapshot|head|policy|content|source|turn)\.[a-z_]+")
"""What the name of an event type looks like."""


SOURCES = ("claude.", *(f"{name.replace('-', '_')}." for name in BUILT_IN_IMPORTERS))
"""What the types begin with that an importer keeps from its source."""


def sections() -> dict[str, str]:
    """Each documented event type, and what stands below its heading."""
    found = re.findall(r"^### `([^`]+)`\n(.*?)(?=^##)", FORMAT, re.MULTILINE | re.DOTALL)
    return dict(found)


def test_the_types_that_the_command_line_knows_are_those_that_are_documented() -> None:
    assert set(TYPES) == {type for type in sections() if not type.startswith(SOURCES)}


def fields(type: str) -> set[str]:
    """The documented fields of an event type."""
    return names_in(sections()[type])


def names_in(table: str) -> set[str]:
    """The names in the first column of a table."""
    rows = re.findall(r"^\| (`[^|]+) \|", table, re.MULTILINE)
    return {name for row in rows for name in re.findall(r"`(\w+)`", row)}


def nodes() -> Iterator[ast.AST]:
    """Every node of the code's syntax trees."""
    for folder in ("eventstore", "projections", "cli"):
        for path in (ROOT / folder).rglob("*.py"):
            yield from ast.walk(ast.parse(path.read_text(encoding="utf-8")))


def strings() -> set[str]:
    """Every string in the code."""
    constants = (node.value for node in nodes() if isinstance(node, ast.Constant))
    return {value for value in constants if isinstance(value, str)}


def recorded() -> set[str]:
    """Every event type that stands as the first argument of a call: what makes a draft."""
    found = set()
    for node in nodes():
        if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            found.add(str(node.args[0].value))
    return {text for text in found if TYPE.fullmatch(text)}


class TestEventTypes:
    def test_every_type_that_the_code_names_is_documented(self) -> None:
        named = {text for text in strings() if TYPE.fullmatch(text)}
        assert {"message.user", "view.edited", "head.moved"} <= named
        assert named - sections().keys() == set()

    def test_what_is_said_to_be_written_by_nothing_is_not(self) -> None:
        unwritten = {type for type, text in sections().items() if "Nothing in this" in text}
        assert unwritten & recorded() == set()

    @pytest.mark.parametrize(
        "transcript",
        ["entire_compact_2.0.76.jsonl", "gen_v197_subagents", "ccl_claude_p_errors_2.1.17.jsonl"],
    )
    def test_every_field_that_an_import_records_is_documented(self, transcript: str) -> None:
        with EventStore(":memory:") as store:
            list(import_path(store, ROOT / "tests" / "fixtures" / "claude" / transcript))
            check_fields(store)

    def test_every_field_that_a_session_records_is_documented(self) -> None:
        with EventStore(":memory:") as store:
            record_everything(Session(store, "s"))
            check_fields(store)

    def test_every_way_of_showing_is_documented(self) -> None:
        from foldlog.projections.view.pieces import _READERS

        entries = FORMAT.partition("## Entries of an edit")[2].partition("## The file")[0]
        assert set(re.findall(r"^\| `(\w+)`", entries, re.MULTILINE)) == set(_READERS)


def check_fields(store: EventStore) -> None:
    """No event of a store has a field in data or meta that its page does not name."""
    events = list(store.events())
    assert events
    unknown = {
        (event.type, name)
        for event in events
        if not event.type.startswith("claude.")
        for name in event.data.keys() - fields(event.type)
    }
    assert unknown == set()
    assert {name for event in events for name in event.meta} <= {"occurred", "source", "of", "line"}


def record_everything(session: Session) -> None:
    """Each kind of event that a session can record."""
    call: dict[str, Any] = {"type": "tool_use", "id": "a", "name": "bash", "input": {}}
    session.append(EventDraft("session.started", {"title": "t", "cwd": "/", "origin": {}}))
    session.system("be brief")
    session.tools([{"name": "bash", "input_schema": {"type": "object"}}])
    session.user("hi")
    session.assistant([call], model="m", id="msg", stop_reason="tool_use", usage={})
    session.recover()
    session.tool_result("a", "done")
    session.attach("file", "text", join=True)
    session.state("plan", ["one"])
    session.rename("another")
    session.tag(["x"])
    session.request_sent(model="m", params={"max_tokens": 1})
    session.snapshot()
    session.edit("user", "long", [{"first": 7, "last": 7, "shown": "cleared", "text": "[cleared]"}])
    session.expand(7)
    session.pin(4)
    session.rewind(8, keep_edits=True)
    session.fork()
    record_compactions(session)


def record_compactions(session: Session) -> None:
    """What preparing a view records: a decision, a refusal, an overflow, a failed summary."""
    for n in range(30):
        call = {"type": "tool_use", "id": f"r{n}", "name": "Read", "input": {"file_path": f"{n}"}}
        session.assistant([call])
        session.tool_result(f"r{n}", f"line {n} " * 400)
    session.overflowed("prompt is too long: 40000 tokens > 30000 maximum", "codex")
    session.user("go on " * 2_000)
    with suppress(ContextError):
        session.prepare("codex", window=2_000)
    with suppress(ContextError):
        session.compact("lesson", window=2_000)


class TestTables:
    def test_every_column_is_documented(self) -> None:
        with EventStore(":memory:") as store:
            for table in ("events", "payloads", "sessions"):
                columns = {
                    row[1] for row in store.db.execute(f"PRAGMA table_xinfo({table})").fetchall()
                }
                told = FORMAT.partition(f"| column of `{table}` |")[2].partition("\n\n")[0]
                assert columns == names_in(told), table


class TestCommands:
    @pytest.mark.parametrize("name", COMMANDS)
    def test_every_command_is_documented_with_its_help_and_json_keys(self, name: str) -> None:
        page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
        section = page.partition(f"### `foldlog {name}`\n")[2].partition("\n##")[0]
        assert f"Usage: foldlog {name}" in section
        if name != "sql":  # its keys are the columns that are asked for
            assert ("--json  " in section) == ("`--json`" in section or "`--json --as" in section)


class TestErrors:
    def test_every_error_is_documented_and_public(self) -> None:
        page = (ROOT / "docs" / "python-api.md").read_text(encoding="utf-8")
        public = {*foldlog.eventstore.__all__, *foldlog.projections.compaction.__all__}
        errors = [FoldlogError]
        for error in errors:
            errors.extend(error.__subclasses__())
            if error.__module__.startswith("foldlog.cli."):
                continue  # a command prints it; no program catches it
            assert f"| `{error.__name__}` |" in page
            assert error.__name__ in public
            assert inspect.getdoc(error)


class TestLinks:
    @pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
    def test_every_link_leads_somewhere(self, page: Path) -> None:
        text = page.read_text(encoding="utf-8")
        for target in re.findall(r"\]\((?!https?:)([^)\s]+)\)", text):
            path, _, anchor = target.partition("#")
            file = (page.parent / path) if path else page
            assert file.exists(), target
            if anchor:
                assert anchor in anchors(file), target

    def test_every_page_can_be_reached_from_the_readme(self) -> None:
        readme = (ROOT / "README.md").read_text(encoding="utf-8")
        missing = [
            page.name
            for page in PAGES[1:]
            if f"({page.relative_to(ROOT).as_posix()})" not in readme
        ]
        assert missing == []


def anchors(page: Path) -> set[str]:
    """The anchors that GitHub makes of a page's headings."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
