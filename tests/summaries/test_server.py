"""The API's own compaction: the block is kept as it came, and stands first of all messages."""

from __future__ import annotations

from foldlog.projections.render.api_rules import check
from foldlog.projections.render.render import render, repairs
from foldlog.projections.summaries import ServerSummarizer, SummaryTask, attempt
from foldlog.projections.summaries.attempt import Limits
from foldlog.projections.summaries.ledger import Ledger
from tests.compaction.talk import (
    PLAIN,
    Api,
    Recorder,
    reason_of,
    refuses,
    replies,
    says,
    task_of,
    view_of,
    work,
)
from tests.projections.build import assistant, edit, log, shown, system, user
from tests.summaries.test_attempt import ASKED

BLOCK = {
    "type": "compaction",
    "content": "What happened.",
    "encrypted_content": "opaque",
    "signature": "sig",
    "tool_changes": [],
    "novel": None,
}


def test_the_block_comes_back_as_it_came() -> None:
    api = Api(replies([BLOCK], "compaction"))
    task = task_of(system("be brief"), *work(2), instructions=("Keep the names.",))
    reply = ServerSummarizer("m", client=api.client).summarize(task)
    assert (reply.text, reply.block, reply.stop_reason) == ("What happened.", BLOCK, "compaction")
    request = api.requests[0]
    assert request["compaction"] == {"type": "summarize", "instructions": "Keep the names."}
    assert request["system"] == "be brief"
    assert "betas" not in request
    assert check(request) == []


def test_it_stands_first_and_is_sent_byte_for_byte() -> None:
    drafts = work(2)
    api = Api(replies([BLOCK], "compaction"))
    task = task_of(*drafts)
    accepted = attempt(
        task, ServerSummarizer("m", client=api.client), Recorder(), Ledger(), Limits()
    )
    events = [*drafts, ASKED.accepted(accepted)]
    hidden = edit(shown(1, len(drafts), "summary", summary=len(events)))
    view = view_of(*events, hidden, user("go on"), assistant("gladly"))
    messages = render(view)["messages"]
    assert messages[0] == {"role": "assistant", "content": [BLOCK]}
    assert messages[0]["content"][0] is log(*events)[-1].data["content"][0]
    assert [m["role"] for m in messages] == ["assistant", "user", "assistant"]
    assert repairs(view) == []


def test_a_failed_compaction_is_a_200_without_a_block() -> None:
    for content in ([], [{"type": "compaction", "content": None}]):
        api = Api(replies(content, "compaction"))  # type: ignore[arg-type]
        summarizer = ServerSummarizer("m", client=api.client)
        assert reason_of(lambda s=summarizer: s.summarize(task_of())) == "empty"  # type: ignore[misc]


def test_it_begins_with_the_conversation_or_not_at_all() -> None:
    api = Api(says("never asked"))
    view = view_of(user("one"), assistant("two"), user("three"), assistant("four"))
    task = SummaryTask.of(view, [(3, 4)], PLAIN)
    summarizer = ServerSummarizer("m", client=api.client)
    assert reason_of(lambda: summarizer.summarize(task)) == "unsupported"
    assert api.requests == []


def test_its_typed_errors_go_out() -> None:
    api = Api(refuses("busy", status=529, code="compaction_unavailable"))
    summarizer = ServerSummarizer("m", client=api.client)
    assert reason_of(lambda: summarizer.summarize(task_of())) == "api_error"
