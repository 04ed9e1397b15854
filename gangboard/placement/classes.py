"""Shapes of a packing problem in plain numbers: vectors, and which of them cannot share a node."""

from __future__ import annotations

from collections.abc import Sequence

from gangboard.domain.capacity import Shape
from gangboard.placement.matching import has_host_anti_affinity, ports_clash

Vector = tuple[int, ...]


def conflicting_pairs(shapes: Sequence[Shape]) -> frozenset[tuple[int, int]]:
    """Return which of the shapes cannot share a node: the smaller place first."""
    return frozenset(
        (low, high)
        for high, one in enumerate(shapes)
        for low, other in enumerate(shapes[:high])
        if has_host_anti_affinity(one, other) or ports_clash(one.host_ports, other.host_ports)
    )
