"""The JSON of a row, made from its declaration: what the OpenAPI document says is what is sent."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

from rest_framework import serializers

from gangboard.api.fields import ChoiceOrNullField, PageSerializer, TimeField, WordField
from gangboard.pages.core.rows import Field, fields_of

_SIMPLE: Mapping[type, type[serializers.Field[Any, Any, Any, Any]]] = {
    str: serializers.CharField,
    bool: serializers.BooleanField,
    int: serializers.IntegerField,
    float: serializers.FloatField,
    datetime: TimeField,
}


@cache
def serializer_of(row: type) -> type[serializers.Serializer[Any]]:
    """Return the serializer of a row. Its name in the OpenAPI document is that of the row without `Row`."""
    members: dict[str, Any] = {
        field.declaration.api_name or field.name: _member(field)
        for field in fields_of(row)
        if field.declaration.in_api
    }
    members["__doc__"] = row.__doc__
    return type(f"{row.__name__.removesuffix('Row')}Serializer", (serializers.Serializer,), members)


@cache
def list_serializer_of(row: type) -> type[serializers.Serializer[Any]]:
    """Return the serializer of a page of rows: `next` and `results`."""
    name = f"{row.__name__.removesuffix('Row')}ListSerializer"
    return type(name, (PageSerializer,), {"results": serializer_of(row)(many=True)})


def _member(field: Field) -> serializers.Field[Any, Any, Any, Any]:
    declaration = field.declaration
    options: dict[str, Any] = {}
    if declaration.meaning:
        options["help_text"] = declaration.meaning
    if declaration.choices:
        options["choices"] = declaration.choices
    if declaration.api_name:
        options["source"] = field.name
    if declaration.empty_is_null:
        return ChoiceOrNullField(**options) if declaration.choices else WordField(**options)
    return _of_type(field.type, options)


def _of_type(annotation: Any, options: dict[str, Any]) -> serializers.Field[Any, Any, Any, Any]:
    """Return the serializer field of an annotation. Raises TypeError for a type that has none."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType) and NoneType in arguments:
        (wanted,) = (argument for argument in arguments if argument is not NoneType)
        return _of_type(wanted, {**options, "allow_null": True})
    if origin is tuple:
        if dataclasses.is_dataclass(arguments[0]):
            return serializer_of(arguments[0])(many=True, **options)  # type: ignore[arg-type]
        return serializers.ListField(child=_of_type(arguments[0], {}), **options)
    if origin in (dict, Mapping):
        return serializers.DictField(child=_of_type(arguments[1], {}), **options)
    if dataclasses.is_dataclass(annotation):
        return serializer_of(annotation)(**options)  # type: ignore[arg-type]
    if "choices" in options:
        return serializers.ChoiceField(**options)
    if annotation not in _SIMPLE:
        raise TypeError(f"a row cannot have a field of type {annotation!r}")
    return _SIMPLE[annotation](**options)
