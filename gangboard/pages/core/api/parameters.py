"""Query parameters of the REST API. Unknown parameters are refused, so a typing error never means "all"."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request

from gangboard.domain.health import Health, Stage
from gangboard.readmodels.cursors import LARGEST_PAGE
from gangboard.readmodels.filters import unknown_values
from gangboard.store.access import Viewer

USUAL_PAGE = 100
HEALTHS = [health.value for health in Health]
STAGES = [stage.value for stage in Stage]

# Maximum lengths are those of the columns. Unknown codes, kinds and queues match no row.
LONGEST_NAME = 253


class HealthsField(serializers.CharField):
    """Health words, separated by commas."""

    def to_internal_value(self, data: Any) -> Any:
        """Return the words as a tuple. Raises ValidationError naming the unknown one."""
        healths = tuple(health.strip() for health in super().to_internal_value(data).split(","))
        for health in healths:
            if health not in HEALTHS:
                raise ValidationError(f"“{health}” is not one of {', '.join(HEALTHS)}.")
        return healths


class FieldsField(serializers.CharField):
    """Names of fields, separated by commas."""

    def to_internal_value(self, data: Any) -> Any:
        """Return the names as a tuple."""
        return tuple(name.strip() for name in super().to_internal_value(data).split(","))


FIELDS = FieldsField(
    required=False, max_length=1000, help_text="Only these fields, separated by commas."
)


class Query(serializers.Serializer[Any]):
    """The query of an operation without parameters."""


class PageQuery(Query):
    """The query of any list."""

    limit = serializers.IntegerField(
        min_value=1, max_value=LARGEST_PAGE, default=USUAL_PAGE, help_text="Results on one page."
    )
    cursor = serializers.CharField(
        required=False, help_text="Start of the page, from `next` of the previous page."
    )
    fields = FIELDS  # type: ignore[assignment]  # as DRF's own attribute


def read_query(request: Request, query: type[Query]) -> dict[str, Any]:
    """Return the typed parameters of a request. Raises ValidationError with a sentence per parameter."""
    parameters = request.query_params
    # A plain dict: an absent parameter must not read as an empty one, as it does for forms.
    serializer = query(data={name: parameters[name] for name in parameters})
    errors: dict[str, Any] = {}
    for name, values in parameters.lists():
        if name not in serializer.fields:
            names = ", ".join(serializer.fields) or "none"
            errors[name] = [f"There is no parameter “{name}”; the parameters are: {names}."]
        elif len(values) > 1:
            errors[name] = [f"“{name}” is given {len(values)} times; once is allowed."]
    if not serializer.is_valid() or errors:
        raise ValidationError({**serializer.errors, **errors})
    return dict(serializer.validated_data)


def check_values(viewer: Viewer, *, cluster: str = "", code: str = "") -> None:
    """Raise ValidationError for an unknown cluster or reason code. The error lists the known ones."""
    if errors := unknown_values(viewer=viewer, cluster=cluster, code=code):
        raise ValidationError(errors)


def check_fields(
    names: tuple[str, ...] | None, serializer: type[serializers.Serializer[Any]]
) -> None:
    """Raise ValidationError for a name that is no field of the serializer. `names` is None for all fields."""
    known = serializer().fields
    unknown = [name for name in names or () if name not in known]
    if unknown:
        sentence = f"There is no field “{unknown[0]}”. The fields are: {', '.join(known)}."
        raise ValidationError({"fields": [sentence]})


def only(names: tuple[str, ...] | None, row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the named keys of a row, in its order; all of them for None."""
    return row if names is None else {name: row[name] for name in row if name in names}
