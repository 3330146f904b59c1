"""The example for the Claude Agent SDK, run as it stands on the page, its program for real.

The SDK brings a program of 400 MB: it is no part of the tests' environment. Where it is installed
(``pip install claude-agent-sdk``), this runs.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from docs.generate.live import AGENT_SDK
from foldlog.eventstore import EventStore
from foldlog.projections import Session
from tests.live.sdk import proven
from tests.server import Server, reply

pytest.importorskip("claude_agent_sdk")
pytest.importorskip("aiohttp")
ROOT = Path(__file__).parents[2]


def test_its_requests_are_recorded(
    api: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    api.respond = lambda _: reply("An empty folder.")
    for name, value in {
        "ANTHROPIC_API_KEY": "test",
        "CLAUDE_CONFIG_DIR": str(tmp_path / "config"),
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "NO_PROXY": "*",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    command = [sys.executable, "-m", "foldlog", "--db", str(tmp_path / "s.db"), "proxy"]
    command += ["--port", "0", "--upstream", api.url]
    proxy = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        assert proxy.stdout is not None
        told = next(line for line in proxy.stdout if "ANTHROPIC_BASE_URL=" in line)
        address = told.strip().partition("ANTHROPIC_BASE_URL=")[2]
        exec(AGENT_SDK.replace("http://127.0.0.1:4141", address), {"__name__": "__main__"})
    finally:
        proxy.terminate()
        proxy.wait(30)
    assert capsys.readouterr().out.strip().endswith("An empty folder.")
    with EventStore(tmp_path / "s.db") as store:
        [row] = store.sessions()
        session = Session(store, row.session)
        [answer] = store.read(row.session, types=["message.assistant"])
        assert answer.data["content"] == [{"type": "text", "text": "An empty folder."}]
        proven(session)
