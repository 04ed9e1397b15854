"""Child Jobs and pods as the Gang page and the API show them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from gangboard.diagnosis.current_attempt import natural, pods_by_job, standing
from gangboard.diagnosis.scheduling_mode import GroupIndex, scheduling_of
from gangboard.domain.health import Health
from gangboard.domain.hold import Hold
from gangboard.domain.owner import Owner
from gangboard.domain.pod import Container, Pod
from gangboard.domain.verdict import NOT_STARTING, Finding, JobState, MemberState
from gangboard.facts.gang import GangFacts, Unit
from gangboard.facts.job_holds import hold_of, holds_by_job, is_held
from gangboard.plugins import registry

# What a container waits for in every ordinary start.
_ORDINARY = frozenset({"", "ContainerCreating", "PodInitializing"})


def job_states(
    facts: GangFacts, units: Iterable[Unit], findings: Mapping[str, Finding]
) -> tuple[JobState, ...]:
    """Return the state of each Job, in the order of the facts; `findings` are by unit name."""
    unit_of = {job.meta.ref.uid: unit.name for unit in units for job in unit.jobs}
    pods = pods_by_job(facts.pods, facts.jobs)
    holds, groups = holds_by_job(facts.holds), GroupIndex(facts.groups)
    return tuple(
        _job_state(
            facts,
            groups,
            job,
            pods[job.meta.ref.uid],
            findings.get(unit_of[job.meta.ref.uid]),
            hold_of(job, holds),
        )
        for job in facts.jobs
    )


def _job_state(
    facts: GangFacts,
    groups: GroupIndex,
    job: Owner,
    pods: tuple[Pod, ...],
    finding: Finding | None,
    hold: Hold | None,
) -> JobState:
    nodes = {pod.node for pod in pods if pod.is_live and pod.is_placed}
    queue = facts.queue_statuses[job.meta.ref.uid]
    has_own_entry = bool(queue.entries) and not queue.by_owner and job is not facts.owner
    return JobState(
        ref=job.meta.ref,
        generation=job.meta.generation,
        part=job.role_name,
        suspended=job.suspended,
        held=is_held(job, hold),
        finished=job.finish.outcome.value if job.finish is not None else "",
        desired=job.desired,
        created=len(standing(pods, (job,))),
        ready=sum(pod.is_ready for pod in pods),
        nodes=tuple(sorted(nodes, key=natural)),
        restarts=facts.owner.job_restarts.get(job.meta.ref.name, 0) or job.retries,
        scheduling=scheduling_of(facts, job, pods, groups),
        finding=finding,
        hold=hold.meta.ref.name if hold else "",
        held_since=hold.meta.created_at if hold else None,
        held_by=hold.by if hold else "",
        held_reason=hold.reason if hold else "",
        held_until=hold.until if hold else None,
        queue=queue.queue if has_own_entry else "",
        queue_standing=queue.standing.value if has_own_entry else "",
    )


def member_states(facts: GangFacts) -> tuple[MemberState, ...]:
    """Return the state of each pod, in the order of the facts."""
    jobs = {job.meta.ref.uid: job.meta.ref.name for job in facts.jobs}
    stays = {pod.meta.ref.uid for pod in standing(facts.pods, facts.jobs)}
    ref = facts.owner.meta.ref
    kind = registry.owner_kind(ref.group, ref.kind)
    role_of = kind.role_of if kind and kind.overrides("role_of") else None
    return tuple(
        MemberState(
            ref=pod.meta.ref,
            job=jobs.get(pod.meta.controller.uid, "") if pod.meta.controller is not None else "",
            node=pod.node,
            state=state,
            label=label if pod.meta.ref.uid in stays else f"{label}, replaced",
            reason=reason,
            group=pod.group_name,
            part=role_of(pod) if role_of is not None else "",
            since=_since(pod),
            restarts=sum(container.restarts for container in pod.containers),
            container=worst.name if worst is not None else "",
            exit_code=_exit_code(worst) if worst is not None else None,
        )
        for pod in facts.pods
        for state, label, reason in (_member(facts, pod),)
        for worst in (_worst_container(pod) if pod.containers else None,)
    )


def _member(facts: GangFacts, pod: Pod) -> tuple[Health, str, str]:
    """Return state, word and reason of one pod."""
    if pod.phase == "Succeeded":
        return Health.SUCCEEDED, "succeeded", ""
    if pod.phase == "Failed":
        return Health.FAILED, "failed", pod.reason or _exit_reason(pod)
    if pod.is_terminating:
        why = pod.disruption.reason if pod.disruption is not None else ""
        return Health.DEGRADED, "terminating", why
    if not pod.is_placed:
        return _unplaced(pod)
    node = facts.nodes.get(pod.node)
    if not pod.is_ready and node is not None and not node.is_ready and facts.nodes_known:
        return Health.DEGRADED, "node not ready", pod.node
    if pod.is_ready:
        return Health.RUNNING, "ready", ""
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


def _worst_container(pod: Pod) -> Container | None:
    """Return the container that ended with an error or does not come up; None without one."""
    return max(
        (one for one in pod.containers if one.exit_code or one.last_reason or _is_stuck(one)),
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
