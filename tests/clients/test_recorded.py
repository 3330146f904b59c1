"""What real programs sent, sent again: foldlog records it, and shows exactly what was sent.

The recordings are in tests/fixtures/clients; a README there says where they come from. One of them:

    pytest tests/clients/test_recorded.py -k "claude-code-2.1.332/compact and proxy"
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from foldlog import EventStore
from tests.clients import exchanges
from tests.clients.replay import Sent, diverging, misshown, replay, replay_through_the_sdk
from tests.proxy.talk import verify

DOORS = {"proxy": replay, "sdk": replay_through_the_sdk}

REPLIES = ("message.assistant", "request.answered")
"""Where replies are recorded: in the conversation, or as the answer to a request of its own."""


def ordinary(name: str) -> bool:
    """Whether a loop does nothing but talk and call tools."""
    return name.endswith(("/loop", "/agent", "/runner"))


def single(name: str) -> bool:
    """Whether a loop is one conversation, so that one session can record it."""
    return not name.endswith(("/agent", "/stream"))


def cases(of: Callable[[str], bool]) -> list[object]:
    """The loops through each door."""
    return [
        pytest.param(name, door, id=f"{name}-{door}")
        for name in exchanges.recorded()
        for door in DOORS
        if of(name) and (door == "proxy" or single(name))
    ]


@dataclass
class Replays:
    """Recordings that were sent again, each once."""

    folder: Path
    done: dict[tuple[str, str], tuple[EventStore, list[Sent]]] = field(default_factory=dict)

    def of(self, name: str, door: str) -> tuple[EventStore, list[Sent]]:
        """The store and the requests of a loop that came through a door."""
        if (name, door) not in self.done:
            store = EventStore(self.folder / f"{len(self.done)}.db")
            self.done[name, door] = store, DOORS[door](store, exchanges.read(name))
        return self.done[name, door]


@pytest.fixture(scope="module")
def replays(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replays]:
    made = Replays(tmp_path_factory.mktemp("replays"))
    yield made
    for store, _ in made.done.values():
        store.close()


def every(name: str) -> bool:
    return True


@pytest.mark.parametrize(("name", "door"), cases(every))
def test_it_is_recorded_and_can_be_proven(replays: Replays, name: str, door: str) -> None:
    store, sent = replays.of(name, door)
    assert len(sent) == len(exchanges.read(name))
    replied = {one.answer["id"] for one in exchanges.read(name) if one.status == 200}
    replies = {event.data.get("id") for event in store.events() if event.type in REPLIES}
    assert replied <= replies
    verify(store)


@pytest.mark.parametrize(("name", "door"), cases(every))
def test_each_request_is_shown_as_it_was_sent(replays: Replays, name: str, door: str) -> None:
    store, sent = replays.of(name, door)
    assert misshown(store, sent) == []


@pytest.mark.parametrize(("name", "door"), cases(every))
def test_with_its_marks_for_the_prompt_cache(replays: Replays, name: str, door: str) -> None:
    store, sent = replays.of(name, door)
    whole = [one for one in sent if not one.body.get("thread")]
    assert misshown(store, whole, exact=True) == []


@pytest.mark.parametrize(("name", "door"), cases(ordinary))
def test_nothing_differs_from_the_view(replays: Replays, name: str, door: str) -> None:
    store, _ = replays.of(name, door)
    assert diverging(store) == []
