"""`foldlog mcp`, the real process, asked by the client of the official SDK."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from mcp import Client, StdioServerParameters, types
from mcp.shared.exceptions import MCPError

from foldlog.cli.main import foldlog
from foldlog.eventstore import EventStore
from foldlog.eventstore.codec import loads
from foldlog.projections import Session
from foldlog.projections.recall import TOOL
from tests.cli.demo import DEMO, FORK, PNG, record

HELLO = (
    '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",'
    '"capabilities":{},"clientInfo":{"name":"t","version":"0"}}}\n'
)


@pytest.fixture
def db(tmp_path: Path) -> Path:
    path = tmp_path / "sessions.db"
    with EventStore(path) as store:
        record(store)
    return path


def command(db: Path, *arguments: str) -> list[str]:
    return [sys.executable, "-m", "foldlog", "--db", str(db), "mcp", *arguments]


def ask(db: Path, *arguments: str, then: Callable[[Client], Awaitable[Any]]) -> Any:
    """What a client is told by a server that is started for it."""

    async def run() -> Any:
        program, *rest = command(db, *arguments)
        async with Client(StdioServerParameters(command=program, args=rest)) as client:
            return await then(client)

    return asyncio.run(run())


def text(result: types.CallToolResult) -> str:
    assert isinstance(result.content[0], types.TextContent)
    return result.content[0].text


def test_the_tool_is_that_of_the_agent_and_only_reads(db: Path) -> None:
    (tool,) = ask(db, DEMO, then=lambda client: client.list_tools()).tools
    assert (tool.name, tool.input_schema) == (TOOL["name"], TOOL["input_schema"])
    assert tool.annotations.read_only_hint is True
    assert tool.annotations.destructive_hint is False


def test_it_gives_back_what_was_cleared_and_writes_nothing(db: Path) -> None:
    async def talk(client: Client) -> list[types.CallToolResult]:
        asked: list[dict[str, Any]] = [{"search": "FAILED"}, {"show": f"foldlog:{DEMO}/7"}, {}]
        return [await client.call_tool("recall", arguments) for arguments in asked]

    with EventStore(db) as store:
        before = sum(1 for _ in store.events())
    found, shown, lost = ask(db, DEMO, then=talk)
    assert "7  tool.result" in text(found)
    assert "FAILED test_59" in text(shown)
    assert "replaced by summary 12" in text(lost)
    with EventStore(db) as store:
        assert sum(1 for _ in store.events()) == before


def test_a_store_that_may_not_be_written_is_read(db: Path) -> None:
    db.chmod(0o400)
    db.parent.chmod(0o500)
    try:
        found = ask(db, DEMO, then=lambda c: c.call_tool("recall", {"search": "FAILED"}))
    finally:
        db.parent.chmod(0o700)
    assert "7  tool.result" in text(found)


def test_images_are_images_unless_only_text_is_wanted(db: Path) -> None:
    async def show(client: Client) -> types.CallToolResult:
        return await client.call_tool("recall", {"show": "8"})

    with_image = ask(db, DEMO, then=show)
    assert [block.type for block in with_image.content] == ["text", "image"]
    assert (with_image.content[1].data, with_image.content[1].mime_type) == (PNG, "image/png")
    assert [block.type for block in ask(db, DEMO, "--text-only", then=show).content] == ["text"]


def test_a_mistake_is_an_answer_that_says_what_to_do(db: Path) -> None:
    result = ask(db, DEMO, then=lambda c: c.call_tool("recall", {"show": "999"}))
    assert result.is_error is True
    assert "has the versions 1 to 19, not 999" in text(result)


def test_another_session_is_read_only_where_all_may_be(db: Path) -> None:
    async def show(client: Client) -> types.CallToolResult:
        return await client.call_tool("recall", {"show": "foldlog:hostile-1/2"})

    assert ask(db, DEMO, then=show).is_error is True
    assert ask(db, DEMO, "--all", then=show).is_error is False


def test_last_is_settled_at_the_start_and_read_as_it_grows(db: Path) -> None:
    async def talk(client: Client) -> tuple[types.CallToolResult, types.CallToolResult]:
        first = await client.call_tool("recall", {"search": "heron"})
        with EventStore(db) as store:
            Session(store, "newer").user("a heron of another session")
            Session(store, FORK).user("a heron, said since")
        return first, await client.call_tool("recall", {"search": "heron"})

    with EventStore(db) as store:
        Session(store, FORK).user("now it is the last")
    first, second = ask(db, then=talk)
    assert "Nothing was found" in text(first)
    assert "a heron, said since" in text(second)
    assert "another session" not in text(second)


def test_handles_are_resources(db: Path) -> None:
    async def talk(client: Client) -> tuple[str, str]:
        (view,) = (await client.list_resources()).resources
        found = [await client.read_resource(uri) for uri in (view.uri, f"foldlog:{DEMO}/7")]
        with pytest.raises(MCPError, match="no other"):
            await client.read_resource("foldlog:hostile-1/2")
        first, second = (result.contents[0].text for result in found)
        return first, second

    view, event = ask(db, DEMO, then=talk)
    assert "4-9  replaced by summary 12" in view
    assert "FAILED test_0" in event


def test_stdin_that_is_closed_ends_it_quietly(db: Path) -> None:
    ended = subprocess.run(command(db), input=HELLO, capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert [loads(line)["id"] for line in ended.stdout.splitlines()] == [1]


def test_ctrl_c_ends_it_quietly(db: Path) -> None:
    with subprocess.Popen(
        command(db), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        process.stdin.write(HELLO.encode())
        process.stdin.flush()
        assert loads(process.stdout.readline())["id"] == 1  # it waits for the next line
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 130
        assert (process.stdout.read(), process.stderr.read()) == (b"", b"")


def test_lines_that_are_no_protocol_do_not_end_it(db: Path) -> None:
    given = "no json\n[1\n{}\n" + HELLO
    ended = subprocess.run(command(db), input=given, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 0
    assert any(loads(line).get("id") == 1 for line in ended.stdout.splitlines())


def test_without_the_sdk_one_line_says_what_to_install(
    db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "mcp", None)
    result = CliRunner().invoke(foldlog, ["--db", str(db), "mcp"])
    assert result.exit_code == 2
    assert result.stderr == (
        'Error: this needs the MCP SDK, which is not installed. Run `pip install "foldlog[mcp]"`.\n'
    )


def test_a_session_that_is_not_there_is_an_error_before_it_serves(db: Path) -> None:
    ended = subprocess.run(command(db, "nobody"), capture_output=True, text=True, timeout=60)
    assert ended.returncode == 2
    assert ended.stdout == ""
    assert len(ended.stderr.splitlines()) == 1
