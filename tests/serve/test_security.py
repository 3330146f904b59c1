"""Who is let in: nothing but the user's own browser, with the token, under this machine's name."""

from __future__ import annotations

import re
from typing import Any

import pytest

from foldlog.cli.serve.keys import Keys
from tests.formats.html.showcase import HOSTILE, HOSTILE_TEXTS, SHOWCASE
from tests.serve.conftest import Open, Site, expect

PAGES = ("/", f"/sessions/{SHOWCASE}", f"/charts/{SHOWCASE}", f"/windows/{SHOWCASE}?from=1")


class TestToken:
    @pytest.mark.parametrize("address", PAGES)
    @pytest.mark.parametrize("cookie", [None, "wrong", "ü"])
    def test_without_the_cookie_nothing_is_shown(
        self, site: Site, address: str, cookie: str | None
    ) -> None:
        answer = site.ask(address, cookie=cookie and cookie.encode().decode("latin-1"))
        assert answer.status == 401
        assert "Round prices" not in answer.text
        assert "set-cookie" not in answer.headers

    def test_the_token_becomes_a_cookie_and_leaves_the_address(self, site: Site) -> None:
        address = f"/sessions/{SHOWCASE}?at=12&token={site.keys.token}&near=4"
        answer = site.ask(address, cookie=None)
        cookie = answer.headers["set-cookie"]
        assert cookie.startswith(f"foldlog-{site.port}={site.keys.cookie};")
        assert {"httponly", "samesite=strict", "path=/"} <= {
            part.strip().lower() for part in cookie.split(";")
        }
        assert f'content="0;url=/sessions/{SHOWCASE}?at=12&amp;near=4"' in answer.text
        assert site.keys.token not in answer.text
        assert site.keys.token not in cookie

    @pytest.mark.parametrize("token", ["", "wrong", "\u00fc"])
    def test_a_wrong_token_gives_nothing(self, site: Site, token: str) -> None:
        address = f"/?token={token.encode().decode('latin-1') and 'x'}"
        answer = site.ask(address, cookie=None)
        assert (answer.status, "set-cookie" in answer.headers) == (403, False)

    @pytest.mark.parametrize("begin", ["//", "/\\", "\\\\/"])
    def test_a_token_never_leads_to_another_site(self, site: Site, begin: str) -> None:
        address = f"{begin}evil.invalid/%22%3E?token={site.keys.token}"
        answer = site.ask(address, cookie=None)
        assert 'content="0;url=/evil.invalid/%22%3E"' in answer.text

    def test_a_ticket_opens_once(self, site: Site) -> None:
        bearer = {"Authorization": f"Bearer {site.keys.token}"}
        ticket = site.ask("/ticket", "POST", cookie=None, **bearer).text
        answers = [site.ask(f"/?token={ticket}", cookie=None).status for _ in range(2)]
        assert answers == [200, 403]
        for refused in ({}, {"Authorization": "Bearer wrong"}):
            assert site.ask("/ticket", "POST", **refused).status == 403

    def test_a_ticket_lasts_a_minute(self, monkeypatch: pytest.MonkeyPatch) -> None:
        now = [100.0]
        monkeypatch.setattr("foldlog.cli.serve.keys.time.monotonic", lambda: now[0])
        keys = Keys()
        early, late = keys.ticket(), keys.ticket()
        assert keys.opens(early)
        now[0] += 61
        assert not keys.opens(late)

    def test_a_server_proves_that_it_knows_the_token_without_saying_it(self, site: Site) -> None:
        answer = site.ask("/proof?nonce=abc", cookie=None)
        assert answer.text == site.keys.proof("abc") != site.keys.proof("abd")
        assert site.keys.token not in answer.text


class TestOtherSites:
    @pytest.mark.parametrize(
        "host",
        ["evil.invalid:{port}", "evil.invalid", "127.0.0.1", "127.0.0.1:1", "localhost.evil:{port}",
         "[::1", "", "10.0.0.1:{port}"],
    )  # fmt: skip
    def test_a_foreign_name_is_refused_also_with_the_cookie(self, site: Site, host: str) -> None:
        answer = site.ask("/", Host=host.format(port=site.port))
        assert answer.status in (400, 403)
        assert "Round prices" not in answer.text

    @pytest.mark.parametrize("host", ["127.0.0.1:{port}", "localhost:{port}", "[::1]:{port}"])
    def test_the_names_of_this_machine_are_not(self, site: Site, host: str) -> None:
        assert site.ask("/", Host=host.format(port=site.port)).status == 200

    @pytest.mark.parametrize(
        "origin", ["https://evil.invalid", "null", "http://127.0.0.1:1", "http://127.0.0.1"]
    )
    def test_a_foreign_page_is_refused(self, site: Site, origin: str) -> None:
        assert site.ask("/", Origin=origin).status == 403

    @pytest.mark.parametrize("where", ["cross-site", "same-site"])
    def test_what_a_foreign_page_loads_is_refused(self, site: Site, where: str) -> None:
        loaded = site.ask("/", Sec_Fetch_Site=where, Sec_Fetch_Mode="no-cors")
        assert loaded.status == 403
        followed = site.ask("/", Sec_Fetch_Site=where, Sec_Fetch_Mode="navigate")
        assert followed.status == 200


class TestHeaders:
    @pytest.mark.parametrize("address", [*PAGES, "/nowhere", "/?token=wrong", "/sessions/none"])
    def test_every_answer_is_sealed(self, site: Site, address: str) -> None:
        headers = site.ask(address).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self';" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert headers["cache-control"] == "no-store"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "same-origin"
        assert "server" not in headers

    def test_styles_and_scripts_are_kept_by_their_content(self, site: Site) -> None:
        page = site.page("/")
        for name in ("page.css", "serve.css", "serve.js", "theme.js", "htmx.min.js"):
            address = re.search(rf'"(/static/[0-9a-f]+/{name})"', page)
            assert address, name
            answer = site.ask(address[1], cookie=None)
            assert answer.status == 200
            assert "immutable" in answer.headers["cache-control"]
            assert site.ask(f"/static/0/{name}").status == 404


class TestHostileTranscripts:
    @pytest.mark.parametrize("address", ["/", f"/sessions/{HOSTILE}", f"/sessions/{HOSTILE}?at=9"])
    def test_a_browser_obeys_nothing(self, site: Site, visit: Open, address: str) -> None:
        seen = visit(site, address)
        page = seen.page
        page.evaluate(
            "document.querySelectorAll('main details').forEach((part) => { part.open = true; })"
        )
        expect(page.locator(".htmx-request")).to_have_count(0)
        for element in page.locator("main [onmouseover], main a").all()[:50]:
            element.dispatch_event("mouseover")
        assert (seen.asked, seen.dialogs) == ([], [])
        assert [line for line in seen.said if "alert" in line.lower()] == []
        for tag in ("iframe", "base", "object", "embed"):
            assert page.locator(tag).count() == 0
        assert page.locator("script:not([src^='/static/'])").count() == 0
        assert page.evaluate("location.origin") == site.origin

    def test_its_texts_are_shown(self, site: Site) -> None:
        page = site.page(f"/sessions/{HOSTILE}?near=4")
        assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
        for text in HOSTILE_TEXTS:
            assert text not in page or not re.search("[<>\"']", text)

    def test_no_attribute_of_htmx_comes_from_one(self, site: Site) -> None:
        attributes: set[Any] = set(re.findall(r"<[^>]*\shx-on[^>]*>", site.page("/")))
        assert attributes == set()
