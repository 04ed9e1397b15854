"""Reasons of Ray: workers that wait for the head, pods that KubeRay could not create, and missing gangs.

The label `ray.io/gang-scheduling-enabled` asks for a gang. KubeRay 1.7 creates core groups only with
scheduling.k8s.io/v1alpha2, and none for a RayCluster with Ray's autoscaler (gate KubernetesWAS,
ray-project/kuberay#4962). No status reports that.
"""

from __future__ import annotations

from gangboard.domain.event import Event
from gangboard.domain.health import Health, Stage
from gangboard.domain.objects import Condition, find_condition
from gangboard.domain.owner import Owner
from gangboard.domain.pod import STOCK_SCHEDULER, Container, Pod
from gangboard.domain.text import count, is_or_are, out_of, plural
from gangboard.domain.verdict import Evidence, Finding
from gangboard.facts.creation_refusal import read_creation_refusal, remedy
from gangboard.facts.findings import unit_finding
from gangboard.facts.state_since import first_creation
from gangboard.facts.unit import Unit, is_formed
from gangboard.owners.ray.wire import (
    AUTOSCALED,
    CLUSTER_LABEL,
    GANG_LABEL,
    GROUP_LABEL,
    HEAD,
    is_cluster,
)
from gangboard.plugins.rule import UnitRule

_WAITS_FOR_HEAD = "wait-gcs-ready"
"""The init container that KubeRay adds to workers (DefaultWorkerPodTemplate in pod.go)."""
_NO_HEAD, _NO_WORKER = "FailedCreateHeadPod", "FailedCreateWorkerPod"
CREATION_FAILURES = _NO_HEAD, _NO_WORKER
"""Reasons of `ReplicaFailure` for pods that could not be created."""
_GANG_API_VERSION = "v1alpha2"
_LAST_KUBERNETES = 1, 36
"""The last minor version of Kubernetes that serves `_GANG_API_VERSION`."""


def find_waiting(unit: Unit) -> Finding | None:
    """Return a finding while workers have a node and wait for the head of their RayCluster."""
    waiting = [
        (pod, container_of_pod)
        for pod in unit.placed
        if (container_of_pod := _head_wait_container(pod)) is not None
    ]
    if not waiting:
        return None
    first, container = waiting[0]
    heads = _heads(unit, first.labels.get(CLUSTER_LABEL, ""))
    if any(pod.is_ready for pod in heads):
        return None
    head = heads[0] if heads else None
    number = len(waiting)
    state = "does not exist" if head is None else "is not ready" if head.node else "has no node"
    state_text = ": ".join(filter(None, (container.state, container.reason)))
    facts_of_head = [Evidence(f"init container {_WAITS_FOR_HEAD}", state_text, first.meta.ref)]
    if head is not None:
        facts_of_head.append(Evidence("head", head.meta.ref.name, head.meta.ref))
    return unit_finding(
        WAITS_FOR_HEAD,
        unit,
        f"{out_of(number, unit.wanted, 'pod')} {plural(number, 'wait')} for the head, which {state}.",
        # A head with a node starts by itself, or has a more severe finding of its own.
        health=Health.STARTING if head is not None and head.node else None,
        evidence=tuple(facts_of_head),
        symptom=True,
        since=first.start_time,
    )


def _head_wait_container(pod: Pod) -> Container | None:
    """Return the init container in which a pod waits for the head. None: it does not wait."""
    if pod.is_ready or pod.is_finished:
        return None
    return next(
        (
            container
            for container in pod.containers
            if container.init
            and container.name == _WAITS_FOR_HEAD
            and container.state != "terminated"
        ),
        None,
    )


def _heads(unit: Unit, cluster: str) -> list[Pod]:
    """Return the live heads of a RayCluster that are not being deleted."""
    return [
        pod
        for pod in unit.gang.pods
        if pod.labels.get(GROUP_LABEL) == HEAD
        and pod.labels.get(CLUSTER_LABEL) == cluster
        and pod.is_live
        and not pod.is_terminating
    ]


def find_refused(unit: Unit) -> Finding | None:
    """Return a finding while pods are missing that KubeRay could not create.

    KubeRay creates no worker before the head exists (reconcilePods in raycluster_controller.go).
    """
    cluster = cluster_of(unit)
    failure = find_condition(cluster.conditions, "ReplicaFailure") if cluster is not None else None
    if cluster is None or failure is None or not failure.is_true:
        return None
    is_of_head = failure.reason == _NO_HEAD
    if failure.reason not in CREATION_FAILURES or is_formed(unit) or not unit.missing:
        return None
    refusal = read_creation_refusal(_as_event(cluster, failure))
    live = len(unit.current) + unit.succeeded
    exist = f"{out_of(live, unit.wanted, 'pod')} {'exists' if live == 1 else 'exist'}."
    is_behind_head = is_of_head and not is_head(unit) and not unit.group_name
    why = (
        "KubeRay creates them after the head, which it cannot create."
        if is_behind_head
        else refusal.about("the rest" if live else "them" if unit.missing > 1 else "it")
    )
    return unit_finding(
        REFUSED,
        unit,
        f"{exist} {why}",
        health=Health.WAITING if is_behind_head else None,
        advice=() if is_behind_head else remedy(unit, refusal),
        evidence=(
            Evidence(f"ReplicaFailure: {failure.reason}", failure.message, cluster.meta.ref),
            Evidence("pods", f"{live} of {unit.wanted}"),
        ),
        symptom=is_behind_head,
        since=failure.since,
    )


def _as_event(cluster: Owner, failure: Condition) -> Event:
    """Return the condition as an event, because `read_creation_refusal` takes events.

    The message has the reason in its first line, then the API server's text (RayClusterReplicaFailureReason in util.go).
    """
    text = failure.message.removeprefix(failure.reason).strip()
    ref, since = cluster.meta.ref, failure.since
    return Event(cluster.meta, ref, "FailedCreate", "Warning", text, 1, since, since)


def evidence(unit: Unit) -> tuple[Evidence, ...]:
    """Return KubeRay's condition of a head that is not ready."""
    cluster = cluster_of(unit)
    if cluster is None or not is_head(unit) or len(unit.ready) == unit.wanted:
        return ()
    condition = find_condition(cluster.conditions, "HeadPodReady")
    if condition is None or condition.is_true:
        return ()
    text = ": ".join(filter(None, (condition.reason, condition.message)))
    return (Evidence("HeadPodReady", text, cluster.meta.ref),)


def cluster_of(unit: Unit) -> Owner | None:
    """Return the RayCluster of a unit. None: it does not exist."""
    clusters = [cluster for cluster in unit.gang.makers if is_cluster(cluster)]
    if len(clusters) < 2:
        return clusters[0] if clusters else None
    named = {pod.labels.get(CLUSTER_LABEL, "") for pod in unit.pods}
    for cluster in clusters:
        name = cluster.meta.ref.name
        if name in named or any(role.name.startswith(f"{name}-") for role in unit.roles):
            return cluster
    return None


def is_head(unit: Unit) -> bool:
    """Return whether the unit is the head of a RayCluster."""
    return len(unit.roles) == 1 and any(
        role.name == HEAD or role.name.endswith(f"-{HEAD}") for role in unit.roles
    )


def find_not_ganged(unit: Unit) -> Finding | None:
    """Return a finding while pods of a requested gang have no group, for a known reason.

    It only applies to pods of the stock scheduler. For another scheduler, KubeRay or the scheduler creates groups of
    another API.
    """
    request = unit.owner.gang_request
    if request is None or request.api != GANG_LABEL or unit.gang.cluster.groups_unobserved:
        return None
    pods = [pod for pod in unit.current if not pod.group_name]
    if not pods or any(pod.scheduler_name != STOCK_SCHEDULER for pod in pods):
        return None
    why = _missing_group_cause(unit)
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


def _missing_group_cause(unit: Unit) -> str:
    """Return why KubeRay creates no group. Empty: it could create one, or the cause is unknown."""
    cluster = cluster_of(unit) or unit.owner
    if AUTOSCALED in cluster.detail:
        return "KubeRay creates no group for a RayCluster with the autoscaler"
    version = unit.gang.cluster.kubernetes
    if (
        version is None
        or version <= _LAST_KUBERNETES
        or unit.gang.cluster.gang_api_version == _GANG_API_VERSION
    ):
        return ""
    served = unit.gang.cluster.gang_api_version
    return f"KubeRay needs scheduling.k8s.io/{_GANG_API_VERSION}, and this cluster serves {served or 'no PodGroups'}"


REFUSED = UnitRule(
    "pod-creation-refused",
    Stage.FORMATION,
    "Pods refused",
    59,
    find_refused,
    health=Health.BLOCKED,
)
WAITS_FOR_HEAD = UnitRule(
    "dependency-waiting",
    Stage.START,
    "Waits for another part",
    80,
    find_waiting,
    health=Health.WAITING,
)
NOT_GANGED = UnitRule(
    "not-ganged",
    Stage.FORMATION,
    "Not scheduled as a gang",
    89,
    find_not_ganged,
    health=Health.DEGRADED,
)
RULES = REFUSED, WAITS_FOR_HEAD, NOT_GANGED
