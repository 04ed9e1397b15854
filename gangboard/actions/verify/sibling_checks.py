"""Changes of siblings while an action was carried out: lost pods, restarted containers, a restart of the owner."""

from __future__ import annotations

from typing import Any

from gangboard.actions.actor_client import get_object
from gangboard.actions.checking import restarts_of
from gangboard.actions.execution import ActionExecution
from gangboard.actions.live_objects import LiveReader
from gangboard.actions.verify import pod_checks
from gangboard.plugins import registry

MAX_NOTES = 10
"""Most sentences of one action."""


def sibling_changes(execution: ActionExecution) -> list[str]:
    """Return sentences about changes of siblings, the owner's own restart first. Raises KubeError."""
    context = execution.context
    before, owner = context["siblings"], context.get("above")
    changes = []
    live = LiveReader(execution.client, context.get("versions", {}))
    if owner is not None:
        changes += _owner_restart(execution, live, owner)
    if before["pods"]:
        pods = live.pods(execution.action.namespace, before["jobs"])
        ended = frozenset(
            pod.meta.controller.uid
            for pod in pods
            if pod.phase == "Succeeded" and pod.meta.controller is not None
        )
        if not changes:
            changes += pod_checks.sibling_changes(before["pods"], pods, finished=ended)
    return changes[:MAX_NOTES]


def _owner_restart(
    execution: ActionExecution, live: LiveReader, owner: dict[str, Any]
) -> list[str]:
    raw = get_object(execution.client, owner["path"])
    if raw is None or raw["metadata"]["uid"] != owner["uid"]:
        return [f"{owner['name']} is gone."]
    kind = registry.owner_kind(owner["group"], owner["kind"])
    assert kind is not None  # noqa: S101  # it was known when the baseline was stored
    current = live.read_owner(kind, execution.action.namespace, raw["metadata"]["name"])
    restarts = restarts_of(current.owner) if current is not None else 0
    if restarts <= owner["restarts"]:
        return []
    return [
        f"{owner['name']} has restarted meanwhile (restart {restarts}), so its Jobs have new pods; "
        "this action did not cause that."
    ]
