"""TrainJobs (trainer.kubeflow.org/v1alpha1, Trainer v2), each with a JobSet of the same name from a runtime.

The Trainer copies `spec.suspend` to the JobSet and reverts changes by others (real-owners.md §1.4), so a TrainJob is
suspended by its own field. Its status counts Jobs instead of pods and has no condition while it waits. So pods, roles
and restarts come from the JobSet.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime

from gangboard.decode.owner_meta import WireOwnerMeta
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
from gangboard.domain.objects import resumed_at
from gangboard.domain.owner import Blueprint, Outcome, Owner, ReportedCounts, finish_by
from gangboard.domain.text import label
from gangboard.owners.trainjob import creation
from gangboard.owners.trainjob.runtime import (
    GROUP,
    NODES,
    RUNTIMES,
    WireRuntimeRef,
    named_runtime,
    with_runtime,
)
from gangboard.plugins.owner_kind import KindNotes, OwnerKind, copy_fields

_JOBSET_KIND = "jobset.x-k8s.io", "JobSet"
_CORE_GROUPS = "scheduling.k8s.io"
_OUTCOMES = {"Failed": Outcome.FAILED, "Complete": Outcome.SUCCEEDED}
_PROGRESS = "progress"  # in `detail`


class _WireTrainer(Wire):
    num_nodes: Int32 | None = None


class _WireTrainJobSpec(Wire):
    runtime_ref: WireRuntimeRef | None = None
    suspend: bool | None = None
    managed_by: str | None = None
    trainer: _WireTrainer | None = None


class _WireTrainerStatus(Wire):
    progress_percentage: Int32 | None = None
    estimated_remaining_seconds: Int32 | None = None
    last_updated_time: str | None = None


class _WireJobsStatus(Wire):
    ready: Int32 | None = None
    succeeded: Int32 | None = None
    failed: Int32 | None = None
    active: Int32 | None = None
    suspended: Int32 | None = None


class _WireTrainJobStatus(Wire):
    conditions: list[WireCondition] | None = None
    jobs_status: list[_WireJobsStatus] | None = None
    trainer_status: _WireTrainerStatus | None = None


class WireTrainJob(Wire):
    """The fields of a TrainJob that gangboard reads."""

    metadata: WireOwnerMeta
    spec: _WireTrainJobSpec | None = None
    status: _WireTrainJobStatus | None = None


_FIELDS_FROM_JOBSET = (
    "desired",
    "roles",
    "pod_requests",
    "restarts",
    "max_restarts",
    "counted_restarts",
    "restarting",
    "job_restarts",
    "gang_request",
    "group_name",
    "priority_class",
    "grace_seconds",
)
"""Fields that come from the JobSet of a TrainJob."""


class TrainJob(OwnerKind):
    """A TrainJob of Kubeflow Trainer v2."""

    group = GROUP
    kind = "TrainJob"
    versions = ("v1alpha1",)
    wire = WireTrainJob
    blueprints = RUNTIMES
    notes = KindNotes(
        gang="the TrainJob with its JobSet and Jobs",
        units="those of its JobSet",
        queues="Kueue",
        limits=(
            "Its controller rewrites the JobSet. A JobSet that is suspended below it loses "
            "its pods and gets new ones. Its runtime says which parts train, which parts "
            "prepare, and whether it requests a gang. Parts that prepare are in no gang by "
            "design. The default scheduler ignores PodGroups of other APIs"
        ),
        tested="Kubeflow Trainer 2.3 on 1.37",
    )
    own_managers = ("trainer.kubeflow.org/trainjob-controller",)
    makes = (_JOBSET_KIND, ("batch", "Job"))
    selector_label = "jobset.sigs.k8s.io/jobset-name"  # the JobSet has the name of the TrainJob
    levers = ("suspend",)
    event_reasons: Mapping[str, str] = {
        "TrainJobResourcesCreationFailed": "TrainJob resources reconciliation failed: "
    }

    def build(self, wire: WireTrainJob, version: str) -> Owner:
        """Return the TrainJob with the size in its own spec."""
        spec, status = wire.spec or _WireTrainJobSpec(), wire.status or _WireTrainJobStatus()
        conditions = read_conditions(status.conditions)
        nodes = spec.trainer.num_nodes if spec.trainer is not None else None
        detail = {
            NODES: "" if nodes is None else str(nodes),
            _PROGRESS: _progress(status.trainer_status),
        }
        return Owner(
            meta=self.read_meta(wire, version),
            **self.read_control(wire, spec.managed_by),
            suspended=bool(spec.suspend),
            desired=or_one(nodes),
            finish=finish_by(conditions, _OUTCOMES),
            conditions=conditions,
            resumed_at=resumed_at(conditions),
            reported=_reported(status.jobs_status or ()),
            blueprints=named_runtime(wire.metadata.namespace, spec.runtime_ref),
            detail={name: text for name, text in detail.items() if text},
        )

    def complete(
        self, owner: Owner, children: Sequence[Owner], blueprints: Sequence[Blueprint]
    ) -> Owner:
        """Return the TrainJob with the roles of its JobSet and the fields of its runtime."""
        for child in children:
            if (child.meta.ref.group, child.meta.ref.kind) == _JOBSET_KIND:
                owner = copy_fields(owner, child, _FIELDS_FROM_JOBSET)
                break
        return with_runtime(owner, blueprints[0]) if blueprints else owner

    def group_fate(
        self, owner: Owner, group: Group, kubernetes: tuple[int, int] | None
    ) -> GroupFate | None:
        """Return the fate of its core groups, which only the draft of the Trainer creates (trainer#3219)."""
        if group.meta.ref.group != _CORE_GROUPS:
            return None
        return GroupFate(is_kept=True, design="trainer#3219")

    def creates(self, manifest: Manifest, context: CreationContext) -> Iterable[Manifest]:
        """Return its JobSet, and the PodGroup that its runtime asks for."""
        return creation.children(manifest, context, self.own_managers)

    def faults(self, manifest: Manifest, context: CreationContext) -> Iterable[ManifestFault]:
        """Return what its CRD or its webhook refuses."""
        return creation.faults(manifest, context)

    def makers(self, owner: Owner) -> Iterator[tuple[str, str, str]]:
        """Yield its JobSet, which has the same name (real-owners.md §1.2)."""
        yield (*_JOBSET_KIND, owner.meta.ref.name)

    def facts(self, owner: Owner) -> dict[str, str]:
        """Return its runtime and its progress."""
        rows = {}
        for runtime in owner.blueprints:
            rows["Runtime"] = label(runtime)
        if _PROGRESS in owner.detail:
            rows["Progress"] = owner.detail[_PROGRESS]
        return rows


def _reported(job_counts: Sequence[_WireJobsStatus]) -> ReportedCounts | None:
    """Return how many Jobs are ready or have succeeded.

    The status has no total. Each ReplicatedJob has at least one Job.
    """
    up = total = 0
    for counts in job_counts:
        succeeded = counts.succeeded or 0
        at_work = max(counts.ready or 0, counts.active or 0)
        ended = succeeded + (counts.failed or 0) + (counts.suspended or 0)
        up += (counts.ready or 0) + succeeded
        total += max(1, at_work + ended)
    return ReportedCounts(up, total, "Job") if job_counts else None


def _progress(status: _WireTrainerStatus | None) -> str:
    """Return the progress that the trainer reports (gate TrainJobStatus), with its time."""
    if status is None or status.progress_percentage is None:
        return ""
    text = f"{status.progress_percentage} %"
    if status.estimated_remaining_seconds is not None:
        text += f", about {_duration(status.estimated_remaining_seconds)} left"
    reported_at = read_time(status.last_updated_time)
    return text if reported_at is None else f"{text}, as of {_moment(reported_at)}"


def _duration(seconds: int) -> str:
    """Return a duration in the largest unit that it contains at least twice."""
    for unit, length in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{seconds // length} {unit}"
    return f"{seconds} s"


def _moment(time: datetime) -> str:
    return f"{time:%Y-%m-%d %H:%M:%S} UTC"
