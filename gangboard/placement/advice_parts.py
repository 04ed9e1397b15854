"""Advice about the size of an owner of parts (a JobSet), which nobody can change: it is tried as if it was made anew."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from gangboard.domain.advice import Advice, AdviceKind
from gangboard.domain.capacity import NodeRoom
from gangboard.domain.owner import Owner, Role
from gangboard.domain.placing import When
from gangboard.domain.pod import Pod
from gangboard.domain.text import label, names
from gangboard.facts.unit import Unit
from gangboard.placement.advice_words import fit_when, marked, sized
from gangboard.placement.amounts import pod_amounts
from gangboard.placement.change_methods import ChangedObject, change_method
from gangboard.placement.feasible_nodes import feasible_nodes_of
from gangboard.placement.members import nodes_for, request_of
from gangboard.placement.node_snapshot import NodeSnapshot
from gangboard.placement.what_if import WhatIf

MOST_TRIED = 3
"""Sizes that are tried, from what fits of the role alone downwards."""
MOST_WORK = 10_000
"""Pods times Jobs: each Job that waits asks, and each time all pods of the owner are looked at."""


def lower_size_of_parts(what_if: WhatIf) -> Iterator[Advice]:
    """Say with how many Jobs of the unit's role, or with how large ones, all of the owner fits.

    Only for a plain owner of which all pods are there: those that are still to come cannot be
    asked what they need.
    """
    found = _anew(what_if)
    if found is None:
        return
    when, role = what_if.moment, found.role
    of_jobs = role.replicas > 1 and found.fits_alone(when) >= role.pods
    size, now = found.largest(of_jobs, when), found.largest(of_jobs, When.NOW)
    if size <= now:
        when, size = When.NOW, now
    if not size:
        return
    before = role.replicas if of_jobs else role.pods
    method = change_method(
        AdviceKind.SIZE, ChangedObject.OF_PARTS, what_if.unit.gang.cluster.kubernetes
    )
    fields = ("replicas",) if of_jobs else sized(found.job)
    each = "" if of_jobs or role.replicas == 1 else " of each Job"
    yield Advice(
        AdviceKind.SIZE,
        marked(
            f"Lower the {names(fields)} of {what_if.unit.gang.traits.parts}[{role.name}] of "
            f"{label(what_if.unit.owner.meta.ref)} from {before} to {size}: that many{each} "
            f"{fit_when(when, now)}",
            method,
        ),
        method=method,
        count=size,
        when_empty=when is When.EMPTY,
    )


@dataclass(frozen=True, slots=True)
class _Anew:
    """An owner without a node for any of its pods, and the nodes without them."""

    what_if: WhatIf
    job: Owner
    """One whose pods wait."""
    role: Role
    jobs: Mapping[str, Sequence[Pod]]
    """Job of the role → its pods."""
    others: Sequence[Pod]
    changed: Mapping[str, NodeRoom]

    def fits_alone(self, when: When) -> int:
        """Return how many pods of the role fit, if there were no others of the owner."""
        return feasible_nodes_of(self._snapshot(when), self.what_if.shape).most(when)

    def largest(self, of_jobs: bool, when: When) -> int:
        """Return the largest number of Jobs of the role, or of pods of each, with which all fits."""
        role, fits = self.role, self.fits_alone(when)
        before = role.replicas if of_jobs else role.pods
        most = min(fits // (role.pods if of_jobs else role.replicas), before - 1)
        for size in range(most, max(0, most - MOST_TRIED), -1):
            jobs, pods = (size, role.pods) if of_jobs else (role.replicas, size)
            if self._fits(jobs, pods, when):
                return size
        return 0

    def _snapshot(self, when: When) -> NodeSnapshot:
        # Its own pods do not stay when it is made anew.
        now = when is When.NOW
        return self.what_if.snapshot.changed(self.changed) if now else nodes_for(self.what_if.unit)

    def _fits(self, jobs: int, pods: int, when: When) -> bool:
        """Whether all of the owner fits with so many Jobs of so many pods in the role."""
        kept = [pod for _, own in sorted(self.jobs.items())[:jobs] for pod in own[:pods]]
        unit = replace(
            self.what_if.unit,
            pods=(*self.others, *kept),
            jobs=self.what_if.unit.gang.jobs,
            group=None,
            quorum=None,
        )
        then = WhatIf(unit, request_of(unit), self.what_if.assessment, self._snapshot(when))
        return then.frees() if when is When.NOW else then.frees_empty(then.request.size)


def _anew(what_if: WhatIf) -> _Anew | None:
    """Return the owner as it is when it was made anew; None where that cannot be told."""
    unit = what_if.unit
    gang, job = unit.gang, _job_that_waits(unit)
    if job is None:
        return None
    role = next((one for one in unit.owner.roles if one.name == job.role_name), None)
    by_role = _pods_by_role(unit)
    if role is None or by_role is None or not _is_plain(unit, role):
        return None
    own = by_role[role.name]
    if any((pod.requests, pod.needs) != (own[0].requests, own[0].needs) for pod in own):
        return None
    changed = _without(what_if, gang.pods)
    if changed is None:
        return None
    jobs: dict[str, list[Pod]] = {}
    for pod in own:
        maker = pod.meta.controller
        jobs.setdefault(maker.uid if maker is not None else "", []).append(_free(pod))
    others = [_free(pod) for name, pods in by_role.items() if name != role.name for pod in pods]
    return _Anew(what_if, job, role, jobs, others, changed)


def _job_that_waits(unit: Unit) -> Owner | None:
    """Return a Job whose pods wait; None where they are of several roles, or not all of its Jobs."""
    makers = {pod.meta.controller.uid if pod.meta.controller else "" for pod in unit.unplaced}
    jobs = [job for job in unit.jobs if job.meta.ref.uid in makers]
    if len(jobs) < len(makers) or len({job.role_name for job in jobs}) != 1:
        return None
    return jobs[0]


def _is_plain(unit: Unit, role: Role) -> bool:
    """Whether nobody but its controller and its user decides its size and the quorums of its Jobs."""
    gang, owner = unit.gang, unit.owner
    makers = {job.meta.ref.uid for job in gang.jobs}
    unasked = all(
        group.entry is None
        and group.meta.controller is not None
        and group.meta.controller.uid in makers
        and not group.topology_keys
        for group in gang.groups
    )
    asks = any(job.gang_request is not None for job in (owner, *gang.jobs))
    is_known = unit.quorum is None or unit.quorum == role.pods
    if unit.group is None and unit.group_name:
        is_known = False
    kept = owner.meta.controller is not None or owner.managed_by or owner.restarting
    return unasked and not asks and is_known and not kept and not gang.foreign_pods


def _pods_by_role(unit: Unit) -> Mapping[str, Sequence[Pod]] | None:
    """Return the pods of each role; None unless just those are there that the owner asks for."""
    gang = unit.gang
    if len(gang.pods) * len(gang.jobs) > MOST_WORK or any(map(_has_worked, gang.jobs)):
        return None
    role_of = {job.meta.ref.uid: job.role_name for job in gang.jobs}
    found: dict[str, list[Pod]] = {role.name: [] for role in unit.owner.roles}
    for pod in gang.pods:
        maker = pod.meta.controller
        name = role_of.get(maker.uid, "") if maker is not None else ""
        if name not in found or not pod.is_live or pod.is_terminating or pod.gates:
            return None
        found[name].append(pod)
    asked = {role.name: role.replicas * role.pods for role in unit.owner.roles}
    return found if {name: len(pods) for name, pods in found.items()} == asked else None


def _has_worked(job: Owner) -> bool:
    return job.finish is not None or bool(job.succeeded_pods)


def _free(pod: Pod) -> Pod:
    return replace(pod, node="") if pod.node else pod


def _without(what_if: WhatIf, pods: Sequence[Pod]) -> Mapping[str, NodeRoom] | None:
    """Return the nodes on which they are, without what they ask for there; None for more than that.

    Ports, and rules about other pods, are not worked out anew.
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
    for name, there in placed.items():
        at = snapshot.place(name)
        if at is None:
            return None
        node = snapshot[at]
        taken: Counter[str] = Counter()
        for pod in there:
            taken.update(pod_amounts(pod.requests))
        amounts = {
            resource: max(0, amount - taken[resource])
            for resource, amount in node.now.amounts.items()
        }
        left = replace(node.now, amounts=amounts, pods=max(0, node.now.pods - len(there)))
        changed[name] = replace(node, now=left)
    return changed
