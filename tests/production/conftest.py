"""Fixtures: the environment of the image, the installation of the compose file, a cluster that it watches."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.production.clients import Client
from tests.production.documentation import documented
from tests.production.runtime import runtime_environment
from tests.production.site import ROOT, Site
from tests.services import missing

FORGED = "X-Forwarded-User"
"""A header that signs in where a trusted proxy sends it: the setting is on, and nginx.conf is as it ships."""
PROGRAMS = ("nginx", "redis-server", "redis-cli", "wget")


@pytest.fixture(scope="session")
def environment() -> Path:
    """Folder of a Python environment made from the lock of the image alone."""
    return runtime_environment(ROOT / "requirements" / "runtime.txt")


@pytest.fixture(scope="module")
def site(environment: Path) -> Iterator[Site]:
    """All services of docker-compose.yml, started in its order."""
    for program in PROGRAMS:
        if shutil.which(program, path=f"/usr/sbin:{Site.path()}") is None:
            missing(program)
    test_site = Site(environment, {"GANGBOARD_PROXY_USER_HEADER": FORGED})
    try:
        test_site.start()
        yield test_site
    finally:
        test_site.close()


@pytest.fixture(scope="module")
def client(site: Site) -> Client:
    """A user who may act, at the published port; cluster `prod` is watched and may be acted on."""
    kubeconfigs = site.start_simulator()
    files = {
        "gangboard-reader.kubeconfig": kubeconfigs.reader.read_bytes(),
        "gangboard-actor.kubeconfig": kubeconfigs.actor.read_bytes(),
    }
    documented(site, "manage.py create_user")
    documented(site, "manage.py add_cluster", files)
    documented(site, "manage.py set_actor", files)
    client = Client(site)
    client.token = documented(site, "manage.py create_token").strip()
    return client
