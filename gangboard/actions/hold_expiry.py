"""Expiry of Holds: when the end of a Hold is over, gangboard asks by itself for its removal.

It does so only for an end that a person gave to gangboard: the end stands in the row of an action, with the uid of the
Hold. The Hold's own text counts only where it moves the end to later. A person who may create Holds
cannot end the Hold of another person, and cannot have a Job resumed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.db import IntegrityError, transaction
from django.db.models import Count, Max, Q

from gangboard.actions.hold_cache import Mark
from gangboard.actions.preconditions import VIA_GANGBOARD
from gangboard.domain.action import ActionRequest, ActionTarget, Verb
from gangboard.domain.objects import ObjectRef, job_ref
from gangboard.domain.owner import Owner
from gangboard.facts.gang import Gang
from gangboard.store import actions, gang_objects
from gangboard.store.models import Action, Cluster
from gangboard.store.row_leases import DatabaseClock
from gangboard.store.suspend_records import HoldKey, HoldRecord, ended_records

FIRST_RETRY, LONGEST_RETRY = timedelta(minutes=1), timedelta(minutes=30)
AT_ONCE = 100
"""Overdue Holds of one query; each is a condition of its own."""


@dataclass(frozen=True, slots=True)
class EndedHold:
    """A Hold whose recorded end is over, and the Job that it holds."""

    cluster: Cluster
    record: HoldRecord
    job: ObjectRef


def release_expired(now: datetime, clock: DatabaseClock, seen: Collection[Mark]) -> list[str]:
    """Ask for the removal of every Hold whose end is over; return the ids of the actions made.

    `seen`: the Holds that are there. Each failed try waits longer for the next. Where something is under way on the Job, that goes
    first. However many are overdue, what is known of them is read in a few queries.
    """
    made: list[str] = []
    if actions.is_read_only(None):
        return made
    for ended in _not_tried_lately(_ended(now, seen), now):
        try:
            with transaction.atomic():
                made.append(_request_release(ended, now, clock).pk)
        except IntegrityError:
            continue
    return made


def _ended(now: datetime, seen: Collection[Mark]) -> Iterator[EndedHold]:
    """Yield the overdue Holds; where the reader may not list Holds, those of our guarded actions."""
    rows = Cluster.objects.filter(actor_credentials__isnull=False, read_only=False)
    clusters = {cluster.pk: cluster for cluster in rows}
    marks = {(mark.cluster_id, mark.uid): mark for mark in seen if mark.cluster_id in clusters}
    past = {key: mark for key, mark in marks.items() if mark.until and mark.until <= now}
    named = {mark.action for mark in past.values() if mark.action}
    ended = {
        record.key: record
        for record in ended_records(clusters, named, now)
        if record.key in past or (record.key not in marks and record.is_guarded)
    }
    jobs = _held_jobs(ended)
    for key, record in ended.items():
        job = jobs.get(key)
        if job is None and key not in marks:
            job = job_ref(record.namespace, record.job, record.job_uid)
        if job is not None:
            yield EndedHold(clusters[key[0]], record, job)


def _held_jobs(records: dict[HoldKey, HoldRecord]) -> dict[HoldKey, ObjectRef]:
    """Return the Jobs that these Holds hold; a Job of another owner under the same name is left out."""
    places = {key: (key[0], record.namespace, record.job) for key, record in records.items()}
    stored = gang_objects.find_objects("jobs.batch", places.values())
    found: dict[HoldKey, ObjectRef] = {}
    for key, place in places.items():
        job = stored.get(place)
        if not isinstance(job, Owner) or job.meta.controller is None:
            continue
        if job.meta.controller.uid == records[key].owner_uid:
            found[key] = job.meta.ref
    return found


def _not_tried_lately(found: Iterable[EndedHold], now: datetime) -> Iterator[EndedHold]:
    """Yield the Holds whose removal was not tried yet, or long enough ago; the earliest end first."""
    overdue = sorted(found, key=lambda ended: ended.record.end)
    tries = _tries(overdue, now)
    for ended in overdue:
        count, last = tries.get(ended.record.key, (0, now))
        wait = min(LONGEST_RETRY, FIRST_RETRY * 2 ** min(count - 1, 10)) if count else timedelta()
        if now >= last + wait:
            yield ended


def _tries(overdue: Sequence[EndedHold], now: datetime) -> dict[HoldKey, tuple[int, datetime]]:
    """Return the number of tries to remove each Hold since its end, and the time of the last.

    Tries that lie in the future are from before the clock was set back: they do not count.
    """
    tries: dict[HoldKey, tuple[int, datetime]] = {}
    for start in range(0, len(overdue), AT_ONCE):
        since = Q()
        for ended in overdue[start : start + AT_ONCE]:
            since |= Q(cluster=ended.cluster, uid=ended.job.uid, requested_at__gte=ended.record.end)
        rows = Action.objects.filter(since, via=VIA_GANGBOARD, requested_at__lte=now).order_by()
        counted = rows.values_list("cluster_id", "context__ended_hold").annotate(
            Count("pk"), Max("requested_at")
        )
        tries.update(((cluster, hold), (count, last)) for cluster, hold, count, last in counted)
    return tries


def _request_release(ended: EndedHold, now: datetime, clock: DatabaseClock) -> Action:
    ref, cluster = ended.job, ended.cluster
    gang = gang_objects.find_gang(cluster.pk, ref.namespace, ref.uid)
    end = ended.record.end.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")
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
    """Return why the Hold with this uid is not removed now, read live; empty where its end is over."""
    there = (hold for hold in gang.holds if hold.job_name == job)
    hold = next((hold for hold in there if hold.meta.ref.uid == ended_hold), None)
    if hold is None:
        return f"The expired Hold is not on Job {job} any more."
    if hold.until is None or hold.until > now:
        return "The end of the Hold was moved meanwhile."
    return ""
