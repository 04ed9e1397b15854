"""Numbers of Kubernetes: quantities as exact decimals in base units, resource lists, durations and minimums."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from decimal import Context, Decimal
from functools import lru_cache

from gangboard.domain.api_resource import DecodeError
from gangboard.domain.bounded_cache import MEBIBYTE, bounded_cache
from gangboard.domain.resources import scheduler_units

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
Quantity = str | int | float
"""Built-in types serve text. A custom resource keeps `cpu: 2` as the number that it was."""
Quantities = dict[str, Quantity]
MAX_LENGTH = 64
MAX_UNITS = 2**63 - 1
# Wide enough that no product of MAX_LENGTH digits and a suffix is ever rounded.
_EXACT = Context(prec=256)


@lru_cache(maxsize=4096)
def parse_quantity(text: str) -> Decimal:
    """Return `500m` as 0.5, `1Gi` as 1073741824, `1e3` as 1000. Raises DecodeError for other texts.

    Texts over 64 characters and exponents of more than two digits are rejected. Kubernetes limits a quantity to 2^63-1,
    and arithmetic on larger numbers would be expensive.
    """
    match = _QUANTITY.fullmatch(text) if len(text) <= MAX_LENGTH else None
    if match is None:
        excerpt = text if len(text) <= MAX_LENGTH else f"{text[:MAX_LENGTH]}…"
        raise DecodeError(f"{excerpt!r} is not a quantity")
    number = Decimal(match["number"])
    if match["exponent"] is not None:
        return number.scaleb(int(match["exponent"]), _EXACT)
    return _EXACT.multiply(number, _FACTORS[match["suffix"]]) if match["suffix"] else number


@bounded_cache(4096, 4 * MEBIBYTE)
def parse_amount(resource: str, text: str) -> Decimal:
    """Return a quantity of a resource in base units. Raises DecodeError if it is malformed or exceeds 64 bits.

    The scheduler reads 1e30 as 0 (Quantity.Value), so any number would be wrong for such a node or pod.
    """
    amount = parse_quantity(text)
    if abs(scheduler_units(resource, amount)) > MAX_UNITS:
        raise DecodeError(f"{text!r} is more than a scheduler can count")
    return amount


_SECONDS = {
    "ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0,
}  # fmt: skip
_DURATION_UNIT = re.compile(r"(\d{1,12}(?:\.\d{0,12})?|\.\d{1,12})(ns|us|µs|μs|ms|s|m|h)")
_DURATION = re.compile(rf"([+-]?)(0|(?:{_DURATION_UNIT.pattern})+)")
_LONGEST = 64


def read_duration(text: str | None) -> timedelta | None:
    """Return the duration, or None if the text is missing, malformed or too large for a timedelta."""
    match = _DURATION.fullmatch(text) if text and len(text) <= _LONGEST else None
    if match is None:
        return None
    seconds = sum(
        float(number) * _SECONDS[unit] for number, unit in _DURATION_UNIT.findall(match[2])
    )
    try:
        return timedelta(seconds=-seconds if match[1] == "-" else seconds)
    except OverflowError:
        return None


def read_minimum(number: int | None) -> int | None:
    """Return a `minCount`, `minMember` or `minAvailable`, or None if it is not set.

    Go clients write 0 for an unset number, and no controller starts a gang of 0 pods. A field that is a pointer in Go is
    omitted instead, so a subgroup can have a real minimum of 0.
    """
    return number if number is not None and number > 0 else None


class ResourceListReader:
    """Reads the amounts of one object, and collects a fault for each malformed quantity."""

    def __init__(self) -> None:
        self.faults: list[str] = []

    def read(self, noun: str, resource: str, text: Quantity | None) -> Decimal | None:
        """Return an amount in base units. None if it is missing or malformed. `noun` names the field for the clause."""
        if text is None:
            return None
        try:
            return parse_amount(resource, str(text))
        except ValueError as error:
            self.faults.append(f"its {noun} of {resource} is left out: {error}")
            return None

    def each(self, noun: str, quantities: Quantities | None) -> Iterator[tuple[str, Decimal]]:
        """Yield (resource, amount) for each well-formed entry of a ResourceList."""
        for resource, text in (quantities or {}).items():
            amount = self.read(noun, resource, text)
            if amount is not None:
                yield resource, amount
