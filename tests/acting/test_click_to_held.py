"""From the click to *held* on the page, in a real browser and with a real control plane."""

from __future__ import annotations

import re
import time

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.acting.scene import Scene
from tests.browser import follow_link
from tests.controlplane.objects import JobOptions, jobset
from tests.live.figures import Figures

pytestmark = [pytest.mark.slow, pytest.mark.browser]

TRIES = 3
JOB = "run-w-1"
PATIENCE = 120_000


@pytest.fixture(scope="module")
def scene(visit: Scene) -> Scene:
    workers: JobOptions = {"replicas": 3, "grace": 1, "node_selector": visit.where}
    visit.set_up(jobset("run", visit.namespace, jobs={"w": workers}))
    visit.wait_running(3)
    return visit


def _face(place: Locator, label: str) -> Locator:
    """The word for a state, whole: `Resumed` is not `Resumed, watching`."""
    return place.locator(".face", has_text=re.compile(rf"\b{label}\s*$")).first


def _confirm(page: Page, verb: str, final_state: str) -> float:
    """Click the button, confirm, and wait for the last word; return the seconds from the last click."""
    # If it is also the next step, that button comes above the tree.
    button = page.get_by_role("link", name=f"{verb.capitalize()} Job {JOB}").last
    expect(button).to_be_visible(timeout=PATIENCE)
    button.click()
    dialog = page.locator("#act-body")
    dialog.get_by_label("Reason").fill("node-3 is being repaired")
    submit = dialog.locator("button[type=submit].primary")
    expect(submit).to_be_enabled()
    clicked_at = time.monotonic()
    submit.click()
    expect(_face(dialog, final_state)).to_be_visible(timeout=PATIENCE)
    took = time.monotonic() - clicked_at
    page.keyboard.press("Escape")
    return took


def test_a_clicked_job_is_held_in_time(scene: Scene, browser: Browser) -> None:
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    seconds = []
    try:
        page = context.new_page()
        follow_link(page, scene.installation.new_sign_in_link())
        gang = scene.gang("run")
        page.goto(f"{scene.installation.url}/gangs/{gang['id']}/")
        for _ in range(TRIES):
            seconds.append(_confirm(page, "suspend", "Held"))
            assert scene.job(JOB)["spec"]["suspend"] is True
            assert scene.pods(JOB) == []
            (hold,) = scene.holds()
            assert hold["spec"]["reason"] == "node-3 is being repaired"
            row = page.locator("tr", has=page.get_by_role("rowheader", name=JOB))
            expect(_face(row, "Held")).to_be_visible(timeout=PATIENCE)
            _confirm(page, "resume", "Resumed")
            scene.wait_running(1, JOB)
            assert scene.holds() == []
        page.goto(f"{scene.installation.url}/actions/?q={JOB}")
        expect(page.get_by_text("node-3 is being repaired").first).to_be_visible()
    finally:
        context.close()
    figures = Figures.of("click to held", seconds)
    # The fastest of them counts. A busy machine is slow at times, but waiting for a sweep is slow
    # each time.
    assert min(seconds) < 6.0, figures
