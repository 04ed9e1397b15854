"""Sentences, steps and evidence about terminating pods on nodes that are not ready."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from gangboard.domain.advice import AdviceKind, AdvisedStep
from gangboard.domain.node import Node
from gangboard.domain.pod import Pod
from gangboard.domain.pod_constraints import OUT_OF_SERVICE
from gangboard.domain.shell import command
from gangboard.domain.text import MOST_NAMED, is_or_are, names
from gangboard.domain.verdict import Evidence
from gangboard.facts.attempts import latest
from gangboard.facts.gang import Gang
from gangboard.facts.overdue_pods import overdue_at, overdue_pods
from gangboard.facts.suspensions import minute_text


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
