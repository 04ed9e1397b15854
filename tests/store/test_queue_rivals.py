"""Waiting queue entries that may take the quota of a Job."""

from __future__ import annotations

from typing import Any

import pytest

from gangboard.domain.queue import QueueCode, QueueMessage
from gangboard.facts.gang import Gang
from gangboard.store.queue_rivals import count_queue_rivals
from tests.domain_objects import a_job, a_queue, an_alias, an_entry
from tests.factories import make_cluster, store_object
from tests.gangs import a_gang

pytestmark = pytest.mark.django_db
QUEUES = {"ClusterQueue": "clusterqueues", "LocalQueue": "localqueues", "Workload": "workloads"}


def stored(*objects: Any) -> int:
    """Store objects of Kueue and return the id of their cluster."""
    cluster = make_cluster()
    for obj in objects:
        store_object(cluster, f"{QUEUES[obj.meta.ref.kind]}.kueue.x-k8s.io", obj)
    return cluster.pk


def admitted_gang() -> Gang:
    job = a_job("own", queue="mine")
    return a_gang(
        job,
        entries=(an_entry(job, queue="mine", admitted=True, has_quota=True, admitted_by="team"),),
    )


def test_waiting_entries_of_the_queue_and_its_cohort_are_counted() -> None:
    queues = (
        a_queue("team", cohort="all"),
        a_queue("sister", cohort="all"),
        a_queue("stranger"),
        an_alias("mine", to="team"),
        an_alias("theirs", to="sister", namespace="team-b"),
        an_alias("far", to="stranger"),
    )
    final = QueueMessage(QueueCode.EXCEEDS_QUOTA)
    entries = (
        an_entry(a_job("same"), queue="mine"),
        an_entry(a_job("cohort"), queue="theirs", namespace="team-b"),
        an_entry(a_job("elsewhere"), queue="far"),
        an_entry(a_job("lost"), queue="missing"),
        an_entry(a_job("running"), queue="mine", admitted=True, has_quota=True),
        an_entry(a_job("off"), queue="mine", active=False),
        an_entry(a_job("too-large"), queue="mine", message=final),
    )
    gang = admitted_gang()
    assert count_queue_rivals(stored(*queues, *entries, *gang.entries), gang) == 2


def test_without_a_known_queue_their_number_is_unknown() -> None:
    assert (
        count_queue_rivals(stored(an_entry(a_job("same"), queue="mine")), admitted_gang()) is None
    )
