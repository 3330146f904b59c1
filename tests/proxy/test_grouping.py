"""Requests that belong together are in one session, and no others."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from anthropic import APIStatusError
from click.testing import CliRunner

from foldlog import EventStore, Session
from foldlog.cli.main import foldlog
from foldlog.cli.safe import is_plain
from tests.proxy.conftest import Running
from tests.proxy.talk import (
    MODEL,
    assistant,
    client,
    events,
    only,
    say,
    sessions,
    user,
    verify,
)
from tests.server import Server, call, overloaded, reply
from tests.server.talk import wire
from tests.server.threads import BETA

UUID = "9583bc64-b61e-4605-89e9-c74b5beb21d3"
NEW_USER = json.dumps({"device_id": "d", "account_uuid": "", "session_id": UUID})
OLD_USER = f"user_{'0' * 64}_account__session_{UUID}"


def headers(**named: str) -> dict[str, Any]:
    return {"extra_headers": {name.replace("_", "-"): value for name, value in named.items()}}


def started(store: EventStore, session: str) -> dict[str, Any]:
    return events(store, "session.started", session=session)[0].data


def test_a_client_names_its_session_and_the_api_does_not_hear_of_it(
    proxy: Running, api: Server
) -> None:
    say(client(proxy), user("One"), **headers(x_foldlog_session="mine"))
    say(client(proxy), user("Another"), **headers(x_foldlog_session="mine"))
    assert sessions(proxy.store) == ["mine"]
    assert not any("foldlog" in name for received in api.requests for name in received.headers)


def test_an_id_that_a_client_gives_is_a_plain_word(proxy: Running, api: Server) -> None:
    sdk = client(proxy)
    for id in ("abc$(touch X)", "abc$(touch Y)", "-rf", "\x9b2J", "x" * 500):
        say(sdk, user("One"), **headers(x_foldlog_session=id))
        say(sdk, user("One"), **headers(x_claude_code_session_id=id, x_claude_code_agent_id=id))
    assert len(sessions(proxy.store)) == 10
    assert all(is_plain(id) and len(id) < 300 for id in sessions(proxy.store))


def test_claude_codes_session_is_known_by_its_header_or_its_metadata(
    proxy: Running, api: Server
) -> None:
    sdk = client(proxy)
    say(sdk, user("One"), **headers(x_claude_code_session_id=UUID))
    say(sdk, user("Two"), metadata={"user_id": NEW_USER})
    say(sdk, user("Three"), metadata={"user_id": OLD_USER})
    assert sessions(proxy.store) == [f"proxy-{UUID}"]
    assert started(proxy.store, f"proxy-{UUID}")["origin"]["session"] == UUID
    assert [event.data["purpose"] for event in events(proxy.store, "request.sent")] == [
        *("turn", "side", "side")
    ]


def test_a_user_id_that_names_no_session_names_none(proxy: Running, api: Server) -> None:
    for user_id in ("me", "{", "[]", '{"session_id": 1}', '{"session_id": ""}'):
        say(client(proxy), user("One"), metadata={"user_id": user_id})
    assert len(sessions(proxy.store)) == 5


def test_a_subagent_has_a_session_of_its_own_below_the_call_that_started_it(
    proxy: Running, api: Server
) -> None:
    api.script(
        reply(
            call("Agent", "toolu_1", prompt="Look for tests"),
            call("Agent", "toolu_2", prompt="Look for docs"),
        )
    )
    sdk = client(proxy)
    tool = {"name": "Agent", "input_schema": {"type": "object"}}
    say(sdk, user("Find it"), tools=[tool], **headers(x_claude_code_session_id=UUID))
    api.respond = lambda _: reply("Found.")
    agent = headers(x_claude_code_session_id=UUID, x_claude_code_agent_id="a1")
    first = [
        user([{"type": "text", "text": "<reminder>"}, {"type": "text", "text": "Look for docs"}])
    ]
    say(sdk, *first, **agent)
    say(sdk, *first, assistant("Found."), user("Sure?"), **agent)
    main, child = f"proxy-{UUID}", f"proxy-{UUID}-agent-a1"
    assert sessions(proxy.store) == [main, child]
    assert started(proxy.store, child)["parent"] == {
        "session": main,
        "version": 5,
        "kind": "subagent",
        "tool_use_id": "toolu_2",
    }
    assert len(events(proxy.store, "message.assistant", session=child)) == 2
    proxy.stop()
    verify(proxy.store)


def test_a_conversation_is_known_by_what_was_said(proxy: Running, api: Server) -> None:
    """Whatever a harness leaves out of replies, and wherever it puts its cache marks."""
    api.script(
        *(reply("First."), reply("Second."), reply(call("bash", "toolu_9"))),
        *(reply("Still first."), reply("Still third.")),
    )
    sdk, tool = client(proxy), {"name": "bash", "input_schema": {"type": "object"}}
    say(sdk, user("One"))
    say(sdk, user("Two"))
    third = say(sdk, user("Three"), tools=[tool])
    mark = {"cache_control": {"type": "ephemeral"}}
    say(
        sdk,
        *(user([{"type": "text", "text": "One", **mark}]), assistant("First."), user("More")),
    )
    result = {"type": "tool_result", "tool_use_id": "toolu_9", "content": "x"}
    say(sdk, user("Three"), assistant(wire(third)), user([result]), tools=[tool])
    told = {
        Session(proxy.store, name).render(open="keep")["messages"][-1]["content"][0]["text"]
        for name in sessions(proxy.store)
    }
    assert told == {"Second.", "Still first.", "Still third."}
    proxy.stop()
    verify(proxy.store)


def test_the_same_words_may_begin_two_conversations(proxy: Running, api: Server) -> None:
    api.script(reply("A."), reply("B."), reply("A2."), reply("B2."))
    sdk = client(proxy)
    for _ in range(2):
        say(sdk, user("Hello"))
    say(sdk, user("Hello"), assistant("A."), user("And?"))
    say(sdk, user("Hello"), assistant("B."), user("And?"))
    texts = [
        [message["content"] for message in Session(proxy.store, name).render()["messages"]][3][0]
        for name in sessions(proxy.store)
    ]
    assert sorted(text["text"] for text in texts) == ["A2.", "B2."]


def test_what_is_sent_again_after_a_failure_is_no_new_conversation(
    proxy: Running, api: Server
) -> None:
    api.faults.append(overloaded())
    sdk = client(proxy)
    with pytest.raises(APIStatusError):
        say(sdk, user("Hello"))
    say(sdk, user("Hello"))
    assert len(sessions(proxy.store)) == 1


def test_a_conversation_is_known_after_a_restart(
    proxied: Callable[..., Running], api: Server
) -> None:
    api.script(*(reply(f"{n}.") for n in range(4)))
    said: list[dict[str, Any]] = []
    first = proxied(api.url)
    for n in range(2):
        said += [user(f"Question {n}")]
        say(client(first), *said)
        said += [assistant(f"{n}.")]
    say(client(first), user("Question 0"))
    first.stop()
    assert len(sessions(first.store)) == 2
    again = proxied(api.url)
    say(client(again), *said, user("And?"))
    assert len(sessions(again.store)) == 2
    assert sorted(info.messages for info in again.store.sessions()) == [2, 6]


@pytest.mark.parametrize("restarts", [False, True])
def test_a_message_thread_is_the_conversation_that_it_goes_on_from(
    proxied: Callable[..., Running], api: Server, restarts: bool
) -> None:
    """The API holds what was said; a request brings the id of a reply and what is new."""
    api.script(*(reply(call("look", f"toolu_{n}")) for n in range(2)), *[reply("Done.")] * 2)
    proxy = proxied(api.url)
    replies = [threaded(proxy, user("Look."), {"type": "create"}) for _ in range(2)]
    if restarts:
        proxy.stop()
        proxy = proxied(api.url)
    for n in (1, 0):
        found = {"type": "tool_result", "tool_use_id": f"toolu_{n}", "content": f"Found {n}."}
        thread = {"type": "continue", "previous_message_id": replies[n].id}
        threaded(proxy, user([found]), thread)
    assert len(sessions(proxy.store)) == 2
    for session in sessions(proxy.store):
        said = Session(proxy.store, session).render()["messages"]
        assert [message["role"] for message in said] == ["user", "assistant"] * 2
        asked, found = said[1]["content"][0]["id"], said[2]["content"][0]
        assert found["tool_use_id"] == asked
        assert found["content"] == f"Found {asked[-1]}."


def threaded(proxy: Running, message: dict[str, Any], thread: dict[str, Any]) -> Any:
    tools = [{"name": "look", "input_schema": {"type": "object"}}]
    asked: dict[str, Any] = {"model": MODEL, "max_tokens": 1_000, "thread": thread, "betas": [BETA]}
    more = {"tools": tools} if thread["type"] == "create" else {}
    return client(proxy).beta.messages.create(messages=[message], **asked, **more)


def test_one_session_for_everything(proxied: Callable[..., Running], api: Server) -> None:
    proxy = proxied(api.url, session="all", title="Everything")
    say(client(proxy), user("One"), **headers(x_claude_code_session_id=UUID))
    say(client(proxy), user("Two"))
    assert only(proxy.store) == "all"
    assert proxy.store.session("all").title == "Everything"


def test_a_name_that_a_client_makes_up_does_no_harm(proxy: Running, api: Server) -> None:
    say(client(proxy), user("One"), **headers(x_claude_code_session_id="../../etc;rm -rf %"))
    assert sessions(proxy.store) == ["proxy-etc-rm-rf-4402f179"]
    say(client(proxy), user("Two"), **headers(x_claude_code_session_id="x" * 9_000))
    assert len(sessions(proxy.store)[-1]) < 130


def test_the_model_of_a_request_is_recorded(proxy: Running, api: Server) -> None:
    say(client(proxy), user("One"))
    assert events(proxy.store, "request.sent")[0].data["model"] == MODEL


def said_by(message: Any) -> str:
    """The text of a reply."""
    return str(message.content[0].text)


ENVIRONMENT = "<system-reminder>\n - Primary working directory: {}\n</system-reminder>"


def asked_in(folder: str, words: str) -> dict[str, Any]:
    """A first message as Claude Code writes it: what it says itself comes before the person."""
    texts = ENVIRONMENT.format(folder), "<system-reminder>\nToday.\n</system-reminder>", words
    return {"role": "user", "content": [{"type": "text", "text": text} for text in texts]}


def test_a_session_says_where_it_works_what_was_asked_and_who_asked(
    proxy: Running, api: Server
) -> None:
    agent = {"user-agent": "claude-cli/2.1.332 (external, cli)", "x-claude-code-session-id": UUID}
    say(client(proxy), asked_in("/home/user/work", "Fix the\ntests"), extra_headers=agent)
    info = proxy.store.session(f"proxy-{UUID}")
    assert (info.title, info.cwd) == ("Fix the tests", "/home/user/work")
    assert info.origin["client"] == "claude-cli-2.1.332"
    assert info.origin["version"] == "2.1.332"
    assert info.origin["model"] == MODEL
    assert proxy.store.find_session("last", cwd="/home/user/work") == info.session


@pytest.mark.parametrize(
    "system",
    ["Working directory: /a b", "<env>\nWorking directory: /a b\n</env>", "<cwd>/a b</cwd>"],
)
def test_the_folder_may_be_named_in_the_system_prompt(
    proxy: Running, api: Server, system: str
) -> None:
    say(client(proxy), user("One"), system=system)
    assert proxy.store.session(only(proxy.store)).cwd == "/a b"


def test_a_harness_that_forks_under_a_new_id_is_a_fork(proxy: Running, api: Server) -> None:
    said = "A reply that is long enough to be known again wherever it stands in a conversation."
    api.script(reply(said), reply("Two."), reply("Other."))
    sdk, other = client(proxy), "00000000-0000-4000-8000-000000000002"
    talk = [user("One")]
    talk.append(assistant(said_by(say(sdk, *talk, **headers(x_claude_code_session_id=UUID)))))
    say(sdk, *talk, user("Two"), **headers(x_claude_code_session_id=UUID))
    say(sdk, *talk, user("Another way"), **headers(x_claude_code_session_id=other))
    info = proxy.store.session(f"proxy-{other}")
    assert (info.parent, info.parent_kind) == (f"proxy-{UUID}", "fork")
    assert len(events(proxy.store, "message.user", session=f"proxy-{UUID}")) == 2
    verify(proxy.store)


def test_a_window_that_slides_is_one_conversation(proxy: Running, api: Server) -> None:
    sdk, talk = client(proxy), []
    api.script(*(reply(f"This is reply {n}, which says enough to be known.") for n in range(9)))
    for n in range(9):
        talk = [*talk, user(f"Question {n}, which says something as well.")][-5:]
        talk.append(assistant(said_by(say(sdk, *talk))))
    session = only(proxy.store)
    assert len(events(proxy.store, "message.user", session=session)) == 9
    assert not events(proxy.store, "head.moved", session=session)
    verify(proxy.store)


def test_a_list_that_restarts_from_its_own_summary_is_the_same_conversation(
    proxy: Running, api: Server
) -> None:
    summary = "The person wants the tests fixed; two of three pass; the third fails."
    api.script(reply("Hello."), reply(f"<summary>{summary}</summary>"), reply("I go on."))
    sdk = client(proxy)
    talk = [user("One")]
    talk.append(assistant(said_by(say(sdk, *talk))))
    say(sdk, *talk, user("Sum up what was done."))
    say(sdk, user(f"Summary so far: {summary}"))
    session = only(proxy.store)
    assert len(events(proxy.store, "summary.written", session=session)) == 1
    assert proxy.store.session(session).compactions == 1
    verify(proxy.store)


def test_a_conversation_that_is_recorded_and_imported_is_one(proxy: Running, api: Server) -> None:
    say(client(proxy), user("One"), **headers(x_claude_code_session_id=UUID))
    recorded = f"proxy-{UUID}"
    imported = Session(proxy.store, UUID)
    imported.user("One")
    assert listed(proxy.store) == {recorded: [UUID], UUID: [recorded]}
    assert listed(proxy.store, "--merged") == {recorded: [UUID]}
    imported.assistant([{"type": "text", "text": "Hi."}], model=MODEL)
    imported.user("Two, when the proxy was not there.")
    assert listed(proxy.store, "--merged") == {UUID: [recorded]}


def listed(store: EventStore, *options: str) -> dict[str, list[str]]:
    """What ``foldlog sessions`` lists, each with the others that hold the same conversation."""
    done = CliRunner().invoke(foldlog, ["--db", store.path, "sessions", "--json", *options])
    assert done.exit_code == 0, done.output
    infos = map(json.loads, done.stdout.splitlines())
    return {info["session"]: info["also"] for info in infos}
