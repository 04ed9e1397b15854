"""Actions, steps and audit lines as the act worker would leave them."""

from __future__ import annotations

import itertools
from datetime import timedelta
from typing import Any

from gangboard.store.audit import audit
from gangboard.store.models import Action, ActionStep, AuditEntry, Cluster
from tests.factories import NOW

_numbers = itertools.count(1)
PATH = "/apis/batch/v1/namespaces/research/jobs/llama-workers-1"
PATCH = '[{"op":"replace","path":"/spec/suspend","value":true}]'


def make_action(cluster: Cluster, /, **columns: Any) -> Action:
    """Make a finished suspend of one Job by a Hold. `steps` are (kind, name, state, result).

    With `cluster=None` the cluster of the action has been removed.
    """
    number = next(_numbers)
    steps = columns.pop("steps", ())
    values = {
        "id": f"{number:032x}",
        "verb": "suspend",
        "cluster": cluster,
        "cluster_name": cluster.name,
        "gang_id": "gang-1",
        "api_group": "batch",
        "kind": "Job",
        "namespace": "research",
        "name": f"llama-workers-{number}",
        "uid": f"job-uid-{number}",
        "generation": 1,
        "reason": "gpu-07 throws ECC errors",
        "actor_name": "olga",
        "via": "page",
        "state": "verified",
        "lever": "hold",
        "message": "Held since 10:00:00.",
        "requested_at": NOW + timedelta(seconds=number),
        "expires_at": NOW + timedelta(minutes=5),
        "sent_at": NOW + timedelta(seconds=number + 1),
        "finished_at": NOW + timedelta(seconds=number + 5),
    }
    action = Action.objects.create(**{**values, **columns})
    for position, (kind, name, state, result) in enumerate(steps):
        ActionStep.objects.create(
            action=action,
            position=position,
            kind=kind,
            name=name,
            method="PATCH",
            path=PATH,
            patch=PATCH,
            state=state,
            result=result,
            at=NOW,
        )
    return action


def make_audit(
    cluster: Cluster | None, namespace: str, sentence: str, **columns: Any
) -> AuditEntry:
    """Add one line to the audit."""
    values = {
        "at": NOW + timedelta(seconds=next(_numbers)),
        "actor": "olga",
        "event": "denied",
        "namespace": namespace,
        "sentence": sentence,
    }
    if "actor_name" in columns:
        values["actor"] = columns.pop("actor_name")
    audit(cluster=cluster, **{**values, **columns})
    return AuditEntry.objects.latest("number")
