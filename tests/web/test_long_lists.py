"""Lists of records: the exports stand before the rows, and each time has its zone."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from gangboard.store.models import Cluster, Gang
from tests.factories import make_eviction, make_usage
from tests.personas import Person
from tests.recorded_actions import make_action, make_audit

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("address", ["/", "/actions/", "/actions/audit/", "/usage/", "/evictions/"])
def test_exports_stand_before_the_rows(
    operator: Person, cluster: Cluster, gang: Gang, address: str
) -> None:
    """At the end of a hundred rows, they were out of sight."""
    make_action(cluster, gang_id=gang.pk)
    make_audit(cluster, gang.namespace, "It may not.")
    Cluster.objects.update(usage_since=timezone.now() - timedelta(days=9))
    make_usage(cluster)
    make_eviction(gang)
    page = operator.client.get(address).content.decode()
    assert page.count('class="export"') == 1
    last_table = page.rindex("<tbody")
    assert page.index('class="export"') < last_table < page.index("</tbody>", last_table)


def test_times_of_actions_have_a_zone(operator: Person, cluster: Cluster, gang: Gang) -> None:
    """They had none, and no seconds, unlike those of the audit."""
    at = datetime(2026, 11, 20, 9, 8, 7, tzinfo=UTC)
    columns = {"gang_id": gang.pk, "uid": "of-a-job", "requested_at": at}
    make_action(cluster, applied_at=at, **columns)
    make_action(cluster, verb="resume", **{**columns, "requested_at": at + timedelta(hours=1)})
    page = operator.client.get("/actions/").content.decode()
    assert '<span class="soft">2026-11-20 09:08:07 UTC</span>' in page
    assert "resumed by olga on 2026-11-2" in page
    times = re.findall(r"\d{4}-\d\d-\d\d \d\d:\d\d[^<]*", page)
    assert times
    assert all("UTC" in text for text in times)
