"""Quantities of resources as a person reads them; the API gives them in base units."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation

from gangboard.domain.resources import unit_word

_BYTES = ("memory", "ephemeral-storage", "storage", "hugepages-")
_UNITS = ("Ki", "Mi", "Gi", "Ti", "Pi")


def number_text(number: float) -> str:
    """Return a number of devices as a decimal string, never an exponent: `8`, `0.5`."""
    return f"{Decimal(str(number)).normalize():f}"


def quantity_text(resource: str, text: str) -> str:
    """Return bytes with a binary unit (`48 Gi`, `1.5 Ti`), anything else as it is."""
    if not resource.startswith(_BYTES):
        return text
    try:
        amount = Decimal(text)
    except InvalidOperation:
        return text
    if not amount.is_finite():
        return text
    unit = ""
    for larger in _UNITS:
        if abs(amount) < 1024:
            break
        amount, unit = amount / 1024, larger
    rounded = f"{amount:.1f}".removesuffix(".0")
    return f"{rounded} {unit}".strip()


def amount_text(resource: str, text: str) -> str:
    """Return an amount with its unit: `4 GPUs`, `48 Gi memory`, `2 cpu`. The page tells the resource on hover."""
    amount = quantity_text(resource, text)
    return f"{amount} {unit_word(resource, amount)}"
