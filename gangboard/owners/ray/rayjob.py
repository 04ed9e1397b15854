"""RayJobs: work that is submitted to a RayCluster of its own, or to one that is there (`clusterSelector`).

How it is doing is a word in its status, `jobDeploymentStatus` (rayjob_types.go). Suspended it deletes its RayCluster and
its Job, and makes others when it is resumed. It refuses that in ways that do harm: what it finds invalid becomes
`ValidationFailed`, and from then on it looks after nothing of it, though everything runs on (seen on 1.6.2).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gangboard.decode.key_fields import KeyField
from gangboard.decode.wire import Int32, Wire, read_text, read_time
from gangboard.domain.action import Verb
from gangboard.domain.owner import Blueprint, Finish, Outcome, Owner, ReportedCounts
from gangboard.domain.text import count, label
from gangboard.domain.traits import KindTraits
from gangboard.owners.ray.raycluster import RayKind
from gangboard.owners.ray.wire import (
    CLUSTER,
    CLUSTER_LABEL,
    CLUSTERS,
    JOB,
    ORIGIN_LABEL,
    Managed,
    WireClusterSpec,
    WireClusterStatus,
    WireRayMeta,
    is_cluster,
)
from gangboard.plugins.owner_kind import KindNotes, taken_from
from gangboard.policy.phrases import pods_made

# In `detail`.
_STATUS, _CLUSTER, _SHARED, _KEPT = "status", "cluster", "clusterSelector", "kept"
_RAY, _MODE = "ray", "mode"

_FROM_CLUSTER = ("desired", "roles", "pod_requests", "grace_seconds")
"""Fields of its RayCluster: an autoscaler changes these, and not the spec of the RayJob."""

_WITH_JOB = "K8sJobMode"
"""The only mode in which KubeRay makes a Job that submits the work, and the default."""
_FAILED = "Failed", "ValidationFailed"
_IGNORES = "Waiting"
"""It waits for a user to submit work: KubeRay reads `suspend` only before and after (rayjob_controller.go)."""


class _WireRayJobSpec(Managed):
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
    """A RayJob as narrow as it is kept."""

    metadata: WireRayMeta
    spec: _WireRayJobSpec | None = None
    status: _WireRayJobStatus | None = None


class RayJob(RayKind):
    """A RayJob."""

    kind = JOB
    wire = WireRayJob
    notes = KindNotes(
        gang="the RayJob with its RayCluster, the pods of that, and the Job that submits its work",
        units="as of the RayCluster; the Job that submits is one of its own",
        queues="Kueue",
        limits="it is suspended only with `shutdownAfterJobFinishes`, without `clusterSelector`, and not "
        "while it waits for work (`InteractiveMode`); else it fails its validation for good. Resumed it "
        "makes another RayCluster and starts from the beginning",
        tested="KubeRay 1.6.2 on 1.37",
    )
    traits = KindTraits(ends_pods=True, leaves_suspended=True)
    makes = (CLUSTERS, ("batch", "Job"))
    child_label = ORIGIN_LABEL
    event_reasons: Mapping[str, str] = {
        "FailedToCreateRayCluster": "Failed to create RayCluster ",
        "FailedToCreateRayJobSubmitter": "Failed to create new Kubernetes Job ",
        "RayClusterNotFound": "",
    }

    def build(self, wire: WireRayJob, version: str) -> Owner:
        """Return the RayJob with the parts of the RayCluster that it asks for."""
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
            # Each try that failed but the last one was followed by another RayCluster.
            restarts=failed - 1 if failed and finish is not None else failed,
            max_restarts=spec.backoff_limit,
            restarting=status.job_deployment_status == "Retrying",
            started_at=read_time(status.start_time),
            reported=_reported(status),
            detail=_detail(spec, status),
            **({"desired": _pods_without_cluster(spec)} if shared else {}),
        )

    def complete(
        self, owner: Owner, made: Sequence[Owner], blueprints: Sequence[Blueprint]
    ) -> Owner:
        """Return it with the size of its RayCluster."""
        cluster = next((child for child in made if is_cluster(child)), None)
        return taken_from(owner, cluster, _FROM_CLUSTER) if cluster is not None else owner

    def is_current(self, owner: Owner, child: Owner) -> bool:
        """Return whether a RayCluster is that of its present try."""
        name = owner.detail.get(_CLUSTER, "")
        return not is_cluster(child) or not name or child.meta.ref.name == name

    def makers(self, owner: Owner) -> Iterator[tuple[str, str, str]]:
        """Yield its RayCluster, unless it uses a foreign one."""
        name = owner.detail.get(_CLUSTER, "")
        if name and _SHARED not in owner.detail:
            yield (*CLUSTERS, name)

    def has_acted(self, status: Mapping[str, Any]) -> bool:
        """Return whether `jobDeploymentStatus` says that it is suspended."""
        return bool(status.get("jobDeploymentStatus") == "Suspended")

    def refuses(self, owner: Owner, verb: Verb) -> str:
        """Return why KubeRay would not suspend it (ValidateRayJobSpec in validation.go)."""
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
        if owner.detail.get(_STATUS) == _IGNORES:
            return (
                f"{name} waits for somebody to submit work (InteractiveMode); until then KubeRay heeds no "
                "suspension."
            )
        return ""

    def reactions(self, owner: Owner, target: Owner, verb: Verb) -> tuple[str, ...]:
        """Return what KubeRay does with its RayCluster and its Job."""
        if verb is Verb.RESUME:
            return (
                f"KubeRay makes another RayCluster. {pods_made(owner.desired)}",
                "Its work is submitted again and starts from its beginning.",
            )
        what = (
            f"RayCluster {owner.detail[_CLUSTER]}" if _CLUSTER in owner.detail else "its RayCluster"
        )
        job = " and the Job that submitted its work" if owner.detail.get(_MODE) == _WITH_JOB else ""
        return (
            f"KubeRay deletes {what} with its {count(owner.desired, 'pod')}{job}: what Ray keeps in memory "
            "is lost.",
            "Once begun that runs to its end, whatever is asked for meanwhile.",
        )

    def facts(self, owner: Owner) -> dict[str, str]:
        """Return its state, that of its work, and its RayCluster."""
        rows = {}
        if _STATUS in owner.detail:
            rows["Deployment"] = owner.detail[_STATUS]
        if _RAY in owner.detail:
            rows["Ray job"] = owner.detail[_RAY]
        if _CLUSTER in owner.detail:
            kept = owner.finish is not None and _KEPT in owner.detail
            rows["RayCluster"] = owner.detail[_CLUSTER] + (
                ", kept after the end (shutdownAfterJobFinishes is false)" if kept else ""
            )
        return rows


def _pods_without_cluster(spec: _WireRayJobSpec) -> int:
    """Return the pods of a RayJob on a foreign RayCluster: that of the Job that submits."""
    return int(bool(spec.cluster_selector) and (spec.submission_mode or _WITH_JOB) == _WITH_JOB)


def _reported(status: _WireRayJobStatus) -> ReportedCounts | None:
    """Return the ready workers, once its work runs on them."""
    if status.job_deployment_status != "Running" or status.ray_cluster_status is None:
        return None
    return status.ray_cluster_status.reported


def _finish(status: _WireRayJobStatus) -> Finish | None:
    state, of_ray = status.job_deployment_status, status.job_status or ""
    at, message = read_time(status.end_time), read_text(status.message)
    if state in _FAILED:
        return Finish(Outcome.FAILED, status.reason or state or "", message, at)
    if state != "Complete":
        return None
    # A stopped job is also complete, and KubeRay does not count it as a success.
    if of_ray == "STOPPED":
        return Finish(Outcome.FAILED, of_ray, message, at)
    return Finish(Outcome.SUCCEEDED, status.reason or of_ray, message, at)


def _detail(spec: _WireRayJobSpec, status: _WireRayJobStatus) -> dict[str, str]:
    selector = spec.cluster_selector or {}
    detail = {
        _STATUS: read_text(status.job_deployment_status),
        _CLUSTER: read_text(status.ray_cluster_name),
        _SHARED: read_text(selector.get(CLUSTER_LABEL) or "?") if selector else "",
        _KEPT: "" if spec.shutdown_after_job_finishes else "true",
        _RAY: read_text(status.job_status),
        _MODE: read_text(spec.submission_mode) or _WITH_JOB,
    }
    return {name: text for name, text in detail.items() if text}
