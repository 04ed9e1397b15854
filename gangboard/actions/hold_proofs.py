"""Periodic proofs of Holds: a dry run of a resume must come back suspended."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.db import transaction

from gangboard.actions import actor_client, patches
from gangboard.actions.actor_client import ActorClient, object_path
from gangboard.actions.clock import Clock
from gangboard.actions.retries import TRANSIENT_CODES
from gangboard.domain.hold import HOLD_LEVER, HOLDS, Hold
from gangboard.kube.errors import KubeError
from gangboard.logs import get_logger
from gangboard.store import actions, row_leases
from gangboard.store.levers import (
    delete_stale_checks,
    mark_unproved,
    save_hold_check,
    save_lever_proof,
)
from gangboard.store.models import Cluster, HoldCheck, WatchedObject
from gangboard.store.objects import read_objects
from gangboard.store.suspend_records import holds_made_by_actions

log = get_logger(__name__)

INTERVAL = timedelta(seconds=60)
MAX_HOLDS = 200
"""Holds of one cluster that one turn proves. The next turn continues with the remaining ones."""
TURN_SECONDS = 30.0
"""Longest time of one turn, for clusters that answer slowly."""
CHORE = "prove"
_NEVER = datetime.min.replace(tzinfo=UTC)
_RESUME = b'{"spec":{"suspend":false}}'


def due_clusters(now: datetime) -> list[int]:
    """Return the ids of clusters with a Hold whose last proof is older than INTERVAL."""
    holds: dict[int, set[str]] = {}
    rows = WatchedObject.objects.filter(
        resource=HOLDS, cluster__actor_credentials__isnull=False, cluster__problem=""
    )
    for cluster_id, uid in rows.values_list("cluster_id", "uid"):
        holds.setdefault(cluster_id, set()).add(uid)
    fresh = set(
        HoldCheck.objects.filter(
            cluster_id__in=holds, checked_at__gt=now - INTERVAL, checked_at__lt=now + INTERVAL
        ).values_list("cluster_id", "hold_uid")
    )
    return [
        cluster_id
        for cluster_id, uids in holds.items()
        if any((cluster_id, uid) not in fresh for uid in uids)
    ]


def prove_all(
    cluster_id: int,
    clock: Clock,
    open_client: actor_client.ClientFactory = actor_client.open_client,
) -> dict[str, bool | None]:
    """Prove the Holds of a cluster whose proof is due. Return Hold uid → in force (None: unknown).

    One worker at a time proves a cluster; for any other the result is empty. It stops if the cluster
    does not answer. The remaining Holds become unknown and are proved first after INTERVAL.
    """
    with row_leases.lock_chore(cluster_id, CHORE, clock) as lock:
        cluster = Cluster.objects.filter(pk=cluster_id).first()
        if lock is None or cluster is None:
            return {}
        delete_stale_checks(cluster.pk)
        known = {row.hold_uid: row for row in HoldCheck.objects.filter(cluster=cluster)}
        due = _due(cluster, known, clock.now())
        try:
            client = open_client(cluster, "")
        except actor_client.NoActorError as error:
            log.warning("holds not proved", cluster=cluster.name, why=str(error))
            return {}
        try:
            own = holds_made_by_actions(cluster.pk, due)
            return _prove_in_turn(_Turn(cluster, client, clock, lock, known, own), due)
        finally:
            client.close()


def _due(cluster: Cluster, known: Mapping[str, HoldCheck], now: datetime) -> list[Hold]:
    """Return the Holds to prove, the oldest proof first. Only these are decoded."""
    rows = WatchedObject.objects.filter(cluster=cluster, resource=HOLDS)
    checked_at = {
        uid: known[uid].checked_at if uid in known else _NEVER
        for uid in rows.values_list("uid", flat=True)
    }
    # A proof in the future was made before the clock was set back.
    due = [uid for uid, time in checked_at.items() if not now - INTERVAL < time < now + INTERVAL]
    first = sorted(due, key=lambda uid: checked_at[uid])[:MAX_HOLDS]
    stored = read_objects(cluster.pk, first, {HOLDS: Hold})
    return [stored[uid] for uid in first if uid in stored]


@dataclass(frozen=True, slots=True)
class _Turn:
    """One turn of a prover on one cluster."""

    cluster: Cluster
    client: ActorClient
    clock: Clock
    lock: row_leases.ChoreLock
    known: Mapping[str, HoldCheck]
    """uid of a Hold → its last proof before this turn."""
    own: frozenset[str]
    """uids of the Holds that actions created. Other Holds do not prove or refute the lever."""


def _prove_in_turn(turn: _Turn, due: list[Hold]) -> dict[str, bool | None]:
    results: dict[str, bool | None] = {}
    deadline = turn.clock.monotonic() + TURN_SECONDS
    for position, hold in enumerate(due):
        if turn.clock.monotonic() > deadline or not turn.lock.renew():
            break
        try:
            in_force, sentence = _dry_run_resume(turn.client, hold)
        except KubeError as error:
            _save(turn, hold, None, f"It could not be proved: {error.sentence}")
            if error.code in TRANSIENT_CODES:
                turn.lock.rest(INTERVAL.total_seconds())
                _mark_rest_unproved(turn, due[position + 1 :], error)
                return {**results, hold.meta.ref.uid: None}
            in_force = None
        else:
            _save(turn, hold, in_force, sentence)
        results[hold.meta.ref.uid] = in_force
    return results


def _mark_rest_unproved(turn: _Turn, holds: list[Hold], error: KubeError) -> None:
    """Store that the state of the remaining Holds is unknown."""
    sentence = f"Not tested again: the cluster did not answer a dry run. {error.sentence}"
    with transaction.atomic():
        if mark_unproved(turn.cluster.pk, [hold.meta.ref.uid for hold in holds], sentence):
            actions.bump_data_version(turn.cluster.pk)


def _save(turn: _Turn, hold: Hold, in_force: bool | None, sentence: str) -> None:
    cluster, uid, now = turn.cluster, hold.meta.ref.uid, turn.clock.now()
    before = turn.known.get(uid)
    with transaction.atomic():
        save_hold_check(cluster.pk, uid, in_force=in_force, at=now, sentence=sentence)
        if in_force is not None and uid in turn.own:
            save_lever_proof(cluster.pk, HOLD_LEVER, held=in_force, at=now, sentence=sentence)
        if before is None or (before.in_force, before.sentence) != (in_force, sentence):
            actions.bump_data_version(cluster.pk)


def _dry_run_resume(client: ActorClient, hold: Hold) -> tuple[bool | None, str]:
    """Return whether a resume of the held Job would be turned back, and a sentence about a problem.

    Raises KubeError.
    """
    ref = hold.meta.ref
    path = object_path("batch", "v1", "jobs", ref.namespace, hold.job_name)
    try:
        raw = json.loads(client.merge_patch(path, _RESUME).body)
    except KubeError as error:
        if error.is_object_missing:
            return None, f"There is no Job {hold.job_name} now."
        raise
    owners = raw["metadata"].get("ownerReferences") or ()
    if not any(owner.get("controller") and owner["uid"] == hold.owner_uid for owner in owners):
        return (
            None,
            f"Job {hold.job_name} now belongs to another owner, and the Hold is not for it.",
        )
    if patches.value_at(raw, "/spec/suspend") is True:
        return True, ""
    return False, f"A resume of Job {hold.job_name} would work: the policy does not stop it."
