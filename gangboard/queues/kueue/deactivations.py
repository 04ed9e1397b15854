"""Workloads that Kueue deactivated by itself: their causes, and how they come back.

Kueue queues a Workload again on `spec.active: true` only after an eviction with the reason `Deactivated`, which
stands for a person (workload_controller.go of v0.19.2, tried on the real one). After `DeactivatedDueTo<Cause>`
the condition `Requeued=False` stays, and only a new Workload is queued.
"""

from __future__ import annotations

from gangboard.domain.objects import Condition, Meta, find_condition
from gangboard.domain.queue import GivenUp
from gangboard.domain.shell import command
from gangboard.domain.text import label, quote_ends
from gangboard.queues.kueue.admission_checks import checks_text

_DUE_TO = "DeactivatedDueTo"
_FRAME = "The workload is deactivated due to "
_REMEDIES = {
    "MaximumExecutionTimeExceeded": "Raise the label kueue.x-k8s.io/max-exec-time-seconds of its owner",
    "RequeuingLimitExceeded": "Remove what kept its pods from being ready in time",
    "AdmissionCheck": "Remove the cause for which the check refused it",
}
"""Cause → how it is removed."""


def given_up(meta: Meta, conditions: tuple[Condition, ...], *, active: bool) -> GivenUp | None:
    """Return why Kueue never queues this Workload again; None where `spec.active` decides."""
    evicted = find_condition(conditions, "Evicted")
    if evicted is None or not evicted.is_true or not evicted.reason.startswith(_DUE_TO):
        return None
    requeued = find_condition(conditions, "Requeued")
    if active and (requeued is None or not requeued.is_false):
        return None
    ref = meta.ref
    remedy = _REMEDIES.get(evicted.reason.removeprefix(_DUE_TO), "Remove the cause")
    return GivenUp(
        reason=evicted.reason,
        cause=_cause(evicted),
        advice=f"{remedy}, then delete {label(ref)} so that Kueue creates a new one.",
        command=command(
            "kubectl delete workloads.kueue.x-k8s.io {} --namespace={}", ref.name, ref.namespace
        ),
    )


def _cause(evicted: Condition) -> str:
    said = checks_text(evicted.message, "refused it", "refused it")
    if said:
        return said
    return f"“{quote_ends((evicted.message or evicted.reason).removeprefix(_FRAME))}”"
