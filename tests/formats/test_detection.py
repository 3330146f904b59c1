"""Whose a file is: by more than one trait, and nobody's where no format recognises it."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest

from foldlog.cli.formats import IMPORTERS, SourceFiles, find, import_path
from foldlog.eventstore import EventStore
from tests.formats.claude_code.cases import CLAUDE, FIXTURES, PROBES, transcripts

TESTS = FIXTURES.parent

SAMPLES_OF = {
    "aider": ("fixtures/foreign/aider/*.md", "formats/aider/data/[mz]*.md"),
    "atif": ("fixtures/foreign/atif/*.json", "formats/atif/data/*.json"),
    "claude-code": ("fixtures/claude/*", "fixtures/claude_probes/[!E]*.jsonl"),
    "cline": ("formats/cline/data/*/*/*.messages.json",),
    "codex": ("fixtures/foreign/codex/*.jsonl", "formats/codex/data/*/sessions"),
    "copilot": ("fixtures/foreign/copilot/*.jsonl", "formats/copilot/data/c*.jsonl"),
    "droid": ("formats/droid/data/*.jsonl",),
    "dsh": ("fixtures/foreign/dsh/*.jsonl", "formats/dsh/data/*.jsonl"),
    "foldlog": ("fixtures/stores/*.jsonl",),
    "llm": ("formats/llm/data/*.db",),
    "gemini": (
        "fixtures/foreign/gemini/agtrace*",
        "fixtures/foreign/gemini/gen_*",
        "formats/gemini/data/[ar]*.json*",
    ),
    "gemini-responses": ("fixtures/foreign/gemini/geminicli_*",),
    "goose": ("fixtures/foreign/goose/*", "formats/goose/data/*[bl]"),
    "kimi": (
        "fixtures/foreign/kimi/*",
        "formats/kimi/data/c*.jsonl",
        "formats/kimi/data/*wire.jsonl",
    ),
    "openai-agents": ("formats/openai_agents/data/*.db",),
    "messages": ("formats/messages/data/*l",),
    "opencode": ("fixtures/foreign/opencode/*", "formats/opencode/data/*[!l]"),
    "openhands": ("fixtures/foreign/openhands/*", "formats/openhands/data/[9v]*"),
    "pi": ("fixtures/foreign/pi/*.jsonl", "formats/pi/data/*.jsonl"),
    "qwen": ("fixtures/foreign/qwen/*.jsonl", "formats/qwen/data/[cr]*.jsonl"),
}
"""Files and folders that programs wrote, by format, as patterns from the folder of the tests.

One that has no importer yet is nobody's. Each format adds its samples here.
"""

NO_SAMPLES = {"INDEX.tsv", "README.md", "LICENSE", "derived_empty.jsonl"}

SAMPLES = [
    (format, path)
    for format, patterns in SAMPLES_OF.items()
    for pattern in patterns
    for path in sorted(TESTS.glob(pattern))
    if path.name not in NO_SAMPLES
]

FOREIGN = [(format, path) for format, path in SAMPLES if format not in IMPORTERS]

LINE = {"type": "user", "uuid": "1", "message": {"role": "user", "content": "x"}}

DAMAGED = {
    "utf16.jsonl": (json.dumps(LINE).encode("utf-16"), "UTF-16"),
    "utf16le.jsonl": (json.dumps(LINE).encode("utf-16-le"), "UTF-16"),
    "gzip.jsonl": (gzip.compress(json.dumps(LINE).encode()), "gzip"),
    "garbage.jsonl": (bytes(range(128, 256)) * 40, "neither UTF-8 nor ASCII"),
    "prose.jsonl": (b"hello\n", "no JSON"),
}
"""Files that are not what their name says, and the word that says so."""


@pytest.fixture
def store() -> EventStore:
    return EventStore(":memory:")


def formats(path: Path) -> set[str]:
    """The formats of the sources at a path."""
    return {name for name, _ in find(SourceFiles(path))}


def write(path: Path, *lines: Any) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def sample_name(value: str | Path) -> str:
    return value if isinstance(value, str) else value.name[:40]


@pytest.mark.parametrize(("format", "path"), SAMPLES, ids=sample_name)
def test_each_detector_takes_its_own_samples_and_no_others(format: str, path: Path) -> None:
    taking = {name for name in IMPORTERS if [*IMPORTERS[name].find(SourceFiles(path))]}
    assert taking == ({format} if format in IMPORTERS else set())


def test_every_importer_has_samples() -> None:
    assert {format for format, _ in SAMPLES} >= set(IMPORTERS)


@pytest.mark.parametrize(("format", "path"), FOREIGN, ids=sample_name)
def test_a_file_of_no_format_is_reported_with_why(
    store: EventStore, format: str, path: Path
) -> None:
    for report in import_path(store, path):
        assert (report.session, report.format) == (None, "unknown")
        for note in report.rejected:
            assert note.reason.startswith(
                ("its format is none of ", "it is an SQLite database", "none of its files")
            )


@pytest.mark.parametrize("root", [CLAUDE, PROBES], ids=lambda root: root.name)
def test_every_transcript_of_claude_code_is_recognised(root: Path) -> None:
    assert set(transcripts(root)) <= {source.path for _, source in find(SourceFiles(root))}


def test_lines_that_look_alike_are_told_apart(tmp_path: Path) -> None:
    """Qwen's lines have uuid, parentUuid, sessionId and type, as Claude Code's."""
    line = {"type": "user", "uuid": "1", "parentUuid": None, "sessionId": "s", "cwd": "/"}
    message = {"role": "user", "parts": [{"text": "x"}]}
    assert formats(write(tmp_path / "x.jsonl", {**line, "message": message})) == {"qwen"}
    assert formats(write(tmp_path / "y.jsonl", {"type": "user", "sessionId": "s"})) == set()


def test_a_first_line_of_megabytes_does_not_hide_a_file(tmp_path: Path) -> None:
    long = {"message": {"role": "user", "content": "x" * 3_000_000}, "type": "user", "uuid": "0"}
    assert formats(write(tmp_path / "x.jsonl", long, LINE)) == {"claude-code"}
    assert formats(write(tmp_path / "y.jsonl", {"note": "x" * 3_000_000})) == set()


@pytest.mark.parametrize("name", DAMAGED)
def test_an_unreadable_file_is_reported_and_the_rest_goes_in(
    store: EventStore, tmp_path: Path, name: str
) -> None:
    content, why = DAMAGED[name]
    (tmp_path / name).write_bytes(content)
    write(tmp_path / "good.jsonl", LINE)
    good, bad = import_path(store, tmp_path)
    assert (good.session, good.new) == ("good", 2)
    assert (Path(bad.file).name, bad.session) == (name, None)
    assert why in bad.rejected[0].reason


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_and_a_folder_without_permission_are_reported(
    store: EventStore, tmp_path: Path
) -> None:
    write(tmp_path / "closed.jsonl", LINE).chmod(0)
    (tmp_path / "folder").mkdir(mode=0)
    write(tmp_path / "good.jsonl", LINE)
    good, *bad = import_path(store, tmp_path)
    (tmp_path / "folder").chmod(0o700)
    assert good.session == "good"
    assert {Path(report.file).name for report in bad} == {"closed.jsonl", "folder"}
    assert all("cannot be read" in report.rejected[0].reason for report in bad)


def test_what_the_system_refuses_to_open_is_reported(
    store: EventStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same for root, who may read everything."""
    (tmp_path / "folder").mkdir()
    write(tmp_path / "good.jsonl", LINE)
    write(tmp_path / "closed.jsonl", LINE)
    scandir, opened = os.scandir, Path.open

    def refuse_folder(path: Any) -> Any:
        if Path(path).name == "folder":
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    def refuse_file(path: Path, *args: Any, **named: Any) -> Any:
        if path.name == "closed.jsonl":
            raise PermissionError(13, "Permission denied", str(path))
        return opened(path, *args, **named)

    monkeypatch.setattr(os, "scandir", refuse_folder)
    monkeypatch.setattr(Path, "open", refuse_file)
    good, *bad = import_path(store, tmp_path)
    assert good.session == "good"
    assert [(Path(r.file).name, r.rejected[0].reason) for r in bad] == [
        ("closed.jsonl", "it cannot be read: Permission denied"),
        ("folder", "the folder cannot be read: Permission denied"),
    ]


def test_a_folder_without_any_session_is_reported(store: EventStore, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("hello")
    passed, folder = import_path(store, tmp_path)
    assert passed.notices
    assert "none of its files is a session of claude-code" in folder.rejected[0].reason


def test_a_file_whose_only_line_is_torn_is_pending(store: EventStore, tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text(json.dumps(LINE)[:-9])
    (report,) = import_path(store, tmp_path / "x.jsonl")
    assert (report.pending, report.session, report.rejected) == (True, None, ())


def test_a_link_out_of_the_folder_is_not_followed(store: EventStore, tmp_path: Path) -> None:
    secret = write(tmp_path / "secret.jsonl", LINE)
    folder = tmp_path / "folder"
    folder.mkdir()
    write(folder / "good.jsonl", LINE)
    (folder / "link.jsonl").symlink_to(secret)
    (folder / "inside.jsonl").symlink_to(folder / "good.jsonl")
    reports = {Path(report.file).name: report for report in import_path(store, folder)}
    assert reports["link.jsonl"].session is None
    assert "leads out of the folder" in reports["link.jsonl"].rejected[0].reason
    assert reports["inside.jsonl"].session == "inside"
