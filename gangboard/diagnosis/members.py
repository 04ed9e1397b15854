"""Members of a gang: their number, their requests, the memory of each unit, and the state of each pod."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal

from gangboard.domain.health import Health
from gangboard.domain.owner import MAX_PODS, Owner, PodRequests
from gangboard.domain.pod import Container, Pod
from gangboard.domain.resources import decimal_text, is_accelerator
from gangboard.domain.verdict import NOT_STARTING, Members, MemberState, UnitMemory
from gangboard.facts.attempts import attempt_start
from gangboard.facts.gang import Gang
from gangboard.facts.jobs import select_member_pods
from gangboard.facts.preemption import last_preemption
from gangboard.facts.scheduler_text import fits_since
from gangboard.facts.unit import Unit, ready_count
from gangboard.plugins import registry

_MEMORY_LIFETIME = timedelta(days=1)
"""The time for which a unit without objects is remembered. A restarted JobSet makes Jobs with the same names."""
_READY = (Health.RUNNING, "ready", "")
"""State, label and reason of a pod that runs and is ready."""
# Reasons why a container waits during any normal start.
_NORMAL_REASONS = frozenset({"", "ContainerCreating", "PodInitializing"})


def count_members(gang: Gang, units: Iterable[Unit]) -> Members:
    """Return the counts of the current attempt.

    `created` and `scheduled` count each member once. They leave out replaced pods, and they count a succeeded
    pod that was garbage collected if its Job still counts it. `scheduled` leaves out members that failed or are
    being deleted. `failed` counts all existing failed pods, including replaced ones, because it shows problems
    and not the size.
    """
    units = list(units)
    quorums = [unit.quorum for unit in units if unit.quorum is not None]
    created = scheduled = succeeded = 0
    for unit in units:
        pods = select_member_pods(unit.pods, unit.jobs)
        collected = max(0, unit.succeeded - unit.succeeded_pods) if unit.jobs else 0
        created += len(pods) + collected
        scheduled += collected + len([pod for pod in pods if pod.node and _holds_or_succeeded(pod)])
        succeeded += unit.succeeded
    return Members(
        desired=min(max(gang.owner.desired, sum([unit.desired for unit in units])), MAX_PODS),
        quorum=min(sum(quorums), MAX_PODS) if quorums else None,
        created=created,
        scheduled=scheduled,
        ready=sum([len(unit.ready) for unit in units]),
        succeeded=succeeded,
        failed=len([pod for unit in units for pod in unit.pods if pod.phase == "Failed"]),
        held=min(sum([unit.held for unit in units]), MAX_PODS),
    )


def _holds_or_succeeded(pod: Pod) -> bool:
    """Return whether a pod occupies its node or has succeeded there."""
    return pod.phase == "Succeeded" or (pod.phase != "Failed" and pod.meta.deleting_since is None)


def total_requests(pod_requests: Iterable[PodRequests]) -> dict[str, Decimal]:
    """Return the sum of the requests of all pods of these sets, by resource."""
    total: dict[str, Decimal] = defaultdict(Decimal)
    for pod_set in pod_requests:
        for resource, amount in pod_set.requests.items():
            total[resource] += amount * pod_set.count
    return {resource: total[resource] for resource in sorted(total)}


def request_texts(gang: Gang) -> dict[str, str]:
    """Return the requests of all desired pods of a gang, as decimal strings in base units."""
    total = total_requests(gang.owner.pod_requests)
    return {resource: decimal_text(amount) for resource, amount in total.items()}


def weight(unit: Unit) -> tuple[Decimal, Decimal]:
    """Return the requested accelerators and cores of a unit. The finding about a heavier unit comes first."""
    pod_requests = [
        PodRequests(job.desired, pod_set.requests)
        for job in unit.jobs
        for pod_set in job.pod_requests[:1]
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


def restarts_of(owner: Owner) -> tuple[int, int | None]:
    """Return the number of restarts of the gang and its limit. For a Job these are its failed pods."""
    if owner.max_retries is not None or owner.retries:
        return owner.retries, owner.max_retries
    if owner.max_restarts is None:
        return owner.restarts, None
    return owner.counted_restarts, owner.max_restarts


def priority_of(gang: Gang) -> str:
    """Return the priority class of the owner, else of all pods, else their common number.

    Empty for 0, which the API server fills in for a pod without a priority.
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


# Memory of units


def remember(gang: Gang, units: Iterable[Unit]) -> dict[str, UnitMemory]:
    """Return the memory of each unit by name, including units that disappeared less than a day ago.

    The memory does not change while a resource that the verdict needs cannot be read.
    """
    if gang.unobserved:
        return dict(gang.memory)
    fresh = {name: memory for name, memory in gang.memory.items() if _is_fresh(memory, gang)}
    return {**fresh, **{unit.name: _remember_unit(unit, gang.memory) for unit in units}}


def _remember_unit(unit: Unit, memories: Mapping[str, UnitMemory]) -> UnitMemory:
    old = memories.get(unit.name, UnitMemory())
    created = len(unit.current)
    is_same = old.created_since is not None and old.created == created
    whole_count = ready_count(unit) + unit.succeeded
    runs = bool(unit.ready) and whole_count >= unit.needed
    is_at_size = bool(unit.ready) and unit.is_full
    preemption = last_preemption(unit)
    return replace(
        old,
        created=created,
        created_since=old.created_since if is_same else unit.now,
        whole_at=unit.now if runs else old.whole_at,
        whole_count=whole_count if runs else old.whole_count,
        whole_attempt=attempt_start(unit) if runs else old.whole_attempt,
        gated_at=unit.now if any(pod.gates for pod in unit.unplaced) else old.gated_at,
        reached_size_at=unit.now if is_at_size else old.reached_size_at,
        preempted_at=preemption.at if preemption is not None and not runs else None,
        preempted_by=preemption.by if preemption is not None and not runs else (),
        recovered_from=preemption.at if preemption is not None and runs else old.recovered_from,
        fits_since=_fits_since(unit, old),
    )


def _fits_since(unit: Unit, old: UnitMemory) -> datetime | None:
    """Return since when the unit fits. The old value is kept while nodes cannot be read."""
    is_hidden = unit.placing is not None and unit.placing.assessment is None
    return old.fits_since if is_hidden else fits_since(unit)


def _is_fresh(memory: UnitMemory, gang: Gang) -> bool:
    times = (memory.created_since, memory.whole_at, memory.reached_size_at)
    newest = max((time for time in times if time is not None), default=None)
    return newest is not None and gang.now - newest < _MEMORY_LIFETIME


# Pods


def member_states(gang: Gang) -> tuple[MemberState, ...]:
    """Return the state of each pod of the gang, in its order."""
    jobs = {job.meta.ref.uid: job.meta.ref.name for job in gang.jobs}
    ref = gang.owner.meta.ref
    kind = registry.owner_kind(ref.group, ref.kind)
    role_of = kind.role_of if kind and kind.overrides("role_of") else None
    states: list[MemberState] = []
    for pod in gang.pods:
        meta, is_ready = pod.meta, pod.meta.ref.uid in gang.ready_pods
        state, label, reason = _READY if is_ready else _state_of(gang, pod)
        notable = [
            container
            for container in pod.containers
            if container.restarts
            or container.exit_code
            or container.last_reason
            or container.state == "waiting"
        ]
        worst = _worst_container(notable) if notable else None
        states.append(
            MemberState(
                ref=meta.ref,
                job=jobs.get(meta.controller.uid, "") if meta.controller is not None else "",
                node=pod.node,
                state=state,
                label=label if meta.ref.uid in gang.member_pods else f"{label}, replaced",
                reason=reason,
                group=pod.group_name,
                part=role_of(pod) if role_of is not None else "",
                since=pod.ready.since if is_ready and pod.ready is not None else _since(pod),
                restarts=sum([container.restarts for container in notable]) if notable else 0,
                container=worst.name if worst is not None else "",
                exit_code=_exit_code(worst) if worst is not None else None,
            )
        )
    return tuple(states)


def _state_of(gang: Gang, pod: Pod) -> tuple[Health, str, str]:
    """Return state, label and reason of a pod that is not ready."""
    if pod.phase == "Succeeded":
        return Health.SUCCEEDED, "succeeded", ""
    if pod.phase == "Failed":
        return Health.FAILED, "failed", pod.reason or _exit_reason(pod)
    if pod.meta.deleting_since is not None:
        reason = pod.disruption.reason if pod.disruption is not None else ""
        return Health.DEGRADED, "terminating", reason
    if not pod.node:
        return _state_without_node(pod)
    node = gang.cluster.nodes.get(pod.node)
    if node is not None and not node.is_ready and gang.cluster.nodes_known:
        return Health.DEGRADED, "node not ready", pod.node
    for container in pod.containers:
        if _is_stuck(container):
            return Health.DEGRADED, NOT_STARTING, container.reason
    return Health.STARTING, "starting", ""


def _state_without_node(pod: Pod) -> tuple[Health, str, str]:
    if pod.gates:
        return Health.WAITING, "gated", ", ".join(pod.gates)
    if pod.is_waiting_on_permit:
        return Health.WAITING, "at the gate", f"holds node {pod.nominated_node}"
    if pod.scheduled is not None and pod.scheduled.is_false and not pod.is_untried:
        return Health.WAITING, "waiting", pod.scheduled.reason
    return Health.WAITING, "waiting", ""


def _since(pod: Pod) -> datetime | None:
    """Return since when a pod is in its shown state.

    `Ready` changes when the pod becomes ready, stops being ready, and ends. Before it was ready, the state
    starts with its binding to the node.
    """
    if pod.is_terminating and not pod.is_finished:
        return pod.deletion_requested_at
    if pod.is_finished or pod.is_ready:
        return pod.ready.since if pod.ready is not None else None
    times = [
        condition.since
        for condition in (pod.scheduled, pod.ready)
        if condition is not None and condition.since
    ]
    return max(times) if times else pod.meta.created_at


def _worst_container(containers: Iterable[Container]) -> Container | None:
    """Return the container that ended with an error or does not start, or None."""
    return max(
        (
            container
            for container in containers
            if container.exit_code or container.last_reason or _is_stuck(container)
        ),
        key=lambda container: (
            _is_stuck(container),
            bool(container.exit_code),
            container.restarts,
        ),
        default=None,
    )


def _is_stuck(container: Container) -> bool:
    return container.state == "waiting" and container.reason not in _NORMAL_REASONS


def _exit_code(container: Container) -> int | None:
    return container.last_exit_code if container.exit_code is None else container.exit_code


def _exit_reason(pod: Pod) -> str:
    for container in pod.containers:
        if container.exit_code:
            return container.reason or f"exit code {container.exit_code}"
    return ""
