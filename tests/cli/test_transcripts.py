"""Real transcripts through every command that reads: nothing fails, nothing leaves its place."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from markdown_it import MarkdownIt

from foldlog.cli.formats import import_path, markdown
from foldlog.cli.main import foldlog
from foldlog.eventstore import EventStore
from tests.formats.claude_code.cases import CORPUS, FIXTURES

FOLDERS = [path for path in (FIXTURES / "claude", CORPUS / "claude") if path.is_dir()]

COMMANDS = [
    ["log", "--full"],
    ["log", "--json"],
    ["view"],
    ["view", "--json"],
    ["view", "--as", "pieces"],
    ["view", "--recover"],
    ["stats"],
    ["verify", "--views"],
    ["export", "--to", "jsonl"],
    ["export", "--to", "claude-code"],
]


@pytest.fixture(scope="module", params=FOLDERS, ids=lambda path: path.parents[1].name)
def db(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with all transcripts of a folder."""
    path = tmp_path_factory.mktemp("transcripts") / "store.db"
    with EventStore(path) as store:
        list(import_path(store, request.param))
    return path


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_command_reads_every_transcript(db: Path, command: list[str]) -> None:
    with EventStore(db) as store:
        sessions = [info.session for info in store.sessions()]
    assert sessions
    for session in sessions:
        arguments = ["--db", str(db), command[0], session, *command[1:]]
        result = CliRunner().invoke(foldlog, arguments)
        assert (session, result.exit_code, result.exception) == (session, 0, None), result.stderr


def test_a_page_holds_no_html_but_its_own(db: Path) -> None:
    with EventStore(db) as store:
        for info in store.sessions():
            content = b"".join(markdown.export_lines(store, info.session)).decode()
            html = list(_html(content))
            opened = [line for line in html if line.startswith("<details><summary>")]
            assert all(line.endswith("</summary>") for line in opened), info.session
            assert len(html) == 2 * len(opened), info.session
            assert html.count("</details>") == len(opened), info.session


def _html(page: str) -> Iterator[str]:
    for token in MarkdownIt("commonmark").enable("table").parse(page):
        if token.type == "html_block":
            yield from token.content.strip().split("\n")
        yield from (child.content for child in token.children or [] if child.type == "html_inline")
