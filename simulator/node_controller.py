"""The node lifecycle controller, as far as a cordon is concerned: its taint follows `spec.unschedulable`."""

from __future__ import annotations

from typing import Any

from simulator.resources import NODES, Resource
from simulator.store import Record
from simulator.world import World

Json = dict[str, Any]

MANAGER = "kube-controller-manager"
_TAINT = "node.kubernetes.io/unschedulable"


class NodeController:
    """Adds and removes the taint of cordoned nodes."""

    def __init__(self, world: World) -> None:
        self._world = world

    def reconcile(self, resource: Resource, _record: Record, obj: Json) -> None:
        """Make the taint of a changed node match its cordon."""
        if resource == NODES and _has_taint(obj) is not _is_cordoned(obj):
            self._world.change(NODES, obj, self._set_taint, MANAGER)

    def _set_taint(self, node: Json) -> Json:
        spec = node["spec"]
        taints = [taint for taint in spec.get("taints", []) if taint["key"] != _TAINT]
        if _is_cordoned(node):
            added = {"effect": "NoSchedule", "key": _TAINT, "timeAdded": self._world.timestamp()}
            taints.append(added)
        spec.pop("taints", None)
        if taints:
            spec["taints"] = taints
        return node


def _is_cordoned(node: Json) -> bool:
    return bool(node["spec"].get("unschedulable"))


def _has_taint(node: Json) -> bool:
    return any(taint["key"] == _TAINT for taint in node["spec"].get("taints", []))
