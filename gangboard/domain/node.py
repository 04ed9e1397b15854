"""Nodes with their readiness, cordon, taints and allocatable amounts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gangboard.domain.capacity import Amounts
from gangboard.domain.objects import Condition, Meta
from gangboard.domain.pod_constraints import Taint
from gangboard.domain.suspension import FieldWriter


@dataclass(frozen=True, slots=True)
class Node:
    """Node with the fields that rules and placement read."""

    meta: Meta
    ready: Condition | None
    """Condition `Ready`. `Unknown` if the kubelet stopped reporting, None if it never reported."""
    unschedulable: bool = False
    """Whether the node is cordoned."""
    cordoned_by: FieldWriter | None = None
    """Last writer of `spec.unschedulable` while the node is cordoned."""
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    tainted_by: FieldWriter | None = None
    """Last writer of `spec.taints`. The list has one field owner.

    A cordon makes the node controller that owner, so it can hide the author of the other taints (observed on 1.37.2).
    """
    allocatable: Amounts = field(default_factory=dict)
    """Allocatable amounts in scheduler units, including `pods`. A missing resource means the node has none."""
    unreadable: frozenset[str] = frozenset()
    """Resources with a malformed quantity."""
    withheld: Amounts = field(default_factory=dict)
    """Devices and huge pages in the node's capacity that are not allocatable."""
    lifecycle: tuple[Condition, ...] = ()
    """True conditions with which an admin announces a drain or maintenance (KEP-5683)."""

    @property
    def is_ready(self) -> bool:
        """Whether its condition `Ready` is True."""
        return self.ready is not None and self.ready.is_true
