"""Between base units (cores, bytes, devices) and scheduler units (thousandths of a core, whole others)."""

from __future__ import annotations

from decimal import Decimal


def units(resource: str, amount: Decimal) -> int:
    """Return base units in scheduler units, rounded up: 0.0005 cores are 1, 1.5 bytes are 2.

    Amounts below zero are rounded away from it too. Source: Quantity.MilliValue for cpu,
    Quantity.Value for everything else (k8s.io/apimachinery/pkg/api/resource/quantity.go).
    """
    numerator, denominator = amount.as_integer_ratio()
    size = -(-abs(numerator) * (1000 if resource == "cpu" else 1) // denominator)
    return size if numerator >= 0 else -size


def base_units(resource: str, amount: int) -> Decimal:
    """Return scheduler units in base units, exactly."""
    if resource != "cpu":
        return Decimal(amount)
    sign, digits, _ = Decimal(amount).as_tuple()
    return Decimal((sign, digits, -3))


def decimal_text(amount: Decimal) -> str:
    """Return an exact amount without exponent or needless zeros: `8`, `0.5`, `1000`."""
    text = format(amount, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text
