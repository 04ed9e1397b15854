"""A node: readiness, cordon, and what it offers to the scheduler."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gangboard.domain.capacity import Amounts
from gangboard.domain.objects import Condition, Meta
from gangboard.domain.pod_constraints import Taint
from gangboard.domain.suspension import FieldWriter


@dataclass(frozen=True, slots=True)
class Node:
    """A node as narrow as rules and placement need it."""

    meta: Meta
    ready: Condition | None
    """The condition `Ready`; `Unknown` when the kubelet went silent; None when never reported."""
    unschedulable: bool = False
    """Cordoned."""
    cordoned_by: FieldWriter | None = None
    """While it is cordoned: the last writer of `spec.unschedulable`."""
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    tainted_by: FieldWriter | None = None
    """The last writer of `spec.taints`, which has one owner for the whole list.

    A cordon makes the node controller that owner, so it can hide who set the other taints (observed on 1.37.2).
    """
    allocatable: Amounts = field(default_factory=dict)
    """In scheduler units, `pods` included; what is not in it is not there."""
    unreadable: frozenset[str] = frozenset()
    """Resources whose quantity was malformed."""
    withheld: Amounts = field(default_factory=dict)
    """Devices and huge pages that the node has and pods cannot get: capacity without allocatable."""
    lifecycle: tuple[Condition, ...] = ()
    """Conditions by which an admin says that it is drained or in maintenance, while they are true (KEP-5683)."""

    @property
    def is_ready(self) -> bool:
        """Whether the node says `Ready=True`."""
        return self.ready is not None and self.ready.is_true
