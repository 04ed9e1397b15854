"""Drift after `verified`: guarded actions are compared with what the poll stores, and whoever undid one is named."""

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
from gangboard.store.feed import feed_action
from gangboard.store.gang_objects import action_models
from gangboard.store.models import Action, Cluster, ResourceState
from gangboard.store.objects import read_objects
from gangboard.store.suspend_records import relied_on

log = get_logger(__name__)

TURN_SECONDS = 30.0
"""The most that one turn works on one cluster; the rest has its turn in the next."""
REST_SECONDS = 15.0
"""How long a cluster that did not answer is left alone."""
CHORE = "inspect"


def suspicious(cluster_id: int | None = None) -> dict[int, list[str]]:
    """Return ids of guarded actions that the stored objects seem to contradict, by cluster.

    Reads the database only: one query per cluster with guarded actions, and a few for all. What is
    stored may be older than the action, so a live look decides (`inspect_all`). None asks for all clusters.
    """
    found: dict[int, list[str]] = {}
    all_guarded = _guarded(cluster_id)
    states = ResourceState.objects.filter(
        cluster__in=all_guarded, resource=HOLDS, state=WatchState.OK
    ).values_list("cluster_id", flat=True)
    sees_holds = set(states)
    for cluster, guarded in all_guarded.items():
        uids = {uid for action in guarded for uid in _uids(action)}
        stored = read_objects(cluster.pk, uids, action_models())
        holds_known = cluster.pk in sees_holds
        differing = [
            action.pk for action in guarded if _differs(action, stored, holds_known=holds_known)
        ]
        if differing:
            found[cluster.pk] = differing
    return found


def _guarded(cluster_id: int | None) -> dict[Cluster, list[Action]]:
    """Return the guarded actions that nobody acts on, of clusters that answer, or of one of them."""
    busy = set(
        Action.objects.filter(finished_at=None).values_list("cluster_id", "namespace", "name")
    )
    found: dict[Cluster, list[Action]] = defaultdict(list)
    rows = Action.objects.filter(
        guarded=True, cluster__problem="", cluster__actor_credentials__isnull=False
    )
    if cluster_id is not None:
        rows = rows.filter(cluster_id=cluster_id)
    for action in rows.select_related("cluster"):
        place = (action.cluster_id, action.namespace, action.name)
        if action.cluster is not None and place not in busy:
            found[action.cluster].append(action)
    return found


def _uids(action: Action) -> Iterator[str]:
    for subject in action.context.get("subjects", ()):
        yield subject["uid"]
    hold = relied_on(action)
    if hold is not None and hold.get("uid"):
        yield hold["uid"]


def _differs(action: Action, stored: dict[str, Any], *, holds_known: bool) -> bool:
    for subject in action.context.get("subjects", ()):
        model = stored.get(subject["uid"])
        if model is None:
            return True
        newer = model.meta.generation >= (subject["generation"] or 0)
        if newer and not _has(model, subject["wanted"]):
            return True
        if not subject["wanted"] and isinstance(model, Owner) and not model.suspended:
            return True
    hold = relied_on(action)
    if hold is None or not holds_known:
        return False
    return not _is_same_hold(stored.get(hold.get("uid", "")), hold)


def _has(model: Any, wanted: dict[str, Any]) -> bool:
    """Whether a stored object has the values; a field that is not stored is taken for kept."""
    now: dict[str, Any] = {}
    if isinstance(model, Owner):
        kind = registry.owner_kind(model.meta.ref.group, model.meta.ref.kind)
        if kind is not None:
            now[patches.pointer_to(kind.suspend_field)] = model.suspended
        now["/spec/parallelism"] = model.parallelism
    elif isinstance(model, QueueEntry):
        now = {"/spec/active": model.active}
    return all(now.get(pointer, value) == value for pointer, value in wanted.items())


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
    """Look live whether the suspicious actions of a cluster still hold; return id → state of those changed.

    One worker at a time does it, and stops where the cluster does not answer: it is tried again after a
    while. Empty where somebody else is at it.
    """
    found: dict[str, ActionState] = {}
    with row_leases.lock_chore(cluster_id, CHORE, clock) as held:
        if held is None:
            return {}
        until = clock.monotonic() + TURN_SECONDS
        for action_id in suspicious(cluster_id).get(cluster_id, ()):
            if clock.monotonic() > until or not held.renew():
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
                held.rest(REST_SECONDS)
                break
            if state is not None:
                found[action_id] = state
    return found


def inspect(
    action_id: str, clock: Clock, open_client: actor_client.ClientFactory = actor_client.open_client
) -> ActionState | None:
    """Look live whether a guarded action still holds; return its state when that has changed.

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
    hold = relied_on(action)
    seen = change_detection.look(
        client, context["subjects"], survives=hold is not None, since=since, now=now
    )
    above = context.get("above")
    renewed_above = above is not None and _is_renewed(client, above)
    lost = change_detection.hold_loss(client, hold) if hold is not None else ""
    seconds = (now - since).total_seconds()
    if renewed_above and hold is not None and above is not None:
        sentence = (
            f"Hold lost: {above['name']} was re-created, and the Hold belongs to the deleted one."
        )
        return _undo(action, sentence, "", seconds, now)
    if seen.undone is not None:
        text = f"{seen.undone.sentence} {lost}".strip()
        sentence = f"Hold lost: {text}" if hold is not None else f"It was undone: {text}"
        return _undo(action, sentence, seen.undone.manager, seen.undone.held_seconds, now)
    if not _is_in_effect(action, seen.raws):
        name = f"{action.kind} {action.name}"
        sentence = f"It was undone: {name} no longer reports that it is suspended."
        return _undo(action, sentence, "", seconds, now)
    if seen.missing:
        _gone(action, client, above)
        return None
    if lost:
        sentence = f"Hold lost: {lost} {action.kind} {action.name} is still suspended, but nothing "
        return _undo(action, f"{sentence}keeps it so.", "", seconds, now)
    if any(_has_ended(raw) for raw in seen.raws):
        _let_go(action)
    elif context != action.context:
        Action.objects.filter(pk=action.pk, guarded=True).update(context=context)
    return None


def _is_in_effect(action: Action, raws: list[Json]) -> bool:
    """Whether the status of what was stopped says so still, where its lever reads that."""
    lever = registry.lever(action.lever)
    return lever is None or all(lever.in_effect(raw, True) is not False for raw in raws)


def _is_renewed(client: ActorClient, above: dict[str, Any]) -> bool:
    raw = get_object(client, above["path"])
    return raw is not None and raw["metadata"]["uid"] != above["uid"]


def _has_ended(raw: Json) -> bool:
    conditions = (raw.get("status") or {}).get("conditions") or ()
    return any(
        condition["type"] in ("Complete", "Completed", "Failed") and condition["status"] == "True"
        for condition in conditions
    )


def _gone(action: Action, client: ActorClient, above: dict[str, Any] | None) -> None:
    """The object is not there: for good with its owner, for a moment while that restarts."""
    raw = get_object(client, above["path"]) if above is not None else None
    if raw is None or _has_ended(raw):
        _let_go(action)


def _let_go(action: Action) -> None:
    Action.objects.filter(pk=action.pk).update(guarded=False)


def _undo(
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
        actions.tell(action.cluster_id)
        feed_action(action, at=now)
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


def unguard_others(action: Action) -> None:
    """Stop comparing older actions on the same objects: only the newest counts. In a transaction."""
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
