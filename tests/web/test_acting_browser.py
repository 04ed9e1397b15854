"""The dialog in a real browser, from the button to the end of an action, with its errors."""

from __future__ import annotations

import re
import time

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.web.dialog import REASON, SOON, open_dialog, requested, submit_button
from tests.web.site import NAME, PASSWORD, Site

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("record")]

PHONE = 390
PRESS_WHEN_OPEN = """reason => new MutationObserver((_, observer) => {
  observer.disconnect();
  document.querySelector(".act-form [name=reason]").value = reason;
  document.querySelector(".act-form").requestSubmit();
}).observe(document.getElementById("act"), { attributes: true, attributeFilter: ["open"] })"""
"""Sends the form as soon as the dialog is open, faster than any hand."""


def answer(page: Page, path: str, status: int, body: str = "<p>no</p>") -> None:
    """Let a proxy answer in place of gangboard."""

    def refuse(route: Route) -> None:
        route.fulfill(status=status, body=body, content_type="text/html")

    page.route(path, refuse)


class TestDialog:
    def test_a_suspension_goes_from_its_button_to_held(self, page: Page, site: Site) -> None:
        open_dialog(page, site)
        dialog = page.get_by_role("dialog", name="Suspend Job llama-workers-2")
        expect(dialog.get_by_label("Reason")).to_be_focused()
        expect(dialog).to_contain_text("What will happen")
        dialog.get_by_text("Exact requests").click()
        expect(dialog.get_by_text("/apis/gangboard.dev/v1alpha1/").first).to_be_visible()
        dialog.get_by_label("Reason").fill(REASON)
        dialog.get_by_role("button", name="Suspend Job llama-workers-2").click()
        expect(dialog).to_contain_text("Requested", timeout=SOON)
        action = requested(site, "llama-workers-2")
        assert action
        site.write(
            "UPDATE store_action SET state = 'applied', lever = 'hold', "
            "message = '2 pods are still ending.' WHERE id = ?",
            action,
        )
        expect(dialog).to_contain_text("Suspended, watching", timeout=SOON)
        expect(dialog).to_contain_text("2 pods are still ending.")
        site.write(
            "UPDATE store_action SET state = 'verified', finished_at = requested_at, "
            "message = 'By the test.' WHERE id = ?",
            action,
        )
        expect(dialog.locator(".face")).to_contain_text("Held", timeout=SOON)
        # The page below has moved too, and gets the focus back where it was.
        dialog.get_by_role("button", name="Close").click()
        expect(page.get_by_role("dialog")).to_have_count(0)
        expect(page.locator("#history")).to_contain_text("By the test.")
        expect(
            page.get_by_role("link", name="Suspend Job llama-workers-2", exact=True)
        ).to_be_focused()

    def test_a_revert_after_held_is_shown(self, page: Page, site: Site) -> None:
        open_dialog(page, site)
        dialog = page.get_by_role("dialog")
        dialog.get_by_label("Reason").fill(REASON)
        page.keyboard.press("Enter")
        expect(dialog).to_contain_text("Requested", timeout=SOON)
        action = requested(site, "llama-workers-2")
        site.write(
            "UPDATE store_action SET state = 'reverted', lever = 'hold', finished_at = "
            "requested_at, reverted_by = 'jobset', message = 'By the test.' WHERE id = ?",
            action,
        )
        expect(dialog).to_contain_text("Reverted by jobset", timeout=SOON)

    def test_a_press_while_the_dialog_opens_is_answered_in_it(self, page: Page, site: Site) -> None:
        """Without htmx's hand on the form the browser would leave the page for the one of the action."""
        page.goto(f"{site.url}/gangs/{site.gang_id('llama')}/")
        page.evaluate(PRESS_WHEN_OPEN, REASON)
        page.get_by_role("link", name="Suspend Job llama-workers-2", exact=True).click()
        expect(page.get_by_role("dialog")).to_contain_text("Requested", timeout=SOON)

    def test_escape_sends_no_request(self, page: Page, site: Site) -> None:
        open_dialog(page, site)
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_have_count(0)
        assert requested(site, "llama-workers-2") == ""

    def test_an_end_in_four_hours_takes_two_presses(self, page: Page, site: Site) -> None:
        open_dialog(page, site)
        page.get_by_role("button", name="4 h").click()
        visible = page.get_by_label("Until").input_value()
        expected_hour = time.strftime("%Y-%m-%dT%H", time.gmtime(time.time() + 4 * 3600))
        assert visible.startswith(expected_hour[:10])
        page.get_by_label("Reason").fill(REASON)
        submit_button(page).click()
        expect(page.get_by_role("dialog")).to_contain_text("Requested", timeout=SOON)
        until = site.read("SELECT until FROM store_action WHERE state = 'requested'")
        assert until[:16] == visible

    def test_a_double_press_makes_one_action(self, page: Page, site: Site) -> None:
        open_dialog(page, site)
        page.get_by_label("Reason").fill(REASON)
        submit_button(page).dblclick()
        expect(page.get_by_role("dialog")).to_contain_text("Requested", timeout=SOON)
        count = "SELECT count(*) FROM store_action WHERE name = ? AND state = 'requested'"
        assert site.read(count, "llama-workers-2") == "1"

    def test_the_live_page_below_updates_and_keeps_its_selection(
        self, page: Page, site: Site
    ) -> None:
        page.goto(f"{site.url}/gangs/{site.gang_id('llama')}/")
        box = page.get_by_label("Select llama-workers-2")
        box.check()
        box.focus()
        site.write("UPDATE store_action SET message = 'Seen live.' WHERE state = 'applied'")
        expect(page.locator("#jobs")).to_contain_text("Seen live.", timeout=SOON)
        expect(page.get_by_label("Select llama-workers-2")).to_be_checked()
        expect(page.get_by_label("Select llama-workers-2")).to_be_focused()


class TestSeveral:
    def test_several_jobs_are_confirmed_once_and_the_pending_ones_stopped(
        self, page: Page, site: Site
    ) -> None:
        page.goto(f"{site.url}/actions/node/?cluster=gpu-west&node=gpu-02")
        page.goto(f"{site.url}/gangs/{site.gang_id('llama')}/")
        site.write("UPDATE store_action SET state = 'verified' WHERE state = 'applied'")
        site.write("UPDATE store_action SET finished_at = sent_at WHERE finished_at IS NULL")
        expect(page.get_by_label("Select llama-workers-1")).to_be_visible(timeout=SOON)
        page.get_by_label("Select all Jobs").check()
        expect(page.locator("[data-selected]")).to_have_text("3 selected")
        page.get_by_role("button", name="Suspend selected").click()
        dialog = page.get_by_role("dialog")
        expect(dialog.get_by_role("heading", name="Suspend 2 Jobs")).to_be_visible()
        expect(dialog).to_contain_text("Not possible")
        dialog.get_by_label("Reason").fill(REASON)
        dialog.get_by_role("button", name="Suspend 2 Jobs").click()
        expect(dialog).to_contain_text("2 of 2 not sent yet.", timeout=SOON)
        stop = dialog.get_by_role("button", name="Stop what has not been sent")
        under_the_pointer = stop.element_handle()
        site.write(
            "UPDATE store_action SET state = 'refused', finished_at = requested_at WHERE id = ?",
            requested(site, "llama-workers-2"),
        )
        expect(dialog).to_contain_text("1 of 2 not sent yet.", timeout=SOON)
        assert under_the_pointer.evaluate("button => button.isConnected")
        # An update without pending actions would remove the button before the second press.
        page.route("**/live/asked/**", lambda _route: None)
        page.evaluate("htmx.trigger('#live-asked', 'htmx:abort')")
        stop.click()
        expect(dialog).to_contain_text("1 was stopped before anything was sent.", timeout=SOON)
        stop.click()
        expect(dialog).to_contain_text("Nothing was left to stop", timeout=SOON)

    def test_an_empty_selection_has_a_message(self, page: Page, site: Site) -> None:
        page.goto(f"{site.url}/gangs/{site.gang_id('llama')}/")
        page.get_by_role("button", name="Suspend selected").click()
        expect(page.get_by_role("dialog")).to_contain_text("Nothing is selected.")


class TestErrors:
    """Security paper W7: said beside the button, and the button is usable again."""

    @pytest.mark.parametrize("status", [403, 404, 409, 422, 429, 500, 502, 503])
    def test_a_foreign_answer_shows_an_error(self, page: Page, site: Site, status: int) -> None:
        open_dialog(page, site)
        page.get_by_label("Reason").fill(REASON)
        answer(page, "**/actions/confirm/", status)
        button = submit_button(page)
        button.click()
        problem = page.locator("#act-body [data-problem]")
        expect(problem).to_contain_text(f"({status})")
        expect(button).to_be_enabled()
        expect(page.locator("#connection")).to_be_hidden()
        page.unroute("**/actions/confirm/")
        button.click()
        expect(page.get_by_role("dialog")).to_contain_text("Requested", timeout=SOON)

    def test_a_retry_after_a_lost_answer_makes_one_action(self, page: Page, site: Site) -> None:
        open_dialog(page, site)
        page.get_by_label("Reason").fill(REASON)

        def lose(route: Route) -> None:
            route.fetch()  # gangboard has taken it, the answer is lost on its way
            route.abort()

        page.route("**/actions/confirm/", lose)
        button = submit_button(page)
        button.click()
        unknown = page.get_by_role("alert").filter(has_text="may have accepted this")
        expect(unknown).to_be_visible()
        expect(unknown.get_by_role("link", name="see Actions")).to_have_attribute(
            "href", "/actions/"
        )
        page.unroute("**/actions/confirm/")
        button.click()
        expect(page.get_by_role("dialog")).to_contain_text("Requested", timeout=SOON)
        count = "SELECT count(*) FROM store_action WHERE name = ? AND state = 'requested'"
        assert site.read(count, "llama-workers-2") == "1"

    def test_a_late_answer_shows_a_visible_message(self, page: Page, site: Site) -> None:
        page.set_viewport_size({"width": PHONE, "height": 420})
        open_dialog(page, site)
        page.get_by_label("Reason").fill(REASON)
        page.route("**/actions/confirm/", lambda _route: None)
        page.evaluate("htmx.config.timeout = 300")
        button = submit_button(page)
        button.click()
        unknown = page.get_by_role("alert").filter(has_text="may have accepted this")
        expect(unknown).to_be_visible()
        expect(unknown).to_be_in_viewport(ratio=1)
        expect(button).to_be_enabled()
        expect(page.get_by_label("Reason")).to_have_value(REASON)

    def test_a_dialog_that_did_not_load_claims_no_request(self, page: Page, site: Site) -> None:
        page.goto(f"{site.url}/gangs/{site.gang_id('llama')}/")
        page.route("**/actions/confirm/?*", lambda route: route.abort())
        page.get_by_role("link", name="Suspend Job llama-workers-2", exact=True).click()
        expect(page.locator("#jobs span.problem")).to_contain_text("Nothing was asked for")

    def test_a_dialog_that_cannot_open_shows_an_error(self, page: Page, site: Site) -> None:
        page.goto(f"{site.url}/gangs/{site.gang_id('llama')}/")
        answer(page, "**/actions/confirm/?*", 500)
        button = page.get_by_role("link", name="Suspend Job llama-workers-2", exact=True)
        button.click()
        expect(page.locator("#jobs span.problem")).to_contain_text("(500)")
        page.unroute("**/actions/confirm/?*")
        button.click()
        expect(page.get_by_role("dialog")).to_be_visible()

    def test_a_conflicting_action_is_refused(self, page: Page, site: Site) -> None:
        open_dialog(page, site)
        page.get_by_label("Reason").fill(REASON)
        button = page.get_by_role("dialog").get_by_role(
            "button", name="Suspend Job llama-workers-2"
        )
        # Another user acts on the same Job after the page was loaded.
        site.write(
            "UPDATE store_action SET finished_at = NULL, uid = ("
            "SELECT uid || '-job-2' FROM store_gang WHERE name = 'llama') WHERE state = 'refused'"
        )
        button.click()
        problem = page.locator("#act-body .problem").first
        expect(problem).to_contain_text("that action has not ended", timeout=SOON)
        expect(button).to_be_enabled()
        expect(page.get_by_label("Reason")).to_have_value(REASON)

    def test_a_stale_page_offers_a_retry(self, page: Page, site: Site) -> None:
        old = site.target("llama", 2)[:-1] + "2"
        page.goto(f"{site.url}/actions/confirm/?verb=suspend&target={old}")
        expect(page.locator("main")).to_contain_text("it is at generation 3, you saw 2")
        page.get_by_label("Reason").fill(REASON)
        submit_button(page).click()
        expect(page).to_have_url(re.compile(r"/actions/[0-9a-f]{32}/"))

    def test_an_expired_session_keeps_the_typed_text(self, page: Page, site: Site) -> None:
        open_dialog(page, site)
        page.get_by_label("Reason").fill(REASON)
        page.context.clear_cookies()
        # The page below gets a redirect to sign-in and follows it after the dialog closes.
        with page.expect_response(lambda answer: "hx-redirect" in answer.headers, timeout=SOON):
            page.evaluate("htmx.trigger('#live', 'htmx:abort')")
        expect(page.locator("#live-state")).to_have_text("not live")
        submit_button(page).click()
        # The CSRF token expires with the session. The dialog says so and keeps the form.
        expect(page.locator("#act-body [data-problem]")).to_contain_text("(403)")
        expect(page.get_by_label("Reason")).to_have_value(REASON)
        page.keyboard.press("Escape")
        expect(page).to_have_url(re.compile(r"/sign-in/\?next=/gangs/"))

    def test_typed_text_stays_when_the_gang_below_is_deleted(self, page: Page, site: Site) -> None:
        open_dialog(page, site)
        page.get_by_label("Reason").fill(REASON)
        gang = site.gang_id("llama")
        with page.expect_response(lambda answer: "hx-refresh" in answer.headers, timeout=SOON):
            site.write("UPDATE store_gang SET id = 'moved' WHERE id = ?", gang)
        try:
            expect(page.locator("#live-state")).to_have_text("not live")
            expect(page.get_by_label("Reason")).to_have_value(REASON)
            with page.expect_navigation(timeout=SOON):
                page.keyboard.press("Escape")
        finally:
            site.write("UPDATE store_gang SET id = ? WHERE id = 'moved'", gang)


def test_a_phone_shows_the_whole_dialog(page: Page, site: Site) -> None:
    page.set_viewport_size({"width": PHONE, "height": 844})
    open_dialog(page, site)
    page.get_by_label("Reason").fill(REASON)
    button = submit_button(page)
    button.scroll_into_view_if_needed()
    expect(button).to_be_in_viewport()
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE


def test_an_action_works_without_script(browser: Browser, site: Site) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{site.url}/gangs/{site.gang_id('llama')}/")
    page.fill("#name", NAME)
    page.fill("#password", PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("link", name="Suspend Job llama-workers-2", exact=True).click()
    expect(page.get_by_role("heading", name="Suspend Job llama-workers-2")).to_be_visible()
    page.get_by_label("Reason").fill(REASON)
    submit_button(page).click()
    expect(page).to_have_url(re.compile(r"/actions/[0-9a-f]{32}/"))
    expect(page.locator("main")).to_contain_text(REASON)
    page.goto(f"{site.url}/actions/node/?cluster=gpu-east&node=gpu-02")
    page.locator('input[name="target"]').first.check()
    page.get_by_role("button", name="Suspend selected").click()
    expect(page.locator("main")).to_contain_text("Suspend")
    context.close()


class TestRelocation:
    def test_a_job_leaves_a_node_in_two_steps(self, page: Page, site: Site) -> None:
        page.goto(f"{site.url}/gangs/{site.gang_id('llama')}/")
        page.get_by_role("link", name="Relocate Job llama-workers-2", exact=True).click()
        dialog = page.get_by_role("dialog", name="Relocate Job llama-workers-2")
        place = dialog.get_by_role("checkbox").first
        expect(place).to_be_visible()
        node = place.get_attribute("value") or ""
        place.check()
        dialog.get_by_role("button", name="Show what would happen").click()
        leaves = f"It leaves node {node.removeprefix('node:')} and restarts elsewhere."
        expect(dialog).to_contain_text(leaves, timeout=SOON)
        expect(dialog).to_contain_text("keep running")
        dialog.get_by_label("Reason").fill(REASON)
        dialog.get_by_role("button", name="Relocate Job llama-workers-2").click()
        expect(dialog).to_contain_text("Requested", timeout=SOON)
        query = "SELECT avoid FROM store_action WHERE state = 'requested' AND verb = 'relocate'"
        assert node.removeprefix("node:") in site.read(query)
