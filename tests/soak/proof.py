"""What must hold after a session of the soak test. The server's own record is the oracle."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from typing import Any

from foldlog.eventstore import Event, EventStore
from foldlog.projections.render.digest import digest
from tests.live.harness import problems
from tests.server import Received, Server
from tests.server.tokens import count
from tests.soak.harness import Harness
from tests.soak.model import Given


def proven(api: Server, harness: Harness) -> None:
    """All of it."""
    nothing_refused(api, harness)
    each_overflow_made_smaller(api, harness)
    requests_are_as_recorded(api, harness.store)
    replies_are_whole(harness)
    nothing_lost(harness)
    nothing_ran_twice(harness)
    for name in sessions(harness.store):
        assert problems(session_of(harness, name)) == []


def sessions(store: EventStore) -> list[str]:
    return [info.session for info in store.sessions()]


def session_of(harness: Harness, name: str) -> Any:
    from foldlog.projections import Session

    return Session(harness.store, name)


def events(store: EventStore, *types: str) -> list[Event]:
    """Those of all sessions, in the order in which they were recorded."""
    found = [e for name in sessions(store) for e in store.read(name, types=types)]
    return sorted(found, key=lambda event: event.position)


# -- what the server was sent ----------------------------------------------------------------


def nothing_refused(api: Server, harness: Harness) -> None:
    """The only refusals are those that the model asked for, and a window that was full."""
    asked = {id(refusal) for refusal in harness.model.refusals}
    others = [r for r in api.requests if r.refusal and id(r.refusal) not in asked]
    wrong = [r.refusal.message for r in others if not is_too_long(r)]
    assert wrong == []
    if not harness.observe:
        assert len(others) <= len(api.requests) * 0.02, "the view is not bounded"


def each_overflow_made_smaller(api: Server, harness: Harness) -> None:
    """Behind each request that was too long a smaller one follows."""
    for refused, following in zip(api.requests, api.requests[1:], strict=False):
        if is_too_long(refused):
            before, after = count(refused.call), count(following.call)
            assert after < before, f"{before} tokens were too long, and then {after}"


def is_too_long(received: Received) -> bool:
    return received.refusal is not None and received.refusal.status in (400, 413) and (
        received.refusal.status == 413
        or any(words in received.refusal.message for words in ("too long", "exceed", "not fit"))
    )  # fmt: skip


def requests_are_as_recorded(api: Server, store: EventStore) -> None:
    """The log holds the digest of each request, in their order, and of no other."""
    sent = [event.data["digest"] for event in events(store, "request.sent")]
    assert unrepeated(digest(r.body) for r in api.requests) == unrepeated(sent)


def unrepeated(names: Iterable[Any]) -> list[Any]:
    """A request that is tried again counts once."""
    found: list[Any] = []
    for name in names:
        if found[-1:] != [name]:
            found.append(name)
    return found


# -- what was said ---------------------------------------------------------------------------


def replies_are_whole(harness: Harness) -> None:
    """What the server said whole is in the log once, word for word; all else at most once."""
    main, beside = (by_id(events(harness.store, type)) for type in REPLIES)
    left = harness.left.union(*(child.left for child in harness.children))
    for given in harness.model.given:
        message = given.received.message
        if message is None:
            continue
        found = main.get(message["id"], []) + beside.get(message["id"], [])
        if not harness.observe:
            assert len(found) <= 1, message
        if is_whole(given) and message["id"] not in left:
            whole = [event for event in found if not event.data.get("partial")]
            assert any(event.data["content"] == message["content"] for event in whole), message


REPLIES = ("message.assistant", "request.answered")


def by_id(found: Iterable[Event]) -> dict[str, list[Event]]:
    named: dict[str, list[Event]] = {}
    for event in found:
        named.setdefault(str(event.data.get("id")), []).append(event)
    return named


def is_whole(given: Given) -> bool:
    return given.reply is not None and given.fault not in ("dies", "fails")


def nothing_lost(harness: Harness) -> None:
    """All that the user said and the tools gave is in the log, exactly once.

    One that sends its own list and edits it says things anew, on another branch.
    """
    everybody = [harness, *harness.children]
    said = Counter(
        event.data["content"]
        for event in events(harness.store, "message.user")
        if isinstance(event.data["content"], str)
    )
    gave = Counter(
        (event.data["tool_use_id"], text_of(event.data["content"]))
        for event in events(harness.store, "tool.result")
        if not event.data.get("synthesized")
    )
    wanted: list[Any] = [
        *(said[text] for each in everybody for text in each.said),
        *(gave[item] for each in everybody for item in each.outputs.items()),
    ]
    assert all(number >= 1 for number in wanted)
    if not harness.observe:
        assert all(number == 1 for number in wanted)
        assert max(Counter(id for id, _ in gave).values(), default=1) == 1


def text_of(content: Any) -> str:
    return content if isinstance(content, str) else json.dumps(content)


def nothing_ran_twice(harness: Harness) -> None:
    for each in (harness, *harness.children):
        assert max(each.ran.values(), default=0) <= 1
