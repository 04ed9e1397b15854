"""Amounts of quota as Kueue adds them up."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from gangboard.domain.quota import FlavorAmount


def added(amounts: Iterator[FlavorAmount]) -> tuple[FlavorAmount, ...]:
    """Return the amounts with those of one resource in one flavor added up, by flavor and resource."""
    sums: dict[tuple[str, str], Decimal] = {}
    for flavor, resource, amount in amounts:
        sums[flavor, resource] = sums.get((flavor, resource), Decimal(0)) + amount
    return tuple(
        FlavorAmount(flavor, resource, sums[flavor, resource]) for flavor, resource in sorted(sums)
    )
