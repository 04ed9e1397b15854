"""Requests of a cordon for a moment: the node, the admission system's new assignment, and the rights of the actor.

An annotation names the action that cordoned the node. So gangboard ends only its own cordon, and never that of
another client.
"""

from __future__ import annotations

from urllib.parse import quote

from gangboard.domain.action import Step, StepKind
from gangboard.domain.hold import CORDONED_BY
from gangboard.domain.objects import Meta, node_ref
from gangboard.domain.pod_constraints import CORDON
from gangboard.domain.queue import QueueEntry
from gangboard.domain.text import label
from gangboard.facts.gang import Gang
from gangboard.plugins import registry
from gangboard.plugins.lever import AdmissionRule, Bounds
from gangboard.policy.requests import json_text, object_path, pointer

UNSCHEDULABLE = ("spec", "unschedulable")
_FIELD = pointer(UNSCHEDULABLE)
_MARK = pointer(("metadata", "annotations", CORDONED_BY))


def cordon(node: str, action: str) -> Step:
    """Return the cordon of a node that takes pods now.

    The patch fails if another client has cordoned the node. Each node of a cluster has annotations, because its
    kubelet and the node controllers add some.
    """
    body = json_text(
        [
            {"op": "test", "path": _FIELD, "value": None},
            {"op": "add", "path": _FIELD, "value": True},
            {"op": "add", "path": _MARK, "value": action},
        ]
    )
    return Step(StepKind.CORDON, f"Cordon node {node}", node_ref(node), "PATCH", _path(node), body)


def uncordon(node: str, action: str) -> Step:
    """Return the end of the cordon of this action."""
    body = json_text(
        [
            {"op": "test", "path": _MARK, "value": action},
            {"op": "add", "path": _FIELD, "value": False},
            {"op": "remove", "path": _MARK},
        ]
    )
    name = f"Uncordon node {node}"
    return Step(StepKind.UNCORDON, name, node_ref(node), "PATCH", _path(node), body)


def wait_tainted(node: str) -> Step:
    """Return the step that waits for the taint of the cordon, which follows within a second (observed)."""
    name = f"Wait until node {node} has the taint {CORDON}"
    return Step(StepKind.WAIT_TAINTED, name, node_ref(node), "GET", _path(node), dry_run=True)


def wait_replaced(gang: Gang, entry: Meta, node: str) -> Step:
    """Return the step that waits until the admission system has assigned another node."""
    ref = entry.ref
    resource = next(
        resource
        for resource in registry.queue_resources(QueueEntry)
        if (resource.group, resource.kind) == (ref.group, ref.kind)
    )
    version = gang.cluster.api_versions.get(resource.key) or entry.api_version
    path = object_path(ref.group, version, ref.namespace, resource.plural, ref.name)
    name = f"Wait until {gang.queue_system} has replaced node {node} in {label(ref)}"
    return Step(StepKind.WAIT_REPLACED, name, ref, "GET", path, dry_run=True)


def _path(node: str) -> str:
    return f"/api/v1/nodes/{quote(node, safe='')}"


# Permissions of the actor


def cordon_bounds() -> Bounds:
    """Allow the actor to cordon a node with its mark, and to end a cordon that has it."""
    variables = {
        f"{age}Cordon": f"variables.{age}Spec.?unschedulable.orValue(false)"
        for age in ("new", "old")
    }
    variables |= {
        f"{age}Mark": f"variables.{age}Annotations[?'{CORDONED_BY}'].orValue('')"
        for age in ("new", "old")
    }
    rule = AdmissionRule(
        "variables.newCordon ? variables.newMark != '' && (variables.oldCordon ? variables.oldMark == "
        "variables.newMark : true) : variables.newMark == '' && (variables.oldCordon ? variables.oldMark != '' : true)",
        f"gangboard may cordon a node only with the annotation {CORDONED_BY}, and uncordon only a node that has it",
    )
    return Bounds(variables, rule)
