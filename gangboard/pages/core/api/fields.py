"""Serializer fields of the REST API, and the serializers of errors and pages.

Times are RFC 3339 in UTC, quantities are decimal strings, and empty texts are null. The serializers read
plain dataclasses, so the answers match the OpenAPI document.
"""

from __future__ import annotations

from datetime import UTC
from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from gangboard.pages.core.api.errors import PROBLEM_TYPE
from gangboard.problem_codes import ProblemCode
from gangboard.readmodels.formatting import number_text

PROBLEM_CODES = [code.value for code in ProblemCode]


@extend_schema_field(OpenApiTypes.STR)
class OptionalTextField(serializers.CharField):
    """A text that may be absent: null instead of the empty string."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"allow_null": True, **options})

    def to_representation(self, value: Any) -> Any:
        """Return the text, None for the empty one."""
        return str(value) or None


class ChoiceOrNullField(serializers.ChoiceField):
    """One of some words, or null instead of the empty string."""

    def __init__(self, choices: Any, **options: Any) -> None:
        super().__init__(choices, **{"allow_null": True, **options})

    def to_representation(self, value: Any) -> Any:
        """Return the word, None for the empty one."""
        return super().to_representation(value) if value else None


class QuantityField(serializers.CharField):
    """A number of devices as a decimal string."""

    def to_representation(self, value: Any) -> str:
        """Return `8` for 8.0 and `0.5` for 0.5, never an exponent."""
        return number_text(value)


class TimeField(serializers.DateTimeField):
    """A moment as RFC 3339 in UTC, with a Z."""

    def __init__(self, **options: Any) -> None:
        super().__init__(default_timezone=UTC, **options)


class ProblemSerializer(serializers.Serializer[Any]):
    """An error, as RFC 9457 says."""

    type = serializers.CharField()
    title = serializers.CharField()
    status = serializers.IntegerField()
    code = serializers.ChoiceField(
        PROBLEM_CODES,
        help_text="Error code for programs. Later releases may add codes.",
    )
    detail = serializers.CharField(help_text="Error text for people: one sentence.")
    errors = serializers.DictField(  # type: ignore[assignment]  # as DRF's own attribute
        child=serializers.ListField(child=serializers.CharField()),
        required=False,
        help_text="Error texts by parameter or field, such as `target.uid`.",
    )
    action_id = serializers.CharField(
        required=False, help_text="The action that prevents this one."
    )


def problems(*statuses: int) -> dict[tuple[int, str], type[ProblemSerializer]]:
    """Return the error answers of an operation, for its entry in the OpenAPI document.

    429 (too many reads) and 503 (database unavailable) are added to each operation.
    """
    return {(status, PROBLEM_TYPE): ProblemSerializer for status in (*statuses, 429, 503)}


class PageSerializer(serializers.Serializer[Any]):
    """What every list has besides its results."""

    next = serializers.URLField(allow_null=True, help_text="The next page; null on the last one.")
