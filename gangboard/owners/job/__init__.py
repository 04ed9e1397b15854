"""Jobs (batch/v1), as owners of their own or as children of another owner."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from gangboard.decode.annotations import WireJobAnnotations
from gangboard.decode.jobs import WireJobSpec, read_failed_indexes, read_gang_request
from gangboard.decode.owner_meta import WireOwnerMeta, decode_annotations, decode_labels
from gangboard.decode.podspec import pod_requests
from gangboard.decode.problems import raise_for_faults
from gangboard.decode.wire import (
    Int32,
    Wire,
    WireCondition,
    or_one,
    read_conditions,
    read_time,
)
from gangboard.domain.forecast import CreationContext, Manifest, ManifestFault
from gangboard.domain.group import Group, GroupFate
from gangboard.domain.objects import Condition, first_true_condition, resumed_at
from gangboard.domain.owner import Outcome, Owner, PodRequests, ReportedCounts, finish_by
from gangboard.domain.traits import KindTraits
from gangboard.owners.job import creation
from gangboard.owners.job.conduct import MovedJob
from gangboard.owners.job.creation import INDEXED
from gangboard.plugins.owner_kind import KindNotes, OwnerKind

_CREATES_GROUPS = 1, 36
"""The first version of Kubernetes whose Job controller creates groups. It keeps those of a suspended Job."""
_DELETES_GROUPS = 1, 38
"""The first version whose Job controller deletes the PodGroup and keeps the Workload, by its design."""
_OUTCOMES = {"Failed": Outcome.FAILED, "Complete": Outcome.SUCCEEDED}


class _WireLabels(Wire):
    """Labels with which a JobSet marks the role and the attempt of a Job."""

    role: str | None = msgspec.field(default=None, name="jobset.sigs.k8s.io/replicatedjob-name")
    attempt: str | None = msgspec.field(default=None, name="jobset.sigs.k8s.io/restart-attempt")
    job_attempt: str | None = msgspec.field(
        default=None, name="jobset.sigs.k8s.io/job-restart-attempt"
    )


class _WireAnnotations(WireJobAnnotations):
    template: str | None = msgspec.field(default=None, name="scheduling.k8s.io/group-template-name")


class _WireJobStatus(Wire):
    active: Int32 | None = None
    ready: Int32 | None = None
    succeeded: Int32 | None = None
    failed: Int32 | None = None
    terminating: Int32 | None = None
    failed_indexes: str | None = None
    start_time: str | None = None
    conditions: list[WireCondition] | None = None

    @property
    def active_pods(self) -> int | None:
        """`active`, which the API omits if it is zero. None: no controller has written a status yet."""
        if self.active is None and self.ready is None and not self.conditions:
            return None
        return self.active or 0


class WireJob(Wire):
    """The fields of a Job that gangboard reads."""

    metadata: WireOwnerMeta
    spec: WireJobSpec | None = None
    status: _WireJobStatus | None = None


class Job(OwnerKind):
    """A Job of batch/v1."""

    group = "batch"
    kind = "Job"
    versions = ("v1",)
    wire = WireJob
    notes = KindNotes(
        gang="the Job",
        units="its PodGroup; without one, the Job itself",
        queues="Kueue",
        limits="Below another owner, that owner decides about its suspend field",
        tested="the Job controllers of 1.35, 1.36 and 1.37",
    )
    traits = KindTraits(
        ends_pods=True,
        number_paths={
            "parallelism": "spec.parallelism",
            "completions": "spec.completions",
            "minCount": "spec.scheduling.schedulingPolicy.gang.minCount",
        },
    )
    selector_label = "batch.kubernetes.io/job-name"
    own_managers = ("kubernetes.io/job-controller",)
    makes = ()
    levers = ("suspend",)
    relocation_levers = ("exclusion",)
    conduct = MovedJob()
    suspended_condition = "Suspended"

    def build(self, wire: WireJob, version: str) -> Owner:
        """Return the Job with its counts, its end, its role and its attempt."""
        labels = decode_labels(wire.metadata, _WireLabels)
        annotations = decode_annotations(wire.metadata, _WireAnnotations)
        spec, status = wire.spec or WireJobSpec(), wire.status or _WireJobStatus()
        conditions = read_conditions(status.conditions)
        requests, faults = pod_requests(spec.pod)
        parallelism = or_one(spec.parallelism)
        finish = finish_by(conditions, _OUTCOMES)
        failed_indexes, failed_index_count = read_failed_indexes(status.failed_indexes)
        owner = Owner(
            meta=self.read_meta(wire, version),
            **self.read_control(wire, spec.managed_by),
            suspended=bool(spec.suspend),
            paused_by=self.read_pause(wire, parallelism, "/spec/parallelism"),
            desired=_desired(spec, status),
            pod_requests=(PodRequests(spec.width, requests),),
            finish=finish,
            conditions=conditions,
            attempt=".".join(filter(None, (labels.attempt, labels.job_attempt))),
            role_name=labels.role or "",
            retries=status.failed or 0,
            max_retries=spec.retry_limit,
            completions=spec.completions,
            parallelism=parallelism,
            indexed=spec.completion_mode == INDEXED,
            succeeded_pods=status.succeeded or 0,
            failed_pods=status.failed or 0,
            failed_indexes=failed_indexes,
            failed_index_count=failed_index_count,
            has_success_policy=spec.success_policy is not None,
            active_pods=status.active_pods,
            terminating_pods=status.terminating or 0,
            gang_request=read_gang_request(spec.scheduling, quorum=parallelism, default="basic"),
            group_name=spec.pod.group_name,
            priority_class=spec.pod.priority_class_name or "",
            started_at=read_time(status.start_time),
            resumed_at=resumed_at(conditions),
            ending="" if finish else _pending_end(conditions),
            delegated_template=annotations.template or "",
            paused_parallelism=annotations.paused_parallelism,
            held_by=annotations.held_by,
            template_affinity=spec.pod.affinity_text,
            exclusion=annotations.exclusion,
            grace_seconds=spec.grace_seconds,
            reported=_reported(_desired(spec, status), status),
            deadline_seconds=spec.active_deadline_seconds,
            waits_for_terminating=spec.pod_replacement_policy == "Failed",
        )
        return raise_for_faults(owner, faults)

    def tries_again(self, owner: Owner) -> bool:
        """Return whether its backoff limit allows another try."""
        return owner.max_retries is None or owner.retries < owner.max_retries

    def group_fate(
        self, owner: Owner, group: Group, kubernetes: tuple[int, int] | None
    ) -> GroupFate | None:
        """Return the fate of its Workload and PodGroup by the version of the Job controller.

        We observed that 1.36 and 1.37 keep both (real-owners.md §4). KEP-5547 changes that from 1.38 on.
        """
        if kubernetes is None or kubernetes < _CREATES_GROUPS:
            return None
        if kubernetes < _DELETES_GROUPS:
            return GroupFate(is_kept=True)
        return GroupFate(is_kept=group.meta.ref.kind == "Workload", design="KEP-5547")

    def creates(self, manifest: Manifest, context: CreationContext) -> Iterable[Manifest]:
        """Return its Workload and PodGroup, and its pods unless it is suspended."""
        return creation.children(manifest, context, self.own_managers)

    def faults(self, manifest: Manifest, context: CreationContext) -> Iterable[ManifestFault]:
        """Return what the API server refuses."""
        return creation.faults(manifest, context)


def _desired(spec: WireJobSpec, status: _WireJobStatus) -> int:
    """Return the number of pods that must exist or have succeeded (manageJob of the Job controller).

    With `completions` these are the succeeded pods, and at most `parallelism` others. A gang (completions = parallelism)
    always asks for its full size. A work queue of ten with two at a time asks for 2, then 3 once one has succeeded, and
    10 in the end. Without `completions` it is `parallelism` until the first pod succeeds. After that the controller
    replaces no pod, and the others end.
    """
    succeeded = status.succeeded or 0
    parallelism = or_one(spec.parallelism)
    if spec.completions is not None:
        return succeeded + max(0, min(parallelism, spec.completions - succeeded))
    return succeeded + (status.active or 0) if succeeded else parallelism


def _reported(desired: int, status: _WireJobStatus) -> ReportedCounts | None:
    if status.active_pods is None:
        return None
    return ReportedCounts(min(desired, (status.ready or 0) + (status.succeeded or 0)), desired)


def _pending_end(conditions: tuple[Condition, ...]) -> str:
    """Return why the Job will end once its remaining pods are gone (KEP-3998, KEP-3939)."""
    condition = first_true_condition(conditions, "FailureTarget", "SuccessCriteriaMet")
    return "" if condition is None else condition.reason or condition.type
