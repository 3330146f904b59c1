"""What is beside a session and no file of its own: pipes, devices, links that lead out.

A person may be given a folder of sessions by anybody. Nothing in it may keep an import waiting, or
bring a file from elsewhere into the store.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from foldlog.cli.formats.source_files import SourceFiles, object_in, read_file
from tests.cli.test_processes import run

needs_pipes = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")

OPENCODE = Path(__file__).parent / "opencode/data/legacy_storage"

SECRET = {"customTitle": "secret", "agentType": "secret", "name": "secret"}


@needs_pipes
class TestPipes:
    def test_one_is_refused_and_not_waited_for(self, tmp_path: Path) -> None:
        pipe = tmp_path / "a.jsonl"
        os.mkfifo(pipe)
        with pytest.raises(OSError, match="a pipe or a device"):
            read_file(pipe)
        assert object_in(pipe, tmp_path) == {}
        assert SourceFiles(pipe).head(pipe).problem == "it cannot be read: it is a pipe or a device"

    def test_a_device_is_refused(self) -> None:
        with pytest.raises(OSError, match="a pipe or a device"):
            read_file(Path("/dev/zero"))

    def test_one_beside_a_transcript_is_as_if_not_there(self, tmp_path: Path) -> None:
        folder = tmp_path / "sessions"
        _write_claude(folder)
        os.mkfifo(folder / "s/custom-title.json")
        os.mkfifo(folder / "s/subagents/agent-a1.meta.json")
        result = run("--db", tmp_path / "s.db", "import", folder, "--json")
        reports = list(map(json.loads, result.stdout.splitlines()))
        assert [(report["session"], report["rejected"]) for report in reports] == [
            ("s", []),
            ("agent-a1", []),
        ]

    def test_one_among_the_parts_of_a_session_is_reported(self, tmp_path: Path) -> None:
        storage = tmp_path / "storage"
        shutil.copytree(OPENCODE, storage)
        (storage / "message/test-session/msg-002.json").unlink()
        os.mkfifo(storage / "message/test-session/msg-002.json")
        result = run("--db", tmp_path / "s.db", "import", storage, "--json")
        (report,) = map(json.loads, result.stdout.splitlines())
        assert "a pipe or a device" in str(report["rejected"])
        assert report["new"] > 0


class TestLinks:
    def test_one_that_leads_out_is_not_read(self, tmp_path: Path) -> None:
        secret, folder = tmp_path / "secret.json", tmp_path / "folder"
        secret.write_text(json.dumps(SECRET))
        folder.mkdir()
        (folder / "x.json").symlink_to(secret)
        with pytest.raises(OSError, match="leads out of the folder"):
            read_file(folder / "x.json", folder)
        assert object_in(folder / "x.json", folder) == {}
        assert object_in(folder / "x.json", tmp_path) == SECRET


def _write_claude(folder: Path) -> None:
    """Write a transcript ``s`` with a subagent."""
    message = {"role": "user", "content": "go on"}
    line = {"type": "user", "uuid": "u1", "parentUuid": None, "sessionId": "s", "message": message}
    line |= {"timestamp": "2026-11-30T12:00:00.000Z", "isSidechain": False}
    agent = folder / "s/subagents/agent-a1.jsonl"
    agent.parent.mkdir(parents=True)
    agent.write_text(json.dumps({**line, "isSidechain": True, "agentId": "a1"}) + "\n")
    (folder / "s.jsonl").write_text(json.dumps(line) + "\n")
