"""Gangs that the label `ray.io/gang-scheduling-enabled` asks for, where KubeRay makes no group.

KubeRay 1.7 makes core groups with scheduling.k8s.io/v1alpha2 alone, and none for a RayCluster with Ray's
autoscaler (gate KubernetesWAS, ray-project/kuberay#4962). No status says so.
"""

from __future__ import annotations

from gangboard.domain.health import Health, Stage
from gangboard.domain.pod import STOCK_SCHEDULER
from gangboard.domain.text import count, is_or_are
from gangboard.domain.verdict import Evidence, Finding
from gangboard.facts.findings import unit_finding
from gangboard.facts.state_since import first_creation
from gangboard.facts.unit import Unit
from gangboard.owners.ray.reasons import cluster_of
from gangboard.owners.ray.wire import AUTOSCALED, GANG_LABEL
from gangboard.plugins.rule import UnitRule

_SPOKEN = "v1alpha2"
_LAST_WITH_IT = 1, 36
"""The last minor version of Kubernetes that serves it."""


def find_not_ganged(unit: Unit) -> Finding | None:
    """Return a finding while pods are in no group, for a reason that is known.

    The stock scheduler's pods only: for any other KubeRay makes groups of another API, or its scheduler does.
    """
    request = unit.owner.gang_request
    if request is None or request.api != GANG_LABEL or unit.gang.cluster.groups_unobserved:
        return None
    pods = [pod for pod in unit.current if not pod.group_name]
    if not pods or any(pod.scheduler_name != STOCK_SCHEDULER for pod in pods):
        return None
    why = _why(unit)
    if not why:
        return None
    ref, number = unit.owner.meta.ref, len(pods)
    served = unit.gang.cluster.gang_api_version or "none"
    return unit_finding(
        NOT_GANGED,
        unit,
        f"{count(number, 'pod')} {is_or_are(number)} scheduled one by one: {why}.",
        evidence=(
            Evidence("asked for", GANG_LABEL, ref),
            Evidence("pods without a group", str(number), pods[0].meta.ref),
            Evidence("scheduling.k8s.io", served),
        ),
        since=first_creation(pods),
        named=False,
    )


def _why(unit: Unit) -> str:
    """Return why KubeRay makes no group; empty where it could make one, or where that is not known."""
    cluster = cluster_of(unit) or unit.owner
    if AUTOSCALED in cluster.detail:
        return "KubeRay makes no group for a RayCluster with the autoscaler"
    version = unit.gang.cluster.kubernetes
    if version is None or version <= _LAST_WITH_IT or unit.gang.cluster.gang_api_version == _SPOKEN:
        return ""
    served = unit.gang.cluster.gang_api_version
    return f"KubeRay needs scheduling.k8s.io/{_SPOKEN}, and this cluster serves {served or 'no PodGroups'}"


NOT_GANGED = UnitRule(
    "not-ganged",
    Stage.FORMATION,
    "Not scheduled as a gang",
    89,
    find_not_ganged,
    health=Health.DEGRADED,
)
