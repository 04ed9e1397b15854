"""RayJobs: work that is submitted to their own RayCluster, or to an existing one (`clusterSelector`).

The state is `status.jobDeploymentStatus` (rayjob_types.go). A suspended RayJob deletes its RayCluster and its Job, and
creates new ones when it is resumed. A suspension that KubeRay finds invalid does harm: the RayJob becomes
`ValidationFailed`, and KubeRay no longer reconciles it, although everything keeps running (observed on 1.6.2).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from gangboard.decode.key_fields import KeyField
from gangboard.decode.owner_meta import WireOwnerMeta
from gangboard.decode.wire import Int32, Wire, read_text, read_time
from gangboard.domain.action import Verb
from gangboard.domain.forecast import CreationContext, Manifest, ManifestFault
from gangboard.domain.owner import Blueprint, Finish, Outcome, Owner, ReportedCounts
from gangboard.domain.text import count, label
from gangboard.domain.traits import KindTraits
from gangboard.owners.ray import creation
from gangboard.owners.ray.raycluster import RayKind
from gangboard.owners.ray.wire import (
    CLUSTER,
    CLUSTER_KIND,
    CLUSTER_LABEL,
    JOB,
    ORIGIN_LABEL,
    WireClusterSpec,
    WireClusterStatus,
    WireManagedSpec,
    is_cluster,
)
from gangboard.plugins.owner_kind import KindNotes, copy_fields
from gangboard.policy.phrases import pods_made

# In `detail`.
_STATUS, _CLUSTER, _SHARED, _KEPT = "status", "cluster", "clusterSelector", "kept"
_RAY, _MODE = "ray", "mode"

_FIELDS_FROM_CLUSTER = ("desired", "roles", "pod_requests", "grace_seconds")
"""Fields that come from the RayCluster, because an autoscaler changes that and not the spec of the RayJob."""

_SUBMITTER_MODE = "K8sJobMode"
"""The default submission mode, and the only one with a Job that submits the work."""
_FAILED_STATES = "Failed", "ValidationFailed"
_IGNORES_SUSPEND = "Waiting"
"""State of a RayJob that waits for a user to submit work. KubeRay ignores `suspend` in it (rayjob_controller.go)."""


class _WireRayJobSpec(WireManagedSpec):
    ray_cluster_spec: WireClusterSpec | None = None
    cluster_selector: KeyField[dict[str, str] | None] = None
    shutdown_after_job_finishes: bool | None = None
    submission_mode: str | None = None
    backoff_limit: Int32 | None = None


class _WireRayJobStatus(Wire):
    job_deployment_status: str | None = None
    job_status: str | None = None
    ray_cluster_name: str | None = None
    ray_cluster_status: WireClusterStatus | None = None
    reason: str | None = None
    message: str | None = None
    start_time: str | None = None
    end_time: str | None = None
    failed: Int32 | None = None


class WireRayJob(Wire):
    """The fields of a RayJob that gangboard reads."""

    metadata: WireOwnerMeta
    spec: _WireRayJobSpec | None = None
    status: _WireRayJobStatus | None = None


class RayJob(RayKind):
    """A RayJob."""

    kind = JOB
    wire = WireRayJob
    notes = KindNotes(
        gang="the RayJob with its RayCluster, their pods, and the Job that submits the work",
        units="those of the RayCluster; the Job that submits the work is another unit",
        queues="Kueue",
        limits=(
            "It can be suspended only with `shutdownAfterJobFinishes`, without "
            "`clusterSelector`, and not in `InteractiveMode`. Otherwise it fails its "
            "validation for good. After a resume it creates a new RayCluster and starts "
            "from the beginning"
        ),
        tested="KubeRay 1.6.2 on 1.37",
    )
    traits = KindTraits(ends_pods=True, leaves_suspended=True)
    makes = (CLUSTER_KIND, ("batch", "Job"))
    child_label = ORIGIN_LABEL
    event_reasons: Mapping[str, str] = {
        "FailedToCreateRayCluster": "Failed to create RayCluster ",
        "FailedToCreateRayJobSubmitter": "Failed to create new Kubernetes Job ",
        "RayClusterNotFound": "",
    }

    def build(self, wire: WireRayJob, version: str) -> Owner:
        """Return the RayJob with the roles of the RayCluster in its spec."""
        spec, status = wire.spec or _WireRayJobSpec(), wire.status or _WireRayJobStatus()
        finish = _finish(status)
        failed = max(0, status.failed or 0)
        shared = spec.ray_cluster_spec is None
        return self.build_owner(
            wire,
            version,
            spec,
            spec.ray_cluster_spec,
            finish=finish,
            # KubeRay created a new RayCluster after each failed try but the last.
            restarts=failed - 1 if failed and finish is not None else failed,
            max_restarts=spec.backoff_limit,
            restarting=status.job_deployment_status == "Retrying",
            started_at=read_time(status.start_time),
            reported=_reported(status),
            detail=_detail(spec, status),
            **({"desired": _pods_without_cluster(spec)} if shared else {}),
        )

    def complete(
        self, owner: Owner, children: Sequence[Owner], blueprints: Sequence[Blueprint]
    ) -> Owner:
        """Return the RayJob with the size of its RayCluster."""
        cluster = next((child for child in children if is_cluster(child)), None)
        return copy_fields(owner, cluster, _FIELDS_FROM_CLUSTER) if cluster is not None else owner

    def creates(self, manifest: Manifest, context: CreationContext) -> Iterable[Manifest]:
        """Return its RayCluster, and the Job that submits its work."""
        return creation.job_objects(manifest, context)

    def faults(self, manifest: Manifest, context: CreationContext) -> Iterable[ManifestFault]:
        """Return what KubeRay refuses."""
        return creation.job_faults(manifest)

    def is_current(self, owner: Owner, child: Owner) -> bool:
        """Return whether a RayCluster belongs to the current try."""
        name = owner.detail.get(_CLUSTER, "")
        return not is_cluster(child) or not name or child.meta.ref.name == name

    def makers(self, owner: Owner) -> Iterator[tuple[str, str, str]]:
        """Yield the RayCluster of the RayJob, unless it is a foreign one."""
        name = owner.detail.get(_CLUSTER, "")
        if name and _SHARED not in owner.detail:
            yield (*CLUSTER_KIND, name)

    def has_acted(self, status: Mapping[str, Any]) -> bool:
        """Return whether `jobDeploymentStatus` is `Suspended`."""
        return bool(status.get("jobDeploymentStatus") == "Suspended")

    def refuses(self, owner: Owner, verb: Verb) -> str:
        """Return why KubeRay would refuse a suspension (ValidateRayJobSpec in validation.go)."""
        if verb is not Verb.SUSPEND:
            return ""
        name, shared = label(owner.meta.ref), owner.detail.get(_SHARED)
        if shared:
            return (
                f"{name} runs on {CLUSTER} {shared} (clusterSelector), and KubeRay suspends no such RayJob: "
                "it would only fail its validation."
            )
        if _KEPT in owner.detail:
            return (
                f"{name} has spec.shutdownAfterJobFinishes false, and KubeRay suspends no such RayJob: its "
                "pods would run on, and nobody would look after it."
            )
        if owner.detail.get(_STATUS) == _IGNORES_SUSPEND:
            return (
                f"{name} waits for somebody to submit work (InteractiveMode); until then KubeRay heeds no "
                "suspension."
            )
        return ""

    def reactions(self, owner: Owner, target: Owner, verb: Verb) -> tuple[str, ...]:
        """Return the reactions of KubeRay."""
        if verb is Verb.RESUME:
            return (
                f"KubeRay makes another RayCluster. {pods_made(owner.desired)}",
                "Its work is submitted again and starts from its beginning.",
            )
        cluster_text = (
            f"RayCluster {owner.detail[_CLUSTER]}" if _CLUSTER in owner.detail else "its RayCluster"
        )
        job = (
            " and the Job that submitted its work"
            if owner.detail.get(_MODE) == _SUBMITTER_MODE
            else ""
        )
        return (
            f"KubeRay deletes {cluster_text} with its {count(owner.desired, 'pod')}{job}: what Ray keeps in memory "
            "is lost.",
            "Once begun that runs to its end, whatever is asked for meanwhile.",
        )

    def facts(self, owner: Owner) -> dict[str, str]:
        """Return the state of the RayJob and of its work, and its RayCluster."""
        rows = {}
        if _STATUS in owner.detail:
            rows["Deployment"] = owner.detail[_STATUS]
        if _RAY in owner.detail:
            rows["Ray job"] = owner.detail[_RAY]
        if _CLUSTER in owner.detail:
            is_kept = owner.finish is not None and _KEPT in owner.detail
            rows["RayCluster"] = owner.detail[_CLUSTER] + (
                ", kept after the end (shutdownAfterJobFinishes is false)" if is_kept else ""
            )
        return rows


def _pods_without_cluster(spec: _WireRayJobSpec) -> int:
    """Return the number of pods of a RayJob on a foreign RayCluster, which is 1 if a Job submits the work."""
    return int(
        bool(spec.cluster_selector) and (spec.submission_mode or _SUBMITTER_MODE) == _SUBMITTER_MODE
    )


def _reported(status: _WireRayJobStatus) -> ReportedCounts | None:
    """Return the ready workers. None: the work does not run yet."""
    if status.job_deployment_status != "Running" or status.ray_cluster_status is None:
        return None
    return status.ray_cluster_status.reported


def _finish(status: _WireRayJobStatus) -> Finish | None:
    state, ray_status = status.job_deployment_status, status.job_status or ""
    ended_at, message = read_time(status.end_time), read_text(status.message)
    if state in _FAILED_STATES:
        return Finish(Outcome.FAILED, status.reason or state or "", message, ended_at)
    if state != "Complete":
        return None
    # A stopped job is also complete, and KubeRay does not count it as a success.
    if ray_status == "STOPPED":
        return Finish(Outcome.FAILED, ray_status, message, ended_at)
    return Finish(Outcome.SUCCEEDED, status.reason or ray_status, message, ended_at)


def _detail(spec: _WireRayJobSpec, status: _WireRayJobStatus) -> dict[str, str]:
    selector = spec.cluster_selector or {}
    detail = {
        _STATUS: read_text(status.job_deployment_status),
        _CLUSTER: read_text(status.ray_cluster_name),
        _SHARED: read_text(selector.get(CLUSTER_LABEL) or "?") if selector else "",
        _KEPT: "" if spec.shutdown_after_job_finishes else "true",
        _RAY: read_text(status.job_status),
        _MODE: read_text(spec.submission_mode) or _SUBMITTER_MODE,
    }
    return {name: text for name, text in detail.items() if text}
