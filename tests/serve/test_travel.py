"""A session in a real browser: the slider, the keys, the windows, and what pages hold."""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from foldlog.eventstore import EventDraft, EventStore, open_store
from foldlog.projections import Session
from foldlog.projections.view.address import resolve
from tests.formats.html.outline import Outline
from tests.formats.html.showcase import CHILD, HOSTILE, SHOWCASE, picture, record_large
from tests.projections.build import call, shown
from tests.serve.conftest import Open, Site, expect, serving

LARGEST_PAGE = 300_000
"""Bytes of a page at most."""

WIDE, PHONE = {"width": 1280, "height": 800}, {"width": 360, "height": 740}


def cells(page: Any) -> list[str]:
    """The states of the cells at the right, from the top."""
    found = page.locator(".cell").evaluate_all("(cells) => cells.map((cell) => cell.className)")
    return [re.sub(r"cell s-", "", name) for name in found]


def at(page: Any, version: int) -> None:
    """Wait until the page shows a version."""
    page.wait_for_selector(f"#moment[data-version='{version}']")


class TestMoments:
    def test_left_is_what_happened_and_right_what_the_model_saw(
        self, site: Site, visit: Open
    ) -> None:
        page = visit(site, f"/sessions/{SHOWCASE}", viewport=WIDE).page
        assert page.title() == "Round prices to whole cents"
        row = page.locator(".row:has(#v4)")
        assert "find out why" in row.locator(".happened").inner_text()
        seen = row.locator(".seen")
        assert "replaced by summary 11" in seen.inner_text()
        assert "floats in shop/cart.py" in seen.inner_text()
        left, right = row.locator(".happened").bounding_box(), seen.bounding_box()
        assert left["x"] + left["width"] <= right["x"]
        assert left["y"] == pytest.approx(right["y"], abs=2)
        states = cells(page)
        assert {"summary", "part", "left", "whole"} == set(states)

    def test_colours_and_patterns_differ(self, site: Site, visit: Open) -> None:
        page = visit(site, f"/sessions/{SHOWCASE}?at=10", viewport=WIDE).page
        edges = page.locator(".cell").evaluate_all(
            "(cells) => cells.map((c) => getComputedStyle(c, '::before').backgroundImage"
            " + getComputedStyle(c, '::before').backgroundColor)"
        )
        assert len(set(edges)) == len(set(cells(page))) >= 2
        fills = page.locator(".strip rect").evaluate_all(
            "(rects) => rects.map((rect) => getComputedStyle(rect).fill)"
        )
        assert any("#p-cleared" in fill for fill in fills)

    def test_what_stands_in_for_several_rows_is_shown_once(self, site: Site) -> None:
        page = site.page(f"/sessions/{SHOWCASE}")
        assert page.count("Totals are off by a cent: floats in") == 2  # once left, once right

    def test_why_and_the_price_are_there_on_hover_and_on_focus(
        self, site: Site, visit: Open
    ) -> None:
        page = visit(site, f"/sessions/{SHOWCASE}").page
        badge = page.locator(".row:has(#v4) .seen .badge")
        tip = badge.locator(".tip")
        assert not tip.is_visible()
        badge.hover()
        tip.wait_for(state="visible")
        assert "Edit 12 summarize: the context is 91% full" in tip.inner_text()
        assert "27 tokens instead of" in tip.inner_text()
        page.mouse.move(0, 0)
        tip.wait_for(state="hidden")
        badge.focus()
        tip.wait_for(state="visible")

    def test_a_click_expands_a_piece(self, site: Site, visit: Open) -> None:
        page = visit(site, f"/sessions/{SHOWCASE}").page
        piece = page.locator(".row:has(#v13) .piece").first
        assert piece.locator(".full").inner_text() == ""
        piece.locator("summary .span").click()
        piece.locator(".full :text('shop/cents.py')").first.wait_for()
        piece.locator("summary .span").click()
        assert not piece.locator(".full").is_visible()

    @pytest.mark.parametrize(
        "name", ["request:2", "request:-1", "edit:1", "before-compaction:1", "head", "7"]
    )
    def test_every_name_of_a_version_is_an_address(self, site: Site, name: str) -> None:
        with open_store(site.path, read_only=True) as store:
            version = resolve(store, SHOWCASE, name)
        page = site.page(f"/sessions/{SHOWCASE}?at={name}")
        assert f'data-version="{version}"' in page

    @pytest.mark.parametrize(
        "address",
        ["/sessions/none", f"/sessions/{SHOWCASE}?at=22", f"/sessions/{SHOWCASE}?at=never",
         f"/events/{SHOWCASE}?version=0", f"/images/{SHOWCASE}?version=16&digest=0", "/nowhere"],
    )  # fmt: skip
    def test_what_is_not_there_is_said_with_what_there_is(self, site: Site, address: str) -> None:
        answer = site.ask(address)
        assert answer.status == 404
        assert "cannot be shown" in answer.text

    def test_an_image_of_a_page_is_an_image(self, tmp_path: Path) -> None:
        path = tmp_path / "image.db"
        data = b64encode(b64decode(picture()) + bytes(40_000)).decode()  # not part of a page
        source = {"type": "base64", "media_type": "image/png", "data": data}
        with EventStore(path) as store:
            Session(store, "i").user([{"type": "image", "source": source}])
        with serving(path) as site:
            page = site.page("/sessions/i")
            assert data[:100] not in page
            found = re.search(r'<img src="(/images/i\?[^"]+)"', page)
            assert found
            answer = site.ask(found[1].replace("&amp;", "&"))
            assert answer.headers["content-type"] == "image/png"
            assert answer.content.startswith(b"\x89PNG")


class TestTravel:
    def test_the_slider_goes_through_versions(self, site: Site, visit: Open) -> None:
        seen = visit(site, f"/sessions/{SHOWCASE}", viewport=WIDE)
        page = seen.page
        page.locator("#slider").fill("9")
        at(page, 9)
        assert page.url.endswith(f"/sessions/{SHOWCASE}?at=9")
        assert set(cells(page)) == {"whole"}
        assert page.locator("#v10").count() == 0
        page.locator("#slider").fill("12")
        at(page, 12)
        assert "summary" in cells(page)
        page.go_back()
        at(page, 9)
        assert page.locator("#slider").input_value() == "9"
        assert (seen.asked, seen.dialogs) == ([], [])

    def test_arrow_keys_travel(self, site: Site, visit: Open) -> None:
        page = visit(site, f"/sessions/{SHOWCASE}", viewport=WIDE).page
        page.keyboard.press("ArrowLeft")
        at(page, 20)  # the last reply was shown that
        assert "request%3A4" in page.url
        assert "Request 4 of 4" in page.locator("#where").inner_text()
        page.keyboard.press("ArrowLeft")
        at(page, 12)
        page.keyboard.press("ArrowRight")
        at(page, 20)
        page.keyboard.press("Shift+ArrowLeft")
        at(page, 19)
        page.keyboard.press("Home")
        at(page, 1)
        page.keyboard.press("]")
        at(page, 12)
        page.keyboard.press("End")
        at(page, 21)
        assert page.locator("#slider").get_attribute("aria-valuetext").endswith("21 of 21")

    def test_the_keys_are_explained(self, site: Site, visit: Open) -> None:
        page = visit(site, f"/sessions/{SHOWCASE}").page
        page.keyboard.press("?")
        dialog = page.locator("#help")
        dialog.wait_for(state="visible")
        assert "next request" in dialog.inner_text()
        page.keyboard.press("Escape")
        dialog.wait_for(state="hidden")

    def test_links_within_lead_to_their_place(self, site: Site, visit: Open) -> None:
        page = visit(site, f"/sessions/{SHOWCASE}?at=21&near=4", viewport=WIDE).page
        assert page.locator(".turn.marked:is(#v4, :has(#v4))").is_visible()
        page.locator(".row:has(#v4) .seen .badge").click()
        page.wait_for_selector(".turn.marked:is(#v12, :has(#v12))")
        page.locator(".strip a").first.dispatch_event("click")
        page.wait_for_selector(".turn.marked:is(#v2, :has(#v2))")

    def test_it_works_without_a_script(self, site: Site, visit: Open) -> None:
        page = visit(site, f"/sessions/{SHOWCASE}", java_script_enabled=False).page
        page.click("#to-before")
        page.wait_for_url("**at=request*")
        assert page.locator("#moment").get_attribute("data-version") == "20"


class TestAccess:
    def test_landmarks_names_and_headings(self, site: Site) -> None:
        elements = Outline(site.page(f"/sessions/{SHOWCASE}")).elements
        tags = [tag for tag, _ in elements]
        assert (tags.count("main"), tags.count("header") >= 1, tags.count("h1")) == (1, True, 1)
        for tag, given in elements:
            if tag in ("nav", "dialog", "section") and tag != "section":
                assert given.get("aria-label") or given.get("aria-labelledby"), given
            if tag in ("input", "select") and given.get("type") != "hidden":
                assert given.get("aria-label") or given.get("id"), given
        ids = [given["id"] for _, given in elements if given.get("id")]
        assert len(ids) == len(set(ids))

    def test_the_keyboard_reaches_what_can_be_used(self, site: Site, visit: Open) -> None:
        page = visit(site, f"/sessions/{SHOWCASE}").page
        page.evaluate(
            "window.reached = new Set(); document.addEventListener('focusin',"
            " (event) => window.reached.add(event.target))"
        )
        for _ in range(150):
            page.keyboard.press("Tab")
        missed = page.evaluate(
            "[...document.querySelectorAll('button, input:not([type=hidden]), summary, main,"
            ' a.badge\')].filter((part) => part.checkVisibility() && !part.closest("dialog")'
            " && part.closest('details:not([open]) > :not(summary)') === null"
            " && !window.reached.has(part)).map((part) => part.outerHTML.slice(0, 200))"
        )
        assert missed == []

    @pytest.mark.parametrize("session", [SHOWCASE, HOSTILE])
    @pytest.mark.parametrize("scheme", ["light", "dark"])
    def test_a_phone_needs_no_scrolling_sideways(
        self, site: Site, visit: Open, session: str, scheme: str
    ) -> None:
        for address in ("/", f"/sessions/{session}"):
            page = visit(site, address, viewport=PHONE, color_scheme=scheme).page
            assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
            if address != "/":
                wide = page.evaluate("document.getElementById('main').scrollWidth")
                assert wide <= PHONE["width"]


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A session of thousands of events, compacted once, and one with huge events."""
    path = tmp_path_factory.mktemp("serve") / "long.db"
    with EventStore(path, synchronous="NORMAL") as store:
        record_large(store, megabytes=2)
        made = Session(store, "large")
        last = made.view().version
        text = {"text": "## So far\n\nMany steps were made.", "covers": [[1, last - 40]]}
        made.edit(
            "summarize",
            "it was long",
            [shown(1, last - 40, "summary", summary=last + 1)],
            before=[EventDraft("summary.written", text)],
        )
        huge = Session(store, "huge")
        line = "<b>&\"'` 0x1234 def f(): return {1: 2}\n"
        for n in range(30):
            huge.user(line * 20_000)
            edit = {"file_path": "a.py", "old_string": line * 900, "new_string": line * 950}
            huge.assistant([call(f"e{n}", "Edit", **edit) | {"id": f"e{n}"} for _ in range(1)])
            huge.tool_result(f"e{n}", line * 10_000)
            huge.assistant([{"type": "text", "text": f"```python\n{line * 5_000}```"}] * 40)
        huge.edit("clear", "long", [shown(1, 1, "cleared", text=line * 5_000)])
    with serving(path) as running:
        yield running


class TestLong:
    @pytest.mark.parametrize(
        "address",
        ["/", "/sessions/large", "/sessions/large?at=500", "/sessions/large?near=7",
         "/sessions/huge", "/sessions/huge?near=1", "/windows/huge?until=40", "/charts/large",
         "/pieces/huge?first=1&last=1", "/events/huge?version=5", "/events/huge?version=2"],
    )  # fmt: skip
    def test_a_page_holds_what_is_near(self, long: Site, address: str) -> None:
        assert len(long.ask(address).content) <= LARGEST_PAGE

    def test_windows_join_without_a_gap(self, long: Site) -> None:
        versions: list[int] = []
        address = "/windows/large?until=400&at=400"
        while address:
            page = long.page(address)
            found = [int(v) for v in re.findall(r'class="anchor" href="[^"]*"[^>]*>(\d+)<', page)]
            versions = [*found, *versions]
            more = re.search(r'hx-get="(/windows/[^"]*until=[^"]*)"', page)
            address = more[1].replace("&amp;", "&") if more else ""
        assert sorted(versions) == list(range(1, 401))

    def test_earlier_parts_come_when_one_scrolls_up(self, long: Site, visit: Open) -> None:
        seen = visit(long, "/sessions/large", viewport=WIDE)
        page = seen.page
        first = page.locator(".row").first.locator("[id]").first.get_attribute("id")
        before = page.locator(".row").count()
        marked = page.locator(f"#{first}")
        page.evaluate("document.getElementById('main').scrollTop = 0")
        page.locator(".row").nth(before).wait_for(state="attached")
        expect(page.locator(".htmx-request")).to_have_count(0)
        assert 100 < marked.bounding_box()["y"] < 800  # what one read stays where it was
        assert seen.said == []

    def test_a_summary_is_beside_what_it_stands_for(self, long: Site, visit: Open) -> None:
        page = visit(long, "/sessions/large?near=100", viewport=WIDE).page
        row = page.locator(".row:has(.turn.marked)")
        assert "replaced by summary" in row.locator(".seen").inner_text()
        assert "Many steps were made." in page.locator(".seen").last.inner_text()

    def test_what_was_cut_can_be_loaded_piece_by_piece(self, long: Site, visit: Open) -> None:
        page = visit(long, "/sessions/huge?at=1", viewport=WIDE).page
        cut = page.locator(".cut a")
        assert "more characters" in cut.first.inner_text()
        cut.first.click()
        page.wait_for_selector(".happened pre.plain + .cut, .happened .cut a:has-text('more')")
        text = page.locator("pre.plain").last.inner_text()
        assert len(text) > 90_000


class TestSessions:
    def test_the_list_has_all_and_subagents_below(self, site: Site) -> None:
        page = site.page("/")
        assert re.search("<b>Round prices to whole cents</b>", page)
        assert page.index(f"/sessions/{SHOWCASE}") < page.index(f"/sessions/{CHILD}")
        assert f'class="entry depth-1"><a href="/sessions/{CHILD}"' in page

    @pytest.mark.parametrize(
        ("query", "found"),
        [("q=cents", {SHOWCASE}), ("q=TAX+check", {CHILD}), ("project=/home/dev/shop", {SHOWCASE}),
         ("model=claude-x", {SHOWCASE}), ("q=nothing-like-it", set()), ("day=1999-01-01", set()),
         ("page=2", set())],
    )  # fmt: skip
    def test_filters(self, site: Site, query: str, found: set[str]) -> None:
        assert set(re.findall(r'href="/sessions/([^"?]+)"', site.page(f"/?{query}"))) == found

    def test_the_search_filters_as_one_types(self, site: Site, visit: Open) -> None:
        page = visit(site).page
        page.keyboard.press("/")
        page.keyboard.type("cents")
        expect(page.locator(".entry")).to_have_count(1)
        assert "q=cents" in page.url
        page.keyboard.press("Escape")
        page.keyboard.press("j")
        page.keyboard.press("Enter")
        page.wait_for_url(f"**/sessions/{SHOWCASE}")


CONTRASTS = Path(__file__).with_name("contrast.js").read_text("utf-8")
"""Texts with too little contrast: WCAG AA asks for 4.5 to 1."""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    "address",
    ["/", f"/sessions/{SHOWCASE}", f"/sessions/{SHOWCASE}?at=10&near=4", "/search?q=cents",
     f"/compare/{SHOWCASE}?from=9&to=21"],
)  # fmt: skip
def test_texts_have_contrast(site: Site, visit: Open, address: str, scheme: str) -> None:
    page = visit(site, address, color_scheme=scheme, viewport=WIDE).page
    expect(page.locator("#chart .waiting")).to_have_count(0)
    assert page.evaluate(CONTRASTS) == []


def test_screen_readers_find_their_way(site: Site, visit: Open) -> None:
    page = visit(site, f"/sessions/{SHOWCASE}?at=12", viewport=WIDE).page
    slider = page.get_by_role("slider", name="Moment of the session")
    assert slider.get_attribute("aria-valuetext") == "Request 3 of 4 · version 12 of 21"
    for role, name in (
        ("banner", None),
        ("main", "What happened, and what the model saw"),
        ("navigation", "Travel"),
        ("region", "Time travel"),
        ("search", None),
        ("button", "Follow"),
        ("link", "The next request"),
        ("img", "What the model saw of versions 1 to 12"),
        ("heading", "What happened"),
    ):
        found = page.get_by_role(role, name=name) if name else page.get_by_role(role)
        expect(found.first).to_be_visible()
    assert page.get_by_role("region", name="User, 4").count() == 1
