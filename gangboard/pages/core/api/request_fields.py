"""Fields of request bodies. They take the JSON type that the OpenAPI document names, and no other.

Fields of DRF would convert: `0` and `"no"` are false for it, and `7` is the text `7`.
"""

from __future__ import annotations

from typing import Any

from rest_framework import serializers
from rest_framework.exceptions import ValidationError


class StrictTextField(serializers.CharField):
    """A string. Other JSON types are errors."""

    def to_internal_value(self, data: Any) -> Any:
        """Return the text. Raises ValidationError for any other type."""
        if not isinstance(data, str):
            raise ValidationError("This must be a string.")
        return super().to_internal_value(data)


class StrictWholeField(serializers.IntegerField):
    """A whole number. Strings and booleans are errors."""

    def to_internal_value(self, data: Any) -> Any:
        """Return the number. Raises ValidationError."""
        if isinstance(data, bool) or not isinstance(data, int):
            raise ValidationError("This must be a whole number.")
        return super().to_internal_value(data)


class StrictFlagField(serializers.BooleanField):
    """`true` or `false`. Other values are errors."""

    def to_internal_value(self, data: Any) -> Any:
        """Return the flag. Raises ValidationError."""
        if not isinstance(data, bool):
            raise ValidationError("This must be true or false.")
        return data


class StrictNumberField(serializers.FloatField):
    """A number. Strings and booleans are errors."""

    def to_internal_value(self, data: Any) -> Any:
        """Return the number. Raises ValidationError."""
        if isinstance(data, bool) or not isinstance(data, int | float):
            raise ValidationError("This must be a number.")
        return super().to_internal_value(data)
