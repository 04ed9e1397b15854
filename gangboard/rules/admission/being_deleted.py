"""`being-deleted`: the owner is being deleted, or all pods of a gang without a known controller.

A deletion is intended, so it is no alarm while it proceeds. The `deletionTimestamp` of a pod is the end of its
grace period; that of any other object is the time of the delete request. An object that exists long after that
is blocked: a pod by an unresponsive kubelet, any object by a finalizer (`metadata.finalizers`).

The deletion of a group whose members wait or run does not count. The group exists as long as its members do.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from gangboard.domain.health import Health, Stage
from gangboard.domain.node import Node
from gangboard.domain.pod import Pod
from gangboard.domain.text import is_or_are, label, names, remaining_pods_text
from gangboard.domain.verdict import Evidence, Finding
from gangboard.facts.attempts import latest
from gangboard.facts.findings import gang_finding
from gangboard.facts.gang import Gang
from gangboard.plugins.rule import GangRule

_STUCK = timedelta(minutes=2)
"""Busy controllers and kubelets are late by less than this. After it, something blocks the deletion."""


def find(gang: Gang) -> Finding | None:
    """Return a finding while the gang is being deleted. It is `blocked` if an object exists after its due time."""
    terminating = tuple([pod for pod in gang.pods if pod.meta.deleting_since is not None])
    if not _is_whole_gang_deleted(gang, terminating):
        return None
    owner = gang.owner.meta
    last = latest((owner.deleting_since, *(pod.meta.deleting_since for pod in terminating)))
    due = last + _STUCK if last is not None else None
    is_stuck = due is not None and due <= gang.now
    not_ready = _not_ready_nodes(gang, terminating)
    return gang_finding(
        RULE,
        Health.BLOCKED if is_stuck else Health.SUSPENDED,
        _message(gang, not_ready, is_stuck=is_stuck),
        advice=(_advice(gang, terminating, not_ready),) if is_stuck else (),
        evidence=_evidence(gang, terminating, not_ready),
        since=_since(gang, terminating),
        recheck_at=None if is_stuck else due,
    )


def _is_whole_gang_deleted(gang: Gang, terminating: tuple[Pod, ...]) -> bool:
    """Return whether the whole gang is being deleted.

    A Job replaces its deleted pods unless it is deleted itself, so the owner decides. A bare pod or group has
    no known controller, so its pods decide.
    """
    is_deleted = gang.owner.meta.deleting_since is not None
    groups = {group.meta.ref.uid for group in (*gang.groups, *gang.workloads)}
    if gang.owner.meta.ref.uid not in groups | {pod.meta.ref.uid for pod in gang.pods}:
        return is_deleted
    has_staying_pods = any(
        pod.is_live and not pod.is_terminating for pod in (*gang.pods, *gang.foreign_pods)
    )
    return not has_staying_pods and (is_deleted or bool(terminating))


def _not_ready_nodes(gang: Gang, terminating: tuple[Pod, ...]) -> tuple[Node, ...]:
    """Return the nodes of terminating pods that are not ready, by name."""
    if not gang.cluster.nodes_known:
        return ()
    node_names = {pod.node for pod in terminating if pod.node in gang.cluster.nodes}
    return tuple(
        gang.cluster.nodes[name]
        for name in sorted(node_names)
        if not gang.cluster.nodes[name].is_ready
    )


def _message(gang: Gang, not_ready: tuple[Node, ...], *, is_stuck: bool) -> str:
    owner = gang.owner.meta
    subject = f"{label(owner.ref)} is"
    if owner.deleting_since is None:
        subject = f"All pods of {label(owner.ref)} are"
    text = f"{subject} being deleted"
    if is_stuck:
        text = f"{text} and should be gone"
    remaining = "" if _is_pod(gang) else remaining_pods_text(gang.pods)
    text = f"{text}; {remaining}." if remaining else f"{text}."
    if not not_ready:
        return text
    noun = "Node" if len(not_ready) == 1 else "Nodes"
    return f"{text} {noun} {_node_names(not_ready)} {is_or_are(len(not_ready))} NotReady."


def _is_pod(gang: Gang) -> bool:
    return gang.owner.meta.ref.kind == "Pod"


def _node_names(nodes: tuple[Node, ...]) -> str:
    return names(node.meta.ref.name for node in nodes)


def _advice(gang: Gang, terminating: tuple[Pod, ...], not_ready: tuple[Node, ...]) -> str:
    """Return the step that lets the deletion finish.

    The pod garbage collector deletes the pods of a node that no longer exists.
    """
    if not_ready:
        noun, it, stays = (
            ("node", "it", "stays") if len(not_ready) == 1 else ("nodes", "them", "stay")
        )
        subject, its = ("it", "its") if len(not_ready) == 1 else ("they", "their")
        return (
            f"Bring {noun} {_node_names(not_ready)} back, or delete {it} if {subject} {stays} away: {its} "
            f"pods go with {it}."
        )
    if terminating:
        listed = names(pod.meta.ref.name for pod in terminating)
        noun, their = ("pod", "its") if len(terminating) == 1 else ("pods", "their")
        return f"Find what keeps {noun} {listed}: {their} kubelet, or a finalizer (metadata.finalizers)."
    return (
        f"See which finalizer keeps {label(gang.owner.meta.ref)} (metadata.finalizers): whoever "
        "set it has to remove it."
    )


def _evidence(
    gang: Gang, terminating: tuple[Pod, ...], not_ready: tuple[Node, ...]
) -> tuple[Evidence, ...]:
    metas = [gang.owner.meta, *(pod.meta for pod in terminating[:3])]
    timestamps = {
        meta.ref: Evidence("metadata.deletionTimestamp", meta.deleting_since.isoformat(), meta.ref)
        for meta in metas
        if meta.deleting_since is not None
    }
    conditions = (
        Evidence("Ready", node.ready.status if node.ready else "never reported", node.meta.ref)
        for node in not_ready
    )
    return (*timestamps.values(), *conditions)


def _since(gang: Gang, terminating: tuple[Pod, ...]) -> datetime | None:
    """Return the time of the delete request."""
    if not _is_pod(gang) and gang.owner.meta.deleting_since is not None:
        return gang.owner.meta.deleting_since
    requested = (pod.deletion_requested_at for pod in terminating)
    return min((time for time in requested if time is not None), default=None)


RULE = GangRule("being-deleted", Stage.ADMISSION, "Being deleted", 31, find)
