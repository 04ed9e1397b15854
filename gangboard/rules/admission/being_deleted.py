"""`being-deleted`: the owner is being deleted, or all pods of a gang without a known controller.

A deletion is intended, so it is no alarm while it proceeds. The `deletionTimestamp` of a pod is the end of its
grace period; that of any other object is the time of the delete request. An object that exists long after that
is blocked: a pod by an unresponsive kubelet, any object by a finalizer (`metadata.finalizers`).

The deletion of a group whose members wait or run does not count. The group exists as long as its members do.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from gangboard.domain.advice import AdvisedStep
from gangboard.domain.health import Health, Stage
from gangboard.domain.node import Node
from gangboard.domain.pod import Pod
from gangboard.domain.text import is_or_are, label, names, remaining_pods_text
from gangboard.domain.verdict import Evidence, Finding
from gangboard.facts.attempts import latest
from gangboard.facts.findings import gang_finding
from gangboard.facts.gang import Gang
from gangboard.facts.overdue_pods import silent_pods
from gangboard.facts.silent_nodes import (
    kept_pods_step,
    nodes_of,
    readiness_evidence,
    silent_node_steps,
)
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
    not_ready = nodes_of(gang, silent_pods(gang, terminating))
    return gang_finding(
        RULE,
        Health.BLOCKED if is_stuck else Health.SUSPENDED,
        _message(gang, not_ready, is_stuck=is_stuck),
        advice=_advice(gang, terminating, not_ready) if is_stuck else (),
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


def _advice(
    gang: Gang, terminating: tuple[Pod, ...], not_ready: tuple[Node, ...]
) -> tuple[AdvisedStep | str, ...]:
    """Return the steps that let the deletion finish."""
    if not_ready:
        return silent_node_steps(gang, silent_pods(gang, terminating))
    if terminating:
        return (kept_pods_step(terminating),)
    return (
        f"See which finalizer keeps {label(gang.owner.meta.ref)} (metadata.finalizers): whoever "
        "set it has to remove it.",
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
    return (*timestamps.values(), *readiness_evidence(not_ready))


def _since(gang: Gang, terminating: tuple[Pod, ...]) -> datetime | None:
    """Return the time of the delete request."""
    if not _is_pod(gang) and gang.owner.meta.deleting_since is not None:
        return gang.owner.meta.deleting_since
    requested = (pod.deletion_requested_at for pod in terminating)
    return min((time for time in requested if time is not None), default=None)


RULE = GangRule("being-deleted", Stage.ADMISSION, "Being deleted", 31, find)
