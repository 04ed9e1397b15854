"""A real OpenID provider (the example server of zitadel/oidc) signs people in, in a real browser."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import urllib3
from playwright.sync_api import Browser, Page, expect

from tests.controlplane.build import binary, build
from tests.controlplane.fixtures import require_built
from tests.controlplane.supervisor import Supervisor
from tests.services import free_port
from tests.web.site import ROOT, Site
from tests.web.test_browser import PHONE, WIDE, faults_of

pytestmark = pytest.mark.browser

PASSWORD = "verysecure"
USERS = {
    "id1": {"ID": "id1", "Username": "ada", "Password": PASSWORD, "Email": "ml@example.com"},
    "id2": {"ID": "id2", "Username": "bob", "Password": PASSWORD, "Email": "ml@example.com"},
}
START_SECONDS = 20.0


class Provider:
    """The provider, whose groups a test can change."""

    def __init__(self, folder: Path, site: Site) -> None:
        self._folder = folder
        self._groups = folder / "groups.json"
        self._users = folder / "users.json"
        self._users.write_text(json.dumps(USERS))
        self.set_groups({})
        self.port = free_port()
        self.issuer = f"http://localhost:{self.port}/"
        self._callback = f"{site.url}/sign-in/provider/callback/"
        self._guard: Supervisor | None = None

    def set_groups(self, groups: dict[str, Any]) -> None:
        """Set the groups of each person from now on."""
        self._groups.write_text(json.dumps(groups))

    def start(self) -> None:
        """Start it and wait until it answers."""
        if shutil.which("go"):
            build(["oidc"])
        require_built(["oidc"])
        self._guard = Supervisor(self._folder)
        environment = {
            "PORT": str(self.port),
            "USERS_FILE": str(self._users),
            "GROUPS_FILE": str(self._groups),
            "REDIRECT_URI": self._callback,
        }
        log = self._folder / "provider.log"
        self._guard.start("provider", [str(binary("oidc", "oidc"))], environment, log)
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end:
            try:
                address = f"http://127.0.0.1:{self.port}/.well-known/openid-configuration"
                headers = {"Host": f"localhost:{self.port}"}
                if urllib3.request("GET", address, headers=headers, retries=False).status == 200:
                    return
            except urllib3.exceptions.HTTPError:
                time.sleep(0.05)
        raise AssertionError(log.read_text()[-2000:])

    def stop(self) -> None:
        """End it."""
        if self._guard is not None:
            self._guard.close()
            self._guard = None


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Site, Provider]]:
    """Pages that know a provider, and the provider."""
    site = Site(tmp_path_factory.mktemp("site"))
    provider = Provider(tmp_path_factory.mktemp("provider"), site)
    site.environment |= {
        "GANGBOARD_OIDC_ISSUER": provider.issuer,
        "GANGBOARD_OIDC_NAME": "ACME",
        "GANGBOARD_OIDC_CLIENT_ID": "gangboard",
        "GANGBOARD_OIDC_CLIENT_SECRET": "secret",
        "GANGBOARD_CONTACT": "the platform team",
    }
    provider.start()
    try:
        with site:
            manage(site, "grant_group", "ml", "--role", "viewer", "--cluster", "lab")
            yield site, provider
    finally:
        provider.stop()


def manage(site: Site, *arguments: str) -> None:
    subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT,
        env=site.environment,
        check=True,
        capture_output=True,
    )


def sign_in(page: Page, name: str) -> None:
    """Press the button of gangboard and answer the provider's form."""
    page.get_by_role("link", name="Sign in with ACME").click()
    page.fill("#username", name)
    page.fill("#password", PASSWORD)
    page.get_by_role("button", name="Login").click()


def test_groups_decide_the_visible_gangs_until_they_are_removed(
    places: tuple[Site, Provider], browser: Browser
) -> None:
    site, provider = places
    provider.set_groups({"id1": ["ml"], "id2": []})
    for name, sees in (("ada", True), ("bob", False)):
        context = browser.new_context()
        page = context.new_page()
        page.goto(f"{site.url}/clusters/" if sees else f"{site.url}/")
        sign_in(page, name)
        if sees:
            expect(page).to_have_url(f"{site.url}/clusters/")
            expect(page.get_by_role("link", name="lab").first).to_be_visible()
            expect(page.get_by_text("eu-train")).to_have_count(0)
        else:
            expect(page.get_by_text("You have no role yet")).to_be_visible()
            expect(page.get_by_text("the platform team")).to_be_visible()
        context.close()
    provider.set_groups({"id1": ["chess"]})
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{site.url}/")
    sign_in(page, "ada")
    expect(page.get_by_text("You have no role yet")).to_be_visible()
    expect(page.locator("#no-groups")).to_have_count(0)
    provider.set_groups({})
    # An open page leads to the sign-in by itself, which would break off the visit.
    page.goto("about:blank")
    page.context.clear_cookies()
    page.goto(f"{site.url}/")
    sign_in(page, "ada")
    expect(page.locator("#no-groups")).to_contain_text("ACME sent no groups")
    context.close()


def test_the_new_pages_have_no_faults_and_a_fresh_sign_in_leads_back(
    places: tuple[Site, Provider], browser: Browser
) -> None:
    site, provider = places
    provider.set_groups({"id2": None})
    context = browser.new_context(reduced_motion="reduce")
    page = context.new_page()
    page.goto(f"{site.url}/sign-in/provider/callback/?code=x&state=y")
    expect(page.locator("#wrong")).to_contain_text("This sign-in was begun in another browser")
    faults = faults_of(page, "sign-in", WIDE, PHONE)
    sign_in(page, "bob")
    expect(page.locator("#no-groups")).to_contain_text("ACME sent no groups")
    faults += faults_of(page, "no role", WIDE, PHONE)
    site.write("DELETE FROM django_session")
    page.goto(f"{site.url}/account/?x=1")
    sign_in(page, "bob")
    expect(page).to_have_url(f"{site.url}/account/?x=1")
    assert not faults, "\n".join(faults)
    context.close()
