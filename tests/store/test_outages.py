"""Outages of a cluster: one row with its cause, written once the cluster answers again."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from gangboard.store.models import Outage
from gangboard.store.observations import save_contact
from tests.factories import NOW, make_cluster

pytestmark = pytest.mark.django_db

WHY: dict[str, Any] = {"problem": "timeout", "sentence": "lab.example did not answer in time."}


def test_a_problem_lasts_until_the_cluster_answers() -> None:
    began_at = NOW - timedelta(minutes=5)
    cluster = make_cluster("lab", contact_at=began_at, **WHY)
    for contact_at in (None, began_at, began_at - timedelta(minutes=1)):
        assert not save_contact(cluster.pk, contact_at=contact_at, problem="", sentence="", now=NOW)
        cluster.refresh_from_db()
        assert (cluster.problem, cluster.contact_at) == ("timeout", began_at)
    assert save_contact(cluster.pk, contact_at=NOW, problem="", sentence="", now=NOW)
    cluster.refresh_from_db()
    assert (cluster.problem, cluster.contact_at) == ("", NOW)
    outages = Outage.objects.values("began_at", "ended_at", "problem", "sentence")
    assert list(outages) == [{"began_at": began_at, "ended_at": NOW, **WHY}]


def test_pages_learn_that_an_outage_is_over() -> None:
    cluster = make_cluster("lab", contact_at=NOW - timedelta(minutes=5), data_version=7)
    assert save_contact(cluster.pk, contact_at=NOW, problem="", sentence="", now=NOW)
    assert Outage.objects.get().problem == ""
    soon = NOW + timedelta(seconds=3)
    assert not save_contact(cluster.pk, contact_at=soon, problem="", sentence="", now=soon)
    cluster.refresh_from_db()
    assert cluster.data_version == 8
