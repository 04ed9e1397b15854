"""Debian's Chromium without a window, driven by Playwright, for tests and screenshots."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

# The browser loads only the pages under test, without updates or background requests.
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
]

PROGRAMS = "chromium-headless-shell", "chromium"
"""The first one draws no window, so it needs less than half the processor time of the other."""

PATIENCE = 20_000
"""Milliseconds for an expectation on a busy machine. Playwright's default is five seconds."""
expect.set_options(timeout=PATIENCE)

_MISSING = "Chromium is not installed: run make packages as root"


def _installed() -> str | None:
    """Return the path of the first installed program."""
    return next(filter(None, map(shutil.which, PROGRAMS)), None)


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start Chromium. Raises FileNotFoundError when it is not installed."""
    path = _installed()
    if path is None:
        raise FileNotFoundError(_MISSING)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        try:
            yield browser
        finally:
            browser.close()


def follow_link(page: Page, link: str) -> None:
    """Open a one-time sign-in link, press its button and come to the Board."""
    page.goto(link)
    page.get_by_role("button", name="Sign in as").click()
    page.wait_for_url(lambda url: "/sign-in/" not in url)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A browser for a file of tests; they open contexts of their own.

    Playwright leaves an event loop running for as long as it lasts, in which Django's database refuses
    to work for other tests.
    """
    if _installed() is None and os.environ.get("CI") != "true":
        pytest.skip(_MISSING)  # all other tests are worth their run; in CI it is an error
    with chromium() as opened:
        yield opened
