"""Amounts as people read them, in every sentence the same."""

from __future__ import annotations

from collections.abc import Mapping

from gangboard.domain.capacity import PODS
from gangboard.domain.resource_units import decimal_text
from gangboard.domain.resources import is_gpu, unit_word
from gangboard.domain.text import count
from gangboard.placement.amounts import base_units

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
    """Return several amounts by the name of their resource. GPUs of two vendors are told apart."""
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
    """Write bytes in a binary unit: the largest with nothing left over, or to a tenth."""
    unit, whole = "", amount
    for larger in _BINARY:
        if whole % 1024 or not whole:
            break
        whole, unit = whole // 1024, larger
    if exact or len(str(whole)) < 5:
        return f"{whole}{unit}"
    tenths, unit = amount * 10, ""
    for power, larger in enumerate(_BINARY, start=1):
        if tenths < 10240:
            break
        # From the bytes each time: what is rounded up twice is too much.
        size = 1024**power
        tenths, unit = (amount * 10 + (size - 1 if up else 0)) // size, larger
    return f"{tenths // 10}.{tenths % 10}".removesuffix(".0") + unit
