"""A cluster is added in a real browser without a script. A process of its own plays the poll worker."""

from __future__ import annotations

import subprocess
import sys

import pytest
from playwright.sync_api import Browser, expect

from simulator import Simulator
from tests.web.site import NAME, PASSWORD, ROOT, Site

pytestmark = pytest.mark.browser

WORKER = """
import django
django.setup()
from gangboard.polling.trial_runs import run_trial
from gangboard.store.cluster_trials import due_trials
assert [run_trial(trial_id) for trial_id in due_trials()] == [True]
"""


def run_worker(site: Site) -> None:
    """Run the one trial that is due."""
    subprocess.run(
        [sys.executable, "-c", WORKER], cwd=ROOT, env=site.environment, check=True, timeout=60
    )


def test_a_cluster_is_added_and_removed_without_script(browser: Browser, site: Site) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{site.url}/clusters/")
    page.fill("#name", NAME)
    page.fill("#password", PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    with Simulator(fleet="west", story=False, hold=False) as simulator:
        page.get_by_role("link", name="Add a cluster").click()
        page.get_by_role("textbox", name="Name", exact=True).fill("new-west")
        page.get_by_role("textbox", name="Kubeconfig").fill(
            simulator.kubeconfig_text(read_only=True)
        )
        page.get_by_role("button", name="Test the connection").click()
        expect(page.get_by_role("heading", name="Waiting for a poll worker")).to_be_visible()
        run_worker(site)
        # The page loads itself again every two seconds.
        expect(page.get_by_text("Cluster new-west answers, v1.3")).to_be_visible()
        page.get_by_role("button", name="Watch new-west").click()
        expect(page).to_have_url(f"{site.url}/clusters/new-west/")
    page.get_by_role("link", name="Remove").click()
    page.get_by_role("textbox", name="Type new-west").fill("new-west")
    page.get_by_role("button", name="Remove new-west").click()
    expect(page).to_have_url(f"{site.url}/clusters/")
    expect(page.get_by_role("link", name="new-west")).to_have_count(0)
    context.close()
