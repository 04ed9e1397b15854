"""Expiry of Holds: gangboard requests the removal of a Hold whose end has passed.

Only ends that a person gave to gangboard count. The row of the action has the end and the uid of the
Hold. The end in the Hold object counts only if it is later. Somebody who may create Holds can
therefore neither end another person's Hold nor have a Job resumed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.db import IntegrityError, transaction
from django.db.models import Count, Max, Q

from gangboard.actions.hold_cache import CachedHold
from gangboard.actions.preconditions import VIA_GANGBOARD
from gangboard.domain.action import ActionRequest, ActionTarget, Verb
from gangboard.domain.objects import ObjectRef, job_ref
from gangboard.domain.owner import Owner
from gangboard.facts.gang import Gang
from gangboard.store import actions, gang_objects
from gangboard.store.models import Action, Cluster
from gangboard.store.row_leases import DatabaseClock
from gangboard.store.suspend_records import HoldKey, HoldRecord, expired_hold_records

FIRST_RETRY, LONGEST_RETRY = timedelta(minutes=1), timedelta(minutes=30)
BATCH_SIZE = 100
"""Overdue Holds in one query, each with a condition of its own."""


@dataclass(frozen=True, slots=True)
class EndedHold:
    """A Hold whose recorded end has passed, and the Job that it holds."""

    cluster: Cluster
    record: HoldRecord
    job: ObjectRef


def release_expired(
    now: datetime, clock: DatabaseClock, holds: Collection[CachedHold]
) -> list[str]:
    """Request the removal of every expired Hold. Return the ids of the new actions.

    `holds` are the existing Holds. The wait after a failed attempt grows. A Job with an action that is
    not over is skipped. The number of queries does not depend on the number of expired Holds.
    """
    action_ids: list[str] = []
    if actions.read_only_reason(None):
        return action_ids
    for ended in _due_for_release(_ended_holds(now, holds), now):
        try:
            with transaction.atomic():
                action_ids.append(_request_release(ended, now, clock).pk)
        except IntegrityError:  # another action on the Job is not over
            continue
    return action_ids


def _ended_holds(now: datetime, holds: Collection[CachedHold]) -> Iterator[EndedHold]:
    """Yield the expired Holds.

    If the reader may not list the Holds of a cluster, yield those of guarded actions.
    """
    rows = Cluster.objects.filter(actor_credentials__isnull=False, read_only=False)
    clusters = {cluster.pk: cluster for cluster in rows}
    existing = {(hold.cluster_id, hold.uid): hold for hold in holds if hold.cluster_id in clusters}
    past = {key: hold for key, hold in existing.items() if hold.until and hold.until <= now}
    action_ids = {hold.action for hold in past.values() if hold.action}
    ended = {
        record.key: record
        for record in expired_hold_records(clusters, action_ids, now)
        if record.key in past or (record.key not in existing and record.is_guarded)
    }
    jobs = _held_jobs(ended)
    for key, record in ended.items():
        job = jobs.get(key)
        if job is None and key not in existing:
            job = job_ref(record.namespace, record.job, record.job_uid)
        if job is not None:
            yield EndedHold(clusters[key[0]], record, job)


def _held_jobs(records: dict[HoldKey, HoldRecord]) -> dict[HoldKey, ObjectRef]:
    """Return the Jobs that these Holds hold. Jobs of the same name with another owner are left out."""
    places = {key: (key[0], record.namespace, record.job) for key, record in records.items()}
    stored = gang_objects.find_objects("jobs.batch", places.values())
    jobs: dict[HoldKey, ObjectRef] = {}
    for key, place in places.items():
        job = stored.get(place)
        if not isinstance(job, Owner) or job.meta.controller is None:
            continue
        if job.meta.controller.uid == records[key].owner_uid:
            jobs[key] = job.meta.ref
    return jobs


def _due_for_release(ended_holds: Iterable[EndedHold], now: datetime) -> Iterator[EndedHold]:
    """Yield the Holds whose backoff is over, the earliest end first."""
    overdue = sorted(ended_holds, key=lambda ended: ended.record.ends_at)
    attempts = _attempts(overdue, now)
    for ended in overdue:
        count, last = attempts.get(ended.record.key, (0, now))
        wait = min(LONGEST_RETRY, FIRST_RETRY * 2 ** min(count - 1, 10)) if count else timedelta()
        if now >= last + wait:
            yield ended


def _attempts(overdue: Sequence[EndedHold], now: datetime) -> dict[HoldKey, tuple[int, datetime]]:
    """Return the number of attempts to remove each Hold since its end, and the time of the last.

    Attempts in the future were made before the clock was set back. They do not count.
    """
    attempts: dict[HoldKey, tuple[int, datetime]] = {}
    for start in range(0, len(overdue), BATCH_SIZE):
        since_end = Q()
        for ended in overdue[start : start + BATCH_SIZE]:
            since_end |= Q(
                cluster=ended.cluster, uid=ended.job.uid, requested_at__gte=ended.record.ends_at
            )
        rows = Action.objects.filter(since_end, via=VIA_GANGBOARD, requested_at__lte=now).order_by()
        counted = rows.values_list("cluster_id", "context__ended_hold").annotate(
            Count("pk"), Max("requested_at")
        )
        attempts.update(((cluster, hold), (count, last)) for cluster, hold, count, last in counted)
    return attempts


def _request_release(ended: EndedHold, now: datetime, clock: DatabaseClock) -> Action:
    ref, cluster = ended.job, ended.cluster
    gang = gang_objects.find_gang(cluster.pk, ref.namespace, ref.uid)
    end = ended.record.ends_at.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")
    target = ActionTarget(cluster.name, ref.group, ref.kind, ref.namespace, ref.name, ref.uid)
    action_request = ActionRequest(
        Verb.RESUME,
        target,
        f"The Hold was to end at {end}.",
        via=VIA_GANGBOARD,
        ended_hold=ended.record.key[1],
    )
    return actions.create(action_request, cluster, gang, None, now=now, clock=clock)


def reason_not_due(gang: Gang, job: str, ended_hold: str, now: datetime) -> str:
    """Return why the Hold with this uid must not be removed now, or an empty string. `gang` is read live."""
    on_job = (hold for hold in gang.holds if hold.job_name == job)
    hold = next((hold for hold in on_job if hold.meta.ref.uid == ended_hold), None)
    if hold is None:
        return f"The expired Hold is no longer on Job {job}."
    if hold.until is None or hold.until > now:
        return "The end of the Hold was moved meanwhile."
    return ""
