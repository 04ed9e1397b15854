"""`being-deleted`: the owner is on its way out, or all pods of a gang that nobody makes pods for are.

On purpose, and so no alarm as long as it goes. The `deletionTimestamp` of a pod is when its grace
period is over, that of all other objects when they were deleted. What is there long after that is
kept: a pod by a kubelet that is silent, anything by a finalizer (metadata.finalizers).
A group that goes while members wait in it or run on is not meant: it stays as long as they do.
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
"""Kubelets and controllers that are busy are late; later than this something is in the way."""


def find(gang: Gang) -> Finding | None:
    """Return a finding while the gang goes; `blocked` when what should be gone is still there."""
    leaving = tuple([pod for pod in gang.pods if pod.meta.deleting_since is not None])
    if not _goes(gang, leaving):
        return None
    owner = gang.owner.meta
    last = latest((owner.deleting_since, *(pod.meta.deleting_since for pod in leaving)))
    due = last + _STUCK if last is not None else None
    is_stuck = due is not None and due <= gang.now
    silent = _silent_nodes(gang, leaving)
    return gang_finding(
        RULE,
        Health.BLOCKED if is_stuck else Health.SUSPENDED,
        _message(gang, silent, is_stuck=is_stuck),
        advice=(_advice(gang, leaving, silent),) if is_stuck else (),
        evidence=_evidence(gang, leaving, silent),
        since=_since(gang, leaving),
        recheck_at=None if is_stuck else due,
    )


def _goes(gang: Gang, leaving: tuple[Pod, ...]) -> bool:
    """Whether the gang as a whole is on its way out.

    A Job makes new pods for those that go as long as it is not deleted itself. Nobody is known to
    do so for a bare pod or group: there the pods tell.
    """
    is_deleted = gang.owner.meta.deleting_since is not None
    groups = {group.meta.ref.uid for group in (*gang.groups, *gang.workloads)}
    if gang.owner.meta.ref.uid not in groups | {pod.meta.ref.uid for pod in gang.pods}:
        return is_deleted
    stays = any(pod.is_live and not pod.is_terminating for pod in (*gang.pods, *gang.foreign_pods))
    return not stays and (is_deleted or bool(leaving))


def _silent_nodes(gang: Gang, leaving: tuple[Pod, ...]) -> tuple[Node, ...]:
    """Return the nodes that are not ready and have pods that are to go, by name."""
    if not gang.cluster.nodes_known:
        return ()
    found = {pod.node for pod in leaving if pod.node in gang.cluster.nodes}
    return tuple(
        gang.cluster.nodes[name] for name in sorted(found) if not gang.cluster.nodes[name].is_ready
    )


def _message(gang: Gang, silent: tuple[Node, ...], *, is_stuck: bool) -> str:
    owner = gang.owner.meta
    what = f"{label(owner.ref)} is"
    if owner.deleting_since is None:
        what = f"All pods of {label(owner.ref)} are"
    text = f"{what} being deleted"
    if is_stuck:
        text = f"{text} and should be gone"
    left = "" if _is_pod(gang) else remaining_pods_text(gang.pods)
    text = f"{text}; {left}." if left else f"{text}."
    if not silent:
        return text
    noun = "Node" if len(silent) == 1 else "Nodes"
    return f"{text} {noun} {_named(silent)} {is_or_are(len(silent))} NotReady."


def _is_pod(gang: Gang) -> bool:
    return gang.owner.meta.ref.kind == "Pod"


def _named(nodes: tuple[Node, ...]) -> str:
    return names(node.meta.ref.name for node in nodes)


def _advice(gang: Gang, leaving: tuple[Pod, ...], silent: tuple[Node, ...]) -> str:
    """Return what lets it go. The pod garbage collector takes the pods of a node that is gone."""
    if silent:
        noun, it, stays = ("node", "it", "stays") if len(silent) == 1 else ("nodes", "them", "stay")
        subject, its = ("it", "its") if len(silent) == 1 else ("they", "their")
        return (
            f"Bring {noun} {_named(silent)} back, or delete {it} if {subject} {stays} away: {its} "
            f"pods go with {it}."
        )
    if leaving:
        listed = names(pod.meta.ref.name for pod in leaving)
        noun, their = ("pod", "its") if len(leaving) == 1 else ("pods", "their")
        return f"Find what keeps {noun} {listed}: {their} kubelet, or a finalizer (metadata.finalizers)."
    return (
        f"See which finalizer keeps {label(gang.owner.meta.ref)} (metadata.finalizers): whoever "
        "set it has to remove it."
    )


def _evidence(
    gang: Gang, leaving: tuple[Pod, ...], silent: tuple[Node, ...]
) -> tuple[Evidence, ...]:
    metas = [gang.owner.meta, *(pod.meta for pod in leaving[:3])]
    found = {
        meta.ref: Evidence("metadata.deletionTimestamp", meta.deleting_since.isoformat(), meta.ref)
        for meta in metas
        if meta.deleting_since is not None
    }
    ready = (
        Evidence("Ready", node.ready.status if node.ready else "never reported", node.meta.ref)
        for node in silent
    )
    return (*found.values(), *ready)


def _since(gang: Gang, leaving: tuple[Pod, ...]) -> datetime | None:
    """Return when the deletion was asked for."""
    if not _is_pod(gang) and gang.owner.meta.deleting_since is not None:
        return gang.owner.meta.deleting_since
    asked = (pod.deletion_requested_at for pod in leaving)
    return min((at for at in asked if at is not None), default=None)


RULE = GangRule("being-deleted", Stage.ADMISSION, "Being deleted", 31, find)
