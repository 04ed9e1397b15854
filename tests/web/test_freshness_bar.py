"""The clusters in the header keep their places."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.utils import timezone

from gangboard.store.models import Cluster
from tests import personas
from tests.factories import make_cluster


@pytest.mark.django_db
def test_a_cluster_that_goes_stale_stays_where_it_was() -> None:
    now = timezone.now()
    for name in ("a-train", "b-train", "c-train"):
        make_cluster(name, now=now)
    owner = personas.make_owner().client
    Cluster.objects.filter(name="b-train").update(contact_at=now - timedelta(seconds=45))
    page = owner.get("/clusters/").content.decode()
    bar = page[page.index('class="freshness"') : page.index('class="live-controls"')]
    assert re.findall(r'href="/clusters/([^/]+)/"', bar) == ["a-train", "b-train", "c-train"]
