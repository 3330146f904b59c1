"""`--write`: each change is asked first, and comes from the server's own form."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from foldlog.eventstore import EventStore, open_store
from foldlog.projections import Session, open_view
from tests.cli.demo import clock
from tests.formats.html.showcase import SHOWCASE, record
from tests.serve.conftest import Open, Site, serving

ADDRESS = f"/actions/{SHOWCASE}"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "sessions.db"
    with EventStore(path, clock=clock()) as store:
        record(store)
    return path


@pytest.fixture
def writable(path: Path) -> Iterator[Site]:
    with serving(path, write=True) as site:
        yield site


def act(site: Site, do: str, **given: str) -> tuple[int, str]:
    form = {"form": site.keys.form, "do": do, **given}
    answer = site.ask(ADDRESS, "POST", form=form, Origin=site.origin)
    return answer.status, answer.headers.get("location", "")


class TestActions:
    def test_each_does_what_it_says(self, writable: Site, path: Path) -> None:
        there = f"/sessions/{SHOWCASE}"
        assert act(writable, "pin", version="13") == (303, there)
        assert act(writable, "expand", version="17") == (303, there)
        assert act(writable, "rename", text=" Whole cents ") == (303, there)
        assert act(writable, "tag", text="money, bug") == (303, there)
        status, fork = act(writable, "fork", version="9", text="Another way")
        assert status == 303
        with open_store(path) as store:
            info, view = store.session(SHOWCASE), open_view(store, SHOWCASE)
            assert (info.title, info.tags) == ("Whole cents", ("money", "bug"))
            assert view.pins == (13,)
            piece = view.piece(17)
            assert piece is not None
            assert piece.shown.kind == "whole"
            forked = store.session(fork.removeprefix("/sessions/"))
            assert (forked.title, forked.parent, forked.parent_version) == (
                "Another way", SHOWCASE, 9
            )  # fmt: skip
        assert act(writable, "unpin", version="13") == (303, there)
        assert act(writable, "rewind", version="9") == (303, there)
        with open_store(path) as store:
            view = open_view(store, SHOWCASE)
            assert (view.head, view.pins) == (9, ())

    @pytest.mark.parametrize(
        ("do", "given"),
        [("pin", {"version": "999"}), ("pin", {}), ("expand", {"version": "13"}),
         ("rename", {"text": "  "}), ("unpin", {"version": "4"}), ("rewind", {"version": "x"})],
    )  # fmt: skip
    def test_what_cannot_be_done_is_said_and_changes_nothing(
        self, writable: Site, path: Path, do: str, given: dict[str, str]
    ) -> None:
        status, _ = act(writable, do, **given)
        assert status in (404, 409)
        with open_store(path) as store:
            assert store.last(SHOWCASE) == 21

    def test_an_unknown_action_or_session_is_not_there(self, writable: Site) -> None:
        assert act(writable, "delete")[0] == 404
        form = {"form": writable.keys.form, "do": "rename", "text": "x"}
        answer = writable.ask("/actions/none", "POST", form=form, Origin=writable.origin)
        assert answer.status == 404


class TestRefusals:
    @pytest.mark.parametrize("form", ["", "wrong", "ü"])
    def test_a_form_of_another_page_changes_nothing(
        self, writable: Site, path: Path, form: str
    ) -> None:
        given = {"form": form, "do": "rename", "text": "owned"}
        assert writable.ask(ADDRESS, "POST", form=given, Origin=writable.origin).status == 403
        with open_store(path) as store:
            assert store.last(SHOWCASE) == 21

    @pytest.mark.parametrize("origin", [None, "https://evil.invalid", "null", "http://127.0.0.1:1"])
    def test_a_request_of_another_page_changes_nothing(
        self, writable: Site, path: Path, origin: str | None
    ) -> None:
        given = {"form": writable.keys.form, "do": "rename", "text": "owned"}
        headers = {} if origin is None else {"Origin": origin}
        assert writable.ask(ADDRESS, "POST", form=given, **headers).status == 403
        with open_store(path) as store:
            assert store.last(SHOWCASE) == 21

    def test_without_the_cookie_nothing_is_done(self, writable: Site) -> None:
        given = {"form": writable.keys.form, "do": "rename", "text": "owned"}
        answer = writable.ask(ADDRESS, "POST", form=given, cookie=None, Origin=writable.origin)
        assert answer.status == 401

    def test_asking_changes_nothing_and_large_forms_are_refused(
        self, writable: Site, path: Path
    ) -> None:
        assert writable.ask(f"{ADDRESS}?do=rewind&version=4").status == 200
        given = {"form": writable.keys.form, "do": "rename", "text": "x" * 200_000}
        assert writable.ask(ADDRESS, "POST", form=given, Origin=writable.origin).status == 403
        with open_store(path) as store:
            assert store.last(SHOWCASE) == 21

    def test_without_write_there_are_no_actions(self, site: Site) -> None:
        assert site.ask(f"{ADDRESS}?do=rewind&version=4").status == 404
        given = {"form": site.keys.form, "do": "rename", "text": "owned"}
        assert site.ask(ADDRESS, "POST", form=given, Origin=site.origin).status == 404
        assert "/actions/" not in site.page(f"/sessions/{SHOWCASE}")


class TestInTheBrowser:
    def test_a_change_is_asked_and_then_done(self, writable: Site, visit: Open) -> None:
        seen = visit(writable, f"/sessions/{SHOWCASE}?at=21&near=13")
        page = seen.page
        page.locator("#now a:text('Rename')").click()
        page.locator("#ask[open] input[name=text]").fill("Whole cents")
        page.locator("#ask .no").click()
        page.locator("#ask").wait_for(state="hidden")
        page.locator("#now a:text('Rename')").click()
        page.locator("#ask[open] input[name=text]").fill("Whole cents")
        page.locator("#ask .yes").click()
        page.locator("h1:text('Whole cents')").wait_for()
        page.locator(".row:has(#v4)").first.scroll_into_view_if_needed()
        page.locator(".seen .acts a:text('Show again')").first.click()
        page.locator("#ask[open] .yes").click()
        page.locator("#moment[data-last='23']").wait_for(state="attached")
        assert seen.said == []

    def test_it_works_without_a_script(self, writable: Site, visit: Open, path: Path) -> None:
        page = visit(writable, f"{ADDRESS}?do=rewind&version=9", java_script_enabled=False).page
        assert "Move the head back to version 9?" in page.inner_text("main")
        page.click(".yes")
        page.wait_for_url(f"**/sessions/{SHOWCASE}")
        with open_store(path) as store:
            assert Session(store, SHOWCASE).view().head == 9
