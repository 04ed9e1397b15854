"""Times in the zone of a person: UTC, until a cookie names another."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from django.utils import timezone

from gangboard.pages.core.middleware.time_zone import COOKIE, zone_named
from gangboard.pages.templatetags.pages import exact
from tests.factories import make_gang
from tests.personas import Person
from tests.web.conftest import World

SUMMER = datetime(2026, 7, 1, 22, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("", "2026-07-01 22:30:00 UTC"),
        ("Europe/Berlin", "2026-07-02 00:30:00 CEST"),
        ("Asia/Kolkata", "2026-07-02 04:00:00 IST"),
        ("../../etc/passwd", "2026-07-01 22:30:00 UTC"),
        ("no/such", "2026-07-01 22:30:00 UTC"),
    ],
)
def test_a_time_is_printed_with_its_zone(name: str, text: str) -> None:
    with timezone.override(zone_named(name)):
        assert exact(SUMMER) == text


@pytest.mark.django_db
def test_each_browser_reads_its_own_zone_on_page_and_updates(owner: Person, world: World) -> None:
    gang = make_gang(world.cluster, "run", now=timezone.now(), created_at=SUMMER)
    path = f"/gangs/{gang.pk}/"
    owner.client.cookies[COOKIE] = "Europe/Berlin"
    assert "2026-07-02 00:30:00 CEST" in owner.client.get(path).content.decode()
    updates = owner.client.get(f"/live{path}").content.decode()
    assert "2026-07-02 00:30:00 CEST" in updates
    # Users with equal permissions do not share output rendered for another zone.
    del owner.client.cookies[COOKIE]
    assert "2026-07-01 22:30:00 UTC" in owner.client.get(path).content.decode()
    updates = owner.client.get(f"/live{path}").content.decode()
    assert "2026-07-01 22:30:00 UTC" in updates
    assert "CEST" not in updates
