"""Kubernetes quantities as exact decimals in base units (cores, bytes, devices)."""

from __future__ import annotations

import re
from decimal import Context, Decimal
from functools import lru_cache

from gangboard.domain.api_resource import DecodeError
from gangboard.domain.bounded_cache import MEBIBYTE, bounded_cache
from gangboard.domain.resource_units import units

# The grammar of k8s.io/apimachinery/pkg/api/resource/quantity.go. `1E` is exa, `1E3` an exponent.
_QUANTITY = re.compile(
    r"(?P<number>[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))"
    r"(?P<suffix>[KMGTPE]i|[numkMGTPE]|[eE](?P<exponent>[+-]?[0-9]{1,2}))?"
)
_FACTORS = {
    **{f"{unit}i": Decimal(1024**power) for power, unit in enumerate("KMGTPE", start=1)},
    **{unit: Decimal(1000**power) for power, unit in enumerate("kMGTPE", start=1)},
    **{unit: Decimal(1).scaleb(-3 * power) for power, unit in enumerate("mun", start=1)},
}
MAX_LENGTH = 64
MOST_UNITS = 2**63 - 1
# Wide enough that no product of MAX_LENGTH digits and a suffix is ever rounded.
_EXACT = Context(prec=256)


@lru_cache(maxsize=4096)
def parse_quantity(text: str) -> Decimal:
    """Return `500m` as 0.5, `1Gi` as 1073741824, `1e3` as 1000; raise DecodeError otherwise.

    Text over 64 characters and exponents of more than two digits are refused: Kubernetes itself
    caps a quantity at 2^63-1, and arithmetic on them would cost more than they can mean.
    """
    found = _QUANTITY.fullmatch(text) if len(text) <= MAX_LENGTH else None
    if found is None:
        shown = text if len(text) <= MAX_LENGTH else f"{text[:MAX_LENGTH]}…"
        raise DecodeError(f"{shown!r} is not a quantity")
    number = Decimal(found["number"])
    if found["exponent"] is not None:
        return number.scaleb(int(found["exponent"]), _EXACT)
    return _EXACT.multiply(number, _FACTORS[found["suffix"]]) if found["suffix"] else number


@bounded_cache(4096, 4 * MEBIBYTE)
def parse_amount(resource: str, text: str) -> Decimal:
    """Return a quantity of a resource in base units; raise DecodeError also where it is too large.

    Too large is what a scheduler cannot hold in 64 bits: it takes 1e30 for 0 (Quantity.Value),
    so that neither the number nor nothing would be the truth about such a node or pod.
    """
    amount = parse_quantity(text)
    if abs(units(resource, amount)) > MOST_UNITS:
        raise DecodeError(f"{text!r} is more than a scheduler can count")
    return amount
