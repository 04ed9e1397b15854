"""Who has the focus before, in and after the dialog of an action, in a real browser."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.web.dialog import REASON, SOON, open_dialog, requested, submit_button
from tests.web.site import Site

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("record")]


def test_the_focus_waits_in_the_row_until_the_button_is_back(page: Page, site: Site) -> None:
    open_dialog(page, site)
    dialog = page.get_by_role("dialog")
    button = page.locator("[id^=do-suspend]", has_text="Job llama-workers-2").and_(
        page.locator("a")
    )
    row = page.locator("tbody", has=button)
    place = row.get_attribute("id")
    dialog.get_by_label("Reason").fill(REASON)
    submit_button(page).click()
    expect(dialog).to_contain_text("Requested", timeout=SOON)
    expect(button).to_have_count(0, timeout=SOON)
    dialog.get_by_role("button", name="Close").click()
    expect(page.locator(f"#{place} :focus")).to_have_count(1)
    site.write(
        "UPDATE store_action SET state = 'verified', finished_at = requested_at WHERE id = ?",
        requested(site, "llama-workers-2"),
    )
    expect(button).to_be_focused(timeout=SOON)


def confirm(page: Page) -> None:
    """Confirm the action of the open dialog, and close the dialog."""
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Reason").fill(REASON)
    page.locator(".act-form button[type=submit]").click()
    expect(dialog).to_contain_text("Requested", timeout=SOON)
    dialog.get_by_role("button", name="Close").click()
    expect(dialog).to_be_hidden()


def test_the_focus_goes_to_the_first_selected_gang_of_the_board(page: Page, site: Site) -> None:
    """The button of the selection was hidden as soon as no gang was selected, and took the focus along."""
    page.goto(f"{site.url}/?cluster=gpu-west")
    row = page.locator("#gangs tr[data-name=mixtral]")
    row.get_by_role("checkbox").check()
    page.locator("#pick-suspend").press("Enter")
    page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    expect(page.locator("#pick-suspend")).to_be_focused()
    page.locator("#pick-suspend").press("Enter")
    confirm(page)
    expect(page.locator("#pick-suspend")).to_be_hidden()
    expect(row.locator(":focus")).to_have_count(1)


def test_the_focus_stays_at_the_buttons_of_selected_jobs(page: Page, site: Site) -> None:
    page.goto(f"{site.url}/gangs/{site.gang_id('llama')}/")
    for box in page.locator("#jobs input[name=target]").all():
        box.check()
    page.get_by_role("button", name="Suspend selected").press("Enter")
    confirm(page)
    expect(page.locator("#tree-bar :focus, #jobs :focus")).to_have_count(1)


def test_the_row_menu_opens_the_dialog(page: Page, site: Site) -> None:
    page.goto(f"{site.url}/?q=llama&cluster=gpu-east")
    page.keyboard.press("j")
    page.keyboard.press("m")
    expect(page.get_by_label("Actions on llama")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("link", name="Suspend JobSet llama")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("link", name="Suspend JobSet llama")).to_be_hidden()
    expect(page.get_by_label("Actions on llama")).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name="Suspend JobSet llama")
    expect(dialog).to_be_visible()
    dialog.get_by_role("button", name="Cancel").click()
    expect(page.locator("tr[data-name=llama] :focus")).to_have_count(1)


def test_page_shortcuts_are_off_while_the_dialog_is_open(page: Page, site: Site) -> None:
    open_dialog(page, site)
    page.get_by_role("button", name="Cancel").focus()
    page.keyboard.press("?")
    expect(page.locator("#help")).to_be_hidden()
