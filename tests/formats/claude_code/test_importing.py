"""Lines become events: one each, and what follows from them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from foldlog.eventstore import Event, EventStore
from foldlog.projections.render.items import items
from foldlog.projections.view.open import open_view
from tests.formats.claude_code.cases import CLAUDE, PROBES, events, imported, report_of, request

AT = "2026-11-20T10:00:{:02d}.000Z"


class Transcript:
    """Writes a transcript, a line at a time; each line hangs on the one before."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.tip: str | None = None
        self._lines: list[dict[str, Any]] = []

    def node(self, uuid: str, type_: str, **fields: Any) -> Transcript:
        """A line of the tree."""
        line = {"parentUuid": self.tip, "isSidechain": False, "type": type_, "uuid": uuid}
        line |= {"sessionId": "s", "timestamp": AT.format(len(self._lines)), **fields}
        self.tip = uuid
        return self.line(**line)

    def line(self, **line: Any) -> Transcript:
        """A line of any kind."""
        self._lines.append(line)
        self.path.write_text("".join(json.dumps(line) + "\n" for line in self._lines))
        return self

    def user(self, uuid: str, content: Any = None, **fields: Any) -> Transcript:
        message = {"role": "user", "content": uuid if content is None else content}
        return self.node(uuid, "user", message=message, **fields)

    def result(self, uuid: str, call: str, **fields: Any) -> Transcript:
        block = {"tool_use_id": call, "type": "tool_result", "content": uuid}
        return self.user(uuid, [block], **fields)

    def assistant(self, uuid: str, *blocks: Any, reply: str = "", **fields: Any) -> Transcript:
        content = list(blocks) or [{"type": "text", "text": uuid}]
        message = {"id": reply or f"msg_{uuid}", "role": "assistant", "model": "claude-x"}
        message |= {"content": content, "stop_reason": "end_turn", "usage": {"output_tokens": 3}}
        return self.node(uuid, "assistant", message=message, requestId=f"req_{uuid}", **fields)

    def call(self, uuid: str, call: str, reply: str = "", **fields: Any) -> Transcript:
        block = {"type": "tool_use", "id": call, "name": "Bash", "input": {}}
        return self.assistant(uuid, block, reply=reply, **fields)

    def boundary(self, uuid: str, **metadata: Any) -> Transcript:
        """A compaction: its boundary; the summary is the next user line."""
        return self.node(
            uuid,
            "system",
            parentUuid=None,
            logicalParentUuid=self.tip,
            subtype="compact_boundary",
            compactMetadata={"trigger": "auto", "preTokens": 90, "postTokens": 9, **metadata},
        )

    def summary(self, uuid: str) -> Transcript:
        return self.user(uuid, isCompactSummary=True)

    def events(self, *types: str) -> list[Event]:
        """The events of the import, of some types or all."""
        return events(self.path, *types)

    def shown(self, at: int | None = None) -> list[Any]:
        """What the view shows: contents, results by their id."""
        store, session = imported(self.path)
        return [_content(item.content) for item in items(open_view(store, session, at))]


def _content(content: Any) -> Any:
    block = content if isinstance(content, str) else content[0]
    return (
        block
        if isinstance(block, str)
        else block.get("text", block.get("content", block.get("id")))
    )


@pytest.fixture
def transcript(tmp_path: Path) -> Transcript:
    return Transcript(tmp_path / "s.jsonl")


class TestLines:
    def test_a_session_starts_with_where_it_came_from(self, transcript: Transcript) -> None:
        started, *_ = transcript.user("U1", cwd="/home/dev/x", version="2.1.332").events()
        assert started.type == "session.started"
        assert started.data["cwd"] == "/home/dev/x"
        assert started.data["parent"] is None
        assert started.data["origin"]["harness"] == "claude-code"
        assert started.data["origin"]["file"] == str(transcript.path)
        assert started.data["origin"]["version"] == "2.1.332"
        assert started.meta == {"of": 2, "occurred": AT.format(0)}

    def test_a_user_line(self, transcript: Transcript) -> None:
        (event,) = transcript.user("U1", promptId="p").events("message.user")
        assert event.data == {"content": "U1"}
        assert event.meta["line"]["message"] == {"role": "user", "content": None}
        assert event.meta["line"]["promptId"] == "p"
        assert event.meta["source"] == {"file": str(transcript.path), "line": 1, "offset": 0}
        assert event.meta["occurred"] == AT.format(0)

    def test_the_folder_is_the_one_where_a_person_went_on(self, transcript: Transcript) -> None:
        transcript.user("U1", cwd="/w").assistant("A1", cwd="/tmp").user("U2", cwd="/w/sub")
        assert transcript.events("session.moved") == []
        transcript.user("U3", cwd="/new/place").user("U4", cwd="/new/place/")
        (moved,) = transcript.events("session.moved")
        assert moved.data == {"cwd": "/new/place"}
        store, _ = imported(transcript.path)
        assert store.find_session("last", cwd="/new/place") == "s"
        assert transcript.shown() == ["U1", "A1", "U2", "U3", "U4"]

    def test_a_folder_of_windows_holds_others(self, transcript: Transcript) -> None:
        transcript.user("U1", cwd="C:\\w").user("U2", cwd="C:\\w\\sub").user("U3", cwd="C:\\wide")
        assert [event.data for event in transcript.events("session.moved")] == [{"cwd": "C:\\wide"}]

    def test_an_assistant_line(self, transcript: Transcript) -> None:
        (event,) = transcript.user("U1").assistant("A1").events("message.assistant")
        assert event.data == {
            "content": [{"type": "text", "text": "A1"}],
            "model": "claude-x",
            "id": "msg_A1",
            "stop_reason": "end_turn",
            "usage": {"output_tokens": 3},
            "request_id": "req_A1",
        }
        assert event.meta["line"]["message"]["role"] == "assistant"
        assert event.meta["line"]["message"]["usage"] is None

    def test_a_key_that_is_not_there_stays_away(self, transcript: Transcript) -> None:
        transcript.node("A1", "assistant", message={"content": []})
        (event,) = transcript.events("message.assistant")
        assert event.data == {"content": []}
        assert event.meta["line"]["message"] == {"content": None}

    def test_a_reply_that_was_stopped_is_partial(self, transcript: Transcript) -> None:
        transcript.user("U1").assistant("A1", isAbortedMidStream=True)
        (event,) = transcript.events("message.assistant")
        assert event.data["partial"] is True

    def test_a_line_with_one_result_and_nothing_else_is_a_result(
        self, transcript: Transcript
    ) -> None:
        (event,) = transcript.call("A1", "t1").result("R1", "t1").events("tool.result")
        assert event.data == {"tool_use_id": "t1", "content": "R1"}
        assert "is_error" not in event.data
        stub = {"tool_use_id": None, "type": "tool_result", "content": None}
        assert event.meta["line"]["message"]["content"] == [stub]

    def test_a_line_with_more_is_a_message(self, transcript: Transcript) -> None:
        result = {"type": "tool_result", "tool_use_id": "t1", "content": "done"}
        content = [result, {"type": "text", "text": "and this"}]
        (event,) = transcript.call("A1", "t1").user("U1", content).events("message.user")
        assert event.data == {"content": content}
        assert transcript.shown() == ["t1", "done", "and this"]

    def test_a_local_command_is_said_by_the_user(self, transcript: Transcript) -> None:
        transcript.user("U1").node("S1", "system", subtype="local_command", content="<command>")
        assert [event.data["content"] for event in transcript.events("message.user")] == [
            "U1",
            "<command>",
        ]

    def test_an_error_of_the_api_is_a_failed_request(self, transcript: Transcript) -> None:
        transcript.user("U1").assistant("A1", isApiErrorMessage=True, error="rate_limit")
        transcript.node("S1", "system", subtype="api_error", error={"status": 529}, retryInMs=7)
        failed, retried = transcript.events("request.failed")
        assert failed.data["error"] == "rate_limit"
        assert retried.data == {"error": {"status": 529}, "retry_in_ms": 7}
        assert transcript.shown() == ["U1"]

    def test_an_error_without_a_name_is_known_by_its_text(self, transcript: Transcript) -> None:
        transcript.user("U1").assistant("A1", isApiErrorMessage=True)
        (failed,) = transcript.events("request.failed")
        assert failed.data["error"] == {"message": "A1"}

    def test_an_attachment_has_the_text_that_was_sent(self, transcript: Transcript) -> None:
        rendered = [{"content": "<system-reminder>a</system-reminder>"}]
        kind = {"type": "date", "date": "2026-11-20"}
        transcript.user("U1").node(
            "T1", "attachment", attachment=kind, rendered=rendered, renderedRole="system"
        )
        (event,) = transcript.events("attachment.added")
        assert event.data == {"kind": "date", "content": rendered[0]["content"], "join": True}

    def test_several_texts_are_blocks(self, transcript: Transcript) -> None:
        rendered = [{"content": "called"}, {"content": "result"}]
        transcript.node("T1", "attachment", attachment={"type": "file"}, rendered=rendered)
        (event,) = transcript.events("attachment.added")
        assert [block["text"] for block in event.data["content"]] == ["called", "result"]
        assert event.data["join"] is False

    def test_an_older_attachment_is_not_reproducible(self, transcript: Transcript) -> None:
        transcript.user("U1").node("T1", "attachment", attachment={"type": "nested_memory"})
        (event,) = transcript.events("attachment.added")
        assert event.data == {"kind": "nested_memory", "content": None, "join": False}
        assert transcript.shown() == ["U1"]

    def test_everything_else_is_kept_as_it_is(self, transcript: Transcript) -> None:
        transcript.line(type="mode", mode="normal").line(strange=1).line(type=7)
        assert [(event.type, event.data) for event in transcript.events()[1:]] == [
            ("claude.mode", {"type": "mode", "mode": "normal"}),
            ("claude.line", {"strange": 1}),
            ("claude.line", {"type": 7}),
        ]

    def test_a_line_that_is_no_json_is_kept_with_its_bytes(self, transcript: Transcript) -> None:
        transcript.user("U1").path.write_bytes(transcript.path.read_bytes() + b'{"a":"\xff\n')
        store = EventStore(":memory:")
        report = report_of(store, transcript.path)
        (event,) = store.read("s", types={"source.unreadable"})
        assert event.data["text"].encode("utf-8", "surrogateescape") == b'{"a":"\xff'
        assert [(note.line, note.reason) for note in report.rejected] == [(2, event.data["reason"])]
        assert event.meta["source"]["line"] == 2

    def test_a_torn_last_line_waits(self, transcript: Transcript) -> None:
        transcript.user("U1").path.write_bytes(transcript.path.read_bytes() + b'{"type":"us')
        store = EventStore(":memory:")
        report = report_of(store, transcript.path)
        assert (report.pending, report.rejected, report.events) == (True, (), 2)

    def test_a_key_is_the_session_the_line_and_how_often_it_was_there(
        self, transcript: Transcript
    ) -> None:
        transcript.line(type="mode", mode="normal").line(type="mode", mode="normal")
        first, second = transcript.events("claude.mode")
        assert first.key is not None
        assert first.key.startswith("s/")
        assert first.key.endswith("/1")
        assert second.key == first.key[:-1] + "2"


class TestTitles:
    def test_a_title_of_a_person_outlives_one_of_the_program(self, transcript: Transcript) -> None:
        transcript.user("U1").line(type="ai-title", aiTitle="guess")
        transcript.line(type="custom-title", customTitle="mine").line(type="ai-title", aiTitle="x")
        renamed = transcript.events("session.renamed")
        assert [event.data for event in renamed] == [{"title": "guess"}, {"title": "mine"}]
        assert [event.meta["of"] for event in renamed] == [3, 5]

    def test_the_title_of_another_session_is_not_this_ones(self, transcript: Transcript) -> None:
        transcript.user("U1").line(type="summary", summary="other", leafUuid="elsewhere")
        assert transcript.events("session.renamed") == []


class TestLineage:
    def test_lines_in_a_row_move_nothing(self, transcript: Transcript) -> None:
        transcript.user("U1").assistant("A1").user("U2").assistant("A2")
        assert transcript.events("head.moved") == []

    def test_a_rewind_is_a_move_to_where_the_branch_hangs(self, transcript: Transcript) -> None:
        transcript.user("U1").assistant("A1").user("U2").assistant("A2").user("U3", parentUuid="A1")
        (moved,) = transcript.events("head.moved")
        (a1, _) = transcript.events("message.assistant")
        (*_, u3) = transcript.events("message.user")
        assert moved.data == {"to": a1.version}
        assert moved.meta["of"] == u3.version
        assert transcript.shown() == ["U1", "A1", "U3"]
        assert transcript.shown(moved.version - 1) == ["U1", "A1", "U2", "A2"]

    def test_parallel_calls_and_their_results_move_nothing(self, transcript: Transcript) -> None:
        transcript.user("U1").call("A1", "t1", "m").call("A2", "t2", "m")
        transcript.result("R1", "t1", parentUuid="A1").result("R2", "t2", parentUuid="A2")
        transcript.assistant("A3")
        assert transcript.events("head.moved") == []
        assert transcript.shown() == ["U1", "t1", "t2", "R1", "R2", "A3"]

    def test_a_rewind_to_behind_parallel_calls_goes_behind_all_results(
        self, transcript: Transcript
    ) -> None:
        transcript.user("U1").call("A1", "t1", "m").call("A2", "t2", "m")
        transcript.result("R2", "t2").result("R1", "t1", parentUuid="A1").assistant("A3")
        transcript.assistant("A4", parentUuid="R2")
        (*_, r1) = transcript.events("tool.result")
        (moved, *_) = transcript.events("head.moved")
        assert moved.data == {"to": r1.version}
        assert transcript.shown(moved.version) == ["U1", "t1", "t2", "R2", "R1"]

    def test_the_head_orders_results_as_a_resume_does(self, transcript: Transcript) -> None:
        """Results that the chain misses stand before those on it."""
        transcript.user("U1").call("A1", "t1", "m").call("A2", "t2", "m")
        transcript.result("R2", "t2").result("R1", "t1", parentUuid="A1")
        transcript.assistant("A3", parentUuid="R2")
        assert transcript.shown() == ["U1", "t1", "t2", "R1", "R2", "A3"]

    def test_a_second_root_begins_anew(self, transcript: Transcript) -> None:
        transcript.user("U1").assistant("A1").user("U2", parentUuid=None)
        (moved,) = transcript.events("head.moved")
        assert moved.data == {"to": 1}
        assert transcript.shown() == ["U2"]

    def test_a_last_prompt_moves_the_head_when_the_file_has_been_read(
        self, transcript: Transcript
    ) -> None:
        transcript.user("U1").assistant("A1").user("U2")
        transcript.line(type="last-prompt", leafUuid="A1", explicit=True)
        (moved,) = transcript.events("head.moved")
        assert moved.data == {"to": 4}
        assert moved.meta["of"] == 6
        assert transcript.shown() == ["U1", "A1"]

    def test_lines_out_of_order_are_gone_along(self) -> None:
        store, session = imported(PROBES / "T13_child_before_parent.jsonl")
        *_, moved = store.read(session, types={"head.moved"})
        assert moved.data["path"][0][0] == 1
        texts = [_content(item.content) for item in items(open_view(store, session))]
        assert texts == ["U1", "A1", "U2", "A2"]
        assert open_view(store, session).version == moved.version

    def test_a_path_takes_requests_along(self) -> None:
        store, session = imported(PROBES / "T13_child_before_parent.jsonl")
        lineage = open_view(store, session).layout.lineage
        asked = [event.version for event in store.read(session, types={"request.sent"})]
        assert all(version in lineage for version in asked)


class TestRequests:
    def test_a_new_reply_was_asked_for(self, transcript: Transcript) -> None:
        transcript.user("U1").call("A1", "t1", "m").result("R1", "t1").call("A2", "t2", "m")
        (sent,) = transcript.events("request.sent")
        assert sent.data == {"view": 2, "purpose": "turn", "model": "claude-x"}
        assert sent.meta["of"] == sent.version + 1

    def test_behind_a_move_the_request_saw_what_the_move_brought_back(
        self, transcript: Transcript
    ) -> None:
        transcript.user("U1").assistant("A1").assistant("A2", parentUuid="U1")
        moved, _, second = transcript.events("head.moved", "request.sent")[-3:]
        assert [moved.type, second.type] == ["request.sent", "request.sent"]
        (move,) = transcript.events("head.moved")
        assert second.data["view"] == move.version
        assert (move.meta["of"], second.meta["of"]) == (second.version + 1, second.version + 1)
        assert transcript.shown(second.data["view"]) == ["U1"]

    def test_what_the_program_wrote_itself_was_not(self, transcript: Transcript) -> None:
        message = {"id": "x", "model": "<synthetic>", "content": [{"type": "text", "text": "No"}]}
        transcript.user("U1").node("A1", "assistant", message=message)
        assert transcript.events("request.sent") == []

    def test_a_recorded_request_gives_its_parameters(self, transcript: Transcript) -> None:
        transcript.user("U1").line(type="api-request", id="r", params={"max_tokens": 9})
        (sent,) = transcript.assistant("A1", requestRef="r").events("request.sent")
        assert (sent.data["id"], sent.data["params"]) == ("r", {"max_tokens": 9})

    def shaped(self, transcript: Transcript) -> Transcript:
        """Two requests of one shape, and a third of another."""
        for name in "xy":
            shape = {"system": [{"type": "text", "text": name}], "tools": [{"name": name}]}
            transcript.line(type="api-request-shape", shapeHash=name, shape=shape)
        for number, name in enumerate("xxy"):
            transcript.user(f"U{number}").line(type="api-request", id=f"r{number}", shapeHash=name)
            transcript.assistant(f"A{number}", requestRef=f"r{number}")
        return transcript

    def test_system_and_tools_are_set_when_they_are_new(self, transcript: Transcript) -> None:
        events = self.shaped(transcript).events("system.set", "tools.set", "request.sent")
        assert [event.type for event in events] == [
            *("system.set", "tools.set", "request.sent"),
            "request.sent",
            *("system.set", "tools.set", "request.sent"),
        ]
        assert events[0].data == {"system": [{"type": "text", "text": "x"}]}
        assert events[1].data == {"tools": [{"name": "x"}]}
        (reply, *_) = transcript.events("message.assistant")
        assert [event.meta["of"] for event in events[:3]] == [reply.version] * 3
        assert events[2].data["view"] == events[1].version

    def test_behind_a_rewind_they_are_set_again(self, transcript: Transcript) -> None:
        self.shaped(transcript).user("U9", parentUuid="U0")
        transcript.line(type="api-request", id="r9", shapeHash="x").assistant("A9", requestRef="r9")
        store, session = imported(transcript.path)
        assert request(store, session)["tools"] == [{"name": "x"}]


class TestCompaction:
    def compacted(self, transcript: Transcript, **metadata: Any) -> Transcript:
        transcript.user("U1").assistant("A1").user("U2").assistant("A2")
        return transcript.boundary("B", **metadata).summary("SUM").user("U3")

    def test_the_summary_stands_for_what_came_before(self, transcript: Transcript) -> None:
        self.compacted(transcript)
        (written,) = transcript.events("summary.written")
        (edited,) = transcript.events("view.edited")
        assert written.data == {"text": "SUM", "covers": [[2, 7]]}
        assert edited.data["rule"] == "claude-code/compact"
        assert edited.data["reason"] == "Claude Code compacted (auto)"
        assert edited.data["edits"] == [
            {"first": 2, "last": 7, "shown": "summary", "summary": written.version}
        ]
        assert (edited.data["tokens_before"], edited.data["tokens_after"]) == (90, 9)
        assert edited.meta["of"] == written.version
        assert transcript.shown() == ["SUM", "U3"]

    def test_the_view_before_can_be_shown_again(self, transcript: Transcript) -> None:
        (written,) = self.compacted(transcript).events("summary.written")
        assert transcript.shown(written.version - 1) == ["U1", "A1", "U2", "A2"]

    def test_a_receipt_is_taken_before(self, transcript: Transcript) -> None:
        (taken,) = self.compacted(transcript).events("snapshot.taken")
        (written,) = transcript.events("summary.written")
        assert taken.version == written.version - 1
        assert taken.data["version"] == taken.version - 1
        pieces = [{"first": 1, "last": taken.version - 1, "edit": None, "shown": "whole"}]
        assert taken.data["pieces"] == pieces

    def test_kept_messages_stand_behind_the_summary(self, transcript: Transcript) -> None:
        kept = {"anchorUuid": "SUM", "uuids": ["U2", "A2"]}
        self.compacted(transcript, preservedMessages=kept)
        assert transcript.shown() == ["SUM", "U2", "A2", "U3"]
        assert transcript.events("head.moved") == []

    def test_a_kept_beginning_stands_before_the_summary(self, transcript: Transcript) -> None:
        kept = {"anchorUuid": "B", "uuids": ["U1", "A1"]}
        transcript.user("U1").assistant("A1").user("U2").assistant("A2")
        transcript.boundary("B", preservedMessages=kept).summary("SUM").user("U3")
        assert transcript.shown() == ["U1", "A1", "SUM", "U3"]

    def test_a_second_compaction_covers_the_first_summary(self, transcript: Transcript) -> None:
        self.compacted(transcript).assistant("A3").boundary("B2").summary("SUM2").user("U4")
        assert transcript.shown() == ["SUM2", "U4"]

    def test_a_branch_from_before_revives_the_history(self, transcript: Transcript) -> None:
        self.compacted(transcript).user("U9", parentUuid="A1")
        assert transcript.shown() == ["U1", "A1", "U9"]

    def test_a_rewind_to_the_summary_keeps_it_shown(self, transcript: Transcript) -> None:
        self.compacted(transcript).user("U9", parentUuid="SUM")
        assert transcript.shown() == ["SUM", "U9"]

    def test_a_boundary_without_a_summary_hides_all_the_same(self, transcript: Transcript) -> None:
        transcript.user("U1").assistant("A1").boundary("B").user("U2")
        assert transcript.shown() == ["U2"]

    def test_a_summary_that_covers_nothing_is_a_message(self, transcript: Transcript) -> None:
        transcript.boundary("B").summary("SUM").user("U1")
        assert transcript.events("summary.written") == []
        assert transcript.shown() == ["SUM", "U1"]

    def test_a_summary_from_a_point_on_covers_what_came_behind_it(self) -> None:
        store, session = imported(CLAUDE / "gen_v332_summarize_from_here.jsonl")
        (edited,) = store.read(session, types={"view.edited"})
        (entry,) = edited.data["edits"]
        first = store.get(session, entry["first"])
        assert "which structure should I use?" in first.data["content"]
        texts = json.dumps(request(store, session)["messages"])
        assert "first question" in texts
        assert "which structure should I use?" not in texts

    def test_a_microcompaction_clears_until_a_resume(self) -> None:
        store, session = imported(PROBES / "T03_microcompact.jsonl")
        cleared, restored = store.read(session, types={"view.edited"})
        (entry,) = cleared.data["edits"]
        assert (entry["shown"], entry["text"]) == ("cleared", "[Old tool result content cleared]")
        assert store.get(session, entry["first"]).type == "tool.result"
        while_running = json.dumps(request(store, session, cleared.version))
        assert "[Old tool result content cleared]" in while_running
        assert restored.data["edits"] == [
            {k: v for k, v in entry.items() if k != "text"} | {"shown": "whole"}
        ]
        assert "[Old tool result content cleared]" not in json.dumps(request(store, session))
