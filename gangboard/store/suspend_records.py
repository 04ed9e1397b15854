"""Gangboard's own records of suspends: the newest action on each object, and the Holds of actions.

Everyone who may write Holds in a cluster can write any text into them. So automatic steps rely on these rows
only. The annotation of a Hold merely names the row.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import QuerySet

from gangboard.domain.action import ActionState, Verb
from gangboard.domain.hold import HOLD_LEVER, Hold
from gangboard.domain.suspension import RecordedSuspend
from gangboard.store.models import Action
from gangboard.store.objects import BATCH

_WITHOUT_EFFECT = (
    ActionState.REFUSED,
    ActionState.CONFLICT,
    ActionState.GONE,
    ActionState.EXPIRED,
    ActionState.FAILED,
)
HoldKey = tuple[int, str]
"""Cluster id and Hold uid."""
_HELD = (ActionState.VERIFIED.value, ActionState.REVERTED.value)


def recorded_suspends(cluster_id: int, namespaces: Mapping[str, str]) -> dict[str, RecordedSuspend]:
    """Return, by uid, the suspend that is the newest action on each object (1 query, none without objects).

    `namespaces` are those of the objects, by uid. Both must match, because the cluster can claim any uid.

    Actions that were not sent, or had no effect, do not count. A newer resume ends a suspend, even a resume
    that was reverted, because the author of the current suspend is then unknown.
    """
    if not namespaces:
        return {}
    rows = (
        Action.objects.filter(
            cluster_id=cluster_id, uid__in=list(namespaces), sent_at__isnull=False
        )
        .exclude(state__in=_WITHOUT_EFFECT)
        .order_by("uid", "requested_at", "id")
        .values_list("uid", "namespace", "verb", "state", "actor_name", "reason", "sent_at")
    )
    suspends: dict[str, RecordedSuspend] = {}
    for uid, namespace, verb, state, actor, reason, sent_at in rows:
        if namespace != namespaces[uid]:
            continue
        suspends.pop(uid, None)
        if sent_at is not None and verb == Verb.SUSPEND and state != ActionState.REVERTED:
            suspends[uid] = RecordedSuspend(actor, reason, sent_at)
    return suspends


@dataclass(frozen=True, slots=True)
class HoldRecord:
    """The Hold that an action relies on, as recorded in its row."""

    key: HoldKey
    namespace: str
    job: str
    """Name of the held Job."""
    owner_uid: str
    job_uid: str
    """uid of the Job at the last check."""
    ends_at: datetime
    """When gangboard removes the Hold, as the requester of the action asked."""
    is_guarded: bool
    """True if the action is verified and the newest on its Job."""


def recorded_hold(action: Action) -> dict[str, Any] | None:
    """Return the Hold that enforces an action: the action's own, or the one that it found."""
    if action.lever != HOLD_LEVER or action.verb != Verb.SUSPEND:
        return None
    hold: dict[str, Any] | None = action.context.get("hold") or action.context.get("found_hold")
    return hold


def expired_hold_records(
    cluster_ids: Collection[int], action_ids: Collection[str], now: datetime
) -> Iterator[HoldRecord]:
    """Yield the expired records of guarded actions, and of the actions with these ids."""
    rows = Action.objects.filter(
        cluster__in=cluster_ids, verb=Verb.SUSPEND.value, lever=HOLD_LEVER, until__lte=now
    )
    yield from _read_records(rows.filter(guarded=True))
    for portion in _batches(action_ids):
        yield from _read_records(rows.filter(guarded=False, state__in=_HELD, pk__in=portion))


def _read_records(rows: QuerySet[Action]) -> Iterator[HoldRecord]:
    for action in rows:
        hold, subjects = recorded_hold(action), action.context.get("subjects")
        if hold is None or not hold.get("uid") or not subjects:
            continue
        yield HoldRecord(
            key=(action.cluster_id or 0, hold["uid"]),
            namespace=action.namespace,
            job=hold["job"],
            owner_uid=hold["owner_uid"],
            job_uid=subjects[0]["uid"],
            ends_at=action.until or action.requested_at,
            is_guarded=action.guarded,
        )


def holds_made_by_actions(cluster_id: int, holds: Collection[Hold]) -> frozenset[str]:
    """Return the uids of Holds that an action of this installation created and that still name the same Job."""
    identities: set[tuple[str, str, str]] = set()
    for portion in _batches({hold.action for hold in holds if hold.action}):
        rows = Action.objects.filter(cluster=cluster_id, pk__in=portion)
        for context in rows.values_list("context", flat=True):
            identities.add(_identity(context.get("hold") or {}))
    return frozenset(
        hold.meta.ref.uid
        for hold in holds
        if (hold.meta.ref.uid, hold.job_name, hold.owner_uid) in identities
    )


def _identity(hold: Mapping[str, Any]) -> tuple[str, str, str]:
    return hold.get("uid", ""), hold.get("job", ""), hold.get("owner_uid", "")


def _batches(ids: Collection[str]) -> Iterator[list[str]]:
    ordered = sorted(ids)
    for start in range(0, len(ordered), BATCH):
        yield ordered[start : start + BATCH]
