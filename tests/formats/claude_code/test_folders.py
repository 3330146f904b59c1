"""Folders: which files are sessions, whose children and copies they are, what lies beside them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from foldlog.cli.formats import Place, default_places, detect, export_lines, import_path
from foldlog.eventstore import EventDraft, EventStore, SourceError
from tests.formats.claude_code.cases import CLAUDE, exported, imported, lines_of, report_of

AGENTS = CLAUDE / "gen_v197_subagents"
MAIN = "bbbbbbbb-2222-4222-8222-222222222222"
BIG = CLAUDE / "gen_v332_parallel_error_cjk_image_big_compact"
PARENT = CLAUDE / "gen_v332_branch_parent"
BRANCH = CLAUDE / "gen_v332_branch_child_forkedFrom"
BRANCH_ID = "a29e2bcd-d324-4cb1-a828-46a128aa4865"


@pytest.fixture
def store() -> EventStore:
    return EventStore(":memory:")


def started(store: EventStore, session: str) -> dict[str, Any]:
    """The data of a session's first event."""
    return store.get(session, 1).data


def write(path: Path, *lines: dict[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


class TestDetection:
    @pytest.mark.parametrize(
        "line",
        [
            {"type": "user", "uuid": "1", "message": {"role": "user", "content": "x"}},
            {"type": "file-history-snapshot", "messageId": "1"},
            {"type": "summary", "summary": "x", "leafUuid": "1"},
        ],
    )
    def test_a_file_is_known_by_its_lines(self, tmp_path: Path, line: dict[str, Any]) -> None:
        assert detect(write(tmp_path / "x.jsonl", line)) == "claude-code"

    def test_an_empty_file_is_a_session_that_has_not_begun(
        self, store: EventStore, tmp_path: Path
    ) -> None:
        (tmp_path / "x.jsonl").touch()
        (report,) = import_path(store, tmp_path / "x.jsonl")
        assert (report.session, report.events, report.new) == (None, 0, 0)
        assert store.sessions() == []

    def test_a_first_line_may_be_long(self, tmp_path: Path) -> None:
        line = {"message": {"content": "x" * 200_000}, "type": "user", "uuid": "1"}
        assert detect(write(tmp_path / "x.jsonl", line)) == "claude-code"

    def test_other_files_are_of_no_known_format(self, store: EventStore, tmp_path: Path) -> None:
        with pytest.raises(SourceError, match=r"x\.jsonl is of unknown format"):
            detect(write(tmp_path / "x.jsonl", {"type": "response_item", "payload": {}}))
        with pytest.raises(SourceError, match="does not exist"):
            list(import_path(store, tmp_path / "y.jsonl"))
        with pytest.raises(SourceError, match="unknown import format 'word'; choose from claude"):
            list(import_path(store, tmp_path, format="word"))

    def test_in_a_folder_other_files_are_passed_over(
        self, store: EventStore, tmp_path: Path
    ) -> None:
        write(tmp_path / "codex.jsonl", {"type": "response_item"})
        write(tmp_path / "notes.json", {"a": 1})
        write(tmp_path / "s.jsonl", {"type": "mode", "mode": "normal"})
        read, *passed = import_path(store, tmp_path)
        assert (read.session, read.format) == ("s", "claude-code")
        assert [Path(report.file).name for report in passed] == ["codex.jsonl", "notes.json"]
        assert all("its format is none of" in report.notices[0].reason for report in passed)
        assert all(report.format == "unknown" and not report.rejected for report in passed)

    def test_the_default_place_is_the_programs_own(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path))
        place = Place(tmp_path / "projects", "claude-code", is_default=True)
        assert default_places("claude-code") == [place]


class TestSessions:
    def test_a_session_is_called_as_its_file(self, store: EventStore) -> None:
        assert report_of(store, CLAUDE / "omp_small_2.1.205.jsonl").session == "omp_small_2.1.205"

    def test_two_files_of_one_name_are_two_sessions(
        self, store: EventStore, tmp_path: Path
    ) -> None:
        one = write(tmp_path / "a/full.jsonl", {"type": "mode", "mode": "1"})
        two = write(tmp_path / "b/full.jsonl", {"type": "mode", "mode": "2"})
        names = [report_of(store, path).session for path in (one, two, one, two)]
        assert names[0] == names[2] == "full"
        assert names[1] == names[3] != "full"
        assert str(names[1]).startswith("full-")

    def test_a_file_that_was_moved_is_the_same_session(
        self, store: EventStore, tmp_path: Path
    ) -> None:
        path = write(tmp_path / "a/s.jsonl", {"type": "mode", "mode": "1"})
        report_of(store, path)
        moved = tmp_path / "s.jsonl"
        path.rename(moved)
        assert (report_of(store, moved).session, report_of(store, moved).new) == ("s", 0)

    def test_a_session_of_the_web_is_a_list_in_one_document(self, store: EventStore) -> None:
        report = report_of(store, CLAUDE / "simonw_claude_web_loglines.json")
        (first, *_) = store.read(str(report.session), types={"message.user"})
        assert first.data["content"].startswith("Create a simple Python function")
        assert store.session(str(report.session)).messages > 10

    def test_progress_is_told(self, store: EventStore) -> None:
        told: list[tuple[Path, int, int]] = []
        path = CLAUDE / "omp_small_2.1.205.jsonl"
        list(import_path(store, path, progress=lambda *step: told.append(step)))
        assert {step[0] for step in told} == {path}
        assert told[0][1] == 0
        assert told[-1][1] == told[-1][2] > 50_000


class TestSubagents:
    def test_files_in_a_sessions_folder_come_with_it(self, store: EventStore) -> None:
        reports = list(import_path(store, AGENTS / f"{MAIN}.jsonl"))
        assert [report.session for report in reports] == [
            *(MAIN, "agent-aac2e94d97eba2f6e", "agent-ae236b441d81fdb92"),
        ]

    def test_a_child_names_the_call_that_started_it(self, store: EventStore) -> None:
        list(import_path(store, AGENTS))
        data = started(store, "agent-aac2e94d97eba2f6e")
        version = data["parent"]["version"]
        assert data["parent"] == {
            "session": MAIN,
            "kind": "subagent",
            "tool_use_id": "toolu_mock002101",
            "version": version,
        }
        (call,) = store.get(MAIN, version).data["content"]
        assert call["id"] == "toolu_mock002101"
        assert data["title"] == "Count words"
        assert data["origin"]["agent_type"] == "general-purpose"

    def test_an_agents_own_lines_are_its_conversation(self, store: EventStore) -> None:
        list(import_path(store, AGENTS))
        assert store.session("agent-aac2e94d97eba2f6e").messages > 1

    def test_without_a_meta_file_the_prompt_tells_which_call_it_was(
        self, store: EventStore, tmp_path: Path
    ) -> None:
        shutil.copytree(AGENTS, tmp_path, dirs_exist_ok=True)
        for meta in tmp_path.rglob("*.meta.json"):
            meta.unlink()
        list(import_path(store, tmp_path))
        parent = started(store, "agent-ae236b441d81fdb92")["parent"]
        assert parent["tool_use_id"] == "toolu_mock002102"

    def test_a_flat_file_of_a_subagent_is_a_child_too(self, store: EventStore) -> None:
        report = report_of(store, CLAUDE / "ccl_deepmanifest_agent-c8d9b115.jsonl")
        data = started(store, str(report.session))
        assert data["parent"] == {
            "session": "a7da6a22-facc-4fcd-8bab-f83c87862004",
            "kind": "subagent",
        }

    def test_the_programs_own_transcripts_are_no_sessions(
        self, store: EventStore, tmp_path: Path
    ) -> None:
        source = next(CLAUDE.rglob("agent-acompact-*.jsonl"))
        shutil.copy(source, tmp_path)
        write(tmp_path / "s/subagents/journal.jsonl", {"type": "started", "key": "v2"})
        reports = list(import_path(store, tmp_path))
        assert [report.session for report in reports] == [None, None]
        assert all("no session" in report.notices[0].reason for report in reports)
        assert store.sessions() == []

    def test_one_that_is_named_is_imported_all_the_same(self, store: EventStore) -> None:
        source = next(CLAUDE.rglob("agent-acompact-*.jsonl"))
        assert report_of(store, source).new > 4


class TestInlineSidechains:
    FILE = CLAUDE / "dkimuson_inline_sidechain_cjk_1.0.108.jsonl"

    def test_each_sidechain_is_a_child(self) -> None:
        store, session = imported(self.FILE)
        children = [info for info in store.sessions() if info.parent == session]
        sides = [r for r in lines_of(self.FILE) if r.value and r.value["isSidechain"]]
        roots = [r for r in sides if r.value and r.value["parentUuid"] is None]
        assert len(children) == len(roots)
        recorded = [
            event
            for child in children
            for event in store.read(child.session)
            if "source" in event.meta
        ]
        assert len(recorded) == len(sides)

    def test_a_child_names_the_call_by_its_prompt(self) -> None:
        store, session = imported(self.FILE)
        for info in store.sessions():
            if info.parent == session:
                parent = started(store, info.session)["parent"]
                (call,) = store.get(session, parent["version"]).data["content"]
                assert (call["name"], call["id"]) == ("Task", parent["tool_use_id"])

    def test_the_main_conversation_does_not_hold_them(self) -> None:
        store, session = imported(self.FILE)
        texts = json.dumps([event.data for event in store.read(session)])
        side = next(r for r in lines_of(self.FILE) if r.value and r.value["isSidechain"])
        assert side.value is not None
        assert json.dumps(side.value["uuid"]) not in texts

    def test_export_puts_them_back_in_their_places(self) -> None:
        store, session = imported(self.FILE)
        uuids = [json.loads(line).get("uuid") for line in exported(store, session).splitlines()]
        assert uuids == [(record.value or {}).get("uuid") for record in lines_of(self.FILE)]

    def test_an_export_up_to_a_version_has_the_sidechains_before_it(self) -> None:
        store, session = imported(self.FILE)
        *_, last = (e for e in store.read(session, until=30) if "source" in e.meta)
        uuids = [json.loads(line).get("uuid") for line in export_lines(store, session, until=30)]
        whole = [(record.value or {}).get("uuid") for record in lines_of(self.FILE)]
        assert uuids == whole[: last.meta["source"]["line"]]
        assert len(uuids) < len(whole)


class TestCopies:
    def test_a_branch_names_the_session_and_the_line_it_left_from(self, store: EventStore) -> None:
        list(import_path(store, PARENT))
        list(import_path(store, BRANCH))
        parent = started(store, BRANCH_ID)["parent"]
        assert (parent["kind"], parent["session"]) == (
            "copy",
            "cccccccc-1111-4111-8111-111111111111",
        )
        shared = store.get(parent["session"], parent["version"])
        assert (shared.meta.get("line") or shared.data)["uuid"]

    def test_in_a_folder_the_original_comes_first(self, store: EventStore, tmp_path: Path) -> None:
        shutil.copytree(PARENT, tmp_path / "z")
        shutil.copytree(BRANCH, tmp_path / "a")
        shutil.copytree(BIG, tmp_path / "y")
        shutil.copy(CLAUDE / "gen_v332_fork_session_after_compact.jsonl", tmp_path)
        list(import_path(store, tmp_path))
        parents = {info.session: info.parent for info in store.sessions()}
        assert parents == {
            BRANCH_ID: "cccccccc-1111-4111-8111-111111111111",
            "cccccccc-1111-4111-8111-111111111111": None,
            "gen_v332_fork_session_after_compact": "11111111-1111-4111-8111-111111111111",
            "11111111-1111-4111-8111-111111111111": None,
        }

    def test_a_parent_that_is_imported_later_is_no_copy_of_its_branch(
        self, store: EventStore
    ) -> None:
        list(import_path(store, BRANCH))
        list(import_path(store, PARENT))
        assert store.session(BRANCH_ID).parent == "cccccccc-1111-4111-8111-111111111111"
        assert store.session("cccccccc-1111-4111-8111-111111111111").parent is None

    def test_a_session_that_forks_later_is_no_copy_of_its_fork(self, store: EventStore) -> None:
        report_of(store, CLAUDE / "gen_v332_fork_session_after_compact.jsonl")
        list(import_path(store, BIG))
        assert store.session("11111111-1111-4111-8111-111111111111").parent is None

    def test_a_file_that_was_copied_is_a_copy(self, store: EventStore, tmp_path: Path) -> None:
        path = CLAUDE / "omp_small_2.1.205.jsonl"
        report_of(store, path)
        shutil.copy(path, tmp_path / "backup.jsonl")
        report_of(store, tmp_path / "backup.jsonl")
        parent = started(store, "backup")["parent"]
        assert (parent["kind"], parent["session"]) == ("copy", "omp_small_2.1.205")

    def test_a_fork_is_known_by_the_line_it_begins_with(self, store: EventStore) -> None:
        list(import_path(store, BIG))
        report = report_of(store, CLAUDE / "gen_v332_fork_session_after_compact.jsonl")
        parent = started(store, str(report.session))["parent"]
        assert (parent["kind"], parent["session"]) == (
            "copy",
            "11111111-1111-4111-8111-111111111111",
        )

    def test_a_file_that_goes_on_where_another_ended_is_a_continuation(
        self, store: EventStore
    ) -> None:
        report = report_of(store, CLAUDE / "ccl_dag_resume_2sessions.jsonl")
        parent = started(store, str(report.session))["parent"]
        ids = [r.value["sessionId"] for r in lines_of(Path(report.file)) if r.value]
        assert parent == {"session": ids[0], "kind": "continuation"}
        assert ids[0] != ids[-1]

    def test_copied_content_is_stored_once(self, store: EventStore) -> None:
        list(import_path(store, BIG))
        (before,) = store.db.query("SELECT count(*) AS n FROM payloads")
        report_of(store, CLAUDE / "gen_v332_fork_session_after_compact.jsonl")
        (after,) = store.db.query("SELECT count(*) AS n FROM payloads")
        long = lines_of(CLAUDE / "gen_v332_fork_session_after_compact.jsonl")
        assert after["n"] - before["n"] < len(long) // 4


class TestBeside:
    def test_big_results_are_kept_with_the_line_that_names_them(self, store: EventStore) -> None:
        (report,) = import_path(store, BIG)
        (kept,) = store.read(str(report.session), types={"claude.tool-result-file"})
        assert kept.data["name"] == "bhevb4qs2.txt"
        assert kept.data["text"].splitlines()[19_999] == "20000"
        line = store.get(str(report.session), kept.meta["of"])
        assert line.type == "tool.result"
        assert line.data["tool_use_id"] == kept.data["tool_use_id"]
        assert "bhevb4qs2.txt" in line.data["content"]

    def test_they_are_no_lines_of_the_export(self, store: EventStore) -> None:
        (report,) = import_path(store, BIG)
        assert len(exported(store, str(report.session)).splitlines()) == 160

    def test_bytes_that_are_no_text_are_kept_as_base64(
        self, store: EventStore, tmp_path: Path
    ) -> None:
        path = write(tmp_path / "s.jsonl", {"type": "mode", "mode": "1"})
        (tmp_path / "s/tool-results").mkdir(parents=True)
        (tmp_path / "s/tool-results/a.bin").write_bytes(b"\xff\x00")
        list(import_path(store, path))
        (kept,) = store.read("s", types={"claude.tool-result-file"})
        assert kept.data == {"name": "a.bin", "base64": "/wA="}

    def test_the_title_beside_the_file_is_the_sessions(
        self, store: EventStore, tmp_path: Path
    ) -> None:
        path = write(tmp_path / "s.jsonl", {"type": "mode", "mode": "1"})
        write(tmp_path / "s/custom-title.json", {"customTitle": "mine"})
        list(import_path(store, path))
        assert store.session("s").title == "mine"
        assert [report.new for report in import_path(store, path)] == [0]

    def test_a_link_out_of_the_sessions_folder_is_not_read(
        self, store: EventStore, tmp_path: Path
    ) -> None:
        secret = tmp_path / "secret.txt"
        secret.write_text("the key")
        write(tmp_path / "secret.json", {"customTitle": "the key"})
        path = write(tmp_path / "in" / "s.jsonl", {"type": "mode", "mode": "1"})
        (tmp_path / "in/s/tool-results").mkdir(parents=True)
        (tmp_path / "in/s/tool-results/x.txt").symlink_to(secret)
        (tmp_path / "in/s/custom-title.json").symlink_to(tmp_path / "secret.json")
        (report,) = import_path(store, path)
        assert "x.txt is a symbolic link that leads out" in report.notices[0].reason
        assert "the key" not in str([event.data for event in store.read("s")])


class TestTimes:
    def test_a_session_started_when_its_first_dated_line_says(
        self, store: EventStore, tmp_path: Path
    ) -> None:
        line = {"type": "user", "uuid": "1", "message": {"role": "user", "content": "x"}}
        path = write(
            tmp_path / "s.jsonl",
            {"type": "mode", "mode": "1"},
            {**line, "timestamp": "2026-11-29T21:00:00.000+09:00"},
            {**line, "uuid": "2", "timestamp": 1_796_029_200_000},
        )
        list(import_path(store, path))
        info = store.session("s")
        assert (info.started, info.last) == ("2026-11-29T12:00:00.000Z", "2026-11-30T09:00:00.000Z")


class TestTwoImporters:
    def test_what_the_other_recorded_meanwhile_is_known(self, tmp_path: Path) -> None:
        path = CLAUDE / "omp_small_2.1.205.jsonl"
        mine, theirs = EventStore(tmp_path / "s.db"), EventStore(tmp_path / "s.db")
        append = mine.append
        calls = []

        def interrupted(*args: Any, **options: Any) -> Any:
            calls.append(args)
            if len(calls) == 1:
                report_of(theirs, path)
            return append(*args, **options)

        mine.append = interrupted  # type: ignore[method-assign]
        report = report_of(mine, path)
        assert report.new == 0
        assert report.events == theirs.last("omp_small_2.1.205")
        assert all(verdict.ok for verdict in theirs.verify())

    def test_it_is_tried_for_as_long_as_a_big_file_takes(self, tmp_path: Path) -> None:
        path = CLAUDE / "omp_small_2.1.205.jsonl"
        mine, theirs = EventStore(tmp_path / "s.db"), EventStore(tmp_path / "s.db")
        append, pauses = mine.append, iter(range(10))

        def interrupted(session: str, *args: Any, **options: Any) -> Any:
            if next(pauses, None) is not None:
                theirs.append(session, [EventDraft("note.made")])
            return append(session, *args, **options)

        mine.append = interrupted  # type: ignore[method-assign]
        assert report_of(mine, path).rejected == ()
        assert report_of(theirs, path).new == 0


class TestUnreadable:
    def test_a_file_that_cannot_be_read_does_not_keep_others_out(
        self, store: EventStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in ("a", "b"):
            write(tmp_path / f"{name}.jsonl", {"type": "mode", "mode": name})
        read = Path.read_bytes

        def refuse(path: Path) -> bytes:
            if path.name == "a.jsonl":
                raise PermissionError(13, "Permission denied")
            return read(path)

        monkeypatch.setattr(Path, "read_bytes", refuse)
        refused, read_all = import_path(store, tmp_path)
        assert refused.session is None
        assert refused.rejected[0].reason == "the file cannot be read: Permission denied"
        assert (read_all.session, read_all.rejected) == ("b", ())

    @pytest.mark.parametrize(
        "document", ['{"loglines": [ torn', f'{{"loglines":[{"[" * 300}{"]" * 300}]}}']
    )
    def test_neither_does_a_document_that_is_none(
        self, store: EventStore, tmp_path: Path, document: str
    ) -> None:
        (tmp_path / "a.json").write_text(document)
        write(tmp_path / "b.jsonl", {"type": "mode", "mode": "b"})
        reports = {Path(report.file).name: report for report in import_path(store, tmp_path)}
        assert reports["a.json"].rejected
        assert reports["b.jsonl"].session == "b"


class TestNotices:
    def test_what_the_source_allows_is_told(self, store: EventStore) -> None:
        duplicates = report_of(store, CLAUDE / "derived_duplicate_uuids.jsonl")
        orphan = report_of(store, CLAUDE / "derived_phantom_parent.jsonl")
        spliced = report_of(store, CLAUDE / "derived_spliced_records.jsonl")
        assert all("was used before" in note.reason for note in duplicates.notices)
        assert len(duplicates.notices) == 3
        assert [note.reason[-18:] for note in orphan.notices] == ["is not in the file"]
        assert "begins on the line" in spliced.notices[0].reason
        assert duplicates.rejected == orphan.rejected == ()

    def test_a_report_is_json(self, store: EventStore) -> None:
        report = report_of(store, CLAUDE / "casr_malformed_synth.jsonl").to_json()
        assert json.loads(json.dumps(report)) == report
        assert report["rejected"][0] == {
            "line": 2,
            "reason": "no JSON: Expecting value at character 1",
        }
        assert {"file", "format", "session", "events", "new", "notices", "pending"} <= report.keys()
