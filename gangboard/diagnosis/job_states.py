"""Child Jobs and pods as the Gang page and the API show them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from gangboard.diagnosis.scheduling_mode import GroupIndex, scheduling_of
from gangboard.domain.health import Health
from gangboard.domain.hold import Hold
from gangboard.domain.owner import Owner
from gangboard.domain.pod import Container, Pod
from gangboard.domain.text import natural
from gangboard.domain.verdict import NOT_STARTING, Finding, JobState, MemberState
from gangboard.facts.current_attempt import standing
from gangboard.facts.gang import Gang
from gangboard.facts.job_holds import is_held
from gangboard.facts.unit import Unit
from gangboard.plugins import registry

_READY = (Health.RUNNING, "ready", "")
"""State, label and reason of a pod that runs and is ready."""
# What a container waits for in every ordinary start.
_ORDINARY = frozenset({"", "ContainerCreating", "PodInitializing"})


def job_states(
    gang: Gang, units: Iterable[Unit], findings: Mapping[str, Finding]
) -> tuple[JobState, ...]:
    """Return the state of each Job of the gang, in its order. `findings` are by unit name."""
    unit_of = {job.meta.ref.uid: unit.name for unit in units for job in unit.jobs}
    groups = GroupIndex(gang.groups)
    return tuple(
        _job_state(
            gang,
            groups,
            job,
            gang.pods_by_job[job.meta.ref.uid],
            findings.get(unit_of[job.meta.ref.uid]),
            gang.hold_of(job),
        )
        for job in gang.jobs
    )


def _job_state(
    gang: Gang,
    groups: GroupIndex,
    job: Owner,
    pods: tuple[Pod, ...],
    finding: Finding | None,
    hold: Hold | None,
) -> JobState:
    nodes = {pod.node for pod in pods if pod.node and pod.phase not in ("Succeeded", "Failed")}
    queue = gang.queue_statuses[job.meta.ref.uid]
    has_own_entry = bool(queue.entries) and not queue.by_owner and job is not gang.owner
    return JobState(
        ref=job.meta.ref,
        generation=job.meta.generation,
        part=job.role_name,
        suspended=job.suspended,
        held=is_held(job, hold),
        finished=job.finish.outcome.value if job.finish is not None else "",
        desired=job.desired,
        created=len(standing(pods, (job,))),
        ready=len([pod for pod in pods if pod.meta.ref.uid in gang.ready_pods]),
        nodes=tuple(sorted(nodes, key=natural)),
        restarts=gang.owner.job_restarts.get(job.meta.ref.name, 0) or job.retries,
        scheduling=scheduling_of(gang, job, pods, groups),
        finding=finding,
        hold=hold.meta.ref.name if hold else "",
        held_since=hold.meta.created_at if hold else None,
        held_by=hold.by if hold else "",
        held_reason=hold.reason if hold else "",
        held_until=hold.until if hold else None,
        queue=queue.queue if has_own_entry else "",
        queue_standing=queue.standing.value if has_own_entry else "",
    )


def member_states(gang: Gang) -> tuple[MemberState, ...]:
    """Return the state of each pod of the gang, in its order."""
    jobs = {job.meta.ref.uid: job.meta.ref.name for job in gang.jobs}
    stays = {pod.meta.ref.uid for pod in standing(gang.pods, gang.jobs)}
    ref = gang.owner.meta.ref
    kind = registry.owner_kind(ref.group, ref.kind)
    role_of = kind.role_of if kind and kind.overrides("role_of") else None
    states: list[MemberState] = []
    for pod in gang.pods:
        meta, is_ready = pod.meta, pod.meta.ref.uid in gang.ready_pods
        state, label, reason = _READY if is_ready else _member(gang, pod)
        notable = [
            one
            for one in pod.containers
            if one.restarts or one.exit_code or one.last_reason or one.state == "waiting"
        ]
        worst = _worst_container(notable) if notable else None
        states.append(
            MemberState(
                ref=meta.ref,
                job=jobs.get(meta.controller.uid, "") if meta.controller is not None else "",
                node=pod.node,
                state=state,
                label=label if meta.ref.uid in stays else f"{label}, replaced",
                reason=reason,
                group=pod.group_name,
                part=role_of(pod) if role_of is not None else "",
                since=pod.ready.since if is_ready and pod.ready is not None else _since(pod),
                restarts=sum([one.restarts for one in notable]) if notable else 0,
                container=worst.name if worst is not None else "",
                exit_code=_exit_code(worst) if worst is not None else None,
            )
        )
    return tuple(states)


def _member(gang: Gang, pod: Pod) -> tuple[Health, str, str]:
    """Return state, word and reason of a pod that is not ready."""
    if pod.phase == "Succeeded":
        return Health.SUCCEEDED, "succeeded", ""
    if pod.phase == "Failed":
        return Health.FAILED, "failed", pod.reason or _exit_reason(pod)
    if pod.meta.deleting_since is not None:
        why = pod.disruption.reason if pod.disruption is not None else ""
        return Health.DEGRADED, "terminating", why
    if not pod.node:
        return _unplaced(pod)
    node = gang.cluster.nodes.get(pod.node)
    if node is not None and not node.is_ready and gang.cluster.nodes_known:
        return Health.DEGRADED, "node not ready", pod.node
    for container in pod.containers:
        if _is_stuck(container):
            return Health.DEGRADED, NOT_STARTING, container.reason
    return Health.STARTING, "starting", ""


def _unplaced(pod: Pod) -> tuple[Health, str, str]:
    if pod.gates:
        return Health.WAITING, "gated", ", ".join(pod.gates)
    if pod.is_at_gate:
        return Health.WAITING, "at the gate", f"holds node {pod.nominated_node}"
    if pod.scheduled is not None and pod.scheduled.is_false and not pod.is_untried:
        return Health.WAITING, "waiting", pod.scheduled.reason
    return Health.WAITING, "waiting", ""


def _since(pod: Pod) -> datetime | None:
    """Return since when a pod is in the state that it is shown in.

    `Ready` turns when it becomes ready, is ready no more,
    and ends; a pod that has not been ready since it got its node is new there.
    """
    if pod.is_terminating and not pod.is_finished:
        return pod.deletion_asked_at
    if pod.is_finished or pod.is_ready:
        return pod.ready.since if pod.ready is not None else None
    told = [one.since for one in (pod.scheduled, pod.ready) if one is not None and one.since]
    return max(told) if told else pod.meta.created_at


def _worst_container(containers: Iterable[Container]) -> Container | None:
    """Return the container that ended with an error or does not come up; None without one."""
    return max(
        (one for one in containers if one.exit_code or one.last_reason or _is_stuck(one)),
        key=lambda one: (_is_stuck(one), bool(one.exit_code), one.restarts),
        default=None,
    )


def _is_stuck(container: Container) -> bool:
    return container.state == "waiting" and container.reason not in _ORDINARY


def _exit_code(container: Container) -> int | None:
    return container.last_exit_code if container.exit_code is None else container.exit_code


def _exit_reason(pod: Pod) -> str:
    for container in pod.containers:
        if container.exit_code:
            return container.reason or f"exit code {container.exit_code}"
    return ""
