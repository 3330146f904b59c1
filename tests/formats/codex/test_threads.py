"""What a thread takes back, replaces, leaves open and goes on from."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from foldlog.cli.formats import SourceFiles, default_places, find
from foldlog.eventstore import EventStore
from foldlog.projections import Session, render
from foldlog.projections.explain.statistics import statistics
from tests.formats.codex.cases import DATA, FORK, THREAD, Rollout, imported, texts

SESSIONS = DATA / "sessions" / "2026" / "11" / "29"
SEGMENT = "01a22869-7589-7031-9e33-0cd831baacfd"


def talk(turns: int = 3, **meta: Any) -> Rollout:
    """Return a rollout of some turns, each with context before its prompt."""
    rollout = Rollout(**meta).message("user", "<environment_context>/w</environment_context>")
    for turn in range(1, turns + 1):
        rollout.event("task_started")
        if turn > 1:
            rollout.message("developer", f"context {turn}")
        rollout.message("user", f"prompt {turn}").event("user_message", message=f"prompt {turn}")
        rollout.message("assistant", f"reply {turn}")
    return rollout


def test_a_person_is_told_from_injected_context(tmp_path: Path) -> None:
    store, _ = imported(talk(1).message("user", "<b>bold</b> words").write(tmp_path))
    kinds = [e.data.get("kind") for e in store.read("t-1", types=["attachment.added"])]
    prompts = [e.data["content"][0]["text"] for e in store.read("t-1", types=["message.user"])]
    assert (kinds, prompts) == (["environment_context"], ["prompt 1", "<b>bold</b> words"])


def test_a_rollback_takes_turns_back_with_the_context_before_them(tmp_path: Path) -> None:
    rollout = talk().event("thread_rolled_back", num_turns=2).message("user", "instead")
    store, _ = imported(rollout.write(tmp_path))
    context = "<environment_context>/w</environment_context>"
    assert texts(store, "t-1") == [context, "prompt 1", "reply 1", "instead"]
    prompts = [e.data["content"][0]["text"] for e in store.read("t-1", types=["message.user"])]
    assert prompts == ["prompt 1", "prompt 2", "prompt 3", "instead"]


@pytest.mark.parametrize("turns", [4, 10**30])
def test_a_rollback_beyond_the_first_turn_leaves_the_first_context(
    tmp_path: Path, turns: int
) -> None:
    store, _ = imported(talk().event("thread_rolled_back", num_turns=turns).write(tmp_path))
    assert texts(store, "t-1") == ["<environment_context>/w</environment_context>"]


@pytest.mark.parametrize("turns", [0, -1, None, "1", True, 1.5])
def test_a_rollback_of_no_number_of_turns_takes_nothing_back(tmp_path: Path, turns: Any) -> None:
    store, _ = imported(talk().event("thread_rolled_back", num_turns=turns).write(tmp_path))
    assert texts(store, "t-1")[-1] == "reply 3"


def test_an_old_compaction_keeps_prompts_before_its_summary(tmp_path: Path) -> None:
    rollout = talk(2).line("compacted", {"message": "What happened."}).message("user", "go on")
    store, _ = imported(rollout.write(tmp_path))
    assert texts(store, "t-1") == ["prompt 1", "prompt 2", "What happened.", "go on"]
    assert texts(store, "t-1", "before-compaction:1")[-1] == "reply 2"


def test_an_old_compaction_keeps_the_newest_prompts_up_to_a_limit(tmp_path: Path) -> None:
    rollout = Rollout().message("user", "old").message("user", "x" * 79_999).message("user", "new")
    store, _ = imported(rollout.line("compacted", {"message": ""}).write(tmp_path))
    assert texts(store, "t-1") == ["x" * 79_999, "new", "(no summary available)"]


def test_a_remote_compaction_shows_its_replacement_history(tmp_path: Path) -> None:
    packed = {"type": "compaction", "encrypted_content": "gAAA"}

    def said(role: str, text: str) -> dict[str, Any]:
        return {"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]}

    history = [said("user", "prompt 1"), said("developer", "again"), said("user", "prompt 2")]
    rollout = talk(2).line("compacted", {"message": "", "replacement_history": [*history, packed]})
    second = [said("user", "prompt 2"), said("developer", "again"), packed]
    rollout.message("user", "go on").line("compacted", {"replacement_history": second})
    store, _ = imported(rollout.write(tmp_path))
    first = texts(store, "t-1", "before-compaction:2")
    assert first == ["prompt 1", "again", "prompt 2", "None", "go on"]
    assert texts(store, "t-1") == ["prompt 2", "again", "None"]
    render(Session(store, "t-1").view(), open="recover")


def test_a_call_that_nobody_answered_is_sent_as_aborted(tmp_path: Path) -> None:
    rollout = Rollout().message("user", "go").call("a", "done").call("b").message("user", "again")
    store, _ = imported(rollout.write(tmp_path))
    results = [event.data for event in store.read("t-1", types=["tool.result"])]
    assert results[1] == {"tool_use_id": "b", "content": "aborted", "synthesized": True}


def test_a_call_at_the_end_waits_for_its_output(tmp_path: Path) -> None:
    store, _ = imported(Rollout().message("user", "go").call("a").write(tmp_path))
    assert list(store.read("t-1", types=["tool.result"])) == []


def usages(store: EventStore) -> dict[Any, int]:
    """Return the input tokens that each reply was counted with."""
    events = store.read("t-1", types=["message.assistant", "request.answered"])
    return {e.data.get("id"): e.data["usage"]["input_tokens"] for e in events if "usage" in e.data}


def test_repeated_figures_count_once(tmp_path: Path) -> None:
    rollout = Rollout().event("token_count", info=None).message("user", "a")
    rollout.message("assistant", "b").tokens(10, 11).tokens(10, 11).message("user", "c")
    rollout.message("assistant", "d").tokens(10, 22)
    store, _ = imported(rollout.write(tmp_path))
    found = statistics(store.read("t-1")).total
    assert (found.requests, found.input, found.output) == (2, 20, 2)


def test_figures_before_a_reply_are_its_own_where_they_come_first(tmp_path: Path) -> None:
    rollout = Rollout().message("user", "a").tokens(10, 10).call("x", "1").tokens(20, 30)
    store, _ = imported(rollout.message("assistant", "b").write(tmp_path))
    replies = [e.data["id"] for e in store.read("t-1", types=["message.assistant"])]
    assert list(usages(store)) == list(dict.fromkeys(replies))
    assert list(usages(store).values()) == [10, 20]


def test_figures_of_no_reply_are_counted_beside_the_conversation(tmp_path: Path) -> None:
    rollout = talk(1).tokens(10, 10).line("compacted", {"message": "s"}).tokens(5, 15)
    store, _ = imported(rollout.write(tmp_path))
    assert usages(store)[None] == 5
    assert statistics(store.read("t-1")).total.input == 15


def test_a_subagent_and_a_copied_thread_name_their_parents(tmp_path: Path) -> None:
    spawned = {"subagent": {"thread_spawn": {"parent_thread_id": "t-0", "depth": 1}}}
    talk(1, id="t-2", source=spawned).write(tmp_path, "rollout-2.jsonl")
    copied = talk(1, id="t-3", forked_from_id="t-0")
    copied.line("session_meta", {"id": "t-0"}).write(tmp_path, "rollout-3.jsonl")
    store, _ = imported(tmp_path)
    parents = {info.session: info.parent_kind for info in store.sessions()}
    assert parents == {"t-2": "subagent", "t-3": "copy"}


def test_a_segment_alone_finds_what_it_goes_on_from(tmp_path: Path) -> None:
    shutil.copytree(DATA / "sessions", tmp_path / "sessions")
    (alone,) = (tmp_path / "sessions").rglob(f"*{SEGMENT}.jsonl")
    whole, _ = imported(SESSIONS)
    store, (report,) = imported(alone)
    assert report.notices == ()
    assert texts(store, THREAD) == texts(whole, THREAD)


def test_a_fork_without_its_base_says_so(tmp_path: Path) -> None:
    (fork,) = SESSIONS.glob(f"*{FORK}.jsonl")
    shutil.copy(fork, tmp_path)
    _, (report,) = imported(tmp_path / fork.name)
    assert SEGMENT in report.notices[0].reason
    assert report.events > 0


def test_files_that_go_on_from_each_other_are_read_once(tmp_path: Path) -> None:
    for own, other in ("ab", "ba"):
        base = {"thread_id": f"rollout-{other}", "end_ordinal_exclusive": 9}
        talk(1, id=own, history_base=base).write(tmp_path, f"rollout-{own}.jsonl")
    store, reports = imported(tmp_path)
    assert [report.rejected for report in reports] == [(), ()]
    assert texts(store, "a")[-1] == texts(store, "b")[-1] == "reply 1"


def title(store: EventStore, session: str) -> str | None:
    """Return the title of a session."""
    return next(info.title for info in store.sessions() if info.session == session)


def test_titles_come_from_the_list_and_follow_it(tmp_path: Path) -> None:
    shutil.copytree(DATA, tmp_path / "home")
    store, _ = imported(tmp_path / "home")
    assert title(store, FORK) == "[[scene:more]] continue after compaction"
    named = {"id": FORK, "thread_name": "Forked", "updated_at": "2026-11-30T00:00:00Z"}
    with (tmp_path / "home" / "session_index.jsonl").open("a") as file:
        file.write(json.dumps(named) + "\n")
    imported(tmp_path / "home", store)
    assert title(store, FORK) == "Forked"


def test_a_file_that_was_cut_and_went_on_moves_the_head(tmp_path: Path) -> None:
    path = talk(2).write(tmp_path)
    store, _ = imported(path)
    talk(1).message("user", "another way").write(tmp_path)
    _, (report,) = imported(path, store)
    assert "no longer in it" in report.notices[0].reason
    assert texts(store, "t-1")[1:] == ["prompt 1", "reply 1", "another way"]


def test_what_foldlog_rewound_stays_until_the_thread_goes_on(tmp_path: Path) -> None:
    path = talk(2).write(tmp_path)
    store, _ = imported(path)
    first = next(store.read("t-1", types=["message.assistant"])).version
    Session(store, "t-1").rewind(first)
    imported(path, store)
    assert texts(store, "t-1")[-1] == "reply 1"
    talk(3).write(tmp_path)
    imported(path, store)
    assert texts(store, "t-1")[-4:] == ["reply 2", "context 3", "prompt 3", "reply 3"]


def test_a_turn_in_another_folder_moves_the_session(tmp_path: Path) -> None:
    rollout = Rollout().line("turn_context", {"cwd": "/w/inner"}).message("user", "a")
    rollout.line("turn_context", {"cwd": "/other"}).message("user", "b")
    store, _ = imported(rollout.line("turn_context", {"cwd": "/other"}).write(tmp_path))
    assert [e.data for e in store.read("t-1", types=["session.moved"])] == [{"cwd": "/other"}]


def test_a_base_that_a_link_leads_to_from_outside_is_not_read(tmp_path: Path) -> None:
    (base,) = SESSIONS.glob(f"*{SEGMENT}.jsonl")
    (fork,) = SESSIONS.glob(f"*{FORK}.jsonl")
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / base.name).symlink_to(base)
    shutil.copy(fork, tmp_path / "inside")
    _, (report,) = imported(tmp_path / "inside" / fork.name)
    assert SEGMENT in report.notices[0].reason


def test_what_was_typed_and_the_titles_are_no_threads() -> None:
    skipped = [s.path.name for _, s in find(SourceFiles(DATA)) if s.skip]
    assert skipped == ["session_index.jsonl"]


def test_the_default_places_follow_codex_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CODEX_HOME", str(tmp_path))
    places = [place.path for place in default_places("codex")]
    assert places == [tmp_path / "sessions", tmp_path / "archived_sessions"]
