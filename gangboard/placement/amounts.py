"""Amounts as kube-scheduler counts them: whole numbers, each pod rounded up by itself."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from gangboard.domain.bounded_cache import MEBIBYTE, bounded_cache
from gangboard.domain.capacity import PODS, Load, NodeRoom, Shape
from gangboard.domain.placing import When
from gangboard.domain.resource_units import base_units, units

__all__ = ["base_units", "free", "pod_amounts", "taken", "units", "wanted"]


def pod_amounts(requests: Mapping[str, Decimal]) -> dict[str, int]:
    """Return what one pod takes, in scheduler units; add these up, never the requests themselves."""
    return {resource: units(resource, amount) for resource, amount in requests.items()}


def wanted(shape: Shape) -> dict[str, int]:
    """Return what the scheduler compares for one such pod: `pods`, and what it asks more than 0 of.

    A request of zero is never looked at, even on a node that is overfull (fitsRequest in
    pkg/scheduler/framework/plugins/noderesources/fit.go). No pod can request `pods`: where a shape
    has it, 0 leaves out the limit, to see whether it is the cause.
    """
    return dict(_wanted(tuple(shape.requests.items())))


@bounded_cache(4096, 16 * MEBIBYTE)
def _wanted(requests: tuple[tuple[str, Decimal], ...]) -> dict[str, int]:
    asked = {PODS: 1, **pod_amounts(dict(requests))}
    return {resource: amount for resource, amount in asked.items() if amount > 0}


def free(node: NodeRoom, resource: str, when: When) -> int:
    """Return what is left of a resource, in scheduler units; below zero on an overfull node."""
    load = node.now if when is When.NOW else node.staying
    return node.allocatable.get(resource, 0) - taken(load, resource)


def taken(load: Load, resource: str) -> int:
    """Return how much of a resource a load takes, in scheduler units; of `pods` its number."""
    return load.pods if resource == PODS else load.amounts.get(resource, 0)
