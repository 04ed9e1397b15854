"""Pictures of every page of the simulated fleet: light and dark, wide, laptop and phone, whole and top.

python -m tests.screenshots [FOLDER]
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import Literal

from django.utils.text import slugify
from playwright.sync_api import Browser, Page

from tests.browser import chromium, follow_link
from tests.installation import Installation
from tests.web.site import NAME, PASSWORD, Site
from tests.web.site_addresses import addresses

WIDTHS = {"wide": 1440, "laptop": 1280, "phone": 390}
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
GANGS_WANTED = 30
PATIENCE = 60.0


def _wait_for_fleet(installation: Installation) -> None:
    give_up_at = time.monotonic() + PATIENCE
    while len(installation.gangs()) < GANGS_WANTED:
        if time.monotonic() > give_up_at:
            raise TimeoutError(f"fewer than {GANGS_WANTED} gangs after {PATIENCE:g} s")
        time.sleep(0.5)
    time.sleep(3)


def _pages(installation: Installation) -> dict[str, str]:
    """Return the pages to show: name → path."""
    gangs = installation.gangs()
    widest = max(
        (gang for gang in gangs if gang["kind"] == "JobSet"),
        key=lambda gang: (gang["health"] == "degraded", gang["members"]["desired"]),
    )
    blocked = next(gang for gang in gangs if gang["health"] == "blocked")
    queued = next(gang for gang in gangs if gang["code"] == "waiting-for-quota")
    return {
        "board": "/",
        "board-search": "/?q=team-rl%20gpu",
        "gang": f"/gangs/{widest['id']}/",
        "gang-blocked": f"/gangs/{blocked['id']}/",
        "gang-queued": f"/gangs/{queued['id']}/",
        "queues": "/queues/",
        "queue": f"/queues/{queued['cluster']}/{queued['queue']}/",
        "reasons": "/reasons/",
        "capacity": "/capacity/",
        "capacity-rack": "/capacity/?by=topology.kubernetes.io/rack",
        "node": "/nodes/sim-east/a10g-3/",
        "groups": "/groups/",
        "clusters": "/clusters/",
        "search": "/search/?q=gpu",
        "deleted": "/?gone=1",
        "audit": "/actions/audit/",
    }


def _shoot(page: Page, url: str, file: Path) -> None:
    page.goto(url)
    page.wait_for_timeout(300)
    page.screenshot(path=file, full_page=True)
    page.screenshot(path=file.with_stem(f"{file.stem}-top"))
    print(file)


def take(browser: Browser, installation: Installation, folder: Path) -> None:
    """Take all pictures into the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    pages = _pages(installation)
    for scheme in SCHEMES:
        for size, width in WIDTHS.items():
            context = browser.new_context(
                viewport={"width": width, "height": 900}, color_scheme=scheme
            )
            page = context.new_page()
            _shoot(page, f"{installation.url}/sign-in/", folder / f"sign-in-{scheme}-{size}.png")
            link = installation.new_sign_in_link()
            _shoot(page, link, folder / f"sign-in-link-{scheme}-{size}.png")
            follow_link(page, link)
            for name, path in pages.items():
                _shoot(page, installation.url + path, folder / f"{name}-{scheme}-{size}.png")
            context.close()


def take_acting(browser: Browser, site: Site, folder: Path) -> None:
    """Take the pictures of all pages over the rows of a site, of a row's menu and of the dialog."""
    folder.mkdir(parents=True, exist_ok=True)
    for scheme in SCHEMES:
        for size, width in WIDTHS.items():
            context = browser.new_context(
                viewport={"width": width, "height": 900}, color_scheme=scheme
            )
            page = context.new_page()
            page.goto(f"{site.url}/sign-in/")
            page.fill("#name", NAME)
            page.fill("#password", PASSWORD)
            page.get_by_role("button", name="Sign in").click()
            for name, path in addresses(site).items():
                file = f"site-{slugify(name)}-{scheme}-{size}.png"
                _shoot(page, site.url + path, folder / file)
            page.goto(f"{site.url}/?q=llama&cluster=gpu-east")
            page.get_by_label("Actions on llama").click()
            page.screenshot(path=folder / f"act-menu-{scheme}-{size}.png")
            page.get_by_role("link", name="Suspend JobSet llama").click()
            page.get_by_role("dialog").wait_for()
            page.wait_for_timeout(300)
            page.screenshot(path=folder / f"act-dialog-{scheme}-{size}.png")
            context.close()


def main() -> None:
    """Take the pictures of the simulated fleet, and of acting on rows written for it."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "screenshots")
    with chromium() as browser:
        with tempfile.TemporaryDirectory() as state, Site(Path(state)) as site:
            take_acting(browser, site, folder)
        with Installation({}) as installation:
            _wait_for_fleet(installation)
            take(browser, installation, folder)


if __name__ == "__main__":
    main()
