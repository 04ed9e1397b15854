"""Resource amounts in the units of kube-scheduler, and their text in sentences."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from gangboard.domain.bounded_cache import MEBIBYTE, bounded_cache
from gangboard.domain.capacity import PODS, NodeInfo, Requested, Shape
from gangboard.domain.placement_result import When
from gangboard.domain.resources import base_units, decimal_text, is_gpu, scheduler_units, unit_word
from gangboard.domain.text import count

__all__ = [
    "base_units",
    "free_amount",
    "pod_amounts",
    "requested_amounts",
    "scheduler_units",
    "used_amount",
]


def pod_amounts(requests: Mapping[str, Decimal]) -> dict[str, int]:
    """Return the amounts of one pod in scheduler scheduler_units. Sums use these amounts, never the requests."""
    return {resource: scheduler_units(resource, amount) for resource, amount in requests.items()}


def requested_amounts(shape: Shape) -> dict[str, int]:
    """Return the amounts that the scheduler compares for one pod of a shape: `pods`, and requests above 0.

    The scheduler ignores a request of zero, even on an overfull node (fitsRequest in
    pkg/scheduler/framework/plugins/noderesources/fit.go). No pod can request `pods`. A shape with 0 `pods`
    ignores the pod limit, which tells whether the limit is the cause.
    """
    return dict(_requested_amounts(tuple(shape.requests.items())))


@bounded_cache(4096, 16 * MEBIBYTE)
def _requested_amounts(requests: tuple[tuple[str, Decimal], ...]) -> dict[str, int]:
    requested = {PODS: 1, **pod_amounts(dict(requests))}
    return {resource: amount for resource, amount in requested.items() if amount > 0}


def free_amount(node: NodeInfo, resource: str, when: When) -> int:
    """Return the free amount of a resource in scheduler units, below zero on an overfull node."""
    load = node.now if when is When.CURRENT else node.pinned
    return node.allocatable.get(resource, 0) - used_amount(load, resource)


def used_amount(load: Requested, resource: str) -> int:
    """Return how much of a resource a load uses, in scheduler units. For `pods` it is their number."""
    return load.pods if resource == PODS else load.amounts.get(resource, 0)


# Text

_BINARY = ("Ki", "Mi", "Gi", "Ti", "Pi")


def format_amount(
    resource: str,
    amount: int,
    *,
    exact: bool = False,
    round_up: bool = False,
    with_resource_name: bool = False,
) -> str:
    """Return scheduler units as `4 GPUs`, `1.5 CPUs`, `500m CPU`, `32Gi of memory`, `2 rdma/ib`.

    `exact` and `round_up` are those of `format_quantity`. With `with_resource_name`, the text names the resource of
    GPUs: `4 nvidia.com/gpu`.
    """
    text = format_quantity(resource, amount, exact=exact, round_up=round_up)
    if resource == PODS:
        return count(amount, "pod")
    if resource == "cpu":
        return f"{text} CPU" if text == "1" or text.endswith("m") else f"{text} CPUs"
    if is_bytes(resource):
        return f"{text} of {resource}"
    return f"{text} {resource if with_resource_name else unit_word(resource, text)}"


def format_amounts(amounts: Mapping[str, int], *, round_up: bool = False) -> list[str]:
    """Return several amounts as texts, in order of resource names. GPUs of two vendors have their resource names."""
    with_resource_name = sum(map(is_gpu, amounts)) > 1
    return [
        format_amount(name, amounts[name], round_up=round_up, with_resource_name=with_resource_name)
        for name in sorted(amounts)
    ]


def format_quantity(
    resource: str, amount: int, *, exact: bool = False, round_up: bool = False
) -> str:
    """Return scheduler units as text without the name of the resource.

    Bytes are cut to a tenth of their unit. `round_up` rounds them up instead, for amounts that must be enough. `exact`
    keeps all digits.
    """
    if resource == "cpu":
        if 0 < amount < 1000:
            return f"{amount}m"
        return decimal_text(base_units(resource, amount))
    return _format_bytes(amount, exact, round_up) if is_bytes(resource) else str(amount)


def is_bytes(resource: str) -> bool:
    """Return whether a resource is counted in bytes."""
    return resource in ("memory", "ephemeral-storage") or resource.startswith("hugepages-")


def _format_bytes(amount: int, exact: bool, round_up: bool) -> str:
    """Write bytes in the largest binary unit without a remainder, or to a tenth."""
    unit, number = "", amount
    for larger in _BINARY:
        if number % 1024 or not number:
            break
        number, unit = number // 1024, larger
    if exact or len(str(number)) < 5:
        return f"{number}{unit}"
    tenths, unit = amount * 10, ""
    for power, larger in enumerate(_BINARY, start=1):
        if tenths < 10240:
            break
        # Start from the bytes each time, because rounding up twice gives too much.
        size = 1024**power
        tenths, unit = (amount * 10 + (size - 1 if round_up else 0)) // size, larger
    return f"{tenths // 10}.{tenths % 10}".removesuffix(".0") + unit
