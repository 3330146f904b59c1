"""Sessions of Cline, and tasks of the extensions that keep them as it did."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from foldlog.cli.formats import IMPORTERS, import_path
from foldlog.cli.formats.testing import ImporterTests, Sample
from foldlog.eventstore import EventStore
from foldlog.projections import Session, render
from foldlog.projections.explain.statistics import statistics
from tests.formats.sent import from_chat, plain

DATA = Path(__file__).parent / "data"
NAME = "1796042016541_cf3rn"
SPAWNING = "1796042264019_a5521"

SENT = [json.loads(line) for line in (DATA / "sent_3.0.65.jsonl").open(encoding="utf-8")]


class TestCline(ImporterTests):
    format = "cline"
    samples = (
        Sample(
            DATA / "plain",
            {"message.user": 1, "message.assistant": 2, "tool.result": 1, "system.set": 1},
            main=f"{NAME}/{NAME}.messages.json",
            broken=None,
        ),
        Sample(
            DATA / "compacted",
            {"message.user": 5, "message.assistant": 6, "tool.result": 1, "summary.written": 1},
            main=f"{NAME}/{NAME}.messages.json",
            broken=None,
        ),
        Sample(
            DATA / "subagent",
            {"message.user": 2, "message.assistant": 3, "tool.result": 1},
            main=f"{SPAWNING}/{SPAWNING}.messages.json",
            broken=None,
        ),
    )


@pytest.fixture
def store() -> EventStore:
    return EventStore(":memory:")


@pytest.mark.parametrize("sent", SENT, ids=lambda sent: sent["folder"])
def test_a_resume_sends_the_view(store: EventStore, sent: dict[str, Any]) -> None:
    list(import_path(store, DATA / sent["folder"]))
    messages = from_chat(sent["messages"])
    assert messages[-1]["content"].pop()["text"] == "THE NEXT PROMPT"
    view = plain(render(Session(store, NAME).view())["messages"])
    assert view == [message for message in messages if message["content"]]


# -- sessions ------------------------------------------------------------------------------------


def user(name: str, text: str, **more: Any) -> dict[str, Any]:
    typed = f'<user_input mode="act">{text}</user_input>'
    return {"id": name, "role": "user", "content": [{"type": "text", "text": typed}], **more}


def reply(name: str, text: str, **more: Any) -> dict[str, Any]:
    return {"id": name, "role": "assistant", "content": [{"type": "text", "text": text}], **more}


def summary(text: str) -> dict[str, Any]:
    metadata = {"kind": "compaction_summary", "tokensBefore": 900}
    return {"role": "user", "content": [{"type": "text", "text": text}], "metadata": metadata}


def write(folder: Path, *messages: Any, **about: Any) -> Path:
    path = folder / "abc" / "abc.messages.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    base = {"version": 1, "agent": "lead", "sessionId": "abc", **about}
    path.write_text(json.dumps({**base, "messages": messages}, indent=2))
    return path


def compact(path: Path, after: str, count: int, *messages: Any) -> None:
    state = {"version": 1, "source_message_count": count, "source_last_message_key": f"id:{after}"}
    path.with_name("abc.compaction.json").write_text(json.dumps({**state, "messages": messages}))


def texts(store: EventStore, session: str = "abc", at: str | None = None) -> list[str]:
    messages = plain(render(Session(store, session).view(at), open="recover")["messages"])
    return [block["text"] for message in messages for block in message["content"]]


def test_a_compaction_is_a_summary_and_what_is_said_after_it_follows(
    store: EventStore, tmp_path: Path
) -> None:
    said = [user("1", "one"), reply("2", "two"), user("3", "three")]
    path = write(tmp_path, *said)
    list(import_path(store, path))
    compact(path, "3", 3, summary("in short"), said[2])
    write(tmp_path, *said, reply("4", "four"))
    list(import_path(store, path))
    assert texts(store) == ["in short", "three", "four"]
    assert texts(store, at="before-compaction:1") == ["one", "two", "three", "four"]
    write(tmp_path, *said, reply("4", "four"), user("5", "five"))
    list(import_path(store, path))
    assert texts(store) == ["in short", "three", "four", "five"]
    (edit,) = store.read("abc", types=["view.edited"])
    assert (edit.data["via"], edit.data["tokens_before"]) == ("cline", 900)
    assert [report.new for report in import_path(store, path)] == [0]


def test_a_second_compaction_stands_for_the_first(store: EventStore, tmp_path: Path) -> None:
    said = [user("1", "one"), reply("2", "two"), user("3", "three"), reply("4", "four")]
    path = write(tmp_path, *said[:3])
    compact(path, "3", 3, summary("in short"), said[2])
    list(import_path(store, path))
    write(tmp_path, *said)
    compact(path, "4", 4, summary("even shorter"), said[3])
    list(import_path(store, path))
    assert texts(store) == ["even shorter", "four"]
    assert texts(store, at="before-compaction:2") == ["in short", "three", "four"]
    assert [report.new for report in import_path(store, path)] == [0]


def test_a_compaction_of_other_messages_counts_for_nothing(
    store: EventStore, tmp_path: Path
) -> None:
    path = write(tmp_path, user("1", "one"), reply("2", "two"))
    compact(path, "9", 2, summary("in short"))
    list(import_path(store, path))
    assert texts(store) == ["one", "two"]


def test_messages_that_were_taken_back_stay_in_the_log(store: EventStore, tmp_path: Path) -> None:
    path = write(tmp_path, user("1", "one"), reply("2", "two"), user("3", "three"))
    list(import_path(store, path))
    write(tmp_path, user("1", "one"), reply("4", "other"))
    (report,) = import_path(store, path)
    assert texts(store) == ["one", "other"]
    assert "2 recorded events are no longer in it" in report.notices[0].reason
    assert len(list(store.read("abc", types=["message.user"]))) == 2


def test_a_subagent_names_the_session_that_spawned_it(store: EventStore) -> None:
    list(import_path(store, DATA / "subagent"))
    first = store.get("agent_1796042264618_j7odvm", 1).data
    assert first["parent"] == {"session": SPAWNING, "kind": "subagent"}
    assert texts(store, "agent_1796042264618_j7odvm") == ["Say what you see.", "Noted 2."]


def test_what_is_known_of_a_session_is_recorded(store: EventStore) -> None:
    list(import_path(store, DATA / "subagent"))
    first = store.get(SPAWNING, 1).data
    assert (first["title"], first["cwd"]) == ("please [[spawn]]", "/home/dev/work")
    assert first["origin"]["version"] == "3.0.65"
    used = statistics(store.events()).usage["gpt-4.1"]
    assert (used.requests, used.input, used.cache_read) == (3, 12953, 120)


def test_images_and_what_is_only_displayed(store: EventStore, tmp_path: Path) -> None:
    image = {"type": "image", "data": "aGk=", "mediaType": "image/png"}
    shown = reply("2", "only for the screen", metadata={"displayOnly": True})
    path = write(tmp_path, {**user("1", ""), "content": [image]}, shown)
    list(import_path(store, path))
    (event,) = store.read("abc", types=["message.user"])
    source = {"type": "base64", "media_type": "image/png", "data": "aGk="}
    assert event.data["content"] == [{"type": "image", "source": source}]
    assert [e.data for e in store.read("abc", types=["cline.message"])] == [shown]


# -- tasks ---------------------------------------------------------------------------------------


def task(folder: Path, *messages: Any) -> Path:
    path = folder / "tasks" / "t1" / "api_conversation_history.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(messages))
    (path.parent / "ui_messages.json").write_text("[]")
    return path


def turn(role: str, content: str, ts: int, **more: Any) -> dict[str, Any]:
    return {"role": role, "content": content, "ts": ts, **more}


def test_a_task_is_a_session(store: EventStore, tmp_path: Path) -> None:
    call = {"type": "tool_use", "id": "c1", "name": "ls", "input": {}}
    answer = {"type": "tool_result", "tool_use_id": "c1", "content": "a.txt"}
    task(
        tmp_path,
        turn("user", "look", 1796042017000),
        {"role": "assistant", "content": [call], "ts": 1796042018000},
        {"role": "user", "content": [answer], "ts": 1796042019000},
    )
    (report,) = import_path(store, tmp_path)
    assert (report.format, report.session, report.notices) == ("cline", "t1", ())
    assert [m["role"] for m in render(Session(store, "t1").view())["messages"]] == [
        "user",
        "assistant",
        "user",
    ]


def test_a_condensed_task_sends_its_summary(store: EventStore, tmp_path: Path) -> None:
    """As Roo Code marks them: what a summary hides names it."""
    said = [turn("user", "task", 1), turn("assistant", "one", 2), turn("user", "two", 3)]
    path = task(tmp_path, *said)
    list(import_path(store, path))
    hidden = [said[0], {**said[1], "condenseParent": "x"}]
    condensed = turn("assistant", "in short", 3, isSummary=True, condenseId="x")
    task(tmp_path, *hidden, condensed, said[2])
    list(import_path(store, path))
    assert texts(store, "t1") == ["task", "in short", "two"]
    assert texts(store, "t1", "before-compaction:1") == ["task", "one", "two"]
    task(tmp_path, *hidden, said[2])
    list(import_path(store, path))
    assert texts(store, "t1") == ["task", "one", "two"]


def test_a_summary_of_the_user_stands_for_all_before_it(store: EventStore, tmp_path: Path) -> None:
    hidden = [turn("user", "task", 1, condenseParent="x"), turn("assistant", "one", 2)]
    hidden[1]["condenseParent"] = "x"
    condensed = turn("user", "in short", 3, isSummary=True, condenseId="x")
    list(import_path(store, task(tmp_path, *hidden, condensed, turn("assistant", "two", 4))))
    assert texts(store, "t1") == ["in short", "two"]


def test_a_task_that_was_cut_sends_what_is_left(store: EventStore, tmp_path: Path) -> None:
    cut = turn("assistant", "one", 2, truncationParent="x")
    marker = turn("user", "[cut]", 3, isTruncationMarker=True, truncationId="x")
    list(import_path(store, task(tmp_path, turn("user", "task", 1), cut, marker)))
    assert texts(store, "t1") == ["task", "[cut]"]


def test_its_folders_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sessions").mkdir()
    monkeypatch.setenv("CLINE_DATA_DIR", str(tmp_path))
    assert tmp_path / "sessions" in IMPORTERS["cline"].default_locations()


def test_a_folder_that_was_copied_is_the_same_session(store: EventStore, tmp_path: Path) -> None:
    shutil.copytree(DATA / "plain", tmp_path / "copy")
    list(import_path(store, DATA / "plain"))
    assert [report.new for report in import_path(store, tmp_path / "copy")] == [0]
