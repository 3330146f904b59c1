"""The digest: what the log tells without a model, bounded, the same each time."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldlog.eventstore import EventStore
from foldlog.eventstore.events import EventDraft
from foldlog.projections import Session
from foldlog.projections.compaction import policy, presets
from foldlog.projections.compaction.rules.summarize import SummarizeHistory
from foldlog.projections.summaries import DigestSummarizer, SummaryTask, prompt, prompts
from foldlog.projections.summaries.acceptance import check
from foldlog.projections.summaries.facts import current, weight
from foldlog.projections.tokens.estimate import estimate
from tests.compaction.talk import reason_of, task_of, work
from tests.projections.build import assistant, call, edit, result, shown, state, summary, user


def digest(*drafts: EventDraft, prompt_: str = "facts", **more: Any) -> str:
    task = task_of(*drafts, prompt=prompt(prompt_), **more)
    return DigestSummarizer().summarize(task).text


def part(text: str, heading: str) -> str:
    return text.partition(f"## {heading}\n")[2].partition("\n## ")[0]


def session() -> list[EventDraft]:
    """A session with everything that a digest tells of."""
    return [
        user("Fix the login. Never touch billing."),
        assistant("Looking.", call("a", "Read", file_path="login.py")),
        result("a", "def login(): ..." * 50),
        assistant(call("b", "Edit", file_path="login.py"), call("c", "Bash", command="pytest -q")),
        result("b", "ok"),
        result("c", "1 failed: test_login " + "." * 900, is_error=True),
        assistant(call("d", "Write", file_path="notes.md"), call("e", "bash", command="git push")),
        result("d", "ok " * 300),
        result("e", "pushed " * 200),
        state(
            "plan",
            [
                {"content": "find the bug", "status": "completed"},
                {"content": "add a test", "status": "pending"},
            ],
        ),
        user("Use the staging server, 10.0.0.7."),
        user("And tell me when it's done."),
        assistant("The test fails still; I am on it."),
    ]


def test_it_tells_what_was_said_and_done() -> None:
    text = digest(*session())
    assert '"And tell me when it\'s done."' in part(text, "Goal")
    assert '"Fix the login. Never touch billing."' in part(text, "Goal")
    assert '"Use the staging server, 10.0.0.7."' in part(text, "Constraints")
    assert "`pytest -q`: failed: 1 failed: test_login" in part(text, "Done")
    assert "`git push`: done" in part(text, "Done")
    assert "The test fails still" in part(text, "In progress")
    assert part(text, "Blocked").startswith("- Bash `pytest -q`: 1 failed")
    assert part(text, "Next") == "- add a test (pending)"
    assert part(text, "Files").splitlines() == [
        "- `notes.md` (written)",
        "- `login.py` (edited, read)",
    ]


def test_the_same_log_gives_the_same_digest() -> None:
    assert digest(*session()) == digest(*session())


def test_a_finished_plan_is_not_revived() -> None:
    done = [{"content": "find the bug", "status": "completed"}]
    assert "find the bug" not in digest(*session(), state("plan", done))


ASKED = [
    rule for name in presets() for rule in policy(name).rules if isinstance(rule, SummarizeHistory)
]


@pytest.mark.parametrize("rule", ASKED, ids=lambda rule: rule.prompt)
def test_it_is_accepted_whatever_headings_a_preset_asks_for(rule: SummarizeHistory) -> None:
    given = {"sections": rule.sections, "required": rule.sections}
    task = task_of(*session(), prompt=prompt(rule.prompt), **given)
    check(DigestSummarizer().summarize(task), task)


@pytest.mark.parametrize("rule", ASKED, ids=lambda rule: rule.prompt)
def test_every_preset_names_a_prompt_that_tells_what_belongs_below_its_headings(
    rule: SummarizeHistory,
) -> None:
    told = {section.name for section in prompt(rule.prompt).sections}
    assert set(rule.sections) <= told | {prompt(rule.prompt).files}


def test_a_digest_of_a_digest_is_made_anew_from_the_log() -> None:
    first = session()
    earlier = [*first, summary("digest", raw="x", prompt="digest@2")]
    both = [*earlier, edit(shown(1, 13, "summary", summary=14)), user("more"), *work(2)[1:]]
    text = digest(*both)
    assert "Never touch billing" in text
    assert "- `login.py` (edited, read)" in part(text, "Files")
    assert "- `f1.py` (read)" in part(text, "Files")


def test_what_a_model_wrote_before_is_carried_on_as_far_as_it_fits() -> None:
    earlier = summary("frame", raw="We chose SQLite over files.", prompt="pi@1")
    drafts = [*session(), earlier, edit(shown(1, 13, "summary", summary=14)), *work(6)]
    text = digest(*drafts, prompt_="opencode")
    assert "We chose SQLite over files." in part(text, "Key Decisions")


def test_a_value_that_was_replaced_does_not_come_back() -> None:
    texts = ["Budget cap is $300 in all.", "Rename foo.", "Budget cap is $700 in all."]
    assert [words.text for words in current(texts)] == texts[1:]


def test_a_rule_about_another_thing_replaces_nothing() -> None:
    texts = ["Never delete table t1.", "Never delete table t2.", "No nuts here.", "No milk here."]
    assert [words.text for words in current(texts)] == texts


def test_what_binds_outweighs_talk() -> None:
    talk = "The dashboard mock shows both curves side by side."
    for binding in ("Never push before I have reviewed it.", "Use port 8080.", "不要删除数据"):
        assert weight(binding) > weight(talk)


def test_what_binds_survives_where_there_is_little_room() -> None:
    talk = [
        d
        for n in range(60)
        for d in (user(f"Some idle talk about topic {'x' * n}."), assistant("ok"))
    ]
    drafts = [user("hi"), *talk[:40], user("Never push to the remote."), *talk[40:]]
    text = digest(*drafts, at_most=400)
    assert "Never push to the remote." in text
    assert "more messages of the user in the log" in text


def test_a_quotation_mark_in_what_was_said_is_no_end_of_it() -> None:
    task = task_of(user('Say "yes" or\n"no".'), *work(3), prompt=prompt("adaptive"))
    check(DigestSummarizer().summarize(task), task)


@given(st.integers(0, 3_000), st.sampled_from(prompts()))
def test_it_takes_no_more_than_its_room_and_is_accepted(room: int, name: str) -> None:
    task = task_of(*session(), *work(4), prompt=prompt(name), at_most=room)
    verdict = reason_of(lambda: check(DigestSummarizer().summarize(task), task))
    assert verdict in ("accepted", "over_target")
    if verdict == "accepted":
        assert estimate(DigestSummarizer().summarize(task).text) <= room
    assert verdict == "accepted" or room < 300


words = st.text(alphabet="ab \"\n'`#-:…“”>不用户 .", max_size=600)


@given(st.lists(words, min_size=1, max_size=8), st.sampled_from(["adaptive", "claude-code"]))
def test_whatever_was_said_is_quoted_truly(said: list[str], name: str) -> None:
    drafts = [d for text in said for d in (user(text), assistant("working " * 40))]
    task = task_of(*drafts, prompt=prompt(name))
    assert reason_of(lambda: check(DigestSummarizer().summarize(task), task)) in (
        "accepted",
        "skeleton",  # nothing but white space and quotation marks was said
        "over_target",
    )


def test_what_the_user_said_elsewhere_is_the_goal_still() -> None:
    view = task_of(*session()).view
    headings = ("Goal", "Next")
    task = SummaryTask.of(view, [(2, 9)], prompt("facts"), sections=headings, required=headings)
    reply = DigestSummarizer().summarize(task)
    check(reply, task)
    assert part(reply.text, "Goal") == '- "And tell me when it\'s done."'


def test_what_was_said_in_between_is_no_goal() -> None:
    """The first message and the newest stay verbatim; what is summarized lies between them."""
    view = task_of(*session()).view
    task = SummaryTask.of(view, [(2, 11)], prompt("adaptive"), sections=("Goal", "Constraints"))
    text = DigestSummarizer().summarize(task).text
    assert "staging server" not in part(text, "Goal")
    assert "staging server" in part(text, "Constraints")


def test_where_nobody_said_anything_the_goal_says_so() -> None:
    headings = {"sections": ("Goal", "Next"), "required": ("Goal", "Next")}
    task = task_of(assistant("Looking. " * 40), prompt=prompt("facts"), **headings)
    reply = DigestSummarizer().summarize(task)
    check(reply, task)
    assert "stands in the conversation, word for word" in part(reply.text, "Goal")


def test_nothing_is_nothing() -> None:
    task = SummaryTask.of(task_of(state("plan", 1)).view, [(1, 1)], prompt("facts"))
    assert reason_of(lambda: DigestSummarizer().summarize(task)) == "nothing"


def test_each_event_is_read_once_however_often_it_was_summarized() -> None:
    session = Session(EventStore(":memory:"), "s")
    for number in range(20):
        session.user(f"Task {number}: " + "look at all of it. " * 30)
        session.append(assistant(f"Done {number}. " + "It was as you said. " * 30))
        if number % 4 == 3:
            session.compact("claude-code", model="claude-opus-5", window=3_000)
    covered = [
        [version for first, last in event.data["covers"] for version in range(first, last + 1)]
        for event in session.store.read("s", types=["summary.written"])
    ]
    assert len(covered) == 5
    for versions in covered:
        assert versions == sorted(set(versions))
