"""A real browser for tests: fixtures import it into the conftest that needs it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome")

ARGUMENTS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium with a profile of its own; tests are skipped where there is none."""
    sync_api = pytest.importorskip("playwright.sync_api")
    named = os.environ.get("FOLDLOG_BROWSER")
    program = named or next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        pytest.skip(f"there is no browser: install {BROWSERS[0]}, or name one in FOLDLOG_BROWSER")
    with sync_api.sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=program, args=list(ARGUMENTS))
        yield launched
        launched.close()
