"""Advice about the size of an owner with fixed roles (a JobSet), which is tried as if it was re-created."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from gangboard.domain.advice import Advice, AdviceKind
from gangboard.domain.capacity import NodeInfo
from gangboard.domain.owner import Owner, Role
from gangboard.domain.placement_result import When
from gangboard.domain.pod import Pod
from gangboard.domain.text import label, names
from gangboard.facts.unit import Unit
from gangboard.placement.advice.change_methods import ChangedObject, change_method
from gangboard.placement.advice.what_if import WhatIf
from gangboard.placement.advice.wording import fit_when, size_fields, with_method
from gangboard.placement.feasible_nodes import feasible_nodes_of
from gangboard.placement.gang_nodes import nodes_for, requested_by_pods, subtract_requested
from gangboard.placement.members import placement_request_of
from gangboard.placement.node_snapshot import NodeSnapshot
from gangboard.placement.term_matching import NO_TERMS

MAX_SIZES_TRIED = 3
"""Most sizes to try, downwards from the number of the role's pods that fit alone."""
MAX_WORK = 10_000
"""Most pods times Jobs, because each waiting Job tries this and reads all pods of the owner."""


def lower_role_size(what_if: WhatIf) -> Iterator[Advice]:
    """Advise a lower number of Jobs in the unit's role, or of pods per Job, with which the whole owner fits.

    The owner must be plain and have all its pods, because the requests of missing pods are unknown.
    """
    recreated = _recreate(what_if)
    if recreated is None:
        return
    when, role = what_if.moment, recreated.role
    of_jobs = role.replicas > 1 and recreated.fits_alone(when) >= role.pods
    size, now = recreated.largest(of_jobs, when), recreated.largest(of_jobs, When.CURRENT)
    if size <= now:
        when, size = When.CURRENT, now
    if not size:
        return
    before = role.replicas if of_jobs else role.pods
    method = change_method(
        AdviceKind.SIZE, ChangedObject.MULTI_ROLE_OWNER, what_if.unit.gang.cluster.kubernetes
    )
    fields = ("replicas",) if of_jobs else size_fields(recreated.job)
    each = "" if of_jobs or role.replicas == 1 else " of each Job"
    yield Advice(
        AdviceKind.SIZE,
        with_method(
            f"Lower the {names(fields)} of {what_if.unit.gang.traits.role_size_field}[{role.name}] of "
            f"{label(what_if.unit.owner.meta.ref)} from {before} to {size}: that many{each} "
            f"{fit_when(when, now)}",
            method,
        ),
        method=method,
        count=size,
    )


@dataclass(frozen=True, slots=True)
class _RecreatedOwner:
    """A re-created owner, whose pods have no nodes, and the nodes without its pods."""

    what_if: WhatIf
    job: Owner
    """A Job with waiting pods."""
    role: Role
    jobs: Mapping[str, Sequence[Pod]]
    """Job of the role → its pods."""
    other_pods: Sequence[Pod]
    changed: Mapping[str, NodeInfo]

    def fits_alone(self, when: When) -> int:
        """Return how many pods of the role fit without the owner's other pods."""
        return feasible_nodes_of(self._snapshot(when), self.what_if.shape).total_pods(when)

    def largest(self, of_jobs: bool, when: When) -> int:
        """Return the largest number of Jobs, or of pods per Job, with which the whole owner fits."""
        role, fits = self.role, self.fits_alone(when)
        before = role.replicas if of_jobs else role.pods
        most = min(fits // (role.pods if of_jobs else role.replicas), before - 1)
        for size in range(most, max(0, most - MAX_SIZES_TRIED), -1):
            jobs, pods = (size, role.pods) if of_jobs else (role.replicas, size)
            if self._fits(jobs, pods, when):
                return size
        return 0

    def _snapshot(self, when: When) -> NodeSnapshot:
        # A re-created owner loses its own pods.
        now = when is When.CURRENT
        return self.what_if.snapshot.changed(self.changed) if now else nodes_for(self.what_if.unit)

    def _fits(self, jobs: int, pods: int, when: When) -> bool:
        """Return whether the whole owner fits with this number of Jobs in the role and of pods per Job."""
        kept_pods = [pod for _, own in sorted(self.jobs.items())[:jobs] for pod in own[:pods]]
        unit = replace(
            self.what_if.unit,
            pods=(*self.other_pods, *kept_pods),
            jobs=self.what_if.unit.gang.jobs,
            group=None,
            quorum=None,
        )
        later = WhatIf(
            unit, placement_request_of(unit), self.what_if.assessment, self._snapshot(when)
        )
        return later.frees() if when is When.CURRENT else later.frees_empty(later.request.size)


def _recreate(what_if: WhatIf) -> _RecreatedOwner | None:
    """Return the owner as if it was re-created. None: the state after that is unknown."""
    unit = what_if.unit
    gang, job = unit.gang, _find_waiting_job(unit)
    if job is None:
        return None
    role = next((role for role in unit.owner.roles if role.name == job.role_name), None)
    by_role = _pods_by_role(unit)
    if role is None or by_role is None or not _is_plain(unit, role):
        return None
    role_pods = by_role[role.name]
    if any(
        (pod.requests, pod.needs) != (role_pods[0].requests, role_pods[0].needs)
        for pod in role_pods
    ):
        return None
    changed = _nodes_without(what_if, gang.pods)
    if changed is None:
        return None
    jobs: dict[str, list[Pod]] = {}
    for pod in role_pods:
        maker = pod.meta.controller
        jobs.setdefault(maker.uid if maker is not None else "", []).append(_unbind(pod))
    other_pods = [
        _unbind(pod) for name, pods in by_role.items() if name != role.name for pod in pods
    ]
    return _RecreatedOwner(what_if, job, role, jobs, other_pods, changed)


def _find_waiting_job(unit: Unit) -> Owner | None:
    """Return a Job with waiting pods. None: they belong to several roles, or some to no Job of the unit."""
    makers = {pod.meta.controller.uid if pod.meta.controller else "" for pod in unit.unplaced}
    jobs = [job for job in unit.jobs if job.meta.ref.uid in makers]
    if len(jobs) < len(makers) or len({job.role_name for job in jobs}) != 1:
        return None
    return jobs[0]


def _is_plain(unit: Unit, role: Role) -> bool:
    """Return whether only the owner's spec and controller decide its size and the quorums of its Jobs."""
    gang, owner = unit.gang, unit.owner
    makers = {job.meta.ref.uid for job in gang.jobs}
    groups_are_plain = all(
        group.entry is None
        and group.meta.controller is not None
        and group.meta.controller.uid in makers
        and not group.topology_keys
        for group in gang.groups
    )
    has_gang_request = any(job.gang_request is not None for job in (owner, *gang.jobs))
    is_known = unit.quorum is None or unit.quorum == role.pods
    if unit.group is None and unit.group_name:
        is_known = False
    is_managed = owner.meta.controller is not None or owner.managed_by or owner.restarting
    return (
        groups_are_plain
        and not has_gang_request
        and is_known
        and not is_managed
        and not gang.foreign_pods
    )


def _pods_by_role(unit: Unit) -> Mapping[str, Sequence[Pod]] | None:
    """Return the pods of each role. None: the owner does not have exactly its desired pods."""
    gang = unit.gang
    if len(gang.pods) * len(gang.jobs) > MAX_WORK or any(map(_has_worked, gang.jobs)):
        return None
    role_of = {job.meta.ref.uid: job.role_name for job in gang.jobs}
    by_role: dict[str, list[Pod]] = {role.name: [] for role in unit.owner.roles}
    for pod in gang.pods:
        maker = pod.meta.controller
        name = role_of.get(maker.uid, "") if maker is not None else ""
        if name not in by_role or not pod.is_live or pod.is_terminating or pod.gates:
            return None
        by_role[name].append(pod)
    expected = {role.name: role.replicas * role.pods for role in unit.owner.roles}
    return by_role if {name: len(pods) for name, pods in by_role.items()} == expected else None


def _has_worked(job: Owner) -> bool:
    return job.finish is not None or bool(job.succeeded_pods)


def _unbind(pod: Pod) -> Pod:
    return replace(pod, node="") if pod.node else pod


def _nodes_without(what_if: WhatIf, pods: Sequence[Pod]) -> Mapping[str, NodeInfo] | None:
    """Return the nodes of these pods without their requests.

    None: a pod has host ports or rules about other pods, or an unknown node.
    """
    placed: dict[str, list[Pod]] = {}
    for pod in pods:
        needs = pod.needs
        if needs.host_ports or needs.anti_affinity or needs.spreads:
            return None
        if pod.node:
            placed.setdefault(pod.node, []).append(pod)
    changed = {}
    snapshot = nodes_for(what_if.unit)
    for name, pods_there in placed.items():
        row = snapshot.row(name)
        if row is None:
            return None
        remaining = subtract_requested(
            snapshot[row].now, requested_by_pods(pods_there, lambda _: NO_TERMS)
        )
        changed[name] = replace(snapshot[row], now=remaining)
    return changed
