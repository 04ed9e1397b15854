"""A small world for the pages: two clusters, a few gangs, everybody who may ask."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from django.test import Client
from django.utils import timezone
from playwright.sync_api import Browser, BrowserContext, Page, expect

from gangboard.pages.core.live import views as live_views
from gangboard.pages.core.live.notifier import Notifier
from gangboard.readmodels.data_versions import DataVersions
from gangboard.store.gangs import Detail
from gangboard.store.models import Cluster, Gang
from tests import personas
from tests.factories import (
    make_cluster,
    make_finding,
    make_gang,
    make_heartbeats,
    make_job,
    make_members,
    make_podgroup,
    make_resource,
)
from tests.web.acting import make_acting_cluster, make_run
from tests.web.site import NAME, PASSWORD, Site

WIDE = 1440


@dataclass(frozen=True)
class World:
    """Objects in the database that pages can show."""

    cluster: Cluster
    other_cluster: Cluster
    gang: Gang
    """In namespace research of eu-train."""
    other_gang: Gang
    """In namespace vision of us-train."""


@pytest.fixture
def world(db: None) -> World:
    """Two clusters that answer, one gang each, a group, workers that live."""
    now = timezone.now()
    eu, us = make_cluster("eu-train", now=now), make_cluster("us-train", now=now)
    make_heartbeats(now=now)
    for cluster in (eu, us):
        make_resource(cluster, "pods")
    group = make_podgroup(eu, "llama-workers-0", now=now)
    gang = make_gang(
        eu,
        "llama-sft",
        now=now,
        detail=Detail(
            findings=(make_finding(), make_finding("job-suspended", title="A Job is held")),
            jobs=(make_job("llama-workers-0"),),
            members=make_members("llama-workers-0", 8),
            groups=(group.meta.ref,),
        ),
    )
    other_gang = make_gang(us, "diffusion-run", now=now, namespace="vision", health="blocked")
    make_podgroup(us, "diffusion-group", namespace="vision", now=now)
    return World(eu, us, gang, other_gang)


@pytest.fixture
def owner(world: World) -> personas.Person:
    """Admin of everything."""
    return personas.make_owner()


@pytest.fixture
def reader(world: World) -> personas.Person:
    """Viewer of research in eu-train."""
    return personas.make_reader(world.cluster)


@pytest.fixture
def stranger(world: World) -> personas.Person:
    """Has signed in, has no role."""
    return personas.make_stranger()


@pytest.fixture
def anonymous() -> Client:
    """Has not signed in."""
    return Client()


@pytest.fixture
def cluster(db: None) -> Cluster:
    """A cluster with an actor and the Hold, beside workers that live: not that of `world`."""
    now = timezone.now()
    make_heartbeats(now=now)
    return make_acting_cluster(now=now)


@pytest.fixture
def gang(cluster: Cluster) -> Gang:
    """A running JobSet of three Jobs in it."""
    return make_run(cluster, now=timezone.now())


@pytest.fixture
def operator(cluster: Cluster) -> personas.Person:
    """Operator of research in it."""
    return personas.make_operator(cluster)


@pytest.fixture
def viewer(cluster: Cluster) -> personas.Person:
    """Viewer of research in it."""
    return personas.make_reader(cluster)


@pytest.fixture(autouse=True)
def own_notifier(monkeypatch: pytest.MonkeyPatch) -> Iterator[Notifier]:
    """A notifier without changes. Pages wait briefly and do not share reads.

    The notifier of the process would keep reading the database after the test.
    """
    end = threading.Event()

    def look() -> DataVersions:
        end.wait()
        return DataVersions()

    quiet = Notifier(look)
    monkeypatch.setattr(live_views, "notifier", quiet)
    monkeypatch.setattr(live_views, "WAIT", 0.2)
    yield quiet
    end.set()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with Site(tmp_path_factory.mktemp("site")) as running:
        yield running


@pytest.fixture(scope="module")
def session(site: Site, browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sign in once; return the cookies."""
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{site.url}/sign-in/")
    page.fill("#name", NAME)
    page.fill("#password", PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    expect(page).to_have_url(f"{site.url}/")
    path = tmp_path_factory.mktemp("session") / "cookies.json"
    context.storage_state(path=path)
    context.close()
    return path


@pytest.fixture
def context(browser: Browser, session: Path) -> Iterator[BrowserContext]:
    opened = browser.new_context(
        storage_state=session, viewport={"width": WIDE, "height": 900}, reduced_motion="reduce"
    )
    yield opened
    opened.close()


@pytest.fixture
def page(context: BrowserContext) -> Iterator[Page]:
    """A page that must not complain: no refused script or style, no error of ours."""
    opened = context.new_page()
    complaints: list[str] = []
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.on(
        "console",
        lambda message: (
            complaints.append(message.text)
            if message.type == "error" and "Content Security Policy" in message.text
            else None
        ),
    )
    yield opened
    assert complaints == []


@pytest.fixture
def record(site: Site) -> None:
    """The test begins with the actions of the site's own record."""
    site.write("CREATE TABLE IF NOT EXISTS kept AS SELECT * FROM store_action")
    site.write("DELETE FROM store_action")
    site.write("INSERT INTO store_action SELECT * FROM kept")
