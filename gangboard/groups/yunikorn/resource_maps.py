"""Amounts as YuniKorn writes them in texts: `map[memory:1024 vcore:500]`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal, InvalidOperation

from gangboard.domain.resource_units import units
from gangboard.placement.amounts import amount_of, bare

AMOUNTS = r"map\[([^\]]{0,2000})\]"
"""Pattern of such amounts. Its group is the text inside the brackets."""
_RESOURCES = {"vcore": "cpu"}
"""YuniKorn's name of a resource → Kubernetes' name. YuniKorn counts CPUs in thousandths (siCommon.CPU)."""


def too_little(asked: str, left: str) -> tuple[str, str] | None:
    """Return the requested and the remaining amount of the first resource that lacks room: `4 CPUs`, `2.5`."""
    return next(_lacking(_amounts(asked), _amounts(left)), None)


def _lacking(
    asked: Mapping[str, Decimal], left: Mapping[str, Decimal]
) -> Iterator[tuple[str, str]]:
    for resource, amount in sorted(asked.items()):
        if resource in left and amount > left[resource]:
            rest = max(Decimal(0), left[resource])
            yield (
                amount_of(resource, units(resource, amount)),
                bare(resource, units(resource, rest)),
            )


def _amounts(text: str) -> Mapping[str, Decimal]:
    """Return a Resource as it is printed (`memory:1024 vcore:500`), in the units and words of Kubernetes."""
    found = {}
    for part in text.split():
        name, _, amount = part.rpartition(":")
        try:
            size = Decimal(amount)
        except InvalidOperation:
            continue
        resource = _RESOURCES.get(name, name)
        found[resource] = size / 1000 if resource == "cpu" else size
    return found
