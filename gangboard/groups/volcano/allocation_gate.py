"""The scheduling gate with which Volcano (v1.15, opt-in) keeps pods until their queue has capacity.

Its webhook adds the gate when the pod is created. In each session the scheduler removes the gate from a pod for which
`Allocatable` finds capacity in the queue, if the pod has no other gate (allocate.go). The limit is the capability of
the queue and its ancestors, and at most the allocatable resources of all nodes (capacity.go).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal

from gangboard.domain.health import Health, Stage
from gangboard.domain.pod import Pod
from gangboard.domain.quota import Quota
from gangboard.domain.resources import base_units, scheduler_units
from gangboard.domain.text import names, out_of, plural
from gangboard.domain.verdict import Evidence, Finding
from gangboard.facts.findings import unit_finding
from gangboard.facts.grace_periods import ATTEMPT_GRACE, newest_creation
from gangboard.facts.scheduler_rules import queue_of, waiting_for_quota
from gangboard.facts.scheduler_text import has_rejected_pods
from gangboard.facts.unit import Unit, lacks_nodes
from gangboard.groups.volcano.queue_state import waits_for_queue
from gangboard.placement.amounts import format_amount
from gangboard.plugins.rule import UnitRule

_GATE = "scheduling.volcano.sh/queue-allocation-gate"


def _gated(unit: Unit) -> list[Pod]:
    """Return the unplaced members of an admitted group that only this gate keeps. Empty if another gate does too."""
    gated = [pod for pod in unit.unplaced if pod.gates]
    if not lacks_nodes(unit) or waits_for_queue(unit):
        return []
    return [] if any(set(pod.gates) != {_GATE} for pod in gated) else gated


def _find_gated(unit: Unit) -> Finding | None:
    """Return a finding if the queue has no capacity for any gated pod, or if its capacity is unknown for long."""
    gated = _gated(unit)
    fits = [_fits(unit, pod) for pod in gated]
    if not gated or True in fits:
        return None
    is_full = None not in fits
    if not is_full and (_is_young(unit, gated) or has_rejected_pods(unit)):
        return None
    number, them = out_of(len(gated), len(unit.current), "pod"), _them(gated)
    name = _queue_name(unit)
    return unit_finding(
        GATED,
        unit,
        f"{name[0].upper()}{name[1:]} has no capacity for {number}, so Volcano keeps {them} gated."
        if is_full
        else f"Volcano keeps {number} gated until {name} has capacity for {them}.",
        evidence=_evidence(unit, gated),
        since=_since(gated),
        recheck_at=unit.now + ATTEMPT_GRACE,
    )


def _find_kept(unit: Unit) -> Finding | None:
    """Return a finding for young gates, and for old gates of pods for which the queue has capacity.

    The session that removes the gates writes the numbers of the queue at its end, so both change together.
    A refused member without a gate is the nearer cause: Volcano then tries no other pod of its group.
    """
    gated = _gated(unit)
    fits = [_fits(unit, pod) for pod in gated]
    if not gated or has_rejected_pods(unit) or all(fit is False for fit in fits):
        return None
    if _is_young(unit, gated):
        return _not_removed_yet(unit, gated)
    fitting = [pod for pod, fit in zip(gated, fits, strict=True) if fit]
    if not fitting:
        return None
    name = _queue_name(unit)
    return unit_finding(
        KEPT,
        unit,
        f"{name[0].upper()}{name[1:]} has room for {out_of(len(fitting), len(unit.current), 'pod')} by its "
        f"capability, and Volcano keeps {_them(fitting)} gated.",
        health=Health.BLOCKED,
        advice=(
            "Check the log of Volcano's scheduler, which removes the gate. It also counts the guarantees of "
            "other queues, and pods without the gate that wait for a node.",
        ),
        evidence=_evidence(unit, fitting),
        since=_since(fitting),
        recheck_at=unit.now + ATTEMPT_GRACE,
    )


def _not_removed_yet(unit: Unit, gated: Sequence[Pod]) -> Finding:
    newest = newest_creation(tuple(gated))
    return unit_finding(
        KEPT,
        unit,
        f"Volcano has not removed its gate from {out_of(len(gated), len(unit.current), 'pod')} yet.",
        health=Health.STARTING,
        evidence=_evidence(unit, gated),
        since=_since(gated),
        recheck_at=newest + ATTEMPT_GRACE if newest is not None else None,
    )


def _them(pods: Sequence[Pod]) -> str:
    return "it" if len(pods) == 1 else "them"


def _find_second_gate(unit: Unit) -> Finding | None:
    """Return a finding if pods have a gate of another controller as well, which Volcano waits for."""
    if not lacks_nodes(unit):
        return None
    both = [pod for pod in unit.unplaced if _GATE in pod.gates and len(set(pod.gates)) > 1]
    gates = sorted({gate for pod in both for gate in pod.gates if gate != _GATE})
    if not both:
        return None
    domains = sorted({gate.partition("/")[0] for gate in gates if "/" in gate})
    remover = f"the controller of {names(domains)}" if domains else "the controller that set it"
    noun = "scheduling gate" if len(gates) == 1 else "scheduling gates"
    return unit_finding(
        SECOND_GATE,
        unit,
        f"{out_of(len(both), len(unit.current), 'pod')} {plural(len(both), 'wait')} for {noun} {names(gates)}. "
        "Volcano removes its own gate only after that.",
        advice=(f"Check {remover}: Volcano looks at its queue afterwards.",),
        evidence=tuple(
            Evidence("spec.schedulingGates", names(pod.gates), pod.meta.ref) for pod in both[:3]
        ),
        since=_since(both),
    )


def _is_young(unit: Unit, gated: Sequence[Pod]) -> bool:
    newest = newest_creation(tuple(gated))
    return newest is not None and newest + ATTEMPT_GRACE > unit.now


def _since(pods: Sequence[Pod]) -> datetime | None:
    times = [pod.scheduled.since for pod in pods if pod.scheduled and pod.scheduled.since]
    return min(times, default=None)


# The capacity of the queue


def _fits(unit: Unit, pod: Pod) -> bool | None:
    """Return whether the queue has capacity for a pod, or None if its numbers leave that open."""
    queue = queue_of(unit)
    if queue is None:
        return None
    levels = [
        {quota.resource: quota for quota in level.quotas}
        for level in unit.gang.queues.lineage(queue)
    ]
    fits = [
        _has_capacity(unit, resource, amount, [level.get(resource) for level in levels])
        for resource, amount in pod.requests.items()
        if amount
    ]
    if False in fits:
        return False
    return None if None in fits or not fits else True


def _has_capacity(
    unit: Unit, resource: str, amount: Decimal, quotas: Sequence[Quota | None]
) -> bool | None:
    """Return whether a queue and its ancestors have capacity for a resource, by their quotas, the queue's first.

    The answer is None for unknown nodes and for a resource without a limit, unless a known limit is exceeded.
    """
    limits = [
        (quota.nominal, quota.used)
        for quota in quotas
        if quota is not None and quota.nominal is not None
    ]
    own = quotas[0].used if quotas[0] is not None else Decimal(0)
    total = _allocatable(unit, resource)
    if any(used + amount > limit for limit, used in limits):
        return False
    if total is not None and own + amount > total:
        return False
    return True if limits and total is not None else None


def _allocatable(unit: Unit, resource: str) -> Decimal | None:
    """Return the allocatable amount of all nodes in base units, or None for unknown nodes."""
    room = unit.gang.cluster.room
    if room.why:
        return None
    return base_units(resource, sum(node.allocatable.get(resource, 0) for node in room.nodes))


def _queue_name(unit: Unit) -> str:
    group = unit.group
    return f"queue {group.queue}" if group is not None and group.queue else "its queue"


def _evidence(unit: Unit, gated: Sequence[Pod]) -> tuple[Evidence, ...]:
    """Return the gate, the queue, and the numbers of the queue for the requested resources."""
    group, queue = unit.group, queue_of(unit)
    named = (Evidence("queue", group.queue, group.meta.ref),) if group is not None else ()
    requested = {name for pod in gated for name, amount in pod.requests.items() if amount}
    numbers = (
        (
            Evidence(
                f"{quota.resource} in {field}", _amount_text(quota.resource, amount), queue.meta.ref
            )
            for quota in queue.quotas
            if quota.resource in requested
            for field, amount in (
                ("spec.capability", quota.nominal),
                ("status.allocated", quota.used),
            )
            if amount is not None
        )
        if queue is not None
        else ()
    )
    return (Evidence("spec.schedulingGates", _GATE, gated[0].meta.ref), *named, *numbers)


def _amount_text(resource: str, amount: Decimal) -> str:
    return format_amount(resource, scheduler_units(resource, amount))


GATED = waiting_for_quota(_find_gated)
KEPT = UnitRule(
    "queue-evaluating",
    Stage.ADMISSION,
    "Waits in a queue",
    26,
    _find_kept,
    health=Health.WAITING,
)
SECOND_GATE = UnitRule(
    "scheduling-gated",
    Stage.PLACEMENT,
    "Scheduling gates",
    5,
    _find_second_gate,
    health=Health.WAITING,
    for_waiting_units=True,
)
RULES = (GATED, KEPT, SECOND_GATE)
