"""The real programs run their loops through foldlog, against the test server.

``make clients`` installs them and runs this. One of them:

    FOLDLOG_CLIENTS=build/clients pytest tests/clients/test_live.py -k claude-code-2.1.332/compact
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.clients.conftest import LIVE, Place
from tests.clients.exchanges import heard, recorded
from tests.clients.loops import LOOPS
from tests.clients.replay import diverging, located, misshown
from tests.clients.test_recorded import ordinary
from tests.proxy.talk import verify


@LIVE
@pytest.mark.parametrize("name", LOOPS)
def test_what_it_sends_is_what_is_shown(place: Callable[..., Place], name: str) -> None:
    at = place()
    LOOPS[name](at.desk)
    at.proxy.stop()
    sent = located(at.store, heard(at.api))
    assert [received.refusal for received in at.api.requests if received.refusal] == []
    verify(at.store)
    assert misshown(at.store, sent) == []
    assert not ordinary(name) or diverging(at.store) == []


@LIVE
@pytest.mark.parametrize("name", [name for name in LOOPS if ordinary(name)])
def test_it_works_on_when_it_is_sent_the_view(place: Callable[..., Place], name: str) -> None:
    at = place(policy="adaptive")
    LOOPS[name](at.desk)
    at.proxy.stop()
    assert [received.refusal for received in at.api.requests if received.refusal] == []
    verify(at.store)


def test_every_loop_is_recorded_too() -> None:
    assert sorted(LOOPS) == recorded()
