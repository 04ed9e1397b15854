"""Numbers of a verdict: members, requests, priority, restarts, and what is remembered of each unit."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal

from gangboard.domain.owner import MOST_PODS, Owner, PodRequests
from gangboard.domain.resource_units import decimal_text
from gangboard.domain.resources import is_accelerator
from gangboard.domain.verdict import Members, UnitMemory
from gangboard.facts.attempt_history import attempt_start
from gangboard.facts.current_attempt import standing
from gangboard.facts.gang import Gang
from gangboard.facts.preemption import last_preemption
from gangboard.facts.retry import fits_since
from gangboard.facts.unit import Unit
from gangboard.facts.unit_counts import ready_count

_MEMORY_OF_GONE = timedelta(days=1)
"""A unit can go and come back under its name, as Jobs do in a restart of their JobSet."""


def count_members(gang: Gang, units: Iterable[Unit]) -> Members:
    """Return the counts of the current attempt.

    `created` and `scheduled` count each member once: a pod that was replaced is left out, one that
    has succeeded stays in, also when it was collected and only its Job still counts it.
    `scheduled` leaves out members that failed or are on their way out. `failed` counts all failed
    pods that are there, replaced or not: it tells of trouble, not of size.
    """
    found = list(units)
    quorums = [unit.quorum for unit in found if unit.quorum is not None]
    created = scheduled = done = 0
    for unit in found:
        pods = standing(unit.pods, unit.jobs)
        gone = max(0, unit.succeeded - unit.succeeded_pods) if unit.jobs else 0
        created += len(pods) + gone
        scheduled += gone + len(
            [
                pod
                for pod in pods
                if pod.node
                and (
                    pod.phase == "Succeeded"
                    or (pod.phase != "Failed" and pod.meta.deleting_since is None)
                )
            ]
        )
        done += unit.succeeded
    return Members(
        desired=min(max(gang.owner.desired, sum([unit.desired for unit in found])), MOST_PODS),
        quorum=min(sum(quorums), MOST_PODS) if quorums else None,
        created=created,
        scheduled=scheduled,
        ready=sum([len(unit.ready) for unit in found]),
        succeeded=done,
        failed=len([pod for unit in found for pod in unit.pods if pod.phase == "Failed"]),
        held=min(sum([unit.held for unit in found]), MOST_PODS),
    )


def total_requests(pod_requests: Iterable[PodRequests]) -> dict[str, Decimal]:
    """Return what all pods of these sets ask for together, by resource."""
    total: dict[str, Decimal] = defaultdict(Decimal)
    for one in pod_requests:
        for resource, amount in one.requests.items():
            total[resource] += amount * one.count
    return {resource: total[resource] for resource in sorted(total)}


def request_texts(gang: Gang) -> dict[str, str]:
    """Return what all desired pods of a gang ask for, as decimal strings in base units."""
    total = total_requests(gang.owner.pod_requests)
    return {resource: decimal_text(amount) for resource, amount in total.items()}


def weight(unit: Unit) -> tuple[Decimal, Decimal]:
    """Return what a unit asks for: accelerators, then cores. The heavier unit is told first."""
    pod_requests = [
        PodRequests(job.desired, one.requests) for job in unit.jobs for one in job.pod_requests[:1]
    ]
    missing = frozenset(unit.missing_jobs)
    pod_requests += [
        PodRequests(role.pods, role.requests)
        for role in (unit.roles if missing else ())
        for name in role.child_names
        if name in missing
    ]
    if not pod_requests:
        pod_requests = [PodRequests(1, pod.requests) for pod in unit.pods]
    total = total_requests(pod_requests)
    accelerators = sum(
        (amount for name, amount in total.items() if is_accelerator(name)), Decimal()
    )
    return accelerators, total.get("cpu", Decimal())


def remember(gang: Gang, units: Iterable[Unit]) -> dict[str, UnitMemory]:
    """Return what is to be remembered of each unit, by name.

    While something needed cannot be looked at nothing new is learnt. A unit that is gone is
    remembered for a day.
    """
    if gang.unobserved:
        return dict(gang.memory)
    kept = {name: memory for name, memory in gang.memory.items() if _is_fresh(memory, gang)}
    return {**kept, **{unit.name: _remember_unit(unit, gang.memory) for unit in units}}


def _remember_unit(unit: Unit, before: Mapping[str, UnitMemory]) -> UnitMemory:
    old = before.get(unit.name, UnitMemory())
    created = len(unit.current)
    is_same = old.created_since is not None and old.created == created
    there = ready_count(unit) + unit.succeeded
    runs = bool(unit.ready) and there >= unit.needed
    is_at_size = bool(unit.ready) and unit.is_full
    taken = last_preemption(unit)
    return replace(
        old,
        created=created,
        created_since=old.created_since if is_same else unit.now,
        whole_at=unit.now if runs else old.whole_at,
        whole_count=there if runs else old.whole_count,
        whole_attempt=attempt_start(unit) if runs else old.whole_attempt,
        gated_at=unit.now if any(pod.gates for pod in unit.unplaced) else old.gated_at,
        reached_size_at=unit.now if is_at_size else old.reached_size_at,
        preempted_at=taken.at if taken is not None and not runs else None,
        preempted_by=taken.by if taken is not None and not runs else (),
        recovered_from=taken.at if taken is not None and runs else old.recovered_from,
        fits_since=_fits_since(unit, old),
    )


def _fits_since(unit: Unit, old: UnitMemory) -> datetime | None:
    """Return since when it fits; while nodes cannot be looked at, as before."""
    is_hidden = unit.placing is not None and unit.placing.assessment is None
    return old.fits_since if is_hidden else fits_since(unit)


def _is_fresh(memory: UnitMemory, gang: Gang) -> bool:
    times = (memory.created_since, memory.whole_at, memory.reached_size_at)
    newest = max((time for time in times if time is not None), default=None)
    return newest is not None and gang.now - newest < _MEMORY_OF_GONE


def restarts_of(owner: Owner) -> tuple[int, int | None]:
    """Return how often the gang began anew and how often it may: a Job counts its failed pods."""
    if owner.max_retries is not None or owner.retries:
        return owner.retries, owner.max_retries
    if owner.max_restarts is None:
        return owner.restarts, None
    return owner.counted_restarts, owner.max_restarts


def priority_of(gang: Gang) -> str:
    """Return the class of the owner, else of all pods, else their number where they have one.

    0 is what the API server fills in where nobody asked for a priority.
    """
    classes = {pod.priority_class for pod in gang.pods}
    if gang.owner.priority_class:
        return gang.owner.priority_class
    if any(classes):
        return classes.pop() if len(classes) == 1 else ""
    values = {pod.priority for pod in gang.pods}
    value = values.pop() if len(values) == 1 else None
    return str(value) if value else ""


def priority_value_of(gang: Gang) -> int | None:
    """Return the highest `spec.priority` of the pods, which the API server fills in from the class."""
    return max([pod.priority for pod in gang.pods if pod.priority is not None], default=None)
