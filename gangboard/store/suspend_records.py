"""Our own records of suspends: the newest of each object, and Holds that actions made or rely on.

Anybody who may write Holds in a cluster can write any text into them. gangboard acts by itself only on these rows.
The annotation of a Hold only says which row to read.
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
"""Id of the cluster and uid of the Hold."""
_HELD = (ActionState.VERIFIED.value, ActionState.REVERTED.value)


def recorded_suspends(cluster_id: int, namespaces: Mapping[str, str]) -> dict[str, RecordedSuspend]:
    """Return, by uid, the suspend that is the newest action on each object (1 query, none without objects).

    `namespaces` are those of the objects, by uid. Both must match: a uid is text of the cluster.

    Actions that were not sent, or had no effect, do not count. A newer resume ends a suspend, also one
    that was turned back: it is not known who suspended the object after that.
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
    found: dict[str, RecordedSuspend] = {}
    for uid, namespace, verb, state, actor, reason, sent_at in rows:
        if namespace != namespaces[uid]:
            continue
        found.pop(uid, None)
        if sent_at is not None and verb == Verb.SUSPEND and state != ActionState.REVERTED:
            found[uid] = RecordedSuspend(actor, reason, sent_at)
    return found


@dataclass(frozen=True, slots=True)
class HoldRecord:
    """The Hold that an action relies on, as its row says."""

    key: HoldKey
    namespace: str
    job: str
    """Name of the held Job."""
    owner_uid: str
    job_uid: str
    """uid of the Job at the last look."""
    end: datetime
    """When gangboard removes the Hold: the person who asked for the action said so."""
    is_guarded: bool
    """The action is verified and the newest on its Job."""


def recorded_hold(action: Action) -> dict[str, Any] | None:
    """Return the Hold that keeps what was asked for: the action's own, or the one that it found."""
    if action.lever != HOLD_LEVER or action.verb != Verb.SUSPEND:
        return None
    found: dict[str, Any] | None = action.context.get("hold") or action.context.get("found_hold")
    return found


def expired_hold_records(
    cluster_ids: Collection[int], action_ids: Collection[str], now: datetime
) -> Iterator[HoldRecord]:
    """Yield the records whose end is over: of guarded actions, and of those with these ids."""
    rows = Action.objects.filter(
        cluster__in=cluster_ids, verb=Verb.SUSPEND.value, lever=HOLD_LEVER, until__lte=now
    )
    yield from _records(rows.filter(guarded=True))
    for portion in _portions(action_ids):
        yield from _records(rows.filter(guarded=False, state__in=_HELD, pk__in=portion))


def _records(rows: QuerySet[Action]) -> Iterator[HoldRecord]:
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
            end=action.until or action.requested_at,
            is_guarded=action.guarded,
        )


def holds_made_by_actions(cluster_id: int, holds: Collection[Hold]) -> frozenset[str]:
    """Return the uids of those Holds that an action made here and that are still about the same Job."""
    made: set[tuple[str, str, str]] = set()
    for portion in _portions({hold.action for hold in holds if hold.action}):
        rows = Action.objects.filter(cluster=cluster_id, pk__in=portion)
        for context in rows.values_list("context", flat=True):
            made.add(_identity(context.get("hold") or {}))
    return frozenset(
        hold.meta.ref.uid
        for hold in holds
        if (hold.meta.ref.uid, hold.job_name, hold.owner_uid) in made
    )


def _identity(hold: Mapping[str, Any]) -> tuple[str, str, str]:
    return hold.get("uid", ""), hold.get("job", ""), hold.get("owner_uid", "")


def _portions(ids: Collection[str]) -> Iterator[list[str]]:
    ordered = sorted(ids)
    for start in range(0, len(ordered), BATCH):
        yield ordered[start : start + BATCH]
