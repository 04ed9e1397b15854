"""Expiry of Holds: when the end of a Hold is over, gangboard asks for the release by itself."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.db import IntegrityError, transaction
from django.db.models import Count, Max, Q

from gangboard.actions.preconditions import VIA_GANGBOARD
from gangboard.actions.seen_holds import Mark, read_holds
from gangboard.domain.action import ActionContext, ActionRequest, ActionTarget, Verb
from gangboard.domain.hold import HOLD_LEVER, Hold
from gangboard.domain.objects import ObjectRef, job_ref
from gangboard.domain.owner import Owner
from gangboard.store import action_context, actions
from gangboard.store.models import Action, Cluster
from gangboard.store.row_leases import DatabaseClock

FIRST_RETRY, LONGEST_RETRY = timedelta(minutes=1), timedelta(minutes=30)
AT_ONCE = 100
"""Overdue Holds of one query; each is a condition of its own."""


@dataclass(frozen=True, slots=True)
class ExpiredHold:
    """A held Job whose Hold should have ended."""

    cluster: Cluster
    job: ObjectRef
    until: datetime


def release_expired(now: datetime, clock: DatabaseClock, seen: Collection[Mark]) -> list[str]:
    """Ask for the release of every Hold whose end is over; return the ids of the actions made.

    `seen`: the Holds that are there. Each failed try waits longer for the next. Where something is under way on the Job, that goes
    first. However many are overdue, what is known of them is read in a few queries.
    """
    made: list[str] = []
    if actions.is_read_only(None):
        return made
    for expired in _not_tried_lately(_expired(now, seen), now):
        try:
            with transaction.atomic():
                made.append(_request_release(expired, now, clock).pk)
        except IntegrityError:
            continue
    return made


def _expired(now: datetime, seen: Collection[Mark]) -> Iterator[ExpiredHold]:
    """Yield what is overdue by the Holds as seen, and by our own actions where nobody may look."""
    rows = Cluster.objects.filter(actor_credentials__isnull=False, read_only=False)
    clusters = {cluster.pk: cluster for cluster in rows}
    ours = [mark for mark in seen if mark.cluster_id in clusters]
    yield from _overdue(clusters, [mark for mark in ours if mark.until and mark.until <= now])
    uids = {mark.uid for mark in ours}
    own = Action.objects.filter(guarded=True, until__lte=now, lever=HOLD_LEVER)
    for action in own.select_related("cluster"):
        known_hold = action.context.get("hold", {}).get("uid") in uids
        if action.cluster is not None and action.until is not None and not known_hold:
            uid = action.context["subjects"][0]["uid"]
            job = job_ref(action.namespace, action.name, uid)
            yield ExpiredHold(action.cluster, job, action.until)


def _overdue(clusters: Mapping[int, Cluster], past: Collection[Mark]) -> Iterator[ExpiredHold]:
    """Yield the Jobs of these Holds; a Hold that is about none does nothing."""
    holds = [
        (mark, hold, (mark.cluster_id, hold.meta.ref.namespace, hold.job_name))
        for mark, hold in read_holds(past)
    ]
    places = [place for _, _, place in holds]
    jobs = action_context.find_objects("jobs.batch", places)
    for mark, hold, place in holds:
        job = jobs.get(place)
        if mark.until is not None and isinstance(job, Owner) and _is_about(hold, job):
            yield ExpiredHold(clusters[mark.cluster_id], job.meta.ref, mark.until)


def _is_about(hold: Hold, job: Owner) -> bool:
    return job.meta.controller is not None and job.meta.controller.uid == hold.owner_uid


def _not_tried_lately(found: Iterable[ExpiredHold], now: datetime) -> Iterator[ExpiredHold]:
    """Yield those that were not tried yet, or long enough ago; of several on one Job that which ended last."""
    latest: dict[tuple[int, str], ExpiredHold] = {}
    for expired in sorted(found, key=lambda one: one.until):
        latest[expired.cluster.pk, expired.job.uid] = expired
    tries = _tries(list(latest.values()))
    for key, expired in latest.items():
        count, last = tries.get(key, (0, now))
        wait = min(LONGEST_RETRY, FIRST_RETRY * 2 ** min(count - 1, 10)) if count else timedelta()
        if now >= last + wait:
            yield expired


def _tries(found: Sequence[ExpiredHold]) -> dict[tuple[int, str], tuple[int, datetime]]:
    """Return (cluster, uid of the Job) → how often its release was asked for since the end, and when last."""
    tries: dict[tuple[int, str], tuple[int, datetime]] = {}
    for start in range(0, len(found), AT_ONCE):
        since = Q()
        for one in found[start : start + AT_ONCE]:
            since |= Q(cluster=one.cluster, uid=one.job.uid, requested_at__gte=one.until)
        rows = Action.objects.filter(since, via=VIA_GANGBOARD).order_by()
        counted = rows.values_list("cluster_id", "uid").annotate(Count("pk"), Max("requested_at"))
        tries.update(((cluster, uid), (count, last)) for cluster, uid, count, last in counted)
    return tries


def _request_release(expired: ExpiredHold, now: datetime, clock: DatabaseClock) -> Action:
    ref, cluster = expired.job, expired.cluster
    gang = action_context.find_gang(cluster.pk, ref.namespace, ref.uid)
    end = expired.until.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")
    target = ActionTarget(cluster.name, ref.group, ref.kind, ref.namespace, ref.name, ref.uid)
    action_request = ActionRequest(
        Verb.RESUME, target, f"The Hold was to end at {end}.", via=VIA_GANGBOARD
    )
    return actions.create(action_request, cluster, gang, None, now=now, clock=clock)


def was_extended(ground: ActionContext, job: str, now: datetime) -> bool:
    """Whether the Holds on a Job do not end now any more: somebody has moved the end meanwhile."""
    holds = [hold for hold in ground.holds if hold.job_name == job]
    return bool(holds) and all(hold.until is None or hold.until > now for hold in holds)
