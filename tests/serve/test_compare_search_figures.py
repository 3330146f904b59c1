"""The pages around a session: two moments, search, figures."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from foldlog.eventstore import EventStore, open_store
from foldlog.projections import Session, diff, open_view
from tests.formats.html.outline import Outline
from tests.formats.html.showcase import CHILD, HOSTILE, SHOWCASE
from tests.serve.conftest import Open, Site, expect, serving

WIDE, PHONE = {"width": 1280, "height": 800}, {"width": 360, "height": 740}


class TestCompare:
    def test_it_shows_what_diff_finds(self, site: Site) -> None:
        with open_store(site.path, read_only=True) as store:
            changes = diff(open_view(store, SHOWCASE, 9), open_view(store, SHOWCASE, 21))
        page = site.page(f"/compare/{SHOWCASE}?from=9&to=21")
        rows = re.findall(r'aria-label="Versions (\d+) to (\d+)"', page)
        assert rows == [(str(change.first), str(change.last)) for change in changes]
        assert "the context is 91% full" in page
        assert f"{sum(change.tokens for change in changes):,} tokens fewer" in page

    def test_the_order_of_the_two_does_not_matter(self, site: Site) -> None:
        one, other = (
            site.page(f"/compare/{SHOWCASE}?{query}") for query in ("from=9&to=21", "from=21&to=9")
        )
        assert one == other

    @pytest.mark.parametrize("query", ["", "?from=0&to=0", "?to=4", "?from=1&to=1"])
    def test_any_two_moments_can_be_compared(self, site: Site, query: str) -> None:
        assert site.ask(f"/compare/{SHOWCASE}{query}").status == 200

    def test_a_person_compares_and_expands(self, site: Site, visit: Open) -> None:
        seen = visit(site, f"/sessions/{SHOWCASE}?at=12", viewport=WIDE)
        page = seen.page
        page.keyboard.press("d")
        page.wait_for_url(f"**/compare/{SHOWCASE}?to=12")
        page.wait_for_selector("#differences[data-before='7'][data-after='12']")
        page.locator("input[name=from]").fill("11")
        page.wait_for_selector("#differences[data-before='11'][data-after='12']")
        assert page.locator("#from-name").inner_text() == "11"
        row = page.locator(".row[aria-label='Versions 4 to 5']")
        before, after = row.locator(".seen").all()
        assert "as it happened" in before.inner_text()
        assert "replaced by summary 11" in after.inner_text()
        before.locator("summary .span").click()
        before.locator(".full :text('find out why')").wait_for()
        page.locator("a.home").click()
        page.wait_for_selector("#moment[data-version='12']")
        assert seen.said == []


class TestSearch:
    def test_a_session_is_searched_as_one_types(self, site: Site, visit: Open) -> None:
        page = visit(site, f"/sessions/{SHOWCASE}", viewport=WIDE).page
        page.keyboard.press("/")
        page.keyboard.type("cent")  # a beginning of words
        hits = page.locator("#hits .hit")
        expect(hits.first).to_be_visible()
        assert "replaced by summary 11" in page.locator("#hits").inner_text()
        page.fill("#search", '"find out"')
        expect(hits).to_have_count(1)
        hits.click()
        page.wait_for_selector(".turn.marked:is(#v4, :has(#v4))")
        expect(hits).to_have_count(0)

    def test_a_hit_after_the_moment_travels_on(self, site: Site, visit: Open) -> None:
        page = visit(site, f"/sessions/{SHOWCASE}?at=5", viewport=WIDE).page
        page.fill("#search", "exact")
        page.locator("#hits .hit").click()
        page.wait_for_selector("#moment[data-version='21'] .turn.marked:is(#v21, :has(#v21))")

    def test_everything_is_searched(self, site: Site) -> None:
        page = site.page("/search?q=tax")
        assert f'href="/sessions/{CHILD}?near=' in page
        assert f'href="/sessions/{SHOWCASE}?near=' in page
        assert "Nothing found." in site.page("/search?q=nowheretobefound")
        assert "no word" in site.page("/search?q=%21%21")
        assert site.ask("/search").status == 200

    def test_hits_are_escaped(self, site: Site, visit: Open) -> None:
        seen = visit(site, "/search?q=alert")
        assert seen.page.locator(f"a.hit[href*='{HOSTILE}']").count() > 3
        assert (seen.asked, seen.dialogs) == ([], [])
        assert seen.page.locator("main script, main img, main iframe").count() == 0


@pytest.fixture(scope="module")
def paid(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Two sessions whose requests have a price, and a fork of one."""
    path = tmp_path_factory.mktemp("paid") / "sessions.db"
    usage = {
        "input_tokens": 10,
        "cache_read_input_tokens": 90_000,
        "cache_creation_input_tokens": 2_000,
        "output_tokens": 500,
    }
    with EventStore(path) as store:
        for name in ("one", "two"):
            session = Session(store, name)
            for n in range(4):
                session.user(f"go on {n}")
                reply = {"id": f"{name}-{n}", "model": "claude-sonnet-4-5", "usage": usage}
                session.assistant([{"type": "text", "text": "ok"}], **reply)
        store.fork("one", new="fork")  # shares the replies of its parent
    with serving(path) as site:
        yield site


class TestFigures:
    def test_a_chart_has_a_bar_for_each_request_and_a_table(self, paid: Site) -> None:
        page = paid.page("/charts/one")
        assert page.count('class="k-cache_read"') == 4
        table = page[page.index("<tbody>") :]
        assert table.count("<tr>") == 4
        assert '<td class="right">90,000</td>' in table
        assert "4 requests · 370,040 tokens · 98% from the cache" in page

    def test_the_moment_says_what_its_request_took(self, paid: Site) -> None:
        page = paid.page("/sessions/one?at=request:2")
        assert re.search(r"<b>92,010</b> in", page)
        assert re.search(r"<b>98%</b> cached", page)
        assert re.search(r"<b>\$0\.0\d+</b>", page)

    def test_replies_are_counted_once_for_the_store(self, paid: Site, visit: Open) -> None:
        seen = visit(paid, "/figures", viewport=WIDE)
        tiles = seen.page.locator(".tiles")
        tiles.wait_for()
        assert "8 requests" in " ".join(tiles.inner_text().split())
        rows = seen.page.locator("section:has(h2:text('By session')) tbody tr")
        assert rows.count() == 2
        assert seen.said == []
        seen.page.click("text=all time")
        seen.page.wait_for_url("**days=0")
        tiles.wait_for()

    @pytest.mark.parametrize("address", ["/figures", "/compare/one", "/search?q=go"])
    def test_a_phone_needs_no_scrolling_sideways(
        self, paid: Site, visit: Open, address: str
    ) -> None:
        page = visit(paid, address, viewport=PHONE).page
        expect(page.locator("[hx-trigger=load] .empty")).to_have_count(0)
        assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]

    @pytest.mark.parametrize("address", ["/figures", "/compare/one", "/search?q=go", "/charts/one"])
    def test_ids_are_unique_and_elements_closed(self, paid: Site, address: str) -> None:
        elements = Outline(paid.page(address)).elements
        ids = [given["id"] for _, given in elements if given.get("id")]
        assert len(ids) == len(set(ids))

    def test_a_session_has_figures_of_its_own(self, site: Site, visit: Open) -> None:
        seen = visit(site, f"/sessions/{SHOWCASE}", viewport=WIDE)
        page = seen.page
        page.get_by_role("link", name="Figures").click()
        page.locator(".tiles").wait_for()
        largest = page.locator("section:has(h2:text('The largest results')) tbody tr").first
        assert "Read" in largest.inner_text()
        compactions = page.locator("section:has(h2:text('Compactions'))")
        assert "summarize" in compactions.inner_text()
        largest.locator("a").click()
        page.wait_for_selector(".turn.marked")
        assert seen.said == []

    @pytest.mark.parametrize("session", [SHOWCASE, HOSTILE, CHILD])
    def test_figures_of_any_session_are_shown_and_escaped(self, site: Site, session: str) -> None:
        for headers in ({}, {"HX_Target": "figures"}):
            answer = site.ask(f"/figures/{session}", **headers)
            assert answer.status == 200
            assert "<script>alert" not in answer.text
        assert site.ask("/figures/none").status == 404
