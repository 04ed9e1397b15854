"""The dialog of an action in a real browser: opened, sent, and its action in the database."""

from __future__ import annotations

from playwright.sync_api import Locator, Page, expect

from tests.web.site import Site

SOON = 20_000
"""Milliseconds, generous for a busy machine. A page without a notification polls after 25 s."""
REASON = "gpu-07 throws ECC errors"


def open_dialog(page: Page, site: Site, job: str = "llama-workers-2") -> None:
    page.goto(f"{site.url}/gangs/{site.gang_id('llama')}/")
    page.get_by_role("link", name=f"Suspend Job {job}", exact=True).click()
    expect(page.get_by_role("dialog")).to_be_visible()


def submit_button(page: Page) -> Locator:
    """The button of the form; the page below has one of the same name once it is off."""
    return page.locator(".act-form").get_by_role("button", name="Suspend Job llama-workers-2")


def requested(site: Site, job: str) -> str:
    query = "SELECT id FROM store_action WHERE name = ? AND state = 'requested'"
    return site.read(query, job)
