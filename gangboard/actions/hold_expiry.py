"""Expiry of Holds: when the end of a Hold is over, gangboard asks for the release by itself."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.db import IntegrityError, transaction

from gangboard.actions.preconditions import VIA_GANGBOARD
from gangboard.actions.requests import ActionRequest
from gangboard.actions.seen_holds import Mark, read_holds
from gangboard.actions.service import GANGBOARD, new_action
from gangboard.domain.action import ActionContext, ActionTarget, Lever, Verb
from gangboard.domain.hold import Hold
from gangboard.domain.objects import ObjectRef
from gangboard.domain.owner import Owner
from gangboard.store import action_context
from gangboard.store.actions import DatabaseClock, is_read_only
from gangboard.store.gangs import gang_id
from gangboard.store.models import Action, Cluster

FIRST_RETRY, LONGEST_RETRY = timedelta(minutes=1), timedelta(minutes=30)


@dataclass(frozen=True, slots=True)
class ExpiredHold:
    """A held Job whose Hold should have ended."""

    cluster: Cluster
    job: ObjectRef
    until: datetime


def release_expired(now: datetime, clock: DatabaseClock, seen: Collection[Mark]) -> list[str]:
    """Ask for the release of every Hold whose end is over; return the ids of the actions made.

    `seen`: the Holds that are there. Each failed try waits longer for the next. Where something is under way on the Job, that goes
    first.
    """
    made: list[str] = []
    if is_read_only(None):
        return made
    for expired in _expired(now, seen):
        if _tried_lately(expired, now):
            continue
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
    past = [mark for mark in ours if mark.until is not None and mark.until <= now]
    for mark, hold in read_holds(past):
        job = _job(clusters[mark.cluster_id], hold)
        if job is not None and mark.until is not None:
            yield ExpiredHold(clusters[mark.cluster_id], job.meta.ref, mark.until)
    uids = {mark.uid for mark in ours}
    own = Action.objects.filter(guarded=True, until__lte=now, lever=Lever.HOLD.value)
    for action in own.select_related("cluster"):
        known_hold = action.context.get("hold", {}).get("uid") in uids
        if action.cluster is not None and action.until is not None and not known_hold:
            uid = action.context["subjects"][0]["uid"]
            job_ref = ObjectRef("batch", "Job", action.namespace, action.name, uid)
            yield ExpiredHold(action.cluster, job_ref, action.until)


def _job(cluster: Cluster, hold: Hold) -> Owner | None:
    """Return the Job that a Hold is about, or None: then the Hold does nothing."""
    found = action_context.find_object(
        cluster, "jobs.batch", hold.meta.ref.namespace, hold.job_name
    )
    if not isinstance(found, Owner) or found.meta.controller is None:
        return None
    return found if found.meta.controller.uid == hold.owner_uid else None


def _tried_lately(expired: ExpiredHold, now: datetime) -> bool:
    tries = Action.objects.filter(
        cluster=expired.cluster,
        uid=expired.job.uid,
        via=VIA_GANGBOARD,
        requested_at__gte=expired.until,
    ).order_by("-requested_at")
    last = tries.first()
    if last is None:
        return False
    wait = min(LONGEST_RETRY, FIRST_RETRY * 2 ** min(tries.count() - 1, 10))
    return bool(now < last.requested_at + wait)


def _request_release(expired: ExpiredHold, now: datetime, clock: DatabaseClock) -> Action:
    ref, cluster = expired.job, expired.cluster
    gang = action_context.find_gang(cluster.pk, ref.uid)
    end = expired.until.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")
    target = ActionTarget(cluster.name, ref.group, ref.kind, ref.namespace, ref.name, ref.uid)
    return new_action(
        cluster,
        ActionRequest(Verb.RESUME, target, f"The Hold was to end at {end}.", via=VIA_GANGBOARD),
        now=now,
        gang=gang_id(cluster.name, gang.uid if gang is not None else ref.uid),
        user_id=None,
        actor=GANGBOARD,
        clock=clock,
    )


def was_extended(ground: ActionContext, job: str, now: datetime) -> bool:
    """Whether the Holds on a Job do not end now any more: somebody has moved the end meanwhile."""
    holds = [hold for hold in ground.holds if hold.job_name == job]
    return bool(holds) and all(hold.until is None or hold.until > now for hold in holds)
