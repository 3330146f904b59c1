"""A real browser for tests: fixtures import it into the conftest that needs it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome")

ARGUMENTS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
)


def program() -> str | None:
    """Return the browser of this machine; None if there is none."""
    named = os.environ.get("FOLDLOG_BROWSER")
    return named or next(filter(None, map(shutil.which, BROWSERS)), None)


@contextmanager
def launched() -> Iterator[Any]:
    """Start the browser with a profile of its own, for as long as the block runs."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program(), args=list(ARGUMENTS))
        yield started
        started.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """The browser; tests are skipped where there is none."""
    pytest.importorskip("playwright.sync_api")
    if program() is None:
        pytest.skip(f"there is no browser: install {BROWSERS[0]}, or name one in FOLDLOG_BROWSER")
    with launched() as started:
        yield started
