"""Admission of a new owner by the admission systems of its cluster."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from typing import Any

from gangboard.domain.api_resource import WatchState
from gangboard.domain.forecast import AdmissionState, Forecast, PodSet
from gangboard.domain.owner import Owner
from gangboard.domain.pod import Pod
from gangboard.domain.pod_constraints import Toleration
from gangboard.domain.queue import QueueEntry
from gangboard.domain.quota import Flavor, Queue
from gangboard.domain.text import names
from gangboard.facts.bare_objects import as_owner
from gangboard.plugins import registry
from gangboard.plugins.child_manifests import string_map
from gangboard.plugins.queue_system import QueueSystem
from gangboard.polling.checks.expansion import Expander, NewObject, pods_below
from gangboard.polling.checks.loaded_cluster import LoadedCluster
from gangboard.polling.visibility import proves_absence


def forecast_admission(made: NewObject, loaded: LoadedCluster, now: datetime) -> Forecast | None:
    """Return the decision of the first admission system that would manage the object, or None.

    The decision is unknown if a kind of the system cannot be read, because its objects then only seem to be missing.
    """
    owner = made.model if isinstance(made.model, Owner) else _pod_as_owner(made.model)
    if owner is None:
        return None
    state = AdmissionState(loaded.cache.queues.all(), tuple(loaded.entries.values()))
    pod_sets = pod_sets_of(made)
    annotations = string_map(made.manifest, "metadata", "annotations")
    for system in registry.queue_systems():
        if _is_served(system, loaded):
            forecast = system.forecast(owner, pod_sets, state, annotations)
            if forecast is not None:
                return _as_far_as_read(forecast, system, loaded, now)
    return None


def _as_far_as_read(
    forecast: Forecast, system: QueueSystem, loaded: LoadedCluster, now: datetime
) -> Forecast:
    unread = [
        resource.kind
        for resource in system.resources
        if resource.model in (Queue, Flavor, QueueEntry)
        and loaded.cache.watched[resource.key].state != WatchState.NOT_SERVED
        and not proves_absence(loaded.cache.watched[resource.key], now)
    ]
    if not unread:
        return forecast
    kinds = names(f"{kind}s" for kind in unread)
    return replace(forecast, unknown=f"The {kinds} of {system.label} cannot be read completely.")


def _pod_as_owner(model: Any) -> Owner | None:
    """Return a pod that names a queue as an owner, else None."""
    if not isinstance(model, Pod):
        return None
    queue = next(
        (model.labels[label] for label in registry.pod_queue_labels() if label in model.labels), ""
    )
    if not queue:
        return None
    labels = tuple(sorted(model.labels.items()))
    return replace(as_owner(model, (), (model,), ()), queue=queue, labels=labels)


def _is_served(system: QueueSystem, loaded: LoadedCluster) -> bool:
    watched = loaded.cache.watched
    return any(watched[resource.key].version for resource in system.resources)


def pod_sets_of(made: NewObject) -> tuple[PodSet, ...]:
    """Return the pods of an object by role: those that its controllers create at once, and later ones."""
    roles = roles_of_pods(made)
    pods: defaultdict[str, list[Pod]] = defaultdict(list)
    for item in pods_below(made):
        pods[roles[item.uid]].append(item.model)
    # Controllers add containers to pods. Admission systems count the templates of the owner.
    requests = _requests_by_role(made.model)
    sets = [
        PodSet(role, len(members), requests.get(role, members[0].requests), members[0].needs)
        for role, members in pods.items()
    ]
    owner = made.model
    if isinstance(owner, Owner):
        sets += [
            PodSet(role.name, role.replicas * role.pods, role.requests)
            for role in owner.roles
            if role.name not in pods and len(owner.roles) > 1 and role.replicas * role.pods
        ]
    return tuple(sets)


def _requests_by_role(owner: Any) -> dict[str, dict[str, Decimal]]:
    """Return role → requests of one pod by the owner's own templates. Roles without any are left out."""
    if not isinstance(owner, Owner):
        return {}
    requests = {role.name: role.requests for role in owner.roles if role.requests}
    if len(owner.roles) == 1:
        requests[""] = owner.roles[0].requests
    elif not owner.roles and len(owner.pod_requests) == 1:
        requests[""] = owner.pod_requests[0].requests
    return {role: amounts for role, amounts in requests.items() if amounts}


def roles_of_pods(made: NewObject) -> dict[str, str]:
    """Return uid of a pod → name of its role. The name is empty if the owner has one role."""
    roles: dict[str, str] = {}
    owner = made.model
    kind = registry.owner_kind(made.resource.group, made.resource.kind)

    def visit(item: NewObject, role: str) -> None:
        if isinstance(item.model, Owner) and item.model.role_name:
            role = item.model.role_name
        if isinstance(item.model, Pod):
            roles[item.uid] = role or (kind.role_of(item.model) if kind is not None else "")
        for child in item.children:
            visit(child, role)

    visit(made, "")
    if isinstance(owner, Owner) and len(owner.roles) <= 1 and len(set(roles.values())) <= 1:
        return dict.fromkeys(roles, "")
    return roles


def with_suspend(made: NewObject, expander: Expander, *, suspended: bool) -> NewObject:
    """Return an owner as if its manifest suspended it, or did not. Raises ExpansionError."""
    kind = registry.owner_kind(made.resource.group, made.resource.kind)
    if kind is None or made.model.suspended is suspended:
        return made
    manifest = dict(made.manifest)
    target = manifest
    for name in kind.suspend_field[:-1]:
        inner = target.get(name)
        target[name] = target = dict(inner) if isinstance(inner, dict) else {}
    target[kind.suspend_field[-1]] = suspended
    return expander.expand(manifest)


def gate_pods(made: NewObject, name: str, expander: Expander) -> None:
    """Add a scheduling gate to each pod of an object. Raises ExpansionError."""
    for item in pods_below(made):
        spec = item.manifest.setdefault("spec", {})
        spec["schedulingGates"] = [*(spec.get("schedulingGates") or ()), {"name": name}]
        item.manifest["status"]["conditions"][0]["reason"] = "SchedulingGated"
        expander.decode_again(item)


def apply_admission(made: NewObject, forecast: Forecast, expander: Expander) -> None:
    """Add the node labels and tolerations of the admission to the pods of an object. Raises ExpansionError."""
    if not (forecast.node_labels or forecast.tolerations):
        return
    roles = roles_of_pods(made)
    for item in pods_below(made):
        labels = forecast.node_labels.get(roles[item.uid], {})
        tolerations = forecast.tolerations.get(roles[item.uid], ())
        if not (labels or tolerations):
            continue
        spec = item.manifest.setdefault("spec", {})
        spec["nodeSelector"] = {**(spec.get("nodeSelector") or {}), **labels}
        spec["tolerations"] = [*(spec.get("tolerations") or ()), *map(_wire, tolerations)]
        expander.decode_again(item)


def _wire(toleration: Toleration) -> dict[str, str]:
    fields = {
        "key": toleration.key,
        "operator": toleration.operator,
        "value": toleration.value,
        "effect": toleration.effect,
    }
    return {name: value for name, value in fields.items() if value}


def entry_uid(made: NewObject) -> str:
    """Return the uid of the queue entry of a new object."""
    return f"{made.uid}-entry"


def with_owner(forecast: Forecast, made: NewObject) -> Forecast:
    """Return the forecast with an entry that belongs to the new object, whatever uid its system gave it."""
    entry = forecast.entry
    ref = entry.meta.ref
    uid = entry_uid(made)
    meta = replace(
        entry.meta, ref=replace(ref, namespace=ref.namespace or _namespace(made), uid=uid)
    )
    return replace(forecast, entry=replace(entry, meta=meta, owner_uid=made.uid))


def _namespace(made: NewObject) -> str:
    return str(made.manifest["metadata"]["namespace"])
