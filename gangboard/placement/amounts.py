"""Amounts as kube-scheduler counts them, and as sentences write them."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from gangboard.domain.bounded_cache import MEBIBYTE, bounded_cache
from gangboard.domain.capacity import PODS, NodeInfo, Requested, Shape
from gangboard.domain.placement_result import When
from gangboard.domain.resources import base_units, decimal_text, is_gpu, scheduler_units, unit_word
from gangboard.domain.text import count

__all__ = ["base_units", "free", "pod_amounts", "scheduler_units", "taken", "wanted"]


def pod_amounts(requests: Mapping[str, Decimal]) -> dict[str, int]:
    """Return the amounts of one pod in scheduler units. Sums are made of these, never of requests."""
    return {resource: scheduler_units(resource, amount) for resource, amount in requests.items()}


def wanted(shape: Shape) -> dict[str, int]:
    """Return the amounts that the scheduler compares for one such pod: `pods`, and requests above 0.

    The scheduler ignores a request of zero, even on an overfull node (fitsRequest in
    pkg/scheduler/framework/plugins/noderesources/fit.go). No pod can request `pods`. A shape with 0 `pods`
    ignores the limit, to see whether it is the cause.
    """
    return dict(_wanted(tuple(shape.requests.items())))


@bounded_cache(4096, 16 * MEBIBYTE)
def _wanted(requests: tuple[tuple[str, Decimal], ...]) -> dict[str, int]:
    requested = {PODS: 1, **pod_amounts(dict(requests))}
    return {resource: amount for resource, amount in requested.items() if amount > 0}


def free(node: NodeInfo, resource: str, when: When) -> int:
    """Return the free amount of a resource in scheduler units, below zero on an overfull node."""
    load = node.now if when is When.CURRENT else node.pinned
    return node.allocatable.get(resource, 0) - taken(load, resource)


def taken(load: Requested, resource: str) -> int:
    """Return how much of a resource a load takes, in scheduler units; of `pods` its number."""
    return load.pods if resource == PODS else load.amounts.get(resource, 0)


# Words

_BINARY = ("Ki", "Mi", "Gi", "Ti", "Pi")


def amount_of(
    resource: str, amount: int, *, exact: bool = False, up: bool = False, named: bool = False
) -> str:
    """Return scheduler units as `4 GPUs`, `1.5 CPUs`, `500m CPU`, `32Gi of memory`, `2 rdma/ib`.

    `exact` and `up` are those of `bare`. With `named` GPUs are called by their resource: `4 nvidia.com/gpu`.
    """
    text = bare(resource, amount, exact=exact, up=up)
    if resource == PODS:
        return count(amount, "pod")
    if resource == "cpu":
        return f"{text} CPU" if text == "1" or text.endswith("m") else f"{text} CPUs"
    if is_bytes(resource):
        return f"{text} of {resource}"
    return f"{text} {resource if named else unit_word(resource, text)}"


def amounts_of(amounts: Mapping[str, int], *, up: bool = False) -> list[str]:
    """Return several amounts by the name of their resource. With GPUs of two vendors it names the resources."""
    named = sum(map(is_gpu, amounts)) > 1
    return [amount_of(name, amounts[name], up=up, named=named) for name in sorted(amounts)]


def bare(resource: str, amount: int, *, exact: bool = False, up: bool = False) -> str:
    """Return the same without the name of the resource.

    Bytes are cut to a tenth of their unit, with `up` rounded up to one where they must be enough,
    and neither with `exact`.
    """
    if resource == "cpu":
        if 0 < amount < 1000:
            return f"{amount}m"
        return decimal_text(base_units(resource, amount))
    return _bytes(amount, exact, up) if is_bytes(resource) else str(amount)


def is_bytes(resource: str) -> bool:
    """Whether a resource is counted in bytes."""
    return resource in ("memory", "ephemeral-storage") or resource.startswith("hugepages-")


def _bytes(amount: int, exact: bool, up: bool) -> str:
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
        # From the bytes each time: what is rounded up twice is too much.
        size = 1024**power
        tenths, unit = (amount * 10 + (size - 1 if up else 0)) // size, larger
    return f"{tenths // 10}.{tenths % 10}".removesuffix(".0") + unit
