"""Rows of the Board in a browser: opened in place and kept so; several ticked and acted on."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.web.site import Site

pytestmark = pytest.mark.browser

ORDER = "() => [...document.querySelectorAll('#gangs > tr')].map(row => row.id)"


def test_a_row_stays_open_below_its_gang_whatever_changes(page: Page, site: Site) -> None:
    llama, other = (f"g-{site.gang_id(name)}" for name in ("llama", "llama-sft"))
    page.goto(f"{site.url}/?q=llama")
    button = page.get_by_role("button", name="Essentials of llama", exact=True)
    page.locator(f"#{llama} th a").focus()
    page.keyboard.press("o")
    expect(button).to_have_attribute("aria-expanded", "true")
    jobs = page.locator(f"#below-{llama} .opened-jobs")
    expect(jobs.get_by_text("llama-workers-1", exact=True)).to_be_visible()
    assert page.evaluate(ORDER) == [other, llama, f"below-{llama}"]
    # News of the gang, which moves up: what is below it is read anew, and stays below it.
    with page.expect_response("**/row/"):
        site.write("UPDATE store_gang SET health = 'failed', severity = 0 WHERE name = 'llama'")
    expect(page.locator(f"#{llama}")).to_contain_text("Failed")
    assert page.evaluate(ORDER) == [llama, f"below-{llama}", other]
    expect(button).to_have_attribute("aria-expanded", "true")
    jobs.get_by_role("link", name="Suspend Job llama-workers-2").focus()
    page.keyboard.press("o")
    expect(jobs).to_have_count(0)
    expect(button).to_be_focused()
    expect(button).to_have_attribute("aria-expanded", "false")
    site.write("UPDATE store_gang SET health = 'running', severity = 6 WHERE name = 'llama'")


def test_several_are_ticked_by_keyboard_and_asked_for_together(page: Page, site: Site) -> None:
    llama, mixtral = (site.gang_id(name) for name in ("llama", "mixtral"))
    page.goto(f"{site.url}/?kind=JobSet&ordering=name")
    bar = page.locator("#pick")
    expect(bar).to_be_hidden()
    page.locator(f"#g-{llama} th a").focus()
    page.keyboard.press("x")
    expect(bar).to_contain_text("1 selected")
    # News of a row leave it ticked.
    site.write("UPDATE store_gang SET message = 'Still ticked.' WHERE name = 'llama'")
    expect(page.get_by_text("Still ticked.")).to_be_visible()
    page.locator(f"#g-{mixtral} th a").focus()
    page.keyboard.press("x")
    expect(bar).to_contain_text("2 selected")
    bar.get_by_role("button", name="Suspend selected").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Suspend 2 JobSets")
    dialog.get_by_label("Reason").fill("the hall is to be cooled")
    dialog.get_by_role("button", name="Suspend 2 JobSets").click()
    expect(dialog).to_contain_text("2 of 2 not sent yet.")
    page.keyboard.press("Escape")
    expect(bar).to_be_hidden()
    asked = "SELECT count(*) FROM store_action WHERE reason = 'the hall is to be cooled'"
    assert site.read(asked) == "2"
    page.get_by_role("checkbox", name="Select all gangs shown").click()
    every = page.locator("#gangs input[name=target]").count()
    expect(bar).to_contain_text(f"{every} selected")
    bar.get_by_role("button", name="Clear").click()
    expect(bar).to_be_hidden()
