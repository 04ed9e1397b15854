"""The page of logs in a real browser, with the logs of a simulated cluster."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from simulator import Simulator
from tests.actions.conftest import FLEET
from tests.actions.site import JOBSET, NAMESPACE
from tests.web.site import NAME, Site
from tests.web.test_browser import faults_of

pytestmark = pytest.mark.browser

CLUSTER = "sim-logs"
PATIENCE = 20.0


@pytest.fixture(scope="module")
def simulator() -> Iterator[Simulator]:
    with Simulator(FLEET, minor="1.37", story=False) as running:
        yield running


@pytest.fixture(scope="module")
def address(site: Site, simulator: Simulator, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of the logs of the JobSet, whose cluster is watched once. The person may read them."""
    kubeconfig = tmp_path_factory.mktemp("logs") / "kubeconfig"
    kubeconfig.write_text(simulator.kubeconfig_text())
    site.manage("add_cluster", CLUSTER, "--kubeconfig", str(kubeconfig))
    site.manage("poll", "--once", "--cluster", CLUSTER)
    site.manage("create_user", NAME, "--role", "logs", "--cluster", CLUSTER)
    gang = site.read(
        "SELECT g.id FROM store_gang g JOIN store_cluster c ON c.id = g.cluster_id"
        f" WHERE g.name = '{JOBSET}' AND c.name = ?",
        CLUSTER,
    )
    return f"{site.url}/gangs/{gang}/logs/"


def test_logs_of_several_pods_stay_at_their_end(page: Page, address: str) -> None:
    page.goto(address)
    panes = page.locator(".log-pane")
    expect(panes).to_have_count(3)
    last = panes.first.locator("pre")
    expect(last).to_contain_text("step 400 of 400")
    end = panes.first.locator(".log-end")
    assert end.evaluate("box => Math.abs(box.scrollTop) < 2"), "the newest lines are in sight"
    assert end.evaluate("box => box.scrollHeight > box.clientHeight")
    assert faults_of(page, "logs", 1440, 390) == []


def test_the_gang_page_links_its_logs(page: Page, address: str) -> None:
    page.goto(address.removesuffix("logs/") + "?open=*")
    page.get_by_role("link", name="Log of").first.click()
    expect(page.locator(".log-pane")).to_have_count(1)
    page.go_back()
    page.get_by_role("link", name="Logs", exact=True).click()
    expect(page).to_have_url(address)


def test_a_followed_page_shows_new_lines_and_stops(
    page: Page, address: str, simulator: Simulator
) -> None:
    page.goto(address)
    pod = page.locator(".log-pods input:checked").first.get_attribute("value")
    assert pod is not None
    page.goto(f"{address}?pod={pod}&follow=3")
    expect(page.get_by_text("Following:")).to_be_visible()
    simulator.api.logs.write(NAMESPACE, pod, "main", lambda: [b"a new line\n"])
    expect(page.locator(".log-pane pre")).to_have_text("a new line\n", timeout=PATIENCE * 1000)
    expect(page.get_by_text("Stopped to follow")).to_be_visible(timeout=PATIENCE * 1000)
    read_at = page.locator(".log-bar").inner_text()
    time.sleep(6)
    assert page.locator(".log-bar").inner_text() == read_at
