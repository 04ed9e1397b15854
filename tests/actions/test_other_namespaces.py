"""Plans on stored and live objects agree, also if objects of another namespace use the same uids."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gangboard.actions import service
from gangboard.actions.actor_client import open_client
from gangboard.actions.live_objects import LiveReader
from gangboard.domain.action import ActionRequest, Plan
from gangboard.plugins import registry
from gangboard.policy.plan import plan
from gangboard.store.gang_objects import read_cluster_view
from gangboard.store.levers import read_levers
from gangboard.store.models import Cluster
from tests.actions.site import BATCH, HOLDS, JOBSET, JOBSETS, WORKER, Site
from tests.actions.test_safety_requests import KUEUE

pytestmark = pytest.mark.django_db
OTHER = "kanari"


def put_alien_objects(site: Site) -> None:
    """Let another namespace have a Hold, a Workload and a Job that name the uid of the JobSet."""
    uid = site.jobset()["metadata"]["uid"]
    above = {
        "apiVersion": JOBSETS,
        "kind": "JobSet",
        "name": JOBSET,
        "uid": uid,
        "controller": True,
    }
    meta: dict[str, Any] = {"namespace": OTHER, "ownerReferences": [above]}
    job = site.job()
    aliens = (
        (HOLDS, "Hold", {"jobName": WORKER, "ownerUID": uid, "by": OTHER}),
        ("kueue.x-k8s.io/v1beta2", "Workload", {"queueName": OTHER, "active": True}),
        (BATCH, "Job", job["spec"]),
    )
    for api_version, kind, spec in aliens:
        name = f"{OTHER}-{kind.lower()}"
        labels = job["metadata"]["labels"] if kind == "Job" else {}
        site.simulator.objects.put(
            {
                "apiVersion": api_version,
                "kind": kind,
                "metadata": {**meta, "name": name, "generation": 1, "labels": labels},
                "spec": spec,
                "status": {},
            }
        )


def live_plan(site: Site, action_request: ActionRequest) -> Plan:
    """Return the plan that the act worker makes."""
    target, now = action_request.target, site.clock.now()
    kind = registry.owner_kind(target.api_group, target.kind)
    assert kind is not None
    client = open_client(site.cluster, "")
    try:
        view = read_cluster_view(site.cluster.pk)
        live = LiveReader(client, dict(view.api_versions))
        owner = live.read_owner(kind, target.namespace, target.name)
        assert owner is not None
        gang = live.read_gang(owner, None, view)
    finally:
        client.close()
    levers = read_levers(site.cluster)
    return plan(gang, levers, action_request, by=site.viewer.name, action="", now=now)


def test_the_preview_covers_every_object_the_worker_would_change(
    start: Callable[..., Site],
) -> None:
    site = start(extra=(KUEUE,))
    put_alien_objects(site)
    site.poll()
    site.cluster.refresh_from_db()
    for verb, name in (("suspend", WORKER), ("suspend", JOBSET), ("resume", WORKER)):
        if verb == "resume":
            site.touch(WORKER, lambda job: job["spec"].update(suspend=True))
            site.poll()
        action_request = site.action_request(verb, name)
        previewed = service.preview(site.viewer, action_request, now=site.clock.now())
        assert previewed.allowed, previewed.why_not
        assert OTHER not in str(previewed)
        assert previewed == live_plan(site, action_request), (verb, name)


def test_the_stored_gang_knows_the_version_of_kubernetes(start: Callable[..., Site]) -> None:
    """It decides what the controllers do to groups."""
    site = start()
    site.poll()
    Cluster.objects.update(server_version="v1.36.3-gke.100")
    assert read_cluster_view(site.cluster.pk).kubernetes == (1, 36)
    Cluster.objects.update(server_version="")
    assert read_cluster_view(site.cluster.pk).kubernetes is None
