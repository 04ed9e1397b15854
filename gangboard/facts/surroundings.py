"""Nodes and pods around a gang, which decide whether one of its Jobs can move."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from gangboard.domain.capacity import NodeInfo
from gangboard.domain.pod import Pod


@dataclass(frozen=True, slots=True)
class WaitingPods:
    """Waiting pods of the cluster with equal requests."""

    count: int
    requests: Mapping[str, Decimal]


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The stored nodes of a cluster and the pods of one gang at one moment."""

    nodes: tuple[NodeInfo, ...] = ()
    """All nodes with their usage. Terms of anti-affinity and host ports of their pods are not stored."""
    why: str = ""
    """Clause that says why the nodes are unknown. `nodes` is empty then."""
    pods: tuple[Pod, ...] = ()
    """Unfinished pods of the gang that have a node."""
    owners_on: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Node → uids of the owners of the gangs with pods on it."""
    waiting: tuple[WaitingPods, ...] = ()
    queue_rivals: int | None = None
    """Waiting queue entries that may take the quota of a Job with an entry of its own. None if unknown."""
    promised: frozenset[str] = frozenset()
    """Nodes that an admission system has assigned to more pods than run there. Empty if it chose no node of the gang."""
    names_nodes: bool = False
    """The requester may see the names of all nodes, not only of those with its own pods."""
    is_stored: bool = True
    """The texts are stored, and people read them who may see fewer nodes. They name no node without own pods."""

    def pods_of(self, uid: str) -> tuple[Pod, ...]:
        """Return the pods of a Job."""
        return tuple(
            pod
            for pod in self.pods
            if pod.meta.controller is not None and pod.meta.controller.uid == uid
        )
