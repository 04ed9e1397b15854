"""TrainJobs (trainer.kubeflow.org/v1alpha1, Trainer v2): a JobSet of the same name, made from a runtime.

The Trainer copies `spec.suspend` down and applies its JobSet anew when somebody else changes it
(real-owners.md §1.4), so a TrainJob is suspended by its own field. Its status counts Jobs, not pods,
and has no condition while it waits: what it has of pods, roles and restarts is read from its JobSet.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from gangboard.decode.annotations import WireActed
from gangboard.decode.managers import NO_ENTRIES, last_writer
from gangboard.decode.wire import (
    Int32,
    Wire,
    WireCondition,
    WireMeta,
    read_conditions,
    read_meta,
    read_time,
)
from gangboard.domain.action import Lever
from gangboard.domain.objects import Condition, ObjectRef, find_condition, resumed_at
from gangboard.domain.owner import Finish, Outcome, Owner
from gangboard.domain.registry import OwnerKind, Resource

_GROUP = "trainer.kubeflow.org"
_OWN_MANAGERS = ("trainer.kubeflow.org/trainjob-controller",)
_JOBSETS = "jobset.x-k8s.io", "JobSet"
_ENDS = (("Failed", Outcome.FAILED), ("Complete", Outcome.SUCCEEDED))


class _WireLabels(Wire):
    queue: str | None = msgspec.field(default=None, name="kueue.x-k8s.io/queue-name")


class _WireTrainJobMeta(WireMeta):
    labels: _WireLabels | None = None
    annotations: WireActed | None = None
    managed_fields: msgspec.Raw = NO_ENTRIES


class _WireTrainer(Wire):
    num_nodes: Int32 | None = None


class _WireTrainJobSpec(Wire):
    suspend: bool | None = None
    managed_by: str | None = None
    trainer: _WireTrainer | None = None


class _WireTrainJobStatus(Wire):
    conditions: list[WireCondition] | None = None


class WireTrainJob(Wire):
    """A TrainJob as narrow as it is kept."""

    metadata: _WireTrainJobMeta
    spec: _WireTrainJobSpec | None = None
    status: _WireTrainJobStatus | None = None


def _build(wire: WireTrainJob, version: str) -> Owner:
    labels = wire.metadata.labels or _WireLabels()
    annotations = wire.metadata.annotations or WireActed()
    spec, status = wire.spec or _WireTrainJobSpec(), wire.status or _WireTrainJobStatus()
    conditions = read_conditions(status.conditions)
    suspend_set_by, set_at = last_writer(wire.metadata.managed_fields, "/spec/suspend")
    return Owner(
        meta=read_meta(wire.metadata, _GROUP, "TrainJob", version),
        suspended=bool(spec.suspend),
        suspend_set_by=suspend_set_by,
        suspend_set_at=read_time(set_at),
        desired=_nodes(spec),
        finish=_finish(conditions),
        conditions=conditions,
        queue=labels.queue or "",
        managed_by="" if spec.managed_by in _OWN_MANAGERS else spec.managed_by or "",
        resumed_at=resumed_at(conditions),
        last_action=annotations.last_action,
    )


def _nodes(spec: _WireTrainJobSpec) -> int:
    """Return the nodes, one pod each, that it asks for itself; one where it leaves that to its runtime.

    It has at least one. How many pods there are in all is known when its JobSet is there.
    """
    asked = spec.trainer.num_nodes if spec.trainer is not None else None
    return 1 if asked is None else asked


def _finish(conditions: tuple[Condition, ...]) -> Finish | None:
    for type_, outcome in _ENDS:
        found = find_condition(conditions, type_)
        if found is not None and found.is_true:
            return Finish(outcome, found.reason, found.message, found.since)
    return None


def _complete(trainjob: Owner, made: Sequence[Owner]) -> Owner:
    """Return the TrainJob with what its JobSet makes for it."""
    jobsets = [one for one in made if (one.meta.ref.group, one.meta.ref.kind) == _JOBSETS]
    if not jobsets:
        return trainjob
    jobset = jobsets[0]
    taken: dict[str, Any] = {name: getattr(jobset, name) for name in _FROM_JOBSET}
    return replace(trainjob, **taken)


_FROM_JOBSET = (
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
    "policies",
    "grace_seconds",
)
"""What a TrainJob has by the JobSet that the Trainer makes for it."""


def _makers(trainjob: ObjectRef) -> Iterator[tuple[str, str, str]]:
    """Yield its JobSet, which has its name (real-owners.md §1.2)."""
    yield (*_JOBSETS, trainjob.name)


OWNER = OwnerKind(
    resource=Resource(
        group=_GROUP,
        plural="trainjobs",
        kind="TrainJob",
        versions=("v1alpha1",),
        wire=WireTrainJob,
        model=Owner,
        build=_build,
        needed=True,
    ),
    label="TrainJob",
    own_managers=_OWN_MANAGERS,
    levers=(Lever.SUSPEND,),
    complete=_complete,
    makers=_makers,
)
