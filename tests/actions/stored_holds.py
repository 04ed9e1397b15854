"""Stored Holds and the stored actions that created them."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

from gangboard.domain.hold import Hold
from gangboard.domain.objects import Controller, Meta
from gangboard.domain.owner import Owner
from gangboard.store.models import Action, ActionStep, Cluster, WatchedObject
from tests.factories import make_ref, store_object
from tests.recorded_actions import make_action

HOLDS = "holds.gangboard.dev"
NAMESPACE = "research"
"""Namespace of all objects here."""


def make_hold(name: str, job: str = "", **fields: Any) -> Hold:
    """Return a Hold on `job-NAME`, or on another Job."""
    ref = make_ref("Hold", name, group="gangboard.dev", uid=f"hold-{name}")
    return Hold(Meta("v1alpha1", ref, "1", 1, None), job or f"job-{name}", "js", **fields)


def store(cluster: Cluster, hold: Hold) -> WatchedObject:
    """Store a Hold as the poll does."""
    return store_object(cluster, HOLDS, hold)


def store_job(cluster: Cluster, name: str, *, made_of: str = "js") -> None:
    """Store a Job of a JobSet."""
    ref = make_ref("Job", name, group="batch", uid=name)
    controller = Controller("jobset.x-k8s.io", "JobSet", made_of, made_of)
    store_object(cluster, "jobs.batch", Owner(Meta("v1", ref, "1", 1, None, controller=controller)))


def record(cluster: Cluster, hold: Hold, end: datetime | None, **columns: Any) -> Action:
    """Make the verified action that made a Hold, or with `key="found_hold"` one that found it."""
    key = columns.pop("key", "hold")
    known = {"uid": hold.meta.ref.uid, "job": hold.job_name, "owner_uid": hold.owner_uid}
    subject = {"uid": hold.job_name, "generation": 1, "wanted": {}}
    context = {key: known, "subjects": [subject]}
    values = {"name": hold.job_name, "uid": hold.job_name, "context": context, "until": end}
    return make_action(cluster, **{**values, **columns})


def store_held_job(cluster: Cluster, name: str, end: datetime, *, made_of: str = "js") -> None:
    """Store a Job of a JobSet, and a Hold on it that one of our actions made until then."""
    hold = make_hold(name, until=end, action=f"{cluster.name}-{name}")
    record(cluster, hold, end, id=hold.action)
    store(cluster, hold)
    store_job(cluster, hold.job_name, made_of=made_of)


def make_failed(cluster: Cluster, action_id: str = "a1", **columns: Any) -> Action:
    """Make an action that sent the Hold `late` and ended a minute ago without its result."""
    now = datetime.now(UTC)
    values = {
        "id": action_id,
        "name": "job-late",
        "uid": "job",
        "state": "failed",
        "requested_at": now - timedelta(minutes=2),
        "expires_at": now,
        "sent_at": now - timedelta(minutes=2),
        "finished_at": now - timedelta(minutes=1),
    }
    action = make_action(cluster, **{**values, **columns})
    body = {
        "metadata": {"name": "late", "namespace": NAMESPACE},
        "spec": {"jobName": "job-late", "ownerUID": "js"},
    }
    ActionStep.objects.create(
        action=action,
        position=0,
        kind="create-hold",
        name="Create Hold late",
        method="POST",
        path=f"/apis/gangboard.dev/v1alpha1/namespaces/{NAMESPACE}/holds",
        patch=json.dumps(body),
        state="failed",
        sends=1,
        at=now,
    )
    return action


def make_try(cluster: Cluster, name: str, requested_at: datetime, number: int = 0) -> None:
    """Make a refused release that gangboard requested itself."""
    make_action(
        cluster,
        id=f"{name}-{number}",
        verb="resume",
        uid=f"job-{name}",
        name=f"job-{name}",
        via="gangboard",
        state="refused",
        context={"ended_hold": f"hold-{name}"},
        requested_at=requested_at,
        finished_at=requested_at,
    )
