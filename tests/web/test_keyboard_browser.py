"""Every link, button and field of the pages for a company is reached by the Tab key alone, and shows that it is."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

from tests.web.site import Site
from tests.web.site_addresses import addresses
from tests.web.test_browser import UNFOLD, WIDE

pytestmark = pytest.mark.browser

PAGES = (
    "account",
    "API reference of one resource",
    "add a cluster",
    "manage a cluster",
    "trial answered",
    "check",
    "result of a check",
    "people",
    "person",
    "roles of groups",
    "tokens",
    "sessions",
    "messages",
    "tell me of a gang",
    "channel",
    "rule",
    "mute a rule",
    "audit",
)
NUMBER_CONTROLS = """() => {
    const wanted = "a[href], button, select, textarea, summary, input:not([type=hidden], [type=radio])";
    const shown = [...document.querySelectorAll(wanted)].filter(
        (control) => !control.disabled && control.tabIndex >= 0 && control.checkVisibility());
    shown.forEach((control, number) => control.setAttribute("data-number", number));
    return shown.map((control) => control.outerHTML.slice(0, 120));
}"""
"""Numbers all controls that can be used now; returns how each begins."""
RECORD_FOCUS = """() => {
    window.focused = [];
    document.addEventListener("focusin", ({target}) => {
        const style = getComputedStyle(target);
        const marked = style.outlineStyle !== "none" || style.boxShadow !== "none";
        window.focused.push([target.getAttribute("data-number"), marked]);
    });
}"""


def test_the_tab_key_reaches_every_control(page: Page, site: Site) -> None:
    page.set_viewport_size({"width": WIDE, "height": 900})
    places = addresses(site)
    missed: dict[str, list[str]] = {}
    for name in PAGES:
        page.goto(site.url + places[name])
        page.evaluate(UNFOLD)
        controls = page.evaluate(NUMBER_CONTROLS)
        assert len(controls) > 10, name
        page.evaluate(RECORD_FOCUS)
        for _ in range(len(controls) + 20):
            page.keyboard.press("Tab")
        focused = [
            (int(number), is_marked)
            for number, is_marked in page.evaluate("() => window.focused")
            if number is not None
        ]
        reached = {number for number, _ in focused}
        unmarked = {number for number, is_marked in focused if not is_marked}
        remaining = [controls[number] for number in range(len(controls)) if number not in reached]
        missed[name] = remaining + [
            f"not marked: {controls[number]}" for number in sorted(unmarked)
        ]
    assert {name: partial for name, partial in missed.items() if partial} == {}
