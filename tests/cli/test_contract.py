"""The keys of --json and the exit codes: what scripts rely on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from foldlog.cli.main import foldlog
from foldlog.eventstore import EventDraft, EventStore
from foldlog.projections import Session
from tests.cli.conftest import Run
from tests.cli.demo import DEMO, FORK, HOSTILE
from tests.projections.build import call

Answers = Callable[..., list[Any]]

EVENT = {"position", "session", "version", "id", "type", "schema", "at", "data", "meta", "hash"}
CHANGE = {"first", "last", "before", "after", "rule", "reason", "tokens"}
SESSIONS = {
    *("session", "title", "origin", "cwd", "head", "messages", "tool_results", "compactions"),
    *("started", "last", "parent"),
}
STATS = {"tokens", "cost", "unpriced", "cache_hit", "models", "sizes", "tools"}
VERIFY = {"session", "ok", "events", "requests", "erased", "head_hash", "problems"}
IMPORT = {"file", "format", "session", "events", "new", "rejected", "notices", "pending"}

KEYS: list[tuple[list[str], set[str]]] = [
    (["sessions"], SESSIONS),
    (["log", DEMO], EVENT),
    (["show", DEMO, "4"], EVENT),
    (["show", f"foldlog:{DEMO}/8#1"], EVENT | {"block"}),
    (["view", DEMO], {"system", "tools", "messages"}),
    (["view", DEMO, "--as", "request"], {"system", "tools", "messages"}),
    (
        ["view", DEMO, "--as", "pieces"],
        {"first", "last", "shown", "text", "edit", "rule", "tokens"},
    ),
    (["view", DEMO, "--as", "text"], {"version", "role", "kind", "text"}),
    (["diff", DEMO, "10", "13"], CHANGE),
    (["why", DEMO, "7"], {"version", "shown", "edits"}),
    (["search", "tests"], {"session", "version", "type", "snippet", "visible"}),
    (["sql", "SELECT 1 AS one, 2 AS two"], {"one", "two"}),
    (["stats"], {*STATS, "by_session"}),
    (["stats", DEMO], {*STATS, "session"}),
    (["verify"], VERIFY),
    (["verify", DEMO, "--views"], VERIFY),
    (["fork", DEMO, "--at", "9"], {"session", "parent", "version"}),
    (["rewind", DEMO, "16"], {"session", "version", "head"}),
    (["recover", DEMO], {"session", "version", "tool_use_id"}),
    (["expand", DEMO, "7"], CHANGE),
    (["policies"], {"name", "rules"}),
    (["policies", "adaptive"], {"name", "rules"}),
    (["pin", DEMO, "10"], {"session", "version"}),
    (["rename", DEMO, "x"], {"session", "title"}),
    (["tag", DEMO, "x"], {"session", "tags"}),
]


@pytest.mark.parametrize(
    ("arguments", "keys"),
    KEYS,
    ids=lambda value: " ".join(sorted(value)) if isinstance(value, set) else " ".join(value)[:40],
)
def test_json_has_the_keys_of_the_contract(
    answers: Answers, arguments: list[str], keys: set[str]
) -> None:
    found = answers(*arguments)
    assert found
    assert all(keys <= answer.keys() for answer in found)


def test_json_of_a_cause_of_why(answers: Answers) -> None:
    (found,) = answers("why", DEMO, "7")
    assert found["shown"] == "summary"
    assert [(edit["version"], edit["rule"], edit["reason"]) for edit in found["edits"]] == [
        (11, "clear-results", "old results"),
        (13, "summarize", "over budget"),
    ]


def test_unpin_takes_a_pin_away(answers: Answers) -> None:
    answers("pin", DEMO, "10")
    assert answers("unpin", DEMO, "10") == [{"session": DEMO, "version": 10}]


def test_import_reports_each_file(tmp_path: Path) -> None:
    line = '{"type":"user","uuid":"u-1","parentUuid":null,"message":{"role":"user","content":"hi"}}'
    source = tmp_path / "abc.jsonl"
    source.write_text(f"{line}\nnot json\n{line[:30]}")
    arguments = ["--db", str(tmp_path / "new.db"), "import", str(source), "--json"]
    result = CliRunner().invoke(foldlog, arguments)
    (report,) = [_loads(line) for line in result.stdout.splitlines()]
    assert report.keys() >= IMPORT
    assert [set(note) for note in report["rejected"]] == [{"line", "reason"}]
    assert report["pending"] is True
    assert result.exit_code == 1


def test_a_log_is_in_order_and_chosen_by_its_options(answers: Answers) -> None:
    versions = [event["version"] for event in answers("log", DEMO)]
    assert versions == list(range(1, 20))
    assert [e["version"] for e in answers("log", DEMO, "--type", "message.user")] == [4, 10, 17]
    assert [e["version"] for e in answers("log", DEMO, "--tool", "Bash")] == [6, 7, 15, 16, 19]
    assert [e["version"] for e in answers("log", DEMO, "--from", "5", "--to", "7")] == [5, 6, 7]
    assert [e["version"] for e in answers("log", DEMO, "--limit", "2")] == [1, 2]
    assert answers("log", DEMO, "--until", "2001-01-01") == []


def test_json_is_never_shortened(answers: Answers) -> None:
    (event,) = answers("show", DEMO, "7")
    assert event["data"]["content"].count("FAILED") == 60


def test_sessions_lists_forks_with_their_parents(answers: Answers) -> None:
    by_id = {info["session"]: info for info in answers("sessions")}
    assert by_id.keys() == {DEMO, FORK, HOSTILE}
    assert by_id[FORK]["parent"] == DEMO
    assert by_id[DEMO]["compactions"] == 1
    assert by_id[DEMO]["head"] == 19
    assert answers("sessions", "--limit", "1") == [by_id[HOSTILE]]


def test_the_view_before_the_compaction_has_the_long_history(answers: Answers) -> None:
    (before,) = answers("view", DEMO, "--at", "before-compaction:1")
    (after,) = answers("view", DEMO)
    assert "FAILED" not in str(before), "an edit cleared it"
    assert "pytest" in str(before)
    assert "pytest" not in str(after)
    assert "Two tests fail." in str(after)


def test_open_calls_are_told_on_stderr_and_closed_by_recover(run: Run) -> None:
    plain = run("view", DEMO, "--json")
    assert "toolu_4" in plain.stderr
    assert "tool_result" not in str(_loads(plain.stdout)["messages"][-1])
    recovered = run("view", DEMO, "--json", "--recover")
    assert recovered.stderr == ""
    (result,) = _loads(recovered.stdout)["messages"][-1]["content"]
    assert (result["tool_use_id"], result["is_error"]) == ("toolu_4", True)
    assert run("view", DEMO, "--json").stdout == plain.stdout, "nothing was written"


def test_search_tells_a_person_what_is_seen_in_part_and_what_no_more(tmp_path: Path) -> None:
    store_at = str(tmp_path / "s.db")
    with EventStore(store_at) as store:
        session = Session(store, "s")
        session.state("plan", "tick")
        session.user("tick")
        session.assistant([{"type": "tool_use", "id": "t", "name": "bash", "input": {}}])
        session.tool_result("t", "tick " * 100)
        session.user("tick no more")
        preview = {
            "first": 4,
            "last": 4,
            "shown": "preview",
            "chars": 10,
            "before": "",
            "after": "",
        }
        session.edit("offload", "long", [preview, {"first": 5, "last": 5, "shown": "hidden"}])
    shown = CliRunner().invoke(foldlog, ["--db", store_at, "search", "tick"]).stdout.splitlines()
    sights = {line.split()[0]: line.split("  ")[3:] for line in shown if line.startswith("foldlog")}
    assert sights == {
        "foldlog:s/1": [],
        "foldlog:s/2": [],
        "foldlog:s/4": ["seen in part"],
        "foldlog:s/5": ["not seen any more"],
    }


def test_search_says_whether_the_model_still_sees_it(answers: Answers) -> None:
    found = {
        hit["version"]: hit["visible"] for hit in answers("search", "tests", "--session", DEMO)
    }
    assert found[4] is False, "it is in the summary"
    assert found[12] is True, "it is the summary"
    assert [hit["version"] for hit in answers("search", "失败")] == [4]
    assert answers("search", "elsewhere")[0]["visible"] is False, "the rewind left it behind"


def test_expand_brings_back_what_stood_there_before(answers: Answers) -> None:
    answers("expand", DEMO, "7")
    assert answers("why", DEMO, "7")[0]["shown"] == "cleared"
    answers("expand", DEMO, "7", "--whole")
    assert answers("why", DEMO, "7")[0]["shown"] == "whole"


def test_a_rewind_before_the_compaction_brings_the_long_history_back(answers: Answers) -> None:
    (moved,) = answers("rewind", DEMO, "before-compaction:1")
    assert moved == {"session": DEMO, "version": 20, "head": 11}
    assert "pytest" in str(answers("view", DEMO))
    answers("rewind", DEMO, "10", "--keep-edits")
    assert "pytest" in str(answers("view", DEMO)), "the compaction was left behind already"


def test_a_rewind_may_keep_the_conversation_compacted(answers: Answers) -> None:
    answers("rewind", DEMO, "10", "--keep-edits")
    (request,) = answers("view", DEMO)
    assert "Two tests fail." in str(request)
    assert "Go on." in str(request)


def test_tags_are_added_and_taken_away(answers: Answers) -> None:
    answers("tag", DEMO, "a", "b")
    assert answers("tag", DEMO, "a", "--remove") == [{"session": DEMO, "tags": ["b"]}]
    assert [info["session"] for info in answers("sessions", "--tag", "b")] == [DEMO]


def test_recover_closes_open_calls_once(answers: Answers) -> None:
    assert answers("recover", DEMO) == [{"session": DEMO, "version": 20, "tool_use_id": "toolu_4"}]
    assert answers("recover", DEMO) == []


def test_stats_count_usage_once_a_reply(answers: Answers) -> None:
    (found,) = answers("stats", DEMO)
    assert found["tokens"]["cache_read"] == 30
    assert found["tokens"]["requests"] == 1, "the other replies report no usage"
    assert found["cache_hit"] == 0.75
    bash = found["tools"]["Bash"]
    assert (bash["calls"], bash["results"], bash["errors"]) == (3, 2, 1)


def test_stats_tell_cost_and_whose_is_not_known(
    run: Run, answers: Answers, paid: dict[str, float]
) -> None:
    (found,) = answers("stats", "paid")
    assert found["cost"] == pytest.approx(paid["paid"])
    assert (found["unpriced"], found["cache_hit"]) == ({"mystery-1": 1}, 0.75)
    assert found["models"]["mystery-1"]["cost"] is None
    assert found["models"]["claude-sonnet-4-5"]["cost"] == pytest.approx(paid["paid"])
    (store,) = answers("stats")
    assert store["cost"] == pytest.approx(sum(paid.values()))
    assert {name: store["by_session"][name]["cost"] for name in paid} == pytest.approx(paid)
    assert next(iter(store["by_session"])) == "dear", "the dearest comes first"
    for told in (run("stats", "paid").stdout, run("stats").stdout):
        assert "mystery-1 (1)" in told
        assert f"{paid['paid']:.4f}" in told
    assert "dear " in run("stats").stdout


@pytest.fixture
def paid(db: Path) -> dict[str, float]:
    """Sessions that cost something, and what: Sonnet 4.5 is 3 dollars a million, 0.3 cached."""

    def reply(model: str, plain: int, cached: int) -> EventDraft:
        usage = {"input_tokens": plain, "cache_read_input_tokens": cached}
        return EventDraft("message.assistant", {"content": [], "model": model, "usage": usage})

    with EventStore(db) as store:
        store.append("paid", [reply("claude-sonnet-4-5", 10_000, 30_000)])
        store.append("paid", [reply("mystery-1", 10_000, 30_000)])
        store.append("dear", [reply("claude-sonnet-4-5", 90_000, 0)])
    return {"paid": 0.03 + 0.009, "dear": 0.27}


def test_sql_cannot_write_and_tells_columns_of_one_name_apart(run: Run, answers: Answers) -> None:
    assert answers("sql", "SELECT 1 AS a, 2 AS a") == [{"a": 1, "a_2": 2}]
    assert answers("sql", "SELECT x'00ff' AS b") == [{"b": {"$base64": True, "encoded": "AP8="}}]
    refused = run("sql", "DELETE FROM events")
    assert refused.exit_code == 2
    assert answers("sql", "SELECT count(*) AS n FROM events WHERE session = 'demo-1'") == [
        {"n": 19}
    ]


def test_verify_finds_a_tail_that_was_cut_off(run: Run, answers: Answers) -> None:
    (found,) = answers("verify", DEMO)
    assert answers("verify", DEMO, "--expect", found["head_hash"])[0]["ok"]
    result = run("verify", DEMO, "--expect", "sha256:" + 64 * "0", "--json")
    assert result.exit_code == 1
    assert _loads(result.stdout)["problems"][0]["version"] == 19


def test_verify_rebuilds_the_requests_that_were_sent(db: Path, run: Run, answers: Answers) -> None:
    (found,) = answers("verify", DEMO, "--views")
    assert (found["requests"], found["ok"]) == (2, True)
    with EventStore(db) as store:
        Session(store, DEMO).request_sent({"messages": [{"role": "user", "content": "other"}]})
    assert run("verify", DEMO).exit_code == 0, "requests are rebuilt only if asked for"
    result = run("verify", DEMO, "--views", "--json")
    assert result.exit_code == 1
    assert [p["version"] for p in _loads(result.stdout)["problems"]] == [20]


def test_verify_says_what_it_proved_and_what_nothing_can_prove(
    db: Path, run: Run, answers: Answers
) -> None:
    with EventStore(db) as store:
        store.append(DEMO, [EventDraft("request.sent", {"view": 4, "model": "claude-x"})])
        Session(store, DEMO).request_sent({"messages": []}, purpose="side")
    (found,) = answers("verify", DEMO, "--views")
    proof = {"requests": 2, "proven": 2, "no_digest": 1, "unheld": 1, "ok": True}
    assert found.items() >= proof.items()
    assert answers("verify", DEMO)[0]["proven"] is None
    told = run("verify", DEMO, "--views")
    assert "requests: 2 (2 proven)\n" in told.stdout
    assert "Requests without a digest: 1." in told.stderr
    assert "Side requests that cannot be rebuilt: 1." in told.stderr


def test_verify_names_an_edit_that_cannot_be_folded(db: Path, run: Run) -> None:
    edit = {"rule": "r", "reason": "x", "edits": [{"first": 900, "last": 901, "shown": "hidden"}]}
    with EventStore(db) as store:
        store.append(DEMO, [EventDraft("view.edited", edit)])
    result = run("verify", DEMO, "--json")
    assert result.exit_code == 1
    assert [p["version"] for p in _loads(result.stdout)["problems"]] == [20]


def test_verify_lists_what_render_left_out_as_notices(db: Path, run: Run) -> None:
    with EventStore(db) as store:
        Session(store, DEMO).tool_result("toolu_nobody", "orphan")
    result = run("verify", DEMO, "--json")
    assert result.exit_code == 0
    notices = _loads(result.stdout)["notices"]
    assert any(n["version"] == 20 and n["notice"].startswith("orphan_result") for n in notices)


def test_backup_is_a_store_of_its_own(run: Run, answers: Answers, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    assert run("backup", str(copy)).exit_code == 0
    assert answers("sessions", db=copy) == answers("sessions")
    assert copy.stat().st_mode & 0o077 == 0
    assert run("backup", str(copy)).exit_code == 2, "a file that is there is not overwritten"


def test_last_prefers_the_current_folder(
    db: Path, answers: Answers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from foldlog.eventstore import EventDraft

    with EventStore(db) as store:
        store.append("here", [EventDraft("session.started", {"cwd": str(tmp_path)})])
        store.append("there", [EventDraft("message.user", {"content": "newest"})])
    assert answers("log", "last")[0]["session"] == "there"
    monkeypatch.chdir(tmp_path)
    assert answers("log", "last")[0]["session"] == "here"


def test_the_raw_bytes_of_a_block(run: Run, tmp_path: Path) -> None:
    target = tmp_path / "image.png"
    assert run("show", f"foldlog:{DEMO}/8#1", "--raw", "-o", str(target)).exit_code == 0
    assert target.read_bytes().startswith(b"\x89PNG")
    assert target.stat().st_mode & 0o077 == 0
    assert run("show", DEMO, "8#1", "--raw", "-o", str(target)).exit_code == 2
    assert run("show", DEMO, "8", "--raw", "-o", str(target), "--force").exit_code == 0
    assert (
        run("show", DEMO, "4", "--raw").stdout_bytes.decode() == "Fix the failing tests: 测试 失败"
    )
    several = run("show", DEMO, "6", "--raw")
    assert several.exit_code == 2
    assert "#2 text" in several.stderr


def test_a_call_has_no_raw_bytes(db: Path, run: Run) -> None:
    with EventStore(db) as store:
        Session(store, "calls").assistant([call("x")])
    assert run("show", "calls", "1", "--raw").exit_code == 2


def _loads(text: str) -> Any:
    import json

    return json.loads(text)
