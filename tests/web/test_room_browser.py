"""Reasons and Capacity in a real browser: with a script and without."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.web.site import NAME, PASSWORD, Site

pytestmark = pytest.mark.browser

SOON = 20_000
RACK = "topology.kubernetes.io/rack"


def test_a_filter_choice_applies_at_once(page: Page, site: Site) -> None:
    page.goto(f"{site.url}/capacity/?cluster=eu-train")
    page.select_option("select[name=by]", RACK)
    expect(page).to_have_url(re.compile(r"by=topology\.kubernetes\.io%2Frack"))
    expect(page.get_by_role("heading", name="rack-1")).to_be_visible()


def test_numbers_update_on_an_open_page(page: Page, site: Site) -> None:
    page.goto(f"{site.url}/capacity/?cluster=eu-train")
    amounts = page.get_by_role("table", name="eu-train: h100")
    number = amounts.get_by_role("row").nth(1).get_by_role("cell").nth(1)
    expect(number).to_contain_text("42")
    site.write(
        "UPDATE store_nodecapacity SET used = ? WHERE name = 'h100-1'", '{"nvidia.com/gpu": "7"}'
    )
    expect(number).to_contain_text("43", timeout=SOON)


def test_a_reason_leads_to_its_gangs(page: Page, site: Site) -> None:
    page.goto(f"{site.url}/reasons/?cluster=eu-train")
    page.locator("#reason-rows").get_by_role("link", name="Insufficient resources").first.click()
    expect(page).to_have_url(f"{site.url}/?cluster=eu-train&code=insufficient-resources")
    expect(page.get_by_role("link", name="llama-sft")).to_be_visible()


def test_both_pages_work_without_script(browser: Browser, site: Site) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{site.url}/reasons/")
    page.fill("#name", NAME)
    page.fill("#password", PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    expect(page).to_have_url(f"{site.url}/reasons/")
    page.select_option("select[name=cluster]", "lab")
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_text("Not known: no cluster can be read now.")).to_be_visible()
    page.get_by_role("link", name="Capacity", exact=True).click()
    page.select_option("select[name=by]", RACK)
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_role("heading", name="rack-2")).to_be_visible()
    context.close()


def test_node_names_are_visible_on_a_wide_screen(page: Page, site: Site) -> None:
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto(f"{site.url}/capacity/?cluster=eu-train")
    name = page.locator(".square-name", has_text="h100-1").first
    assert (name.bounding_box() or {"width": 0})["width"] > 30
    page.set_viewport_size({"width": 1024, "height": 900})
    assert (name.bounding_box() or {"width": 99})["width"] < 30


def test_every_page_can_be_reached_on_a_phone(page: Page, site: Site) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{site.url}/actions/")
    links = page.get_by_role("navigation", name="Pages").get_by_role("link")
    boxes = [link.bounding_box() for link in links.all()]
    assert len(boxes) >= 6
    assert all(box and box["x"] >= 0 and box["x"] + box["width"] <= 390 for box in boxes)


@pytest.mark.parametrize("width", [1280, 1440])
def test_the_header_stands_on_one_line_with_a_cluster_in_trouble(
    page: Page, site: Site, width: int
) -> None:
    """The site has a cluster that is silent and a stale one, beside one that is live."""
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(site.url)
    assert page.locator(".freshness .loud").count() >= 1
    assert (page.locator(".top").bounding_box() or {"height": 0})["height"] < 60


@pytest.fixture
def seven_silent(site: Site) -> Iterator[None]:
    """Seven more clusters that are silent, as the site's `lab` is."""
    site.write("CREATE TABLE copied AS SELECT * FROM store_cluster WHERE name = 'lab'")
    for number in range(7):
        site.write("UPDATE copied SET id = ?, name = ?", 900 + number, f"gpu-silent-{number}")
        site.write("INSERT INTO store_cluster SELECT * FROM copied")
    yield
    site.write("DELETE FROM store_cluster WHERE name LIKE 'gpu-silent-%'")
    site.write("DROP TABLE copied")


@pytest.mark.usefixtures("seven_silent")
@pytest.mark.parametrize(
    ("width", "names", "text"),
    [(2200, 3, "5 more with problems"), (1440, 1, "7 more"), (390, 1, "7 more")],
)
def test_seven_clusters_in_trouble_leave_the_header_its_lines(
    page: Page, site: Site, width: int, names: int, text: str
) -> None:
    """They filled two lines at 1440 px, and eight on a phone, above each page."""
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(f"{site.url}/actions/")
    bar = page.locator(".freshness")
    assert (bar.bounding_box() or {"height": 99})["height"] < 26
    if width > 390:
        assert (page.locator(".top").bounding_box() or {"height": 99})["height"] < 60
    named = bar.locator("li:visible", has_text="silent 4 min")
    expect(named).to_have_count(names)
    expect(bar.locator("li:visible", has_text="more")).to_contain_text(text)
    bar.get_by_role("link", name="more with problems").click()
    expect(page).to_have_url(f"{site.url}/clusters/")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_board_row_is_two_lines_and_a_cause_on_a_phone(page: Page, site: Site) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{site.url}/?q=is-")
    rows = page.locator("#gangs tr[data-name]")
    for row in rows.all():
        box, cause = row.bounding_box(), row.locator(".cause").bounding_box()
        assert box
        assert cause
        assert cause["y"] - box["y"] < 70
        assert box["y"] + box["height"] - cause["y"] - cause["height"] < 20


@pytest.mark.parametrize("width", [1280, 390])
def test_what_keeps_nodes_out_is_a_table_of_causes(page: Page, site: Site, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(f"{site.url}/?q=llama-sft")
    page.get_by_role("link", name="llama-sft").first.click()
    page.get_by_text("llama-workers: 5 nodes are kept out by this cause alone").click()
    table = page.get_by_role("table", name="What keeps nodes from llama-workers now, of 10 nodes")
    expect(table.get_by_role("row").filter(has_text="cordoned")).to_contain_text("h100-7")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
