"""Nodes and what fits on them, in and out of their tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True)
class NodeCapacityRow:
    """One node to store; amounts are decimal strings in base units."""

    name: str
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[str, ...] = ()
    ready: bool = True
    cordoned: bool = False
    allocatable: Mapping[str, str] = field(default_factory=dict)
    used: Mapping[str, str] = field(default_factory=dict)
    held: Mapping[str, str] = field(default_factory=dict)
    unreadable: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ShapeCapacity:
    """How many pods that ask for so much fit on a cluster, each shape by itself."""

    requests: Mapping[str, str]
    waiting: int
    fits_now: int
    fits_empty: int
    why: str = ""


def save_capacity(
    cluster_id: int,
    *,
    changed: Sequence[NodeCapacityRow],
    gone: Sequence[str],
    shapes: Sequence[ShapeCapacity],
    why: str,
    at: datetime,
) -> None:
    """Store nodes that changed, drop those that are gone, and what fits. Inside `writing`."""
