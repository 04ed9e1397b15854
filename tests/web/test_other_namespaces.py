"""Objects with a uid of another namespace expose, plan and offer no object of it."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from gangboard.domain.hold import Hold
from gangboard.domain.objects import Controller
from gangboard.domain.owner import Owner
from gangboard.pages.holds.queries import read_holds
from gangboard.readmodels.freshness import read_freshness
from gangboard.readmodels.hold_counts import InForce, hold_counts
from gangboard.store.models import Cluster, Gang
from tests.domain_objects import a_group, a_job, a_jobset, a_meta, a_node, a_queue, an_entry
from tests.factories import PODGROUPS, make_gang, store_object
from tests.personas import Person, make_owner
from tests.stored_jobsets import HOLDS, JOBS, JOBSETS, make_job_object
from tests.stored_queues import KEYS
from tests.web.acting import confirm_query, job_targets, suspend_stored, text_of

pytestmark = pytest.mark.django_db
OTHER_NAMESPACE = "kanari"
"""Begins every name in the other namespace, and is its name."""
CRONJOBS = "cronjobs.batch"


def body(client: Client, address: str, **query: Any) -> str:
    """Return an answer with its markup, because names in attributes count as visible."""
    response = client.get(address, query)
    assert response.status_code == 200, address
    return text_of(response)


@pytest.fixture
def named(cluster: Cluster) -> list[str]:
    """Store objects of another namespace and cluster-scoped ones; return their uids."""
    jobset = a_jobset(f"{OTHER_NAMESPACE}-jobset", namespace=OTHER_NAMESPACE)
    objects: list[tuple[str, Any]] = [
        (JOBSETS, jobset),
        (JOBS, a_job(f"{OTHER_NAMESPACE}-job", namespace=OTHER_NAMESPACE)),
        (
            KEYS["Workload"],
            an_entry(jobset, f"{OTHER_NAMESPACE}-workload", namespace=OTHER_NAMESPACE),
        ),
        (PODGROUPS, a_group(f"{OTHER_NAMESPACE}-podgroup", namespace=OTHER_NAMESPACE)),
        ("nodes", a_node(f"{OTHER_NAMESPACE}-node")),
        (KEYS["ClusterQueue"], a_queue(f"{OTHER_NAMESPACE}-clusterqueue")),
    ]
    for resource, model in objects:
        store_object(cluster, resource, model)
    make_gang(
        cluster,
        f"{OTHER_NAMESPACE}-jobset",
        uid=f"uid-{OTHER_NAMESPACE}-jobset",
        namespace=OTHER_NAMESPACE,
    )
    return [model.meta.ref.uid for _, model in objects]


@pytest.fixture
def alien_holds(cluster: Cluster, named: list[str]) -> None:
    """Store a Hold in `research` for each of them."""
    for number, uid in enumerate(named):
        meta = a_meta("gangboard.dev", "Hold", f"h{number}", namespace="research")
        store_object(cluster, HOLDS, Hold(meta, job_name="none", owner_uid=uid))


@pytest.mark.usefixtures("alien_holds")
def test_a_hold_names_no_object_of_another_namespace(viewer: Person) -> None:
    for address in ("/holds/", "/api/v1/holds/"):
        visible = body(viewer.client, address)
        for uid in range(6):
            assert f"h{uid}" in visible
        assert OTHER_NAMESPACE not in visible.replace(f"uid-{OTHER_NAMESPACE}", ""), (
            "only the uid that the Hold itself has"
        )


@pytest.mark.usefixtures("alien_holds")
def test_a_hold_with_an_owner_in_another_namespace_is_lost(cluster: Cluster) -> None:
    owner, now = make_owner(), timezone.now()
    rows = read_holds(viewer=owner.viewer, now=now).rows
    assert [(row.lost, row.owner.name, row.gang_id) for row in rows] == [(True, "", "")] * 6
    clusters = read_freshness(viewer=owner.viewer, now=now)
    counted = {
        hold_count.in_force: hold_count.holds
        for hold_count in hold_counts(viewer=owner.viewer, clusters=clusters)
    }
    assert counted == {InForce.YES: 0, InForce.NO: 6, InForce.UNKNOWN: 0}


def test_a_job_of_a_cronjob_in_another_namespace_has_no_creator(
    operator: Person, cluster: Cluster
) -> None:
    cronjob = Owner(
        a_meta("batch", "CronJob", f"{OTHER_NAMESPACE}-cronjob", namespace=OTHER_NAMESPACE)
    )
    store_object(cluster, CRONJOBS, cronjob)
    above = Controller("batch", "CronJob", "nightly", cronjob.meta.ref.uid)
    job = make_job_object("nightly-1", "run", above)
    store_object(cluster, JOBS, job)
    gang = make_gang(cluster, "nightly-1", uid="run", kind="Job", api_group="batch")
    for address in (
        f"/gangs/{gang.pk}/",
        f"/gangs/{gang.pk}/row/",
        f"/api/v1/gangs/{gang.pk}/",
        f"/gangs/{gang.pk}/bundle.md",
    ):
        assert OTHER_NAMESPACE not in body(operator.client, address), address
    answer = operator.client.get(f"/api/v1/gangs/{gang.pk}/").json()
    assert answer["maker"] is None


@pytest.fixture
def alien_parts(cluster: Cluster, gang: Gang) -> Gang:
    """Store a Hold, an entry in a queue and a Job of another namespace that say that they are the gang's."""
    job = f"{gang.name}-workers-0"
    above = Controller(gang.api_group, gang.kind, gang.name, gang.uid)
    hold = a_meta("gangboard.dev", "Hold", f"{OTHER_NAMESPACE}-hold", namespace=OTHER_NAMESPACE)
    store_object(cluster, HOLDS, Hold(hold, job, gang.uid, by=f"{OTHER_NAMESPACE}-mallory"))
    store_object(
        cluster,
        JOBS,
        make_job_object(
            f"{OTHER_NAMESPACE}-workers-9", f"{OTHER_NAMESPACE}-9", above, namespace=OTHER_NAMESPACE
        ),
    )
    jobset = a_jobset(gang.name, uid=gang.uid)
    entry = an_entry(
        jobset,
        f"{OTHER_NAMESPACE}-workload",
        namespace=OTHER_NAMESPACE,
        queue=f"{OTHER_NAMESPACE}-queue",
    )
    store_object(cluster, KEYS["Workload"], entry)
    return gang


@pytest.mark.parametrize("verb", ["suspend", "resume"])
def test_a_confirmation_uses_only_objects_of_the_gangs_namespace(
    operator: Person, alien_parts: Gang, verb: str
) -> None:
    if verb == "resume":
        suspend_stored(alien_parts, f"{alien_parts.name}-workers-0")
    for targets in (job_targets(alien_parts, 0), job_targets(alien_parts, 0, 1, 2)):
        page = body(operator.client, "/actions/confirm/", **confirm_query(*targets, verb=verb))
        assert OTHER_NAMESPACE not in page
    page = body(operator.client, f"/gangs/{alien_parts.pk}/")
    assert OTHER_NAMESPACE not in page
