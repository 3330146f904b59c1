"""Where the full content can be found: handles, or files that never overwrite anything."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from foldlog.eventstore.events import Event
from foldlog.projections.compaction import File, policy
from foldlog.projections.compaction.materialize import safe_name, write
from foldlog.projections.render.render import render
from foldlog.projections.view.open import project
from tests.compaction.run import budget_of, carried_out, planned
from tests.compaction.sessions import words
from tests.projections.build import assistant, call, later, log, result, user


def loop(*ids: str, size: int = 9_000) -> list[Event]:
    drafts = [
        draft
        for at, id in enumerate(ids)
        for draft in (assistant(call(id)), result(id, words(size, at)))
    ]
    return log(user("go"), *drafts)


IDS = ("toolu_1", "../../etc/passwd", "c", "d", "e", "f", "g", "h")


def test_a_policy_that_names_a_folder_says_which_files_should_be_there(tmp_path: Path) -> None:
    rules = policy("learn-claude-code").into(tmp_path)
    made = planned(loop(*IDS), rules)
    first, second = made.files[:2]
    assert first == File(f"{tmp_path}/.task_outputs/tool-results/toolu_1.txt", words(9_000, 0))
    assert Path(second.path).parent == Path(first.path).parent, "no name leads out of the folder"
    text = made.done[0].edits.edits[0]["text"]
    assert text == f"[Earlier tool result saved at {first.path}]"
    assert not list(tmp_path.iterdir()), "a plan writes nothing"


def test_the_transcript_is_saved_before_it_is_snipped(tmp_path: Path) -> None:
    events = loop(*(f"t{at}" for at in range(30)), size=10)
    made = planned(events, policy("learn-claude-code").into(tmp_path))
    (file,) = made.files
    assert file.path == f"{tmp_path}/.transcripts/transcript_s_{len(events) + 1}.jsonl"
    lines = [json.loads(line) for line in file.text.splitlines()]
    assert lines == render(project(events))["messages"]
    marker = made.done[0].edits.edits[0]["text"]
    assert marker.endswith(f"messages archived at {file.path}]")


def test_files_are_written_once(tmp_path: Path) -> None:
    file = File(f"{tmp_path}/a/b.txt", "full\r\n")
    assert write([file]) == {}
    assert Path(file.path).read_bytes() == b"full\r\n"
    assert Path(file.path).stat().st_mode & 0o077 == 0, "readable by its owner only"
    assert write([file, file]) == {}, "a saved file is used again"


def test_what_holds_something_else_is_never_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "b.txt"
    path.write_text("somebody's", encoding="utf-8")
    moved = write([File(str(path), "full")])
    assert path.read_text(encoding="utf-8") == "somebody's"
    (other,) = moved.values()
    assert Path(other).read_text(encoding="utf-8") == "full"
    assert write([File(str(path), "full")]) == moved, "found there the next time"


def test_a_plan_takes_up_where_its_files_went(tmp_path: Path) -> None:
    rules = policy("learn-claude-code").into(tmp_path)
    taken = tmp_path / ".task_outputs/tool-results/toolu_1.txt"
    taken.parent.mkdir(parents=True)
    taken.write_text("of another session", encoding="utf-8")
    events = loop(*IDS)
    made = planned(events, rules)
    made = made.moved(write(made.files))
    cleared = project(carried_out(events, made)).piece(3)
    assert cleared is not None
    path = str(cleared.shown.to_json()["text"])[len("[Earlier tool result saved at ") : -1]
    assert path != str(taken)
    assert Path(path).read_text(encoding="utf-8") == words(9_000, 0)


def test_a_summary_names_its_transcript_where_it_went(tmp_path: Path) -> None:
    rules = policy("learn-claude-code").into(tmp_path)
    made = planned(loop(*IDS), rules, budget_of(trigger="person"))
    assert made.summarize is not None
    (file,) = made.summarize.files
    moved = made.moved({file.path: "/elsewhere.jsonl"})
    assert moved.summarize is not None
    assert str(moved.summarize.content("S")).endswith("Full transcript: /elsewhere.jsonl")


def test_what_is_no_text_is_saved_as_json(tmp_path: Path) -> None:
    picture = [{"type": "text", "text": "x" * 900}, {"type": "image", "source": {"data": "…"}}]
    events = log(user("go"), assistant(call("p")), result("p", picture))
    events = later(events, *loop(*"cdefghij")[1:])
    made = planned(events, policy("learn-claude-code").into(tmp_path))
    assert json.loads(made.files[0].text) == picture


@pytest.mark.parametrize("name", ["a/b", "..", ".hidden", "", "x" * 300, "ü", "a b", "/", "a_b/"])
def test_names_are_sanitized_and_told_apart(name: str) -> None:
    found = safe_name(name)
    assert re.fullmatch(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,128}", found)
    assert found not in (name, safe_name(name + "_"))


def test_a_harmless_name_stays() -> None:
    assert safe_name("toolu_01A-b.c") == "toolu_01A-b.c"
