"""Stores that are empty, odd, damaged or shared, and many requests at a time."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from foldlog.cli.serve.addresses import address
from foldlog.eventstore import EventDraft, EventStore
from foldlog.projections import Session
from tests.formats.html.showcase import CHILD, HOSTILE, SHOWCASE
from tests.projections.build import call, shown
from tests.serve.conftest import Site, serving

NAMES = ("a/b", "a b?c=d&e#f", "ünï→", "%2e%2e", "x" * 300, "proxy:2026/1+1", "..a", "a;b,c")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "sessions.db"


class TestStores:
    def test_an_empty_one_says_how_to_fill_it(self, path: Path) -> None:
        EventStore(path).close()
        with serving(path) as site:
            assert "Nothing is recorded yet" in site.page("/")
            assert "No request was counted" in site.ask("/figures", HX_Target="figures").text

    def test_one_that_is_removed_is_named(self, path: Path) -> None:
        EventStore(path).close()
        with serving(path) as site:
            path.unlink()
            answer = site.ask("/sessions/s")
        assert answer.status == 409
        assert f"there is no store at {path}" in answer.text

    def test_a_session_may_have_any_name(self, path: Path) -> None:
        with EventStore(path) as store:
            for name in NAMES:
                Session(store, name).user(f"I am {name}")
        with serving(path) as site:
            for name in NAMES:
                assert f'href="{address("sessions", name)}"'.replace("&", "&amp;") in site.page("/")
                page = site.page(address("sessions", name))
                assert 'data-version="1"' in page
                for found in re.findall(r'(?:href|hx-get)="(/[^"#]+)"', page):
                    assert site.ask(found.replace("&amp;", "&")).status == 200, found

    def test_content_that_is_no_content_is_shown(self, path: Path) -> None:
        source = {"type": "base64", "media_type": [], "data": "eA=="}
        content = [5, None, ["x"], {"type": ["x"]}, {"type": "image", "source": source}]
        with EventStore(path) as store:
            session = Session(store, "odd")
            session.user([*content, {"type": "text", "text": 7}])
            store.append("odd", [EventDraft("summary.written", {"text": content})])
            session.edit("r", "why", [shown(1, 1, "summary", summary=2)])
            session.user("the end")
        with serving(path) as site:
            pieces = (
                f"/pieces/odd?first={first}&last={last}" for first in (1, 4) for last in (-1, 1)
            )
            events = (f"/events/odd?version={version}" for version in (1, 2, 3))
            for address in ("/sessions/odd", "/compare/odd?from=1", *pieces, *events):
                assert site.page(address)

    def test_a_fork_shows_the_past_that_it_shares(self, path: Path) -> None:
        with EventStore(path) as store:
            session = Session(store, "one")
            session.user("The past.")
            session.assistant([{"type": "text", "text": "Yes."}])
            store.fork("one", new="two")
            Session(store, "two").user("The future.")
        with serving(path) as site:
            page = site.page("/sessions/two")
            assert "The past." in page
            assert "The future." in page
            assert 'href="/sessions/two"' in site.page("/sessions/one")

    def test_a_subagent_is_linked_where_it_was_started(self, site: Site) -> None:
        assert f'href="/sessions/{CHILD}"' in site.page(f"/sessions/{SHOWCASE}?near=13")

    def test_an_edit_that_cannot_be_folded_is_named_and_can_be_travelled_around(
        self, path: Path
    ) -> None:
        with EventStore(path) as store:
            session = Session(store, "s")
            session.user("hi")
            bad = {
                "rule": "x",
                "reason": "y",
                "edits": [{"first": 9, "last": 9, "shown": "hidden"}],
            }
            session.append(EventDraft("view.edited", bad))
        with serving(path) as site:
            answer = site.ask("/sessions/s")
            assert answer.status == 409
            assert "version 2 (view.edited) cannot be folded" in answer.text
            assert 'href="/sessions/s?at=1"' in answer.text
            assert 'data-version="1"' in site.page("/sessions/s?at=1")
            assert 'href="/sessions/s"' in site.page("/")

    def test_a_call_far_from_its_result_is_not_said_to_have_none(self, path: Path) -> None:
        with EventStore(path) as store:
            session = Session(store, "s")
            session.assistant([call("far", "Bash", command="sleep 1000")])
            for n in range(150):
                session.attach("note", f"note {n}")
            session.tool_result("far", "The end of a long wait.")
        with serving(path) as site:
            page = site.page("/sessions/s?near=1")
            assert "sleep 1000" in page
            assert "The end of a long wait." in site.page("/sessions/s")


class TestTogether:
    def test_many_requests_at_a_time_are_all_answered(self, site: Site) -> None:
        addresses = [
            *("/", f"/sessions/{HOSTILE}", f"/charts/{SHOWCASE}", "/search?q=cents"),
            *(f"/sessions/{SHOWCASE}?at={version}" for version in range(1, 21)),
        ]
        with ThreadPoolExecutor(12) as pool:
            answers = list(pool.map(site.ask, addresses * 2))
        assert [answer.status for answer in answers] == [200] * len(answers)
        half = len(addresses)
        assert [a.text for a in answers[2:half]] == [a.text for a in answers[half + 2 :]]
