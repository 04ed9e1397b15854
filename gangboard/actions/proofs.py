"""Holds are proved again and again: a dry run of a resume must come back suspended."""

from __future__ import annotations

import json
from datetime import datetime, timedelta

from django.db import transaction

from gangboard.actions import door as doors
from gangboard.actions import patches
from gangboard.actions.clock import Clock
from gangboard.actions.door import Door, object_path
from gangboard.domain.action import Lever
from gangboard.domain.hold import Hold
from gangboard.kube.errors import KubeError
from gangboard.logs import get_logger
from gangboard.store import actions
from gangboard.store.grounds import HOLDS
from gangboard.store.models import Cluster, HoldCheck, WatchedObject
from gangboard.store.objects import unpack
from gangboard.store.proofs import forget_checks, note_lever, save_check

log = get_logger(__name__)

INTERVAL = timedelta(seconds=60)
MOST = 200
"""Holds of one cluster that are proved in one go; the rest has its turn in the next."""
_RESUME = b'{"spec":{"suspend":false}}'


def due_clusters(now: datetime) -> list[int]:
    """Return the clusters with a Hold that was not proved for a while."""
    holds: dict[int, set[str]] = {}
    rows = WatchedObject.objects.filter(
        resource=HOLDS, cluster__actor_credentials__isnull=False, cluster__problem=""
    )
    for cluster_id, uid in rows.values_list("cluster_id", "uid"):
        holds.setdefault(cluster_id, set()).add(uid)
    fresh = set(
        HoldCheck.objects.filter(cluster_id__in=holds, checked_at__gt=now - INTERVAL).values_list(
            "cluster_id", "hold_uid"
        )
    )
    return [
        cluster_id
        for cluster_id, uids in holds.items()
        if any((cluster_id, uid) not in fresh for uid in uids)
    ]


def prove_all(
    cluster_id: int, clock: Clock, open_door: doors.Opener = doors.open_door
) -> dict[str, bool | None]:
    """Prove the Holds of a cluster that were not proved lately; return hold uid → in force?"""
    cluster = Cluster.objects.filter(pk=cluster_id).first()
    if cluster is None:
        return {}
    rows = WatchedObject.objects.filter(cluster=cluster, resource=HOLDS)
    holds = [unpack(bytes(data), Hold) for data in rows.values_list("data", flat=True)]
    forget_checks(cluster.pk, {hold.meta.ref.uid for hold in holds})
    fresh = set(
        HoldCheck.objects.filter(
            cluster=cluster, checked_at__gt=clock.now() - INTERVAL
        ).values_list("hold_uid", flat=True)
    )
    due = [hold for hold in holds if hold.meta.ref.uid not in fresh][:MOST]
    try:
        door = open_door(cluster, "")
    except doors.NoActorError as error:
        log.warning("holds not proved", cluster=cluster.name, why=str(error))
        return {}
    try:
        return {hold.meta.ref.uid: _prove(cluster, door, hold, clock) for hold in due}
    finally:
        door.close()


def _prove(cluster: Cluster, door: Door, hold: Hold, clock: Clock) -> bool | None:
    in_force, sentence = _ask(door, hold)
    now = clock.now()
    with transaction.atomic():
        news = save_check(
            cluster.pk, hold.meta.ref.uid, in_force=in_force, at=now, sentence=sentence
        )
        if in_force is not None:
            note_lever(cluster.pk, Lever.HOLD.value, held=in_force, at=now, sentence=sentence)
        if news:
            actions.tell(cluster.pk)
    return in_force


def _ask(door: Door, hold: Hold) -> tuple[bool | None, str]:
    """Return whether a resume of the held Job would be turned back, and what is the matter."""
    ref = hold.meta.ref
    path = object_path("batch", "v1", "jobs", ref.namespace, hold.job_name)
    try:
        raw = json.loads(door.merge_patch(path, _RESUME).body)
    except KubeError as error:
        if error.is_object_missing:
            return None, f"There is no Job {hold.job_name} now."
        return None, f"It could not be proved: {error.sentence}"
    owners = raw["metadata"].get("ownerReferences") or ()
    if not any(one.get("controller") and one["uid"] == hold.owner_uid for one in owners):
        return None, f"Job {hold.job_name} belongs to another owner now: the Hold is not about it."
    if patches.value_at(raw, "/spec/suspend") is True:
        return True, ""
    return False, f"A resume of Job {hold.job_name} would go through: the policy does not act."
