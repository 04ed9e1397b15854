"""Drift after `verified`: comparison of guarded actions with the polled objects, and detection of reverts."""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django.db import transaction

from gangboard.actions import actor_client, patches
from gangboard.actions.actor_client import ActorClient, Json, get_object
from gangboard.actions.clock import Clock
from gangboard.actions.retries import TRANSIENT_CODES
from gangboard.actions.verify import change_detection
from gangboard.domain.action import ActionState
from gangboard.domain.api_resource import WatchState
from gangboard.domain.hold import HOLDS, Hold
from gangboard.domain.owner import Owner
from gangboard.domain.queue import QueueEntry
from gangboard.kube.errors import KubeError
from gangboard.logs import get_logger
from gangboard.plugins import registry
from gangboard.store import actions, row_leases
from gangboard.store.audit import audit
from gangboard.store.feed import add_action_event
from gangboard.store.gang_objects import action_models
from gangboard.store.models import Action, Cluster, ResourceState
from gangboard.store.objects import read_objects
from gangboard.store.suspend_records import recorded_hold

log = get_logger(__name__)

TURN_SECONDS = 30.0
"""Longest time that one turn works on one cluster. The next turn continues with the remaining actions."""
REST_SECONDS = 15.0
"""Backoff for a cluster that did not answer."""
CHORE = "inspect"


def find_suspicious(cluster_id: int | None = None) -> dict[int, list[str]]:
    """Return ids of guarded actions that the stored objects seem to contradict, by cluster.

    Without a `cluster_id` it returns those of all clusters. It reads only the database: one query per
    cluster with guarded actions, and a few for all. Stored objects may be older than the action, so
    `inspect_all` decides by a live read.
    """
    suspicious: dict[int, list[str]] = {}
    all_guarded = _guarded(cluster_id)
    states = ResourceState.objects.filter(
        cluster__in=all_guarded, resource=HOLDS, state=WatchState.OK
    ).values_list("cluster_id", flat=True)
    with_holds = set(states)
    for cluster, guarded in all_guarded.items():
        uids = {uid for action in guarded for uid in _uids(action)}
        stored = read_objects(cluster.pk, uids, action_models())
        holds_known = cluster.pk in with_holds
        differing = [
            action.pk for action in guarded if _differs(action, stored, holds_known=holds_known)
        ]
        if differing:
            suspicious[cluster.pk] = differing
    return suspicious


def _guarded(cluster_id: int | None) -> dict[Cluster, list[Action]]:
    """Return the guarded actions of reachable clusters whose objects have no open action.

    With a `cluster_id` it returns those of that cluster only.
    """
    busy = set(
        Action.objects.filter(finished_at=None).values_list("cluster_id", "namespace", "name")
    )
    guarded: dict[Cluster, list[Action]] = defaultdict(list)
    rows = Action.objects.filter(
        guarded=True, cluster__problem="", cluster__actor_credentials__isnull=False
    )
    if cluster_id is not None:
        rows = rows.filter(cluster_id=cluster_id)
    for action in rows.select_related("cluster"):
        place = (action.cluster_id, action.namespace, action.name)
        if action.cluster is not None and place not in busy:
            guarded[action.cluster].append(action)
    return guarded


def _uids(action: Action) -> Iterator[str]:
    for subject in action.context.get("subjects", ()):
        yield subject["uid"]
    hold = recorded_hold(action)
    if hold is not None and hold.get("uid"):
        yield hold["uid"]


def _differs(action: Action, stored: dict[str, Any], *, holds_known: bool) -> bool:
    for subject in action.context.get("subjects", ()):
        model = stored.get(subject["uid"])
        if model is None:
            return True
        is_current = model.meta.generation >= (subject["generation"] or 0)
        if is_current and not _has_values(model, subject["wanted"]):
            return True
        if not subject["wanted"] and isinstance(model, Owner) and not model.suspended:
            return True
    hold = recorded_hold(action)
    if hold is None or not holds_known:
        return False
    return not _is_same_hold(stored.get(hold.get("uid", "")), hold)


def _has_values(model: Any, expected: dict[str, Any]) -> bool:
    """Return whether a stored object has these values. Fields that are not stored count as unchanged."""
    current: dict[str, Any] = {}
    if isinstance(model, Owner):
        kind = registry.owner_kind(model.meta.ref.group, model.meta.ref.kind)
        if kind is not None:
            current[patches.pointer_to(kind.suspend_field)] = model.suspended
        current["/spec/parallelism"] = model.parallelism
    elif isinstance(model, QueueEntry):
        current = {"/spec/active": model.active}
    return all(current.get(pointer, value) == value for pointer, value in expected.items())


def _is_same_hold(model: Any, hold: dict[str, Any]) -> bool:
    return (
        isinstance(model, Hold)
        and (model.job_name, model.owner_uid) == (hold["job"], hold["owner_uid"])
        and model.meta.deleting_since is None
    )


def inspect_all(
    cluster_id: int,
    clock: Clock,
    open_client: actor_client.ClientFactory = actor_client.open_client,
) -> dict[str, ActionState]:
    """Inspect the suspicious actions of a cluster live. Return id → state of the changed ones.

    One worker at a time inspects a cluster; for any other the result is empty. It stops if the cluster
    does not answer, and the cluster is tried again after REST_SECONDS.
    """
    changed: dict[str, ActionState] = {}
    with row_leases.lock_chore(cluster_id, CHORE, clock) as lock:
        if lock is None:
            return {}
        deadline = clock.monotonic() + TURN_SECONDS
        for action_id in find_suspicious(cluster_id).get(cluster_id, ()):
            if clock.monotonic() > deadline or not lock.renew():
                break
            try:
                state = inspect(action_id, clock, open_client)
            except actor_client.NoActorError as error:
                log.warning("guarded action not inspected", action=action_id, why=str(error))
                break
            except KubeError as error:
                log.warning("guarded action not inspected", action=action_id, why=error.sentence)
                if error.code not in TRANSIENT_CODES:
                    continue
                lock.rest(REST_SECONDS)
                break
            if state is not None:
                changed[action_id] = state
    return changed


def inspect(
    action_id: str, clock: Clock, open_client: actor_client.ClientFactory = actor_client.open_client
) -> ActionState | None:
    """Check live whether a guarded action still holds. Return its state if it has changed.

    Raises KubeError and NoActorError.
    """
    action = Action.objects.select_related("cluster").filter(pk=action_id, guarded=True).first()
    if action is None or action.cluster is None:
        return None
    client = open_client(action.cluster, action.pk)
    try:
        return _inspect(action, client, clock.now())
    finally:
        client.close()


def _inspect(action: Action, client: ActorClient, now: datetime) -> ActionState | None:
    since = action.applied_at or action.requested_at
    context = copy.deepcopy(action.context)
    hold = recorded_hold(action)
    changed = change_detection.read_changed_objects(
        client, context["subjects"], survives=hold is not None, since=since, now=now
    )
    owner = context.get("above")
    is_owner_recreated = owner is not None and _is_recreated(client, owner)
    loss = change_detection.find_hold_loss(client, hold) if hold is not None else ""
    seconds = (now - since).total_seconds()
    if is_owner_recreated and hold is not None and owner is not None:
        sentence = (
            f"Hold lost: {owner['name']} was re-created, and the Hold belongs to the deleted one."
        )
        return _mark_reverted(action, sentence, "", seconds, now)
    if changed.undone is not None:
        undone = changed.undone
        text = f"{undone.sentence} {loss}".strip()
        sentence = f"Hold lost: {text}" if hold is not None else f"It was undone: {text}"
        return _mark_reverted(action, sentence, undone.manager, undone.held_seconds, now)
    if not _is_in_effect(action, changed.raws):
        name = f"{action.kind} {action.name}"
        sentence = f"It was undone: {name} no longer reports that it is suspended."
        return _mark_reverted(action, sentence, "", seconds, now)
    if changed.missing:
        _handle_missing(action, client, owner)
        return None
    if loss:
        sentence = f"Hold lost: {loss} {action.kind} {action.name} is still suspended, but nothing "
        return _mark_reverted(action, f"{sentence}keeps it so.", "", seconds, now)
    if any(_has_ended(raw) for raw in changed.raws):
        _unguard(action)
    elif context != action.context:
        Action.objects.filter(pk=action.pk, guarded=True).update(context=context)
    return None


def _is_in_effect(action: Action, raws: list[Json]) -> bool:
    """Return whether the status of the objects still shows the suspension, if the lever reads it."""
    lever = registry.lever(action.lever)
    return lever is None or all(lever.confirms_action(raw, True) is not False for raw in raws)


def _is_recreated(client: ActorClient, owner: dict[str, Any]) -> bool:
    raw = get_object(client, owner["path"])
    return raw is not None and raw["metadata"]["uid"] != owner["uid"]


def _has_ended(raw: Json) -> bool:
    conditions = (raw.get("status") or {}).get("conditions") or ()
    return any(
        condition["type"] in ("Complete", "Completed", "Failed") and condition["status"] == "True"
        for condition in conditions
    )


def _handle_missing(action: Action, client: ActorClient, owner: dict[str, Any] | None) -> None:
    """Stop guarding a missing object, unless its owner exists and may be restarting."""
    raw = get_object(client, owner["path"]) if owner is not None else None
    if raw is None or _has_ended(raw):
        _unguard(action)


def _unguard(action: Action) -> None:
    Action.objects.filter(pk=action.pk).update(guarded=False)


def _mark_reverted(
    action: Action, sentence: str, manager: str, seconds: float, now: datetime
) -> ActionState | None:
    with transaction.atomic():
        changed = Action.objects.filter(pk=action.pk, guarded=True).update(
            state=ActionState.REVERTED.value,
            guarded=False,
            message=sentence,
            reverted_by=manager[:253],
            held_seconds=round(seconds, 2),
        )
        if not changed:
            return None
        actions.bump_data_version(action.cluster_id)
        add_action_event(action, at=now)
        audit(
            "state",
            sentence,
            at=now,
            actor="gangboard",
            action=action,
            details={"state": ActionState.REVERTED.value, "verb": action.verb},
        )
    log.info("action reverted", action=action.pk, by=manager, cluster=action.cluster_name)
    return ActionState.REVERTED


def unguard_older_actions(action: Action) -> None:
    """Stop guarding older actions on the same objects, because only the newest counts.

    The caller opens the transaction.
    """
    own = paths(action)
    older = Action.objects.filter(
        cluster=action.cluster, namespace=action.namespace, guarded=True
    ).exclude(pk=action.pk)
    overruled = [
        other.pk
        for other in older
        if paths(other) & own or (other.kind, other.name) == (action.kind, action.name)
    ]
    if overruled:
        Action.objects.filter(pk__in=overruled).update(guarded=False)


def paths(action: Action) -> set[str]:
    """Return the URL paths of the objects that an action has changed."""
    return {subject["path"] for subject in action.context.get("subjects", ())}
