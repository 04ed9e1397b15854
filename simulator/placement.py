"""Placement of the simulated scheduler: which pod fits where, and the real scheduler's text if none does.

It takes the first node by name that fits, group by group, and all or nothing where a quorum requires it. The
texts were captured from kube-scheduler 1.37 and 1.36.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

Json = dict[str, Any]

_UNITS = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "k": 10**3, "M": 10**6, "G": 10**9}
_TAIL = ", pod group preemption: No preemption victims found for incoming preemptor"
_GROUP = "pod group is unschedulable"


def amount(quantity: str) -> int:
    """Return a quantity in thousandths of its base unit."""
    if quantity.endswith("m"):
        return int(quantity[:-1])
    for unit, factor in _UNITS.items():
        if quantity.endswith(unit):
            return int(float(quantity[: -len(unit)]) * factor * 1000)
    return int(float(quantity) * 1000)


def requests_of(pod: Json) -> dict[str, int]:
    """Return the total requests of a pod, in thousandths."""
    total: Counter[str] = Counter({"pods": 1000})
    for container in pod["spec"]["containers"]:
        for name, quantity in container.get("resources", {}).get("requests", {}).items():
            total[name] += amount(str(quantity))
    return dict(total)


@dataclass
class NodeInfo:
    """One node and its free resources."""

    name: str
    labels: dict[str, str]
    taints: list[Json]
    cordoned: bool
    allocatable: dict[str, int]
    free: dict[str, int]

    @classmethod
    def from_manifest(cls, node: Json) -> NodeInfo:
        """Return an empty node."""
        allocatable = {key: amount(value) for key, value in node["status"]["allocatable"].items()}
        spec, meta = node["spec"], node["metadata"]
        cordoned = bool(spec.get("unschedulable"))
        taints = list(spec.get("taints", []))
        return cls(
            meta["name"],
            meta.get("labels", {}),
            taints,
            cordoned,
            allocatable,
            dict(allocatable),
        )

    def refuses(self, pod: Json, needs: dict[str, int]) -> tuple[list[str], bool]:
        """Return why a pod does not fit (empty if it does), and whether preemption might help."""
        spec = pod["spec"]
        if self.cordoned:
            return ["node(s) were unschedulable"], False
        tolerated = spec.get("tolerations", [])
        if any(not _tolerates(tolerated, taint) for taint in self.taints):
            return ["node(s) had untolerated taint(s)"], False
        selector = spec.get("nodeSelector", {})
        terms = _required_terms(spec)
        suits = terms is None or any(_matches(self.labels, term) for term in terms)
        if not suits or any(self.labels.get(key) != value for key, value in selector.items()):
            return ["node(s) didn't match Pod's node affinity/selector"], False
        short = [name for name, need in needs.items() if self.free.get(name, 0) < need]
        could = all(self.allocatable.get(name, 0) >= needs[name] for name in short)
        return ["Too many pods" if n == "pods" else f"Insufficient {n}" for n in short], could

    def take(self, needs: dict[str, int], sign: int = -1) -> None:
        """Reserve resources, or release them with +1."""
        for name, need in needs.items():
            self.free[name] = self.free.get(name, 0) + sign * need


def _required_terms(spec: Json) -> list[Json] | None:
    """Return the terms of required node affinity, one of which must match. None: there are none."""
    node = spec.get("affinity", {}).get("nodeAffinity", {})
    required = node.get("requiredDuringSchedulingIgnoredDuringExecution")
    return None if required is None else list(required["nodeSelectorTerms"])


def _matches(labels: dict[str, str], term: Json) -> bool:
    """Return whether a node has the labels of a term. It knows the operators In and NotIn."""
    return bool(term.get("matchExpressions")) and all(
        (labels.get(item["key"]) in item["values"]) is (item["operator"] == "In")
        for item in term["matchExpressions"]
    )


def _tolerates(tolerations: Iterable[Json], taint: Json) -> bool:
    if taint["effect"] == "PreferNoSchedule":
        return True
    for item in tolerations:
        effect = item.get("effect") in (None, "", taint["effect"])
        if not effect or item.get("key") not in (None, "", taint["key"]):
            continue
        if item.get("operator") == "Exists" or item.get("value", "") == taint.get("value", ""):
            return True
    return False


@dataclass(frozen=True, slots=True)
class Limits:
    """Parameters of a group: its quorum, placed members, API version, and number of candidate placements."""

    quorum: int
    placed: int
    version: str
    placements: int


@dataclass
class Attempt:
    """Result of a placement attempt: nodes by pod name, texts of the other pods, and the group's text."""

    nodes: dict[str, str] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    group_text: str = ""
    """Empty if the group was placed, or without a group."""


class FreeResources:
    """All nodes of a cluster with their free resources."""

    def __init__(self, nodes: Iterable[Json]) -> None:
        self.nodes = {node["metadata"]["name"]: NodeInfo.from_manifest(node) for node in nodes}

    def copy(self) -> FreeResources:
        """Return an independent copy."""
        free_resources = FreeResources(())
        free_resources.nodes = {
            name: replace(node, free=dict(node.free)) for name, node in self.nodes.items()
        }
        return free_resources

    def take(self, node: str, needs: dict[str, int], sign: int = -1) -> None:
        """Reserve resources of a node, or release them with +1. Unknown nodes are ignored."""
        if node in self.nodes:
            self.nodes[node].take(needs, sign)

    def place(self, pod: Json, domain: dict[str, str] | None = None) -> tuple[str, str, str]:
        """Put a pod on the first node that fits.

        Return the node, its own text, and the preemption text that follows it outside groups.
        """
        needs = requests_of(pod)
        reasons: Counter[str] = Counter()
        helped: Counter[str] = Counter()
        count = 0
        for name in sorted(self.nodes, key=_natural_key):
            node = self.nodes[name]
            if any(node.labels.get(key) != value for key, value in (domain or {}).items()):
                continue
            count += 1
            reasons_of_node, could = node.refuses(pod, needs)
            if not reasons_of_node:
                node.take(needs)
                return name, "", ""
            reasons.update(reasons_of_node)
            helped[
                "No preemption victims found for incoming pod"
                if could
                else "Preemption is not helpful for scheduling"
            ] += 1
        front = f"0/{count} nodes are available: "
        return "", front + _join_counts(reasons), f" preemption: {front}{_join_counts(helped)}"

    def place_alone(self, pods: Sequence[Json]) -> Attempt:
        """Place pods one by one, independently."""
        attempt = Attempt()
        for pod in pods:
            name = pod["metadata"]["name"]
            node, text, preemption = self.place(pod)
            if node:
                attempt.nodes[name] = node
            else:
                attempt.texts[name] = text + preemption
        return attempt

    def place_group(
        self,
        pods: Sequence[Json],
        quorum: int,
        *,
        version: str,
        topology: str = "",
        placed: int = 0,
    ) -> Attempt:
        """Place pods of a group: at least `quorum` of them (with those `placed` before) or none."""
        domains: list[dict[str, str] | None] = [None]
        if topology:
            values = {
                node.labels[topology] for node in self.nodes.values() if topology in node.labels
            }
            domains = [{topology: value} for value in sorted(values)]
        first: Attempt | None = None
        for domain in domains:
            limits = Limits(quorum, placed, version, len(domains))
            attempt = self._try(pods, domain, limits)
            if not attempt.group_text:
                return attempt
            first = first or attempt
        return first or Attempt()

    def _try(self, pods: Sequence[Json], domain: dict[str, str] | None, limits: Limits) -> Attempt:
        attempt = Attempt()
        remaining = [pod["metadata"]["name"] for pod in pods]
        for pod in pods:
            name = pod["metadata"]["name"]
            remaining.remove(name)
            node, text, _ = self.place(pod, domain)
            if node:
                attempt.nodes[name] = node
                continue
            attempt.texts[name] = text
            # 1.37 stops when the quorum is out of reach, and 1.36 tries every pod.
            reachable = limits.placed + len(attempt.nodes) + len(remaining)
            if reachable < limits.quorum and limits.version != "v1alpha2":
                break
        if limits.placed + len(attempt.nodes) >= limits.quorum:
            return attempt
        by_name = {pod["metadata"]["name"]: pod for pod in pods}
        for name, node in attempt.nodes.items():
            self.take(node, requests_of(by_name[name]), +1)
        scheduled, attempt.nodes = list(attempt.nodes), {}
        _fill_texts(attempt, scheduled, remaining, limits)
        return attempt


def _fill_texts(
    attempt: Attempt, scheduled: list[str], remaining: list[str], limits: Limits
) -> None:
    """Fill in the texts of a group that was not placed."""
    if limits.version == "v1alpha2":
        attempt.group_text = f"{_GROUP}, No preemption victims found for incoming preemptor"
        tail = " no new claims to deallocate, preemption: not eligible due to workload aware preemption enabled"
        for name in attempt.texts:
            attempt.texts[name] += tail
        waits = "waiting for minCount pods from a gang to be scheduled"
        plugin_text = "one or more plugins asked to wait and no plugin rejected pod"
        attempt.texts.update(dict.fromkeys(scheduled, f"{_GROUP}, {waits}, {plugin_text}"))
        return
    status = (
        f"0/{limits.placements} placements are available, first placement status: minCount "
        f"({limits.quorum}) cannot be satisfied: {limits.placed + len(scheduled)} scheduled, "
        f"{len(remaining)} remaining"
    )
    attempt.group_text = f"{_GROUP}, {status}{_TAIL}"
    attempt.texts.update(dict.fromkeys(scheduled, f"{_GROUP}, {attempt.group_text}"))
    attempt.texts.update(dict.fromkeys(remaining, f"{_GROUP}, {status}"))


def refused(names: Sequence[str], text: str, quorum: int | None, version: str) -> Attempt:
    """Return the attempt for pods whose first one is refused with this text."""
    if quorum is None:
        return Attempt(texts=dict.fromkeys(names, text))
    # 1.36 tries every pod, so each one has a text of its own.
    own = names if version == "v1alpha2" else names[:1]
    attempt = Attempt(texts=dict.fromkeys(own, text))
    _fill_texts(attempt, [], list(names[1:]), Limits(quorum, 0, version, 1))
    return attempt


def _join_counts(reasons: Counter[str]) -> str:
    # Sorted as texts, like the scheduler.
    return ", ".join(sorted(f"{count} {reason}" for reason, count in reasons.items())) + "."


def _natural_key(name: str) -> tuple[str, int]:
    front, _, number = name.rpartition("-")
    return (front, int(number)) if number.isdigit() else (name, 0)
