"""The pages in a real browser: access for everybody, live parts, keyboard, no script, phone."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Literal

import pytest
from axe_playwright_python.base import AXE_SCRIPT, AxeResults
from django.urls import resolve
from django.utils import timezone
from playwright.sync_api import Browser, BrowserContext, Page, expect

from gangboard.domain.health import Health
from gangboard.pages.sign_in.urls import urlpatterns
from gangboard.pages.urls import urlpatterns as page_patterns
from tests.browser import follow_link
from tests.web.site import NAME, PASSWORD, Site
from tests.web.site_addresses import MISSING, addresses

pytestmark = pytest.mark.browser

SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
COLOUR_RULES = ["color-contrast", "link-in-text-block"]
"""Colour rules of axe (`axe.getRules(["cat.color"])`) that are enabled by default."""
UNFOLD = """() => {
    for (const folded of document.querySelectorAll("details:not(.menu)")) folded.open = true;
    const menu = document.querySelector("tbody details.menu");
    if (menu) menu.open = true;
}"""
"""Opens all that is folded, and the menu of the first row."""
AXE_OPTIONS = {"resultTypes": ["violations"]}
WIDE, PHONE = 1440, 390
SOON = 20_000
"""Milliseconds, generous for a busy machine. A page without a notification polls after 25 s."""


NO_PAGE = {
    "metrics",
    "account-names",
    "board-columns",
    "board-views",
    "board-view-remove",
    "batch-stop",
    "sign-in-link-use",
    "sign-out",
    "find",
    "gang-row",
    "board-export",
    "gang-bundle",
    "gang-stored",
    "gang-logs",  # it needs a cluster: test_logs_browser.py
    "actions-export",
    "audit-export",
    "evictions-export",
    "usage-export",
    "account-tokens",
    "account-token-revoke",
    "account-view-remove",
    "cluster-trial-save",
    "cluster-trial-context",
    "cluster-credentials",
    "cluster-read-only",
    "cluster-remove",
    *("notification-channels", "notification-channel-test", "notification-channel-remove"),
    *("notification-rules", "notification-rule-remove"),
    "account-password",
    *("account-sessions-end", "account-session-end"),
    *("people-group-take", "people-token-revoke", "people-session-end"),
    *("person-roles", "person-role-take", "person-link", "person-disable", "person-open"),
}
"""Addresses that take a form and lead on, a part of a page, and those that give a file."""
BEFORE_SIGN_IN = {"sign-in", "sign-in-link", "sign-in-provider", "sign-in-provider-callback"}
"""Pages that anonymous users see."""


def test_every_page_is_visited(site: Site) -> None:
    """Each new address is visited below or listed as no page. Live addresses belong to their page."""
    named = {str(pattern.name) for pattern in (*urlpatterns, *page_patterns)}
    named = {name for name in named if not name.startswith("api-")}
    pages = {name for name in named if not name.endswith("-updates")} - NO_PAGE - BEFORE_SIGN_IN
    paths = [path.partition("?")[0] for path in addresses(site).values()]
    visited = {resolve(path).url_name for path in paths if path != MISSING}
    assert visited == pages


def names(page: Page) -> list[str]:
    return [text.strip() for text in page.locator("#gangs th a").all_inner_texts()]


def faults_of(
    page: Page, name: str, *widths: int, schemes: Sequence[Literal["light", "dark"]] = SCHEMES
) -> list[str]:
    """Return the faults of the open page, each with the page's name, width and theme.

    A theme changes only colours (see test_themes.py), so the dark theme needs only the colour rules.
    """
    faults = []
    page.evaluate(AXE_SCRIPT)
    for width in widths:
        page.set_viewport_size({"width": width, "height": 900})
        for scheme in schemes:
            page.emulate_media(color_scheme=scheme)
            rules = {"runOnly": {"type": "rule", "values": COLOUR_RULES}}
            options = AXE_OPTIONS | (rules if scheme == "dark" else {})
            result = AxeResults(page.evaluate("options => axe.run(options)", options))
            if result.violations_count:
                faults.append(f"{name}, {width}, {scheme}: {result.generate_report()}")
        taken = page.evaluate("document.documentElement.scrollWidth")
        if taken > width:
            faults.append(f"{name}, {width}: the page is {taken} wide.")
    return faults


def test_pages_have_no_axe_violations_and_fit_the_screen(page: Page, site: Site) -> None:
    """One visit of each page serves both widths and both themes. Folded sections are open on the phone.

    The dark theme is checked on the phone because most elements are visible there.
    """
    result = []
    for name, path in addresses(site).items():
        page.goto(site.url + path)
        result += faults_of(page, name, WIDE, schemes=["light"])
        page.evaluate(UNFOLD)
        result += faults_of(page, f"{name}, unfolded", PHONE)
    page.goto(f"{site.url}/gangs/{site.gang_id('llama')}/")
    page.get_by_role("link", name="Suspend Job llama-workers-2", exact=True).click()
    expect(page.get_by_role("dialog")).to_be_visible()
    result += faults_of(page, "dialog", WIDE, PHONE)
    page.goto(f"{site.url}/?q=llama-sft")
    row = page.get_by_role("button", name="Essentials of llama-sft")
    row.click()
    expect(page.locator(f"#{row.get_attribute('aria-controls')}")).to_contain_text("Jobs and pods")
    result += faults_of(page, "row, opened", WIDE, PHONE)
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    result += faults_of(page, "help", WIDE, PHONE)
    page.context.clear_cookies()
    page.goto(f"{site.url}/sign-in/")
    result += faults_of(page, "sign-in", WIDE, PHONE)
    assert not result, "\n".join(result)


@pytest.mark.parametrize("width", [WIDE, PHONE])
def test_a_link_signs_in_by_its_button(browser: Browser, site: Site, width: int) -> None:
    context = browser.new_context(reduced_motion="reduce")
    page = context.new_page()
    link = site.sign_in_link(f"vera-{width}")
    page.goto(link)
    faults = faults_of(page, "link", width)
    assert not faults, "\n".join(faults)
    follow_link(page, link)
    expect(page).to_have_url(f"{site.url}/")
    expect(page.get_by_text(f"vera-{width}").first).to_be_attached()
    context.close()


def test_panels_of_a_silent_cluster_do_not_touch(page: Page, site: Site) -> None:
    page.goto(f"{site.url}/clusters/lab/")
    boxes = [panel.bounding_box() for panel in page.locator("main .panel").all()]
    known = [box for box in boxes if box is not None]
    assert len(known) == 3
    gaps = [below["y"] - above["y"] - above["height"] for above, below in pairwise(known)]
    assert min(gaps) >= 12, gaps


def test_a_confirmation_of_several_has_clear_buttons_on_a_phone(page: Page, site: Site) -> None:
    """Links and buttons look alike and do not touch the elements above."""
    page.set_viewport_size({"width": PHONE, "height": 900})
    jobs = "".join(f"&target={site.target('llama', index)}" for index in (1, 2))
    page.goto(f"{site.url}/actions/confirm/?verb=suspend{jobs}")
    cancel = page.locator(".act-buttons").get_by_role("link", name="Cancel")
    above, below = cancel.evaluate(
        """link => {
          const text = document.createRange();
          text.selectNodeContents(link);
          const [inner, outer] = [text.getBoundingClientRect(), link.getBoundingClientRect()];
          return [inner.top - outer.top, outer.bottom - inner.bottom];
        }"""
    )
    assert abs(above - below) <= 2, (above, below)
    instead = page.get_by_role("link", name="Suspend JobSet llama instead").bounding_box()
    notice = page.locator(".notice li").last.bounding_box()
    assert instead is not None
    assert notice is not None
    assert instead["y"] - notice["y"] - notice["height"] >= 6
    # The longest name that a JobSet can have.
    page.locator(".notice .button").evaluate("link => { link.textContent = 'llama-'.repeat(10); }")
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE


class TestLive:
    def test_a_change_arrives_and_focus_and_scroll_stay(self, page: Page, site: Site) -> None:
        page.set_viewport_size({"width": WIDE, "height": 400})
        page.goto(f"{site.url}/")
        page.get_by_role("link", name="is-running").focus()
        scrolled = page.evaluate("window.scrollY")
        assert scrolled > 0
        site.write("UPDATE store_gang SET message = 'Seen live.' WHERE name = 'is-running'")
        expect(page.get_by_text("Seen live.")).to_be_visible(timeout=SOON)
        expect(page.get_by_role("link", name="is-running")).to_be_focused()
        assert page.evaluate("window.scrollY") == scrolled

    def test_rows_come_move_and_go(self, page: Page, site: Site) -> None:
        page.goto(f"{site.url}/?q=is-")
        before = names(page)
        assert before[0] == "is-failed"
        assert before.index("is-running") > before.index("is-starting")
        page.get_by_role("link", name="is-running").focus()
        tile = page.locator("#tile-failed b")
        expect(tile).to_have_text("1")
        site.write(
            "UPDATE store_gang SET health = 'failed', severity = 0, since = '2020-01-01 00:00:00' "
            "WHERE name = 'is-running'"
        )
        expect(page.locator("#gangs th a").first).to_have_text("is-running", timeout=SOON)
        expect(page.get_by_role("link", name="is-running")).to_be_focused()
        expect(tile).to_have_text("2")
        site.write(
            "UPDATE store_gang SET gone_at = '2026-01-01 00:00:00' WHERE name = 'is-running'"
        )
        expect(page.get_by_role("link", name="is-running")).to_have_count(0, timeout=SOON)
        site.write(
            "UPDATE store_gang SET gone_at = NULL, health = 'running', severity = 6 "
            "WHERE name = 'is-running'"
        )
        expect(page.get_by_role("link", name="is-running")).to_have_count(1, timeout=SOON)
        assert names(page) == before

    def test_a_gang_page_updates(self, page: Page, site: Site) -> None:
        page.goto(f"{site.url}/gangs/{site.gang_id('llama-sft')}/")
        site.write("UPDATE store_gang SET message = 'All 8 fit now.' WHERE name = 'llama-sft'")
        expect(page.locator("#verdict .sentence")).to_have_text("All 8 fit now.", timeout=SOON)

    def test_opened_rows_and_selected_text_stay(self, page: Page, site: Site) -> None:
        page.goto(f"{site.url}/?q=is-waiting")
        row = page.locator("#gangs tr", has=page.get_by_role("link", name="is-waiting"))
        row.get_by_label("Actions on is-waiting").click()
        menu = row.locator("details")
        expect(menu).to_have_attribute("open", "")
        name = row.get_by_role("link", name="is-waiting")
        name.evaluate("(element) => getSelection().selectAllChildren(element)")
        site.write("UPDATE store_gang SET message = 'Read on.' WHERE name = 'is-waiting'")
        expect(row).to_contain_text("Read on.", timeout=SOON)
        assert page.evaluate("getSelection().toString()") == "is-waiting"
        expect(menu).to_have_attribute("open", "")

    def test_focus_and_scroll_of_a_wide_table_stay(self, page: Page, site: Site) -> None:
        page.goto(f"{site.url}/clusters/eu-train/")
        # Constructed in the page: the policy of the pages refuses a style element.
        page.evaluate(
            "() => { const wide = new CSSStyleSheet(); "
            "wide.replaceSync('#resources table { min-width: 4000px }'); "
            "document.adoptedStyleSheets = [wide]; }"
        )
        table = page.locator("#resources .scroll")
        table.focus()
        table.evaluate("(element) => { element.scrollLeft = 120; element.old = true; }")
        site.write("UPDATE store_resourcestate SET objects_count = 4321")
        expect(page.locator("#resources")).to_contain_text("4,321", timeout=SOON)
        assert table.evaluate("(element) => element.old === true"), "it is the very element"
        expect(table).to_be_focused()
        assert table.evaluate("(element) => element.scrollLeft") == 120

    def test_the_last_change_is_announced_to_screen_readers(self, page: Page, site: Site) -> None:
        page.clock.install()
        page.goto(f"{site.url}/gangs/{site.gang_id('llama-sft')}/")
        announcer = page.locator("#announcer")
        change = "UPDATE store_gang SET message = ?, health = ? WHERE name = 'llama-sft'"
        site.write(change, "First.", "blocked")
        expect(announcer).to_have_text("llama-sft is now blocked", timeout=SOON)
        announcer.evaluate("(element) => { element.textContent = ''; }")
        site.write(change, "Last.", "waiting")
        expect(page.locator("#verdict .sentence")).to_have_text("Last.", timeout=SOON)
        expect(announcer).to_be_empty()
        page.clock.fast_forward(10_000)
        expect(announcer).to_have_text("llama-sft is now waiting", timeout=SOON)

    def test_a_pause_stops_all_updates(self, page: Page, site: Site) -> None:
        page.goto(f"{site.url}/")
        page.keyboard.press("p")
        expect(page.locator("#live-state")).to_contain_text("paused at")
        site.write("UPDATE store_gang SET message = 'While paused.' WHERE name = 'is-waiting'")
        page.wait_for_timeout(700)
        expect(page.get_by_text("While paused.")).to_have_count(0)
        page.get_by_role("button", name="Resume updates").click()
        expect(page.get_by_text("While paused.")).to_be_visible(timeout=SOON)

    def test_a_silent_server_is_reported_and_a_restart_detected(
        self, page: Page, site: Site
    ) -> None:
        page.goto(f"{site.url}/")
        page.wait_for_timeout(500)
        site.stop()
        expect(page.locator("#connection")).to_contain_text("has not answered", timeout=60_000)
        site.start()
        site.write("UPDATE store_gang SET message = 'Back again.' WHERE name = 'is-waiting'")
        expect(page.get_by_text("Back again.")).to_be_visible(timeout=60_000)
        expect(page.locator("#connection")).to_be_hidden()

    def test_the_end_of_the_session_leads_to_sign_in(
        self, page: Page, context: BrowserContext, site: Site
    ) -> None:
        page.goto(f"{site.url}/?health=waiting")
        # The waiting request would lead there by itself at any moment, also during the reload.
        page.keyboard.press("p")
        expect(page.locator("#live-state")).to_contain_text("paused at")
        context.clear_cookies()
        page.reload()
        expect(page).to_have_url(re.compile(r"/sign-in/\?next=/%3Fhealth%3Dwaiting"))


NOTIFICATION = """window.Notification = class {
  static requestPermission() { return Promise.resolve("granted"); }
  constructor(title) { window.told = title; }
};"""


class TestPersonal:
    def test_a_running_gang_notifies_its_watcher_in_local_time(
        self, browser: Browser, session: Path, site: Site
    ) -> None:
        context = browser.new_context(storage_state=session, timezone_id="Asia/Kolkata")
        page = context.new_page()
        page.add_init_script(NOTIFICATION)
        page.goto(f"{site.url}/gangs/{site.gang_id('will-flap')}/")
        expect(page.locator(".foot time")).to_contain_text("UTC")
        page.get_by_role("button", name="Times are in UTC").click()
        expect(page.locator(".foot time")).to_contain_text("IST")
        page.get_by_role("button", name="Notify in this browser").click()
        expect(page.get_by_role("button", name="This browser will notify you")).to_be_visible()
        assert page.evaluate("window.told") is None
        site.write("UPDATE store_gang SET health = 'running' WHERE name = 'will-flap'")
        expect(page.locator("#verdict")).to_have_attribute("data-health", "running", timeout=SOON)
        page.wait_for_function("window.told === 'JobSet will-flap runs'")
        expect(page.locator("[data-tell]")).to_be_hidden()
        context.close()


class TestHistory:
    def test_each_segment_of_the_strip_has_its_label_and_times(
        self, page: Page, site: Site
    ) -> None:
        page.goto(f"{site.url}/gangs/{site.gang_id('has-a-past')}/")
        strip = page.locator(".strip")
        expect(strip.locator("text", has_text="Running").first).to_be_visible()
        titles = strip.locator("title").all_text_contents()
        assert len(titles) == 8
        assert "Waiting: Insufficient resources" in titles[1]
        assert "(55 min)" in titles[1]
        assert titles[-1].count("UTC – now") == 1
        message = (
            page.get_by_role("region", name="History")
            .get_by_role("list")
            .first.get_by_role("listitem")
        )
        expect(message).to_have_count(8)
        expect(message.nth(1)).to_contain_text("55 min")

    def test_segments_fill_the_strip_and_stay_visible(self, page: Page, site: Site) -> None:
        for width in (WIDE, PHONE):
            page.set_viewport_size({"width": width, "height": 900})
            page.goto(f"{site.url}/gangs/{site.gang_id('has-a-past')}/")
            boxes = page.locator(".strip > svg > rect:first-of-type").evaluate_all(
                "all => all.map(one => one.getBoundingClientRect().width)"
            )
            complete = page.locator(".strip").evaluate("one => one.getBoundingClientRect().width")
            assert min(boxes) >= 1.5
            assert abs(sum(boxes) - complete) < 2

    def test_a_new_verdict_appears_without_a_reload(self, page: Page, site: Site) -> None:
        page.goto(f"{site.url}/gangs/{site.gang_id('llama-sft')}/")
        expect(page.locator(".strip")).to_have_count(0)
        began_at = (timezone.now() - timedelta(hours=1)).strftime("%Y-%m-%d %H:%M:%S")
        site.write(
            "INSERT INTO store_verdictspan (cluster_id, gang_id, api_group, kind, namespace, name,"
            " uid, health, stage, code, title, message, findings, queue, shape, desired,"
            " accelerators, began_at, last) SELECT cluster_id, id, api_group, kind, namespace,"
            " name, uid, 'waiting', 'placement', 'fragmented', 'Fragmented', 'Said just now.', '',"
            " queue, '', desired, accelerators, ?, 0 FROM store_gang WHERE name = 'llama-sft'",
            began_at,
        )
        expect(page.locator("#history").get_by_text("Said just now.")).to_be_visible(timeout=SOON)
        expect(page.locator(".strip > svg")).to_have_count(1)
        expect(page.locator("#past")).to_contain_text("unknown, no similar gang has run yet")

    def test_an_open_page_becomes_that_of_a_deleted_gang(self, page: Page, site: Site) -> None:
        id_ = site.gang_id("will-go")
        page.goto(f"{site.url}/gangs/{id_}/")
        expect(page.locator("#tree-title")).to_be_visible()
        site.write("DELETE FROM store_gang WHERE name = 'will-go'")
        expect(page.get_by_role("region", name="Last verdict")).to_be_visible(timeout=SOON)
        expect(page.locator("#tree-title")).to_have_count(0)
        expect(page.get_by_role("region", name="History")).to_be_visible()

    def test_earlier_entries_open_by_keyboard_without_script(
        self, browser: Browser, session: Path, site: Site
    ) -> None:
        context = browser.new_context(storage_state=session, java_script_enabled=False)
        page = context.new_page()
        page.goto(f"{site.url}/gangs/{site.gang_id('will-flap')}/")
        summary = page.locator("#history summary")
        expect(summary).to_contain_text("4 earlier")
        expect(page.locator("#history li").last).to_be_hidden()
        summary.focus()
        page.keyboard.press("Enter")
        expect(page.locator("#history li").last).to_be_visible()
        context.close()


class TestFilters:
    def test_a_tile_filters_without_a_new_page(self, page: Page, site: Site) -> None:
        page.goto(f"{site.url}/")
        page.evaluate("window.same = true")
        page.locator("#tile-blocked").click()
        expect(page).to_have_url(f"{site.url}/?health=blocked")
        expect(page.locator("#gangs th a")).to_have_text(["is-blocked"])
        expect(page.locator("#tile-blocked")).to_have_attribute("aria-pressed", "true")
        expect(page.locator("#tile-blocked")).to_be_focused()
        page.select_option("select[name=group_by]", "reason")
        expect(page).to_have_url(re.compile("group_by=reason&health=blocked"))
        page.locator("#tile-blocked").click()
        expect(page).to_have_url(f"{site.url}/?group_by=reason")
        assert page.evaluate("window.same")
        page.go_back()
        expect(page.locator("#gangs th a")).to_have_text(["is-blocked"])

    def test_typing_filters_the_board(self, page: Page, site: Site) -> None:
        page.goto(f"{site.url}/")
        page.keyboard.press("f")
        page.keyboard.type("degr")
        expect(page.locator("#gangs th a")).to_have_text(["is-degraded"])
        expect(page.locator("#q")).to_be_focused()
        expect(page).to_have_url(f"{site.url}/?q=degr")
        site.write("UPDATE store_gang SET message = 'Still live.' WHERE name = 'is-degraded'")
        expect(page.get_by_text("Still live.")).to_be_visible(timeout=SOON)
        page.keyboard.press("Escape")
        expect(page.locator("#q")).not_to_be_focused()
        expect(page.locator("#q")).to_have_value("degr")


def test_the_keyboard_goes_through_the_rows(page: Page, site: Site) -> None:
    page.goto(f"{site.url}/?q=is-")
    first, second = page.locator("#gangs th a").first, page.locator("#gangs th a").nth(1)
    page.keyboard.press("j")
    expect(first).to_be_focused()
    page.keyboard.press("j")
    expect(second).to_be_focused()
    page.keyboard.press("k")
    expect(first).to_be_focused()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    first.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("is-failed")


@pytest.mark.parametrize(
    "path", ["/", "/reasons/", "/queues/", "/capacity/", "/groups/", "/clusters/", "/actions/"]
)
def test_the_search_is_one_key_away_and_enter_opens_the_only_hit(
    page: Page, site: Site, path: str
) -> None:
    page.goto(site.url + path)
    page.keyboard.press("/")
    expect(page.locator("#search")).to_be_focused()
    page.keyboard.type("is-degraded")
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{site.url}/gangs/{site.gang_id('is-degraded')}/")


def test_a_label_is_searched_filtered_and_shown_by_keyboard(page: Page, site: Site) -> None:
    page.goto(f"{site.url}/clusters/")
    page.keyboard.press("/")
    page.keyboard.type("team=vision")
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{site.url}/?label=team%3Dvision&show_finished=1")
    expect(page.locator("#gangs th a")).to_have_count(len(Health))
    page.get_by_text("Columns", exact=True).focus()
    page.keyboard.press("Enter")
    page.get_by_label("Label", exact=True).fill("team")
    page.keyboard.press("Enter")
    expect(page.locator("td.column-label").first).to_have_text("vision")
    # The waiting request prints the same columns.
    site.write("UPDATE store_gang SET labels = '{\"team\": \"audio\"}' WHERE name = 'is-blocked'")
    page.goto(f"{site.url}/?q=is-blocked")
    expect(page.locator("td.column-label")).to_have_text("audio")
    site.write("UPDATE store_gang SET labels = '{\"team\": \"vision\"}' WHERE name = 'is-blocked'")
    expect(page.locator("td.column-label")).to_have_text("vision", timeout=SOON)
    page.get_by_text("Mine", exact=True).click()
    expect(page).to_have_url(f"{site.url}/?q=is-blocked&mine=1")
    expect(page.get_by_text("No match for “is-blocked”")).to_be_visible()


@pytest.mark.parametrize("path", ["/capacity/", "/groups/"])
def test_rows_of_other_pages_have_keyboard_navigation(page: Page, site: Site, path: str) -> None:
    page.goto(site.url + path)
    page.keyboard.press("j")
    first = page.evaluate("document.activeElement.outerHTML")
    assert first.startswith(("<a ", "<summary"))
    page.keyboard.press("k")
    page.keyboard.press("j")
    assert page.evaluate("document.activeElement !== document.body")


def test_a_screen_reader_hears_only_health_changes(page: Page, site: Site) -> None:
    page.goto(f"{site.url}/?q=is-starting")
    site.write("UPDATE store_gang SET message = 'Only words.' WHERE name = 'is-starting'")
    expect(page.get_by_text("Only words.")).to_be_visible(timeout=SOON)
    expect(page.locator("#announcer")).to_be_empty()
    site.write("UPDATE store_gang SET health = 'blocked', severity = 1 WHERE name = 'is-starting'")
    expect(page.locator("#announcer")).to_have_text("is-starting is now blocked", timeout=SOON)
    site.write("UPDATE store_gang SET health = 'starting', severity = 4 WHERE name = 'is-starting'")


def test_the_chosen_theme_is_kept(page: Page, site: Site) -> None:
    page.goto(f"{site.url}/")
    button = page.get_by_role("button", name="Change between light and dark")
    button.click()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.goto(f"{site.url}/clusters/")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_ages_tick_in_the_server_format(page: Page, site: Site) -> None:
    page.goto(f"{site.url}/")
    script = "module => import('/static/js/ages.js').then(m => module.map(m.durationText))"
    seconds = [-5, 0, 59, 60, 3599, 3600, 8040, 86_400, 183_600, 7 * 86_400]
    assert page.evaluate(script, seconds) == [
        "0 s",
        "0 s",
        "59 s",
        "1 min",
        "59 min",
        "1 h",
        "2 h 14 min",
        "1 d",
        "2 d 3 h",
        "7 d",
    ]


@pytest.mark.parametrize("path", ["/holds/", "/actions/", "/actions/audit/", "/groups/"])
def test_filters_need_no_button_with_script(page: Page, site: Site, path: str) -> None:
    page.goto(f"{site.url}{path}")
    expect(page.get_by_role("button", name="Show", exact=True)).to_have_count(0)
    page.locator("#q").fill("llama")
    page.locator("#q").press("Enter")
    expect(page).to_have_url(re.compile(r"\?q=llama"))


def test_everything_works_without_script(browser: Browser, site: Site) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{site.url}/?health=blocked")
    page.fill("#name", NAME)
    page.fill("#password", PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    expect(page).to_have_url(f"{site.url}/?health=blocked")
    assert names(page) == ["is-blocked"]
    page.locator("#tile-blocked").click()
    expect(page.get_by_role("link", name="is-failed")).to_be_visible()
    page.fill("#q", "is-")
    page.select_option("select[name=group_by]", "reason")
    page.get_by_role("button", name="Show").click()
    # The old page stays until the form's answer has loaded.
    expect(page.get_by_role("link", name="is-failed")).to_be_visible()
    assert "is-failed" in names(page)
    assert page.locator("#gangs .heading").count() > 3
    page.get_by_role("link", name="Accelerators").click()
    expect(page).to_have_url(re.compile("ordering=-accelerators"))
    page.get_by_role("link", name="is-failed").click()
    expect(page.locator(".sentence")).to_be_visible()
    page.get_by_role("link", name="Clusters", exact=True).click()
    expect(page.get_by_role("heading", name="eu-train")).to_be_visible()
    page.get_by_title("What you may see and do").click()
    page.get_by_role("button", name="Sign out").click()
    expect(page).to_have_url(f"{site.url}/sign-in/")
    context.close()
