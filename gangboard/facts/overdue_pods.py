"""Terminating pods that a unit waits for, and the steps that end pods on nodes that do not report.

Only the kubelet ends a pod. On a node that is not ready a deleted pod therefore keeps its name and its seat. These
controllers create nothing in its place until the pod is gone:

- a Job with `podReplacementPolicy: Failed` (KEP-3939), and a Job that is about to fail
- an owner that restarts, while a Job of its former attempt has pods
- a controller that gives its pods fixed names
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from gangboard.domain.advice import AdviceKind, AdvisedStep
from gangboard.domain.node import Node
from gangboard.domain.objects import Controller, ObjectRef
from gangboard.domain.owner import Owner
from gangboard.domain.pod import Pod
from gangboard.domain.pod_constraints import OUT_OF_SERVICE
from gangboard.domain.shell import command
from gangboard.domain.text import MOST_NAMED, is_or_are, names
from gangboard.domain.verdict import Evidence
from gangboard.facts.attempts import latest
from gangboard.facts.creation_refusal import newest_creation_refusal
from gangboard.facts.gang import Gang
from gangboard.facts.grace_periods import COUNT_GRACE, CREATION_GRACE
from gangboard.facts.jobs import requests_pods
from gangboard.facts.suspensions import minute_text
from gangboard.facts.unit import Unit, is_failure_reason

# Pods


def awaited_pods(unit: Unit) -> tuple[Pod, ...]:
    """Return the terminating pods that must be gone before their controller creates the missing ones."""
    if not unit.missing:
        return ()
    old = _pods_of_former_jobs(unit)
    if not (unit.terminating or old) or newest_creation_refusal(unit) is not None:
        return ()  # a controller whose new pods are refused does not wait
    jobs = {job.meta.ref.uid: job for job in unit.gang.jobs} if unit.terminating else {}
    return (*[pod for pod in unit.terminating if _is_awaited(unit.gang, pod, jobs)], *old)


def _is_awaited(gang: Gang, pod: Pod, jobs: dict[str, Owner]) -> bool:
    """Return whether its controller has not replaced the pod and waits for its end.

    A known controller of another kind than Job counts, because one that does not wait replaces a deleted pod at once.
    An unknown controller may never replace it.
    """
    maker = pod.meta.controller
    if maker is None:
        return False
    job = jobs.get(maker.uid)
    if job is None:
        return (maker.group, maker.kind) in gang.kinds
    if job.finish is not None or not requests_pods(job):
        return False
    if is_failure_reason(job.ending) or job.meta.deleting_since is not None:
        return True
    return job.waits_for_terminating and pod.meta.ref.uid in gang.member_pods


def _pods_of_former_jobs(unit: Unit) -> tuple[Pod, ...]:
    """Return the pods of the former Jobs whose names the missing Jobs will have.

    Without such a pod these are the pods of all former Jobs, because an owner can wait for all of them before it
    creates any (`BlockingRecreate`).
    """
    if not unit.missing_jobs or not unit.gang.old_pods:
        return ()
    missing = frozenset(unit.missing_jobs)
    same_name = frozenset(
        job.meta.ref.uid for job in unit.gang.old_jobs if job.meta.ref.name in missing
    )
    pods = [
        pod
        for pod in unit.gang.old_pods
        if pod.meta.controller is not None and pod.meta.controller.uid in same_name
    ]
    return tuple(pods) or unit.gang.old_pods


def silent_pods(gang: Gang, pods: Iterable[Pod]) -> tuple[Pod, ...]:
    """Return the terminating pods on nodes that are not ready. Empty if nodes cannot be read."""
    if not gang.cluster.nodes_known:
        return ()
    nodes = gang.cluster.nodes
    return tuple(
        pod
        for pod in pods
        if pod.is_terminating and pod.node in nodes and not nodes[pod.node].is_ready
    )


def overdue_pods(gang: Gang, pods: Iterable[Pod]) -> tuple[Pod, ...]:
    """Return the pods whose grace period ended 30 seconds ago or earlier, on nodes that are not ready."""
    return tuple(pod for pod in silent_pods(gang, pods) if _due(pod) <= gang.now)


def overdue_at(gang: Gang, pods: Iterable[Pod]) -> datetime | None:
    """Return when the next of the pods on nodes that are not ready becomes overdue, or None."""
    later = [due for pod in silent_pods(gang, pods) if (due := _due(pod)) > gang.now]
    return min(later, default=None)


def stuck_pods(unit: Unit) -> tuple[Pod, ...]:
    """Return the awaited pods that are overdue on nodes that are not ready."""
    return overdue_pods(unit.gang, awaited_pods(unit))


def kept_pods(unit: Unit) -> tuple[Pod, ...]:
    """Return the awaited pods that nodes should have ended two minutes ago and that no silent node keeps."""
    if not unit.gang.cluster.nodes_known:
        return ()
    awaited = awaited_pods(unit)
    silent = silent_pods(unit.gang, awaited)
    return tuple(
        pod
        for pod in awaited
        if pod not in silent and _end_of_grace(pod) + CREATION_GRACE <= unit.now
    )


def stuck_due(unit: Unit) -> datetime | None:
    """Return when the next awaited pod is late on its node, whether that is silent or not. None without such a pod."""
    awaited = awaited_pods(unit)
    times = [_end_of_grace(pod) + CREATION_GRACE for pod in awaited]
    later = [time for time in (*times, overdue_at(unit.gang, awaited)) if time and time > unit.now]
    return min(later, default=None)


def _due(pod: Pod) -> datetime:
    return _end_of_grace(pod) + COUNT_GRACE


def _end_of_grace(pod: Pod) -> datetime:
    # `deletionTimestamp` is the end of the grace period.
    assert pod.meta.deleting_since is not None  # noqa: S101 - callers select terminating pods
    return pod.meta.deleting_since


# Controllers


def waiting_object(gang: Gang, pod: Pod) -> Controller | ObjectRef:
    """Return the object whose controller waits for the pod: its own, or the owner that makes its Job again."""
    maker = pod.meta.controller
    if maker is None:
        return pod.meta.ref
    former = (*gang.old_jobs, *(job for job in gang.jobs if job.meta.deleting_since is not None))
    for job in former:
        if job.meta.ref.uid == maker.uid and job.meta.controller is not None:
            return job.meta.controller
    return maker


# Sentences and steps


def nodes_of(gang: Gang, pods: Iterable[Pod]) -> tuple[Node, ...]:
    """Return the known nodes of the pods, by name."""
    node_names = {pod.node for pod in pods} & gang.cluster.nodes.keys()
    return tuple(gang.cluster.nodes[name] for name in sorted(node_names))


@dataclass(frozen=True, slots=True)
class OverdueReport:
    """What a finding with another cause says about overdue pods. All fields are empty without such pods."""

    text: str = ""
    steps: tuple[AdvisedStep, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    recheck_at: datetime | None = None


def report_overdue(gang: Gang, pods: Collection[Pod]) -> OverdueReport:
    """Return the report about those of the pods that are overdue."""
    due = overdue_at(gang, pods)
    overdue = overdue_pods(gang, pods)
    if not overdue:
        return OverdueReport(recheck_at=due)
    nodes = nodes_of(gang, overdue)
    return OverdueReport(
        silence_text(gang, overdue),
        silent_node_steps(gang, overdue),
        (*readiness_evidence(nodes), *deletion_evidence(overdue[:MOST_NAMED])),
        due,
    )


def silence_text(gang: Gang, pods: Sequence[Pod]) -> str:
    """Return `Node n1 has not reported since 2026-11-27 02:19 UTC, so the pod does not end by itself.`

    A node with `Ready` False does report, so its kubelet could still end its pods.
    """
    nodes = nodes_of(gang, pods)
    noun = "Node" if len(nodes) == 1 else "Nodes"
    subject = f"{noun} {names(node.meta.ref.name for node in nodes)}"
    pod, ends = (
        ("the pod", "does not end by itself")
        if len(pods) == 1
        else ("the pods", "do not end by themselves")
    )
    times = [node.ready.since if node.ready is not None else None for node in nodes]
    last = latest(times)
    since = f" since {minute_text(last)}" if last is not None else ""
    if all(node.ready is None or node.ready.status == "Unknown" for node in nodes):
        has = "has" if len(nodes) == 1 else "have"
        return f"{subject} {has} not reported{since}, so {pod} {ends}."
    kubelet = "its kubelet does" if len(nodes) == 1 else "their kubelets do"
    return f"{subject} {is_or_are(len(nodes))} NotReady{since}, and {kubelet} not end {pod}."


def node_removal(node_names: Sequence[str]) -> str:
    """Return `If node n1 is off, taint it with … or delete it`, which lets its pods go."""
    noun, verb, them = ("node", "is", "it") if len(node_names) == 1 else ("nodes", "are", "them")
    return f"If {noun} {names(node_names)} {verb} off, taint {them} with {OUT_OF_SERVICE} or delete {them}"


def silent_node_steps(gang: Gang, pods: Sequence[Pod]) -> tuple[AdvisedStep, ...]:
    """Return the steps that end terminating pods on nodes that are not ready, the least harm first.

    The evidence of the finding must have the nodes as sources. A force-deleted pod may continue to run, so that is the
    last step.
    """
    nodes = nodes_of(gang, pods)
    if not nodes:
        return ()
    node_names = [node.meta.ref.name for node in nodes]
    noun, kubelet, its_pods = (
        ("node", "its kubelet ends", "its pods")
        if len(nodes) == 1
        else ("nodes", "their kubelets end", "their pods")
    )
    taint = command(
        f"kubectl taint nodes {{}} {OUT_OF_SERVICE}=nodeshutdown:NoExecute", *node_names[:1]
    )
    return (
        AdvisedStep(f"Bring {noun} {names(node_names)} back: {kubelet} {its_pods}."),
        AdvisedStep(
            f"{node_removal(node_names)}, so that {its_pods} go.",
            AdviceKind.OTHER,
            taint if len(nodes) == 1 else (),
        ),
        *_force_steps(gang, [pod for pod in pods if not _must_fail(gang, pod)]),
    )


def _force_steps(gang: Gang, pods: Sequence[Pod]) -> tuple[AdvisedStep, ...]:
    if not pods:
        return ()
    refs = [pod.meta.ref for pod in pods]
    noun = "pod" if len(refs) == 1 else "pods"
    node_names = names(node.meta.ref.name for node in nodes_of(gang, pods))
    delete = command(
        "kubectl delete pod -n {} {} --grace-period=0 --force", refs[0].namespace, refs[0].name
    )
    text = (
        f"As a last resort, force-delete {noun} {names(ref.name for ref in refs)}, which may still run on "
        f"{node_names}."
    )
    return (AdvisedStep(text, AdviceKind.OTHER, delete if len(refs) == 1 else ()),)


def _must_fail(gang: Gang, pod: Pod) -> bool:
    """Return whether force deletion does not end the pod.

    A Job with `podReplacementPolicy: Failed` keeps its finalizer on a pod until the pod has failed (observed on
    1.37.0). The pod garbage collector marks pods as failed, so the other steps work.
    """
    maker = pod.meta.controller
    return maker is not None and any(
        job.waits_for_terminating and job.meta.deleting_since is None
        for job in gang.jobs
        if job.meta.ref.uid == maker.uid
    )


def kept_pods_step(pods: Collection[Pod]) -> str:
    """Return the step that finds what keeps pods that should have ended on working nodes."""
    noun, their = ("pod", "its") if len(pods) == 1 else ("pods", "their")
    listed = names(pod.meta.ref.name for pod in pods)
    return (
        f"Find what keeps {noun} {listed}: {their} kubelet, or a finalizer (metadata.finalizers)."
    )


def readiness_evidence(nodes: Iterable[Node]) -> tuple[Evidence, ...]:
    """Return the condition `Ready` of each node."""
    return tuple(
        Evidence("Ready", node.ready.status if node.ready else "never reported", node.meta.ref)
        for node in nodes
    )


def deletion_evidence(pods: Iterable[Pod]) -> tuple[Evidence, ...]:
    """Return the end of the grace period of each terminating pod."""
    return tuple(
        Evidence("metadata.deletionTimestamp", pod.meta.deleting_since.isoformat(), pod.meta.ref)
        for pod in pods
        if pod.meta.deleting_since is not None
    )
