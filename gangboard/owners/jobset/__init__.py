"""JobSets (jobset.x-k8s.io/v1alpha2, JobSet v0.4 to v0.12) and the reports of their controller."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise

from gangboard.decode.jobs import DEFAULT_GRACE, shared_text, size_of
from gangboard.decode.podspec import pod_requests
from gangboard.decode.problems import raise_for_faults
from gangboard.decode.wire import read_conditions
from gangboard.domain.forecast import CreationContext, Manifest, ManifestFault
from gangboard.domain.group import Group, GroupFate
from gangboard.domain.objects import Condition, find_condition, resumed_at
from gangboard.domain.owner import (
    Dependency,
    Finish,
    Outcome,
    Owner,
    PodRequests,
    ReportedCounts,
    Role,
    finish_by,
)
from gangboard.domain.traits import KindTraits
from gangboard.owners.jobset import creation
from gangboard.owners.jobset import faults as refusals
from gangboard.owners.jobset.conduct import JobSetConduct
from gangboard.owners.jobset.gang_requests import read_gang_requests
from gangboard.owners.jobset.policies import (
    POLICIES,
    Policies,
    decode_policies,
    encode_policies,
    read_policies,
)
from gangboard.owners.jobset.wire import (
    WireJobSet,
    WireJobSetSpec,
    WireJobSetStatus,
    child_name,
    read_independent_claim,
)
from gangboard.plugins.owner_kind import KindNotes, OwnerKind

_CORE_GROUPS = "scheduling.k8s.io"
_OUTCOMES = {"Failed": Outcome.FAILED, "Completed": Outcome.SUCCEEDED}
# More child Jobs of one JobSet than a control plane can handle. Names beyond that are not generated.
MAX_CHILDREN = 5_000
# Suffix of failure policy actions whose restarts do not count towards `maxRestarts`.
_UNCOUNTED_SUFFIX = "AndIgnoreMaxRestarts"


class JobSet(OwnerKind):
    """A JobSet."""

    group = "jobset.x-k8s.io"
    kind = "JobSet"
    versions = ("v1alpha2",)
    wire = WireJobSet
    notes = KindNotes(
        gang="the JobSet with its Jobs",
        units=(
            "its PodGroups: one for all pods, one per ReplicatedJob, one per Job, or "
            "others; without any, each Job"
        ),
        queues="Kueue",
        limits=(
            "Its controller resumes a Job that is suspended alone and not held. No release "
            "has gang modes of its own. gangboard reads `spec.scheduling` and the draft "
            "`spec.gangPolicy` where a CRD serves them, and compares them with the groups "
            "that exist"
        ),
        tested="JobSet 0.12 on 1.35, 1.36 and 1.37",
    )
    traits = KindTraits(
        controller="the JobSet controller",
        role="ReplicatedJob",
        role_size_field="replicatedJobs",
        ends_pods=True,
        # constants.go of v0.12.0.
        jobs_refused=frozenset(
            {"JobCreationFailed", "HeadlessServiceCreationFailed", "PVCCreationFailed"}
        ),
        # With exclusive placement, the validating webhook refuses followers that the mutating webhook gave no selector
        # (pod_webhook.go of v0.12.0; the second text was observed on 1.37.0).
        follower_refusals=(
            "expected, transient error",
            "follower pod node selector for topology domain not found",
            "follower pod node selector not set",
        ),
        disruptions={"ExclusivePlacementViolation": "removed by JobSet for exclusive placement"},
    )
    own_managers = ("jobset.sigs.k8s.io/jobset-controller",)
    makes = (("batch", "Job"),)
    child_label = "jobset.sigs.k8s.io/jobset-name"
    levers = ("suspend",)
    suspended_condition = "Suspended"
    child_levers = ("native", "hold", "parallelism")
    child_relocation_levers = ("hold-exclusion", "hold-cordon")
    conduct = JobSetConduct()

    def build(self, wire: WireJobSet, version: str) -> Owner:
        """Return the JobSet with a role for each ReplicatedJob."""
        spec, status = wire.spec or WireJobSetSpec(), wire.status or WireJobSetStatus()
        conditions = read_conditions(status.conditions)
        faults: list[str] = []
        gang_request, roles = read_gang_requests(
            _roles(wire.metadata.name, spec, status, faults), spec.scheduling, spec.gang_policy
        )
        jobs = [replicated.job for replicated in spec.replicated_jobs or ()]
        restarting = find_condition(conditions, "RestartingJobSet")
        policies = read_policies(wire.metadata.name, spec)
        owner = Owner(
            meta=self.read_meta(wire, version),
            **self.read_control(wire, spec.managed_by),
            suspended=bool(spec.suspend),
            desired=size_of(roles),
            roles=roles,
            pod_requests=tuple(
                PodRequests(role.replicas * role.pods, role.requests) for role in roles
            ),
            finish=_finish(conditions, status),
            conditions=conditions,
            restarts=status.restarts or 0,
            max_restarts=(spec.failure_policy.max_restarts or 0) if spec.failure_policy else None,
            counted_restarts=_counted_restarts(status, policies),
            restarting=restarting is not None and restarting.is_true,
            job_restarts=dict(_job_restarts(wire.metadata.name, status)),
            reported=_reported(roles),
            gang_request=gang_request,
            group_name=shared_text(role.group_name for role in roles),
            priority_class=shared_text(job.pod.priority_class_name or "" for job in jobs),
            resumed_at=resumed_at(conditions),
            detail={POLICIES: encode_policies(policies)},
            independent_claim=read_independent_claim(wire),
            grace_seconds=max((job.grace_seconds for job in jobs), default=DEFAULT_GRACE),
        )
        return raise_for_faults(owner, faults)

    def group_fate(
        self, owner: Owner, group: Group, kubernetes: tuple[int, int] | None
    ) -> GroupFate | None:
        """Return the fate of its own Workload and PodGroups, which only the draft of KEP-969 creates.

        Source: jobset#1250. No release of JobSet has it.
        """
        if group.meta.ref.group != _CORE_GROUPS:
            return None
        return GroupFate(is_kept=False, design="jobset#1250", same_name=True)

    def creates(self, manifest: Manifest, context: CreationContext) -> Iterable[Manifest]:
        """Return the Jobs that it creates at once, with its groups."""
        return creation.children(manifest, context, self.own_managers)

    def faults(self, manifest: Manifest, context: CreationContext) -> Iterable[ManifestFault]:
        """Return what its CRD or its webhook refuses."""
        return refusals.faults(manifest)

    def tries_again(self, owner: Owner) -> bool:
        """Return whether the JobSet replaces failed Jobs, by a restart of all Jobs or of one."""
        policies = decode_policies(owner)
        rules = policies.failure_rules if policies is not None else ()
        if any(rule.action != "FailJobSet" for rule in rules):
            return True
        return owner.max_restarts is not None and owner.counted_restarts < owner.max_restarts

    def is_current(self, owner: Owner, child: Owner) -> bool:
        """Return whether a child Job belongs to the current attempt (getChildJobs, v0.12).

        A child without a readable attempt counts, because hiding it would be a guess. A later attempt also counts: it
        belongs to a restart that the status does not show yet.
        """
        attempt, _, job_attempt = child.attempt.partition(".")
        target = owner.job_restarts.get(child.meta.ref.name, 0)
        return not _is_behind(attempt, owner.restarts) and not _is_behind(job_attempt, target)


def _reported(roles: tuple[Role, ...]) -> ReportedCounts | None:
    """Return how many Jobs are ready or have succeeded. None: a role has no counts."""
    if not roles or any(role.ready is None for role in roles):
        return None
    up = sum(min(role.replicas, (role.ready or 0) + (role.succeeded or 0)) for role in roles)
    return ReportedCounts(up, sum(role.replicas for role in roles), "Job")


def _roles(
    jobset: str, spec: WireJobSetSpec, status: WireJobSetStatus, faults: list[str]
) -> tuple[Role, ...]:
    """Return the ReplicatedJobs as roles, in their order, and append their faults to `faults`."""
    reported = {role.name: role for role in status.replicated_jobs_status or ()}
    started_after = _startup_order(spec)
    number = sum(replicated.count for replicated in spec.replicated_jobs or ())
    if number > MAX_CHILDREN:
        faults.append(
            f"it asks for {number:,} Jobs, of which only the first {MAX_CHILDREN:,} are followed by name"
        )
    roles, names_left = [], MAX_CHILDREN
    for replicated in spec.replicated_jobs or ():
        requests, malformed = pod_requests(replicated.job.pod)
        faults.extend(f"in {replicated.name} {fault}" for fault in malformed)
        counts = reported.get(replicated.name)
        roles.append(
            Role(
                name=replicated.name,
                replicas=replicated.count,
                pods=replicated.job.width,
                requests=requests,
                depends_on=(
                    *(Dependency(on.name, on.status) for on in replicated.depends_on or ()),
                    *started_after.get(replicated.name, ()),
                ),
                group_name=replicated.job.pod.group_name,
                child_names=tuple(
                    child_name(jobset, replicated.name, index)
                    for index in range(min(replicated.count, max(names_left, 1)))
                ),
                ready=counts.ready if counts else None,
                succeeded=counts.succeeded if counts else None,
            )
        )
        names_left -= len(roles[-1].child_names)
    return tuple(roles)


def _startup_order(spec: WireJobSetSpec) -> dict[str, tuple[Dependency, ...]]:
    """Return role → dependency on the readiness of the previous role, for `InOrder`."""
    if not spec.in_order:
        return {}
    return {
        after.name: (Dependency(before.name, "Ready", origin="startupPolicy"),)
        for before, after in pairwise(spec.replicated_jobs or ())
    }


def _finish(conditions: tuple[Condition, ...], status: WireJobSetStatus) -> Finish | None:
    """Return the end of the JobSet from its conditions, or from `terminalState` without one."""
    ended = _OUTCOMES.get(status.terminal_state or "")
    return finish_by(conditions, _OUTCOMES) or (Finish(ended) if ended else None)


def _counted_restarts(status: WireJobSetStatus, policies: Policies) -> int:
    """Return the restarts that count towards `maxRestarts` (failure_policy.go, v0.12).

    Restarts of single Jobs also count. Restarts in place count as the attempt that the pods have reached, minus the
    uncounted restarts (in_place_restart.go). The API omits a count of 0. Then all restarts count, unless a rule exempts
    some (both since v0.6).
    """
    uncounting = any(rule.action.endswith(_UNCOUNTED_SUFFIX) for rule in policies.failure_rules)
    of_all = status.restarts_count_towards_max
    if of_all is None:
        of_all = 0 if uncounting else status.restarts or 0
    of_single_jobs = sum(
        sum(role.job_restarts_count_towards_max or ())
        for role in status.replicated_jobs_status or ()
    )
    uncounted = (status.restarts or 0) - of_all
    in_place = (status.current_in_place_restart_attempt or 0) - uncounted
    return max(of_all + of_single_jobs, in_place)


def _job_restarts(jobset: str, status: WireJobSetStatus) -> Iterator[tuple[str, int]]:
    for role in status.replicated_jobs_status or ():
        for index, restarts in enumerate(role.job_restarts or ()):
            if restarts:
                yield child_name(jobset, role.name, index), restarts


def _is_behind(attempt: str, target: int) -> bool:
    return attempt.isdecimal() and len(attempt) <= 10 and int(attempt) < target
