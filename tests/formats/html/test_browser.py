"""Pages in a real browser: they ask nobody for anything, and do what they say."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

import pytest

from foldlog.cli.formats import html
from foldlog.eventstore import EventStore
from tests.formats.html.showcase import CHILD, HOSTILE, SHOWCASE, record_large

PHONE = {"width": 360, "height": 740}

FOCUSED = "document.activeElement.id || document.activeElement.className"


def exported(store: EventStore, session: str) -> bytes:
    return b"".join(html.export_lines(store, session))


@pytest.fixture
def folder(filled: EventStore, tmp_path: Path) -> Path:
    """The pages of all sessions, in a folder."""
    root = tmp_path / "site"
    for name, chunks in html.export_sessions(filled, filled.sessions()):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"".join(chunks))
    return root


def counts(page: Any, pattern: str) -> None:
    """Wait until the search says how much it found."""
    page.evaluate(
        "(pattern) => new Promise((done, fail) => { const count = document.getElementById('count');"
        " const look = () => { if (new RegExp(`^${pattern}$`).test(count.value)) done(); };"
        " new MutationObserver(look).observe(count, { childList: true });"
        " setTimeout(() => fail(new Error(`it says: ${count.value}`)), 20_000); look(); })",
        pattern,
    )


def follow(page: Any, anchor: str) -> None:
    """Go to an anchor, and wait until the page is there."""
    page.evaluate(
        "(anchor) => new Promise((done) => { addEventListener('hashchange',"
        " () => requestAnimationFrame(() => requestAnimationFrame(done)), { once: true });"
        " location.hash = anchor; })",
        anchor,
    )


def open_all(page: Any) -> None:
    page.evaluate("document.querySelectorAll('details').forEach((part) => { part.open = true; })")


class TestHarmless:
    @pytest.mark.parametrize("session", [SHOWCASE, HOSTILE])
    def test_a_page_asks_nobody_and_complains_of_nothing(
        self, filled: EventStore, visit: Any, session: str
    ) -> None:
        seen = visit(exported(filled, session))
        open_all(seen.page)
        for part in seen.page.locator(".badge, .turn, summary").all()[:60]:
            part.dispatch_event("mouseover")
            part.dispatch_event("focus")
        seen.page.fill("#search", "alert")
        seen.page.keyboard.press("Enter")
        seen.page.emulate_media(media="print")
        assert (seen.asked, seen.said, seen.dialogs) == ([], [], [])

    def test_a_hostile_transcript_changes_nothing_of_the_page(
        self, filled: EventStore, visit: Any
    ) -> None:
        page = visit(exported(filled, HOSTILE)).page
        scripts = page.locator("script")
        assert scripts.count() == 1
        assert page.locator("main").count() == page.locator("#search").count() == 1
        assert page.locator("main :is(iframe, object, form, base, meta, style, svg)").count() == 0
        assert page.locator("main img").count() == 0
        assert page.evaluate("document.activeElement === document.body")

    def test_the_policy_stops_what_would_get_past_the_escaping(
        self, filled: EventStore, visit: Any
    ) -> None:
        """The second wall: a page with a script, a style and a picture that nobody allowed."""
        attack = (
            b"<script>document.title = 'owned'</script><img src=https://tracker.invalid/p.png>"
            b"<p id=styled style='color: red' onclick='document.title = 1'>x</p></main>"
        )
        page = exported(filled, SHOWCASE).replace(b"</main>", attack)
        seen = visit(page)
        seen.page.click("#styled")
        assert seen.page.title() == "Round prices to whole cents"
        assert seen.asked == []
        assert len(seen.said) >= 3


class TestReading:
    def test_search_finds_opens_and_steps(self, filled: EventStore, visit: Any) -> None:
        page = visit(exported(filled, SHOWCASE)).page
        page.keyboard.press("/")
        page.keyboard.type("QUANTIZE(cent)")
        counts(page, "1 of 1")
        assert page.locator("details:has(mark:text('.quantize'))").get_attribute("open") == ""
        assert (
            page.evaluate("[...CSS.highlights.get('now')][0].toString()") == ".quantize(CENT)"[1:]
        )
        page.fill("#search", "decimal")
        counts(page, r"1 of \d\d")
        total = int(page.locator("#count").inner_text().split()[2])
        assert total > 5
        page.keyboard.press("Enter")
        counts(page, f"2 of {total}")
        page.keyboard.press("Shift+Enter")
        page.keyboard.press("Shift+Enter")
        counts(page, f"{total} of {total}")
        page.fill("#search", "nowhere to be found")
        counts(page, "no hits")
        page.keyboard.press("Escape")
        assert page.input_value("#search") == ""

    def test_anchors_lead_to_events_also_into_folded_ones(
        self, filled: EventStore, visit: Any
    ) -> None:
        page = visit(exported(filled, SHOWCASE), anchor="#v16").page
        assert page.locator("details:has(#v16)").get_attribute("open") == ""
        assert page.locator("#v16").is_visible()
        for anchor, place in (("v9", "v9"), ("v13-4", "v13-4"), ("v10000", "v21")):
            follow(page, anchor)
            assert 0 <= page.locator(f"#{place}").bounding_box()["y"] < 700

    def test_why_is_shown_on_hover_and_on_focus(self, filled: EventStore, visit: Any) -> None:
        page = visit(exported(filled, SHOWCASE)).page
        badge = page.locator("#v4 > header .badge")
        assert not badge.locator(".tip").is_visible()
        badge.hover()
        assert badge.locator(".tip").is_visible()
        assert "summarize: the context is 91% full" in badge.locator(".tip").inner_text()
        page.mouse.move(0, 0)
        badge.focus()
        assert badge.locator(".tip").is_visible()

    def test_the_keyboard_reaches_everything(self, filled: EventStore, visit: Any) -> None:
        page = visit(exported(filled, SHOWCASE)).page
        open_all(page)
        page.evaluate(
            "window.reached = new Set(); document.addEventListener('focusin',"
            " (event) => window.reached.add(event.target))"
        )
        for _ in range(250):
            page.keyboard.press("Tab")
        missed = page.evaluate(
            "[...document.querySelectorAll('button:not(:disabled), input, summary,"
            ' a[href]:not([tabindex="-1"]), pre, .badge[tabindex]\')]'
            ".filter((element) => !window.reached.has(element)).map((element) => element.outerHTML)"
        )
        assert missed == []

    def test_folded_parts_open_with_the_keyboard(self, filled: EventStore, visit: Any) -> None:
        page = visit(exported(filled, SHOWCASE)).page
        page.locator("details.call > summary").first.focus()
        page.keyboard.press("Enter")
        assert page.locator("details.call").first.get_attribute("open") == ""

    def test_what_is_shown_can_be_chosen(self, filled: EventStore, visit: Any) -> None:
        page = visit(exported(filled, SHOWCASE)).page
        page.click(".menu > summary")
        for box, what in (
            ("tools", ".call"),
            ("thinking", ".thinking"),
            ("unseen", ".turn.s-left"),
        ):
            shown = page.locator(f"main {what}").first
            page.check(f"#show-{box}")
            assert shown.is_visible()
            page.uncheck(f"#show-{box}")
            assert not shown.is_visible()

    def test_images_are_shown(self, filled: EventStore, visit: Any) -> None:
        page = visit(exported(filled, SHOWCASE), anchor="#v16").page
        picture = page.locator("#v16 img")
        picture.scroll_into_view_if_needed()
        picture.evaluate("(picture) => picture.decode()")
        assert picture.evaluate("(picture) => picture.naturalWidth") == 240


class TestLooks:
    def test_it_is_light_or_dark_as_the_system_is_until_one_chooses(
        self, filled: EventStore, visit: Any
    ) -> None:
        ground = "getComputedStyle(document.body).backgroundColor"
        content = exported(filled, SHOWCASE)
        light, dark = (visit(content, color_scheme=scheme).page for scheme in ("light", "dark"))
        assert light.evaluate(ground) == "rgb(251, 250, 248)"
        assert dark.evaluate(ground) == "rgb(21, 23, 27)"
        dark.click("#theme")
        assert dark.evaluate(ground) == "rgb(251, 250, 248)"
        dark.reload()
        assert dark.evaluate(ground) == "rgb(251, 250, 248)"
        light.emulate_media(media="print", color_scheme="dark")
        assert not light.locator(".bar").is_visible()

    @pytest.mark.parametrize("session", [SHOWCASE, HOSTILE])
    def test_a_phone_needs_no_scrolling_sideways(
        self, filled: EventStore, visit: Any, session: str
    ) -> None:
        page = visit(exported(filled, session), viewport=PHONE).page
        open_all(page)
        page.evaluate(
            "for (const turn of document.querySelectorAll('.turn'))"
            " turn.style.contentVisibility = 'visible'"
        )
        assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]

    @pytest.mark.parametrize("scheme", ["light", "dark"])
    def test_texts_have_contrast(self, filled: EventStore, visit: Any, scheme: str) -> None:
        """WCAG AA: 4.5 to 1, for every colour of text on the grounds that it is used on."""
        page = visit(exported(filled, SHOWCASE), color_scheme=scheme).page
        names = ("ink", "quiet", "accent", "bad", "part", "cleared", "summary", "hidden", "left")
        for name in names:
            for ground in ("paper", "card"):
                pair = page.evaluate(
                    "([name, ground]) => { const p = document.createElement('p');"
                    " document.body.append(p); p.style.color = `var(--${name})`;"
                    " p.style.backgroundColor = `var(--${ground})`; const s = getComputedStyle(p);"
                    " return [s.color, s.backgroundColor]; }",
                    [name, ground],
                )
                assert contrast(*pair) >= 4.5, (name, ground, pair)

    def test_side_by_side_is_side_by_side(self, filled: EventStore, visit: Any) -> None:
        content = b"".join(html.export_compared(filled, SHOWCASE, 1))
        page = visit(content, viewport={"width": 1280, "height": 800}).page
        left = page.locator(".happened").nth(1).bounding_box()
        right = page.locator(".seen").nth(1).bounding_box()
        assert left["x"] + left["width"] <= right["x"]
        page.set_viewport_size(PHONE)
        assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]


class TestFolder:
    def test_the_index_is_searched_and_leads_to_pages_and_back(
        self, folder: Path, visit: Any
    ) -> None:
        seen = visit(folder / "index.html")
        page = seen.page
        assert page.locator("li:visible").count() == 3
        page.fill("#search", "CENTS shop")
        counts(page, "1 of 3")
        page.locator("li:visible a").click()
        assert page.title() == "Round prices to whole cents"
        open_all(page)
        page.click(f"a[href='{CHILD}.html']")
        assert page.title() == "Check the tax"
        page.click(f"dl a[href='{SHOWCASE}.html']")
        page.click("a.home")
        assert page.title() == "Sessions"
        assert (seen.asked, seen.said) == ([], [])


class TestLarge:
    def test_four_megabytes_open_at_once(self, visit: Any) -> None:
        with EventStore(":memory:") as store:
            record_large(store)
            started = time.perf_counter()
            content = exported(store, "large")
            made = time.perf_counter()
        seen = visit(content)
        page = seen.page
        ready = time.perf_counter()
        turns = page.locator("main .turn")
        assert turns.count() > 1000
        assert turns.last.evaluate("(turn) => getComputedStyle(turn).contentVisibility") == "auto"
        assert not turns.last.evaluate(
            "(turn) => turn.firstElementChild.checkVisibility({ contentVisibilityAuto: true })"
        )
        page.fill("#search", "step-300")
        counts(page, r"1 of 2")
        found = time.perf_counter()
        last = turns.last.get_attribute("id")
        follow(page, last)
        assert turns.last.bounding_box()["y"] < 800
        print(
            f"{len(content) / 1e6:.1f} MB: made in {made - started:.2f} s,"
            f" open after {ready - made:.2f} s, searched in {found - ready:.2f} s"
        )
        assert (seen.asked, seen.said) == ([], [])


def contrast(one: str, other: str) -> float:
    """The contrast of two colours, ``rgb(1, 2, 3)``, as WCAG 2 defines it."""
    light, dark = sorted(map(_luminance, (one, other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: str) -> float:
    parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
