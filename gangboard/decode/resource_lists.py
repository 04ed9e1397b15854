"""ResourceLists of objects that are not pods or nodes: what cannot be read is left out, and said."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from gangboard.decode.podspec import Quantities
from gangboard.decode.quantities import parse_amount

Quantity = str | int | float


class Amounts:
    """Reads the amounts of one object, and keeps half a sentence for each that cannot be read."""

    def __init__(self) -> None:
        self.faults: list[str] = []

    def read(self, what: str, resource: str, text: Quantity | None) -> Decimal | None:
        """Return an amount in base units; None for nothing, and for what is no quantity."""
        if text is None:
            return None
        try:
            return parse_amount(resource, str(text))
        except ValueError as error:
            self.faults.append(f"its {what} of {resource} is left out: {error}")
            return None

    def each(self, what: str, quantities: Quantities | None) -> Iterator[tuple[str, Decimal]]:
        """Yield (resource, amount) of a ResourceList."""
        for resource, text in (quantities or {}).items():
            amount = self.read(what, resource, text)
            if amount is not None:
                yield resource, amount
