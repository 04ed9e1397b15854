"""`make run` in a new clone in an empty folder, seen in a real browser."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser import follow_link
from tests.controlplane.supervisor import Started, Supervisor
from tests.services import free_port

ROOT = Path(__file__).resolve().parents[2]
START_SECONDS = 900.0
"""Making the environment takes half a minute with a warm package cache, minutes without or beside others."""
EAST_JOBSET, EAST_JOB = "llama-ft", "llama-ft-workers-1"
WEST_JOBSET = "ctr-ranker"
HEALTHS = (
    "failed",
    "blocked",
    "degraded",
    "waiting",
    "starting",
    "suspended",
    "running",
    "succeeded",
)

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@dataclass
class Run:
    """A running `make run`."""

    folder: Path
    link: str
    process: Started

    def pids(self) -> list[int]:
        """Return its processes."""
        processes = []
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                folder = (entry / "cwd").resolve()
            except OSError:
                continue
            if folder == self.folder:
                processes.append(int(entry.name))
        return processes


def _clean_environment() -> dict[str, str]:
    """Environment without variables of ours or of the running make, as in a new terminal."""
    ours = ("GANGBOARD_", "DJANGO_", "DATABASE_", "REDIS_", "VIRTUAL_ENV", "MAKE", "MFLAGS")
    return {name: value for name, value in os.environ.items() if not name.startswith(ours)}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """Clone the committed tree and start it, with no other step."""
    folder = tmp_path_factory.mktemp("empty") / "gangboard"
    subprocess.run(
        ["git", "clone", "--quiet", str(ROOT), str(folder)], check=True, capture_output=True
    )
    with closing(Supervisor(folder.parent)) as guard:
        log = folder.parent / "log"
        argv = ["make", "run", f"PORT={free_port()}"]
        process = guard.start("make run", argv, _clean_environment(), log, cwd=folder)
        yield Run(folder, _find_link(process, log), process)


def _find_link(process: Started, log: Path) -> str:
    give_up_at = time.monotonic() + START_SECONDS
    while time.monotonic() < give_up_at and process.poll() is None:
        match = re.search(r"http://\S+/sign-in/link/\S+(?=\s)", log.read_text())
        if match:
            return match.group()
        time.sleep(0.2)
    raise AssertionError("make run printed no sign-in link: " + log.read_text()[-3000:])


@pytest.fixture(scope="module")
def page(run: Run, browser: Browser) -> Iterator[Page]:
    """The Board after the sign-in link was followed, finished gangs shown."""
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    opened = context.new_page()
    follow_link(opened, run.link)
    opened.goto(run.link.split("/sign-in/")[0] + "/?show_finished=1")
    yield opened
    context.close()


def test_the_link_signs_in_and_every_health_appears(page: Page) -> None:
    board = page.url
    for health in HEALTHS:
        expect(page.locator(f"#tile-{health} b")).not_to_have_text("0", timeout=120_000)
    expect(page.locator("#tile-unknown")).to_be_visible()
    # The fleet has more gangs than the first part of the list.
    for health in HEALTHS:
        page.goto(f"{board}&health={health}")
        expect(page.locator(f"#gangs .tone-{health}").first).to_be_visible(timeout=120_000)
    page.goto(board)


WHOLE_ROWS = """() => {
    const rows = [...document.querySelectorAll('#gangs tr')].map(row => row.getBoundingClientRect());
    return {first: rows[0].top, whole: rows.filter(row => row.bottom <= innerHeight).length};
}"""
CUT_CAUSES = """() => [...document.querySelectorAll('#gangs .cause')]
    .filter(one => one.scrollWidth > one.clientWidth || one.scrollHeight > one.clientHeight)
    .map(one => one.innerText)"""


def test_the_board_shows_many_gangs_at_a_glance_and_cuts_no_cause(page: Page) -> None:
    """Worst first, so the first screen shows the gangs that need attention."""
    expect(page.locator("#gangs tr").nth(60)).to_be_attached(timeout=120_000)
    try:
        for width, height, least in ((1280, 800, 9), (1440, 900, 11)):
            page.set_viewport_size({"width": width, "height": height})
            assert page.evaluate(WHOLE_ROWS)["whole"] >= least, width
            assert page.evaluate(CUT_CAUSES) == [], width
        page.set_viewport_size({"width": 390, "height": 844})
        assert page.evaluate(WHOLE_ROWS)["first"] < 300
        assert page.evaluate(CUT_CAUSES) == []
    finally:
        page.set_viewport_size({"width": 1440, "height": 900})


def test_a_change_arrives_without_reload(page: Page) -> None:
    page.evaluate("window.notReloaded = true")
    before = page.locator("#gangs").inner_text()
    page.wait_for_function(
        "before => document.querySelector('#gangs').innerText !== before",
        arg=before,
        timeout=120_000,
    )
    # Ages tick by themselves; a change is a row or a sentence that is new.
    rows = "() => [...document.querySelectorAll('#gangs tr')].map(row => row.querySelector('.column-status, .column-gang')?.innerText + row.querySelector('.column-why')?.innerText).join()"
    first = page.evaluate(rows)
    page.wait_for_function(f"first => ({rows})() !== first", arg=first, timeout=120_000)
    assert page.evaluate("window.notReloaded") is True


def _open_gang(page: Page, cluster: str, name: str) -> None:
    """Open the page of one gang from the Board."""
    page.goto(f"{page.url.split('/gangs/')[0].split('/?')[0]}/?cluster={cluster}&q={name}")
    page.locator("#gangs").get_by_role("link", name=name, exact=True).first.click()
    expect(page.locator("#tree-title")).to_be_visible(timeout=120_000)


@pytest.mark.parametrize("name", ["rl-sweep", "pg-speech"])
def test_a_gang_of_four_pods_needs_little_more_than_a_screen(page: Page, name: str) -> None:
    _open_gang(page, "sim-east", name)
    assert page.evaluate("document.documentElement.scrollHeight") <= 1200


def test_a_held_gang_shows_its_button_on_the_first_screen(page: Page) -> None:
    _open_gang(page, "sim-east", "mixtral-align")
    button = page.get_by_role(
        "link", name="Resume Job mixtral-align-workers-1"
    ).first.bounding_box()
    assert button is not None
    assert button["y"] + button["height"] <= 900


def test_a_job_is_held_if_the_hold_is_installed(page: Page) -> None:
    _open_gang(page, "sim-east", EAST_JOBSET)
    button = page.get_by_role("link", name=f"Suspend Job {EAST_JOB}").last
    button.click(timeout=120_000)
    dialog = page.locator("#act-body")
    dialog.get_by_label("Reason").fill("its node is to be repaired")
    dialog.locator("button[type=submit].primary").click()
    held = dialog.locator(".face", has_text=re.compile(r"\bHeld\s*$"))
    expect(held.first).to_be_visible(timeout=120_000)
    page.keyboard.press("Escape")
    resume = page.get_by_role("link", name=f"Resume Job {EAST_JOB}").last
    expect(resume).to_be_visible(timeout=120_000)


def test_the_button_names_the_missing_installation(page: Page) -> None:
    _open_gang(page, "sim-west", WEST_JOBSET)
    button = page.get_by_role("button", name=re.compile(r"^Suspend Job ")).first
    expect(button).to_have_attribute("aria-disabled", "true", timeout=120_000)
    expect(
        page.get_by_text("the Hold (holds.gangboard.dev) is not installed here").first
    ).to_be_visible()
    page.goto(page.url.split("/gangs/")[0] + "/?show_finished=1")


def test_make_run_leaves_no_process(run: Run) -> None:
    os.killpg(run.process.pid, signal.SIGINT)
    run.process.wait(30)
    give_up_at = time.monotonic() + 15
    while run.pids() and time.monotonic() < give_up_at:
        time.sleep(0.2)
    assert run.pids() == []
