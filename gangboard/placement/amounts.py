"""Amounts as kube-scheduler counts them: whole numbers, each pod rounded up by itself."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from gangboard.domain.capacity import PODS, NodeRoom, Shape
from gangboard.domain.placing import When


def units(resource: str, amount: Decimal) -> int:
    """Return base units in scheduler units, rounded up: 0.0005 cores are 1, 1.5 bytes are 2.

    Source: Quantity.MilliValue for cpu, Quantity.Value for everything else, both round up
    (k8s.io/apimachinery/pkg/api/resource/quantity.go).
    """
    numerator, denominator = amount.as_integer_ratio()
    return -(-numerator * (1000 if resource == "cpu" else 1) // denominator)


def base_units(resource: str, amount: int) -> Decimal:
    """Return scheduler units in base units, exactly."""
    if resource != "cpu":
        return Decimal(amount)
    sign, digits, _ = Decimal(amount).as_tuple()
    return Decimal((sign, digits, -3))


def pod_amounts(requests: Mapping[str, Decimal]) -> dict[str, int]:
    """Return what one pod takes, in scheduler units; add these up, never the requests themselves."""
    return {resource: units(resource, amount) for resource, amount in requests.items()}


def wanted(shape: Shape) -> dict[str, int]:
    """Return what the scheduler compares for one such pod: `pods`, and what it asks more than 0 of.

    A request of zero is never looked at, even on a node that is overfull (fitsRequest in
    pkg/scheduler/framework/plugins/noderesources/fit.go).
    """
    asked = pod_amounts(shape.requests)
    return {PODS: 1, **{resource: amount for resource, amount in asked.items() if amount > 0}}


def free(node: NodeRoom, resource: str, when: When) -> int:
    """Return what is left of a resource, in scheduler units; below zero on an overfull node."""
    load = node.now if when is When.NOW else node.staying
    taken = load.pods if resource == PODS else load.amounts.get(resource, 0)
    return node.allocatable.get(resource, 0) - taken
