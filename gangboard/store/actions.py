"""The outbox of actions, with fenced leases.

A worker owns the row of an action as it owns a cluster: by a number that increases with each new holder. All
of its writes go through `writing(lease)`, which confirms the number first. A worker that lost its lease
therefore writes no row. Lease times and due times use the clock of the database.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import F, Q, QuerySet, Window
from django.db.models.functions import RowNumber

from gangboard.domain.action import ActionRequest, ActionState, ActionTarget, Avoid, Verb
from gangboard.store.access import Viewer
from gangboard.store.audit import audit
from gangboard.store.gangs import gang_id
from gangboard.store.models import Action, ActionStep, Cluster, Gang, Switch
from gangboard.store.row_leases import DatabaseClock, RowLeases

ACTION_LEASE_SECONDS = 30.0
"""Seconds of silence after which another worker takes an action. It exceeds the deadline of any single
request, so the last request of the previous holder has ended by then."""
LEASES = RowLeases("held_until", ACTION_LEASE_SECONDS)
LONGEST_DELAY = 300.0
"""Maximum delay of an action, in seconds; longer than any backoff."""
LIFE_SECONDS = 300.0
"""Seconds after which an unsent request expires, because the requester has moved on."""
GANGBOARD = "gangboard"
"""The actor of actions that no person requested at that moment: the release of a Hold at its end."""
READ_ONLY = "read-only"
"""Name of the switch of the whole installation."""


class ActionLostError(RuntimeError):
    """Another worker holds the action now, so this worker must neither send nor write."""


@dataclass(frozen=True, slots=True)
class ActionLease:
    """Proof that a worker holds an action: valid as long as the row has the same holder and number."""

    action_id: str
    holder: str
    number: int


def create(
    action_request: ActionRequest,
    cluster: Cluster,
    gang: Gang | None,
    viewer: Viewer | None,
    *,
    word: str = "",
    batch: str = "",
    now: datetime,
    clock: DatabaseClock,
) -> Action:
    """Create the row of a request, due at once, and its audit entry; call it inside a transaction.

    `viewer` is the requester, None for gangboard itself. `word` is the label of the button, empty if it is
    the verb. Raises IntegrityError if the idempotency key is taken, or if the object has an open action.
    """
    target = action_request.target
    actor = viewer.name if viewer is not None else GANGBOARD
    token = viewer.token if viewer is not None else ""
    action = Action.objects.create(
        id=uuid.uuid4().hex,
        verb=action_request.verb.value,
        cluster=cluster,
        cluster_name=cluster.name,
        gang_id=gang.pk if gang is not None else gang_id(cluster.name, target.uid),
        api_group=target.api_group,
        kind=target.kind,
        namespace=target.namespace,
        name=target.name,
        uid=target.uid,
        generation=target.generation,
        reason=action_request.reason,
        until=action_request.until,
        avoid=_avoid_json(action_request.avoid),
        forced=action_request.forced,
        user_id=viewer.user_id if viewer is not None else None,
        actor_name=actor,
        may_act=viewer is None or viewer.may_act,
        token=token,
        via=action_request.via,
        idempotency_key=action_request.idempotency_key,
        body_hash=body_hash(action_request),
        batch=batch,
        state=ActionState.REQUESTED.value,
        context={
            name: value
            for name, value in (("ended_hold", action_request.ended_hold), ("button", word))
            if value
        },
        message="Waits for a worker.",
        requested_at=now,
        expires_at=clock.database_now(LIFE_SECONDS),
        due_at=clock.database_now(),
    )
    bump_data_version(cluster.pk)
    audit(
        "requested",
        f"{actor} asked to {action.button.lower()} {target.kind} {target.namespace}/{target.name}"
        f"{_place_text(action)}: {action_request.reason}",
        at=now,
        actor=actor,
        action=action,
        source=viewer.address if viewer is not None else "",
        details={
            "via": action_request.via,
            "forced": action_request.forced,
            "batch": batch,
            "token": token,
        },
    )
    return action


def body_hash(action_request: ActionRequest) -> str:
    """Return a hash of the request, which tells apart two requests with the same idempotency key."""
    target = action_request.target
    values: list[object] = [
        action_request.verb,
        target.cluster,
        target.api_group,
        target.kind,
        target.namespace,
    ]
    values += [
        target.name,
        target.uid,
        target.generation,
        action_request.reason,
        action_request.forced,
    ]
    values.append(action_request.until.isoformat() if action_request.until is not None else None)
    if action_request.avoid is not None:
        values.append(_avoid_json(action_request.avoid))
    return hashlib.sha256(json.dumps(values).encode()).hexdigest()


def read_request(action: Action) -> ActionRequest:
    """Return the request that an action row stores."""
    target = ActionTarget(
        cluster=action.cluster_name,
        api_group=action.api_group,
        kind=action.kind,
        namespace=action.namespace,
        name=action.name,
        uid=action.uid,
        generation=action.generation,
    )
    return ActionRequest(
        verb=Verb(action.verb),
        target=target,
        reason=action.reason,
        until=action.until,
        avoid=_read_avoid(action.avoid),
        idempotency_key=action.idempotency_key,
        forced=action.forced,
        via=action.via,
        ended_hold=action.context.get("ended_hold", ""),
    )


def _avoid_json(avoid: Avoid | None) -> dict[str, Any] | None:
    if avoid is None:
        return None
    return {"nodes": list(avoid.nodes), "topology": list(avoid.topology or ())}


def _read_avoid(stored: dict[str, Any] | None) -> Avoid | None:
    if stored is None:
        return None
    topology = stored["topology"]
    return Avoid(tuple(stored["nodes"]), (topology[0], topology[1]) if topology else None)


def _place_text(action: Action) -> str:
    text = avoid_text(action)
    return f" away from {text}" if text else ""


def avoid_text(action: Action) -> str:
    """Return the place that a relocated Job leaves; empty for other actions and for a removed exclusion."""
    avoid = _read_avoid(action.avoid)
    return avoid.text if avoid is not None and not avoid.is_empty else ""


def acquire_lease(action_id: str, holder: str, clock: DatabaseClock) -> ActionLease | None:
    """Take a due action that no worker holds. Return None if there is none."""
    due = Action.objects.filter(pk=action_id, due_at__lte=clock.database_now())
    number = LEASES.take_numbered(due, holder, clock)
    return None if number is None else ActionLease(action_id, holder, number)


@contextmanager
def writing(lease: ActionLease, clock: DatabaseClock) -> Iterator[None]:
    """Open a transaction that commits only while this worker holds the action. Raises ActionLostError."""
    with transaction.atomic():
        if LEASES.extend(_row(lease), clock) != 1:
            raise ActionLostError(f"action {lease.action_id} was taken over")
        yield


def reschedule(lease: ActionLease, clock: DatabaseClock, seconds: float) -> None:
    """Release an action and make it due again after `seconds`. Raises ActionLostError."""
    with writing(lease, clock):
        Action.objects.filter(pk=lease.action_id).update(
            due_at=clock.database_now(min(seconds, LONGEST_DELAY)), held_until=None, holder=""
        )


def release_lease(lease: ActionLease) -> None:
    """Release an action that needs no more work."""
    _row(lease).update(held_until=None, holder="")


def _row(lease: ActionLease) -> QuerySet[Action]:
    """Return the action row if this lease still holds it."""
    return Action.objects.filter(pk=lease.action_id, holder=lease.holder, number=lease.number)


def repair_future_times(clock: DatabaseClock) -> None:
    """Correct times that are too far in the future because the clock was set back.

    Otherwise the action would wait until the clock has caught up, and its object would accept no other
    action. The action becomes due now. Its lease and its expiry are at most those of a new action.
    """
    rows = Action.objects.filter(due_at__isnull=False)
    due = Q(due_at__gt=clock.database_now(LONGEST_DELAY))
    held = Q(held_until__gt=clock.database_now(ACTION_LEASE_SECONDS))
    living = Q(expires_at__gt=clock.database_now(LIFE_SECONDS))
    if not rows.filter(due | held | living).exists():
        return
    rows.filter(living).update(expires_at=clock.database_now(LIFE_SECONDS))
    LEASES.shorten(rows, clock)
    rows.filter(due).update(due_at=clock.database_now())


def due_actions(
    clock: DatabaseClock, *, waited: float = 0.0, most: int = 200, cluster_id: int | None = None
) -> list[str]:
    """Return the ids of actions that are free and have been due for at least `waited` seconds.

    The order alternates between clusters, the longest due first, so that a busy cluster does not delay the
    others. `cluster_id` limits the result to one cluster.
    """
    actions = Action.objects.filter(LEASES.is_free(clock), due_at__lte=clock.database_now(-waited))
    if cluster_id is not None:
        actions = actions.filter(cluster_id=cluster_id)
    turn = Window(RowNumber(), partition_by=F("cluster_id"), order_by=(F("due_at"), F("pk")))
    rows = actions.annotate(turn=turn).order_by("turn", "due_at", "pk")
    return list(rows.values_list("pk", flat=True)[:most])


def cluster_id_of(action_id: str) -> int:
    """Return the cluster id of an action; 0 if the action or its cluster was removed."""
    row = Action.objects.filter(pk=action_id).values_list("cluster_id", flat=True)
    return row.first() or 0


def update_row(row: Action | ActionStep, columns: dict[str, Any]) -> None:
    """Update columns of an action or a step in the table and in the given object."""
    type(row)._default_manager.filter(pk=row.pk).update(**columns)
    for name, value in columns.items():
        setattr(row, name, value)


def bump_data_version(cluster_id: int | None) -> None:
    """Increase the data version of a cluster, which wakes the pages that wait for a change."""
    if cluster_id is not None:
        Cluster.objects.filter(pk=cluster_id).update(data_version=F("data_version") + 1)


def read_only_reason(cluster_id: int | None) -> str:
    """Return a sentence that names the active read-only switch; empty if none is on.

    The caller reads it immediately before each request (2 queries).
    """
    if Switch.objects.filter(name=READ_ONLY, is_on=True).exists():
        return "gangboard is switched to read-only."
    if cluster_id is None:
        return ""
    name = Cluster.objects.filter(pk=cluster_id, read_only=True).values_list("name", flat=True)
    cluster_name = name.first()
    return f"Cluster {cluster_name} is switched to read-only." if cluster_name else ""
