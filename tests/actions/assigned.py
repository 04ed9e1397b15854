"""A JobSet whose nodes Kueue has chosen, and a stand-in for the part of Kueue that replaces a node.

The stand-in follows `relocate.md` §6: it replaces a cordoned node once no pod of the Workload runs there, evicts
the Workload if there is no other node, and pins nothing.
"""

from __future__ import annotations

import copy
import threading
from dataclasses import dataclass, field
from typing import Any

from simulator import Simulator
from simulator.fleet_spec import Fleet, Gang, NodePool, QueueSpec, Role
from simulator.manifests import PodTemplate
from simulator.resources import KUEUE_WORKLOADS, NODES, PODS, Resource
from tests.actions.site import JOBSET, NAMESPACE, Site

Json = dict[str, Any]
KUEUE = "kueue.x-k8s.io/v1beta2"
HOST = "kubernetes.io/hostname"
TAINT = "node.kubernetes.io/unschedulable"
MARK = "gangboard.dev/cordoned-by"

FLEET = Fleet(
    "assigned",
    (NodePool("cpu", 4, cpu="32", memory="256Gi"),),
    (
        Gang(
            NAMESPACE,
            "JobSet",
            JOBSET,
            "running",
            max_restarts=3,
            labels={"kueue.x-k8s.io/queue-name": "lq"},
            roles=(
                # No two Jobs fit on one node.
                Role("driver", PodTemplate(cpu="20", pool="cpu")),
                Role("workers", PodTemplate(cpu="14", pool="cpu"), jobs=2, pods=2),
            ),
        ),
    ),
    queues=(QueueSpec("lq", {"cpu": 8}, (NAMESPACE,), "all"),),
)


@dataclass
class Topology:
    """The nodes that Kueue assigned."""

    simulator: Simulator
    replaces: bool = True
    """Kueue replaces cordoned nodes (gate TASReplaceNodeOnNodeTaints)."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def workload(self) -> Json:
        workloads = self.simulator.objects.list(KUEUE, "Workload", NAMESPACE)
        return next(item for item in workloads if item["metadata"]["name"] != "other")

    def assign(self) -> None:
        """Write the present nodes of the pods as the assignment, and act as Kueue from now on."""
        pods = self.simulator.objects.list("v1", "Pod", NAMESPACE)
        by_set: dict[str, dict[str, int]] = {}
        for pod in pods:
            name = pod["metadata"]["labels"]["jobset.sigs.k8s.io/replicatedjob-name"]
            nodes = by_set.setdefault(name, {})
            nodes[pod["spec"]["nodeName"]] = nodes.get(pod["spec"]["nodeName"], 0) + 1
        self._write(by_set)
        self.simulator.world.watch(self._reconcile)

    def assigned(self) -> set[str]:
        """Return all assigned nodes."""
        return {name for nodes in self._by_set().values() for name in nodes}

    def promise(self, node: str) -> None:
        """Admit another Workload to a node. Its pods do not exist."""
        other = copy.deepcopy(self.workload)
        meta = {"name": "other", "namespace": NAMESPACE, "labels": {"kueue.x-k8s.io/job-uid": "u"}}
        domain = {"levels": [HOST], "domains": [{"values": [node], "count": 1}]}
        (part, *_) = other["status"]["admission"]["podSetAssignments"]
        part["topologyAssignment"] = domain
        other["status"]["admission"]["podSetAssignments"] = [part]
        self.replaces = False
        self.simulator.objects.put({**other, "metadata": meta})

    def evict(self, message: str) -> None:
        """Evict the whole JobSet, as Kueue does without another node."""
        now = "2026-11-28T12:00:00Z"
        evicted = [
            {
                "type": kind,
                "status": status,
                "reason": "EvictedDueToNodeFailures",
                "message": message,
                "lastTransitionTime": now,
            }
            for kind, status in (
                ("Evicted", "True"),
                ("Admitted", "False"),
                ("QuotaReserved", "False"),
            )
        ]

        def change(obj: Json) -> None:
            obj["status"] = {"conditions": evicted}

        self.simulator.objects.update(
            KUEUE, "Workload", self.workload["metadata"]["name"], change, NAMESPACE
        )
        self.simulator.objects.update(
            "jobset.x-k8s.io/v1alpha2",
            "JobSet",
            JOBSET,
            lambda obj: obj["spec"].update(suspend=True),
            NAMESPACE,
        )

    def evict_and_admit_again(self) -> None:
        """Evict the whole JobSet and admit it at once. The JobSet is about to be resumed."""
        admitted = copy.deepcopy(self.workload["status"])
        self.evict("no replacement")
        for condition in admitted["conditions"]:
            condition["lastTransitionTime"] = "2026-11-28T12:00:01Z"
        self.simulator.objects.update(
            KUEUE,
            "Workload",
            self.workload["metadata"]["name"],
            lambda obj: obj.update(status=admitted),
            NAMESPACE,
        )

    def _reconcile(self, resource: Resource, _record: object, _obj: Json) -> None:
        if resource in (PODS, NODES, KUEUE_WORKLOADS) and self.replaces:
            self.simulator.world.clock.soon(self._replace, 0.02)

    def _replace(self) -> None:
        with self._lock:
            nodes = self.simulator.objects.list("v1", "Node")
            closed = {node["metadata"]["name"] for node in nodes if node["spec"].get("taints")}
            pods = self.simulator.objects.list("v1", "Pod", NAMESPACE)
            taken = {pod["spec"].get("nodeName") for pod in pods}
            if not self.workload.get("status", {}).get("admission"):
                return
            by_set = self._by_set()
            failed = sorted((self.assigned() & closed) - taken)
            free = [name for name in (node["metadata"]["name"] for node in nodes)
                    if name not in closed | self.assigned()]  # fmt: skip
            if not failed:
                return
            if not free:
                self.evict(
                    f"Workload was evicted as there was no replacement for unhealthy node(s): {failed[0]}"
                )
                return
            changed = {
                name: {
                    free[0] if node == failed[0] else node: count for node, count in nodes.items()
                }
                for name, nodes in by_set.items()
            }
            self._write(changed)

    def _by_set(self) -> dict[str, dict[str, int]]:
        assignments = self.workload["status"]["admission"]["podSetAssignments"]
        return {
            item["name"]: {
                domain["values"][-1]: domain["count"]
                for domain in item["topologyAssignment"]["domains"]
            }
            for item in assignments
        }

    def _write(self, by_set: dict[str, dict[str, int]]) -> None:
        def change(obj: Json) -> None:
            for item in obj["status"]["admission"]["podSetAssignments"]:
                domains = [
                    {"values": [name], "count": count}
                    for name, count in sorted(by_set[item["name"]].items())
                ]
                item["topologyAssignment"] = {"levels": [HOST], "domains": domains}

        self.simulator.objects.update(
            KUEUE, "Workload", self.workload["metadata"]["name"], change, NAMESPACE
        )


def node_of(site: Site, name: str) -> Json:
    """Return a node as it is now."""
    node = site.simulator.objects.get("v1", "Node", name)
    assert node is not None
    return node


def is_cordoned(site: Site, name: str) -> bool:
    """Return whether a node is cordoned or has the mark of an action."""
    node = node_of(site, name)
    return bool(node["spec"].get("unschedulable")) or MARK in node["metadata"].get(
        "annotations", {}
    )


def cordon(site: Site, name: str, cordoned: bool = True) -> None:
    """Let an admin cordon a node, or end that."""
    site.simulator.objects.update(
        "v1", "Node", name, lambda obj: obj["spec"].update(unschedulable=cordoned)
    )
