"""Logs of requests: each becomes what the proxy would have recorded."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from foldlog.cli.formats import import_path
from foldlog.cli.formats.testing import ImporterTests, Sample
from foldlog.eventstore import Event, EventDraft, EventStore
from foldlog.projections import Session, render
from foldlog.projections.render.digest import digest
from foldlog.projections.wire.requests import visible
from tests.formats.claude_code.cases import CORPUS

DATA = Path(__file__).parent / "data"
TRACE = DATA / "claude_trace.jsonl"
REWOUND = DATA / "plain_rewound_compacted.jsonl"
FROM_HERE = DATA / "plain_summarized_from_here.jsonl"

CASSETTE = DATA / "pydanticai_anthropic_tool_with_thinking.yaml"

SESSION = "requests-aaaaaaaa-1111-4111-8111-111111111111"


class TestConformance(ImporterTests):
    format = "messages"
    samples = (
        Sample(
            TRACE,
            {
                "request.sent": 15,
                "message.user": 10,
                "message.assistant": 14,
                "tool.result": 9,
                "summary.written": 1,
                "request.failed": 1,
                "request.answered": 1,
                "messages.line": 1,
            },
        ),
        Sample(REWOUND, {"request.sent": 7, "message.user": 7, "message.assistant": 7}),
        Sample(
            CASSETTE, {"request.sent": 2, "message.assistant": 2, "tool.result": 1}, broken=None
        ),
        Sample(
            DATA / "pydanticai_text_document_url_input.yaml",
            {"request.sent": 1, "message.assistant": 1, "messages.line": 1},
            broken=None,
        ),
        Sample(FROM_HERE, {"request.sent": 5, "message.assistant": 4, "summary.written": 1}),
    )


@pytest.fixture
def store() -> Iterator[EventStore]:
    with EventStore(":memory:") as opened:
        yield opened


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def sent(store: EventStore) -> list[Event]:
    """The requests of all sessions, in the order of the log."""
    found = [event for event in store.events() if event.type == "request.sent"]
    return sorted(found, key=lambda event: event.meta["source"]["offset"])


def requests(path: Path) -> list[Any]:
    """The requests for messages of a log."""
    bodies = [line["request"].get("body", line["request"]) for line in lines(path)]
    urls = [line["request"].get("url", "") for line in lines(path)]
    return [body for body, url in zip(bodies, urls, strict=True) if "count_tokens" not in url]


@pytest.mark.parametrize("path", [TRACE, REWOUND, FROM_HERE], ids=lambda path: path.stem)
def test_each_request_is_the_view_that_it_names(store: EventStore, path: Path) -> None:
    """Of a request that was not quite the view, the digest is that of what was sent."""
    list(import_path(store, path))
    events, bodies = sent(store), requests(path)
    assert [event.data["digest"] for event in events] == [digest(visible(b)) for b in bodies]
    turns = [event for event in events if event.data["purpose"] == "turn"]
    plain = [event for event in turns if "divergence" not in event.data]
    for event in plain:
        view = Session(store, event.session).view(event.data["view"])
        assert digest(render(view)) == event.data["digest"]
    assert len(turns) - len(plain) <= 1


class TestATrace:
    def test_a_compaction_of_the_program_is_an_edit(self, store: EventStore) -> None:
        (report,) = import_path(store, TRACE)
        assert (report.session, report.rejected) == (SESSION, ())
        (edit,) = store.read(SESSION, types=["view.edited"])
        assert edit.data["via"] == "harness"
        session = Session(store, SESSION)
        before = render(session.view("before-compaction:1"), open="recover")["messages"]
        after = render(session.view(), open="recover")["messages"]
        assert len(before) > len(after)

    def test_a_streamed_reply_is_whole_and_counted_once(self, store: EventStore) -> None:
        list(import_path(store, TRACE))
        wanted = {
            f"req_{number}": line
            for number, line in enumerate(lines(TRACE))
            if line["response"].get("body_raw")
        }
        replies = [e for e in store.read(SESSION, types=["message.assistant"]) if "usage" in e.data]
        assert len({event.data["id"] for event in replies}) == len(replies) == len(wanted) - 1
        assert replies[0].data["usage"]["input_tokens"] == 28880
        assert [block["type"] for block in replies[0].data["content"]][-1] == "tool_use"

    def test_a_refusal_that_is_sent_again_is_one_turn(self, store: EventStore) -> None:
        list(import_path(store, TRACE))
        (failed,) = store.read(SESSION, types=["request.failed"])
        assert failed.data["error"] == {
            "type": "overloaded_error",
            "message": "Overloaded",
            "status": 529,
        }
        again = store.get(SESSION, failed.version + 1)
        assert again.data["digest"] == store.get(SESSION, failed.data["request"]).data["digest"]

    def test_times_are_those_of_the_log_and_credentials_are_left_out(
        self, store: EventStore
    ) -> None:
        list(import_path(store, TRACE))
        request = next(store.read(SESSION, types=["request.sent"]))
        reply = next(store.read(SESSION, types=["message.assistant"]))
        assert request.meta["occurred"] == "2026-11-29T17:44:24.303Z"
        assert reply.meta["occurred"] == "2026-11-29T17:44:24.503Z"
        assert "authorization" not in json.dumps([event.meta for event in store.events()])
        assert request.meta["line"]["request"]["headers"]["user-agent"].startswith("claude-cli/")


def test_side_calls_are_beside_the_conversation(store: EventStore, tmp_path: Path) -> None:
    """A title: no tools, another system prompt."""
    first, *rest = lines(REWOUND)
    words = [{"role": "user", "content": "Write a title of five words."}]
    asked = {"model": "claude-haiku-4-5", "max_tokens": 99, "system": "T", "messages": words}
    reply = {"id": "msg_t", "type": "message", "role": "assistant", "model": "claude-haiku-4-5"}
    title = {"request": asked, "response": {**reply, "content": [{"type": "text", "text": "Demo"}]}}
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in (first, title, *rest)))
    reports = list(import_path(store, path))
    assert [report.session for report in reports] == ["log", "log-2", "log-3"]
    with EventStore(":memory:") as without:
        list(import_path(without, REWOUND))
        assert messages(store, "log") == messages(without, REWOUND.stem)


def messages(store: EventStore, session: str) -> Any:
    return render(Session(store, session).view(), open="recover")["messages"]


def test_a_rewind_is_followed(store: EventStore) -> None:
    list(import_path(store, REWOUND))
    shown = json.dumps(messages(store, REWOUND.stem))
    assert "Plan B: use an array instead." in shown
    assert "Plan A: use a linked list." not in shown
    assert "Plan A: use a linked list." in json.dumps([e.data for e in store.read(REWOUND.stem)])


def test_what_was_added_in_foldlog_stays_when_the_log_grows(
    store: EventStore, tmp_path: Path
) -> None:
    """The versions that events name are those of this store, whatever came between."""
    whole = TRACE.read_bytes().splitlines(keepends=True)
    path = tmp_path / TRACE.name
    path.write_bytes(b"".join(whole[:5]))
    list(import_path(store, path))
    store.append(SESSION, [EventDraft("note.made", {"text": "x"})])
    path.write_bytes(b"".join(whole))
    list(import_path(store, path))
    for event in store.read(SESSION, types=["message.assistant"]):
        if "request" in event.data:
            assert store.get(SESSION, event.data["request"]).type == "request.sent"
    with EventStore(":memory:") as at_once:
        list(import_path(at_once, path))
        assert messages(store, SESSION) == messages(at_once, SESSION)


class TestACassette:
    def test_its_calls_thinking_and_results_are_a_conversation(self, store: EventStore) -> None:
        (report,) = import_path(store, CASSETTE)
        person, call, result, last = messages(store, str(report.session))
        assert "largest city" in json.dumps(person)
        assert [block["type"] for block in call["content"]] == ["thinking", "text", "tool_use"]
        assert result["content"][0]["tool_use_id"] == call["content"][2]["id"]
        assert last["role"] == "assistant"

    @pytest.mark.parametrize(
        ("content", "why"),
        [
            ("a: &a [x]\nb: [*a, *a]\n", "an alias, which is not read"),
            ("a: [\n", "no YAML"),
            ("a: !!python/object/apply:os.system [ls]\n", "no YAML"),
            ("a: " + "[" * 5000 + "\n", "nested too deeply"),
        ],
    )
    def test_what_is_no_plain_data_is_refused(
        self, store: EventStore, tmp_path: Path, content: str, why: str
    ) -> None:
        path = tmp_path / "x.yaml"
        path.write_text(CASSETTE.read_text(encoding="utf-8") + content, encoding="utf-8")
        (report,) = import_path(store, path)
        assert why in report.rejected[0].reason
        assert report.session is None

    def test_values_that_json_does_not_have_are_texts(
        self, store: EventStore, tmp_path: Path
    ) -> None:
        extra = "    recorded_at: 2026-11-30\n    score: .nan\n    1: one\n"
        text = CASSETTE.read_text(encoding="utf-8").replace(
            "    method: POST\n", extra + "    method: POST\n", 1
        )
        path = tmp_path / "x.yaml"
        path.write_text(text, encoding="utf-8")
        (report,) = import_path(store, path)
        (sent, _) = store.read(str(report.session), types=["request.sent"])
        line = sent.meta["line"]["request"]
        assert (line["recorded_at"], line["score"], line["1"]) == ("2026-11-30", "nan", "one")

    def test_without_pyyaml_it_says_what_to_install(
        self, store: EventStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(sys.modules, "yaml", None)
        (report,) = import_path(store, CASSETTE)
        assert "pip install 'foldlog[yaml]'" in report.rejected[0].reason


@pytest.mark.skipif(not (CORPUS / "anthropic_api").is_dir(), reason="the corpus is not here")
def test_the_corpus_is_imported(store: EventStore) -> None:
    logs = sorted((CORPUS / "anthropic_api").glob("*.jsonl"))
    reports = [report for path in logs for report in import_path(store, path)]
    assert {report.format for report in reports} == {"messages"}
    assert not [report for report in reports if report.rejected or report.notices]
    assert len(sent(store)) == sum(len(requests(path)) for path in logs)
