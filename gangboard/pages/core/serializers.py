"""Serializers of rows, made from the declarations of their fields. The OpenAPI document comes from the same."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from datetime import date, datetime
from functools import cache, wraps
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

from rest_framework import serializers

from gangboard.domain.objects import ObjectRef
from gangboard.domain.verdict import GangMode, Members
from gangboard.pages.core.api.fields import (
    ChoiceOrNullField,
    OptionalTextField,
    PageSerializer,
    QuantityField,
    TimeField,
)
from gangboard.readmodels.declarations import Field, ShownMethod, ShownProperty, fields_of


class MembersSerializer(serializers.Serializer[Any]):
    """Pods of the current attempt.

    Where `health` is `unknown` they are as they were seen last, which may be never: 0 is no count then.
    """

    desired = serializers.IntegerField(
        help_text="Pods that the owner asks for, held ones included."
    )
    quorum = serializers.IntegerField(
        allow_null=True,
        help_text="Fewest pods with which it can start. Null without a gang group.",
    )
    created = serializers.IntegerField()
    scheduled = serializers.IntegerField()
    ready = serializers.IntegerField()
    succeeded = serializers.IntegerField()
    failed = serializers.IntegerField()
    held = serializers.IntegerField(help_text="Pods of suspended Jobs.")


class ObjectSerializer(serializers.Serializer[Any]):
    """One object of the cluster."""

    api_group = serializers.CharField(source="group")
    kind = serializers.CharField()
    namespace = serializers.CharField()
    name = serializers.CharField()
    uid = serializers.CharField()


class GangModeSerializer(serializers.Serializer[Any]):
    """How the pods of the Jobs of an owner are grouped: as it is, beside what was asked for."""

    mode = serializers.CharField(
        help_text="`whole`, `per-role`, `per-job`, `custom`, `pod-by-pod` or `unknown`."
    )
    label = serializers.CharField()  # type: ignore[assignment]  # as DRF's own attribute
    reason = serializers.CharField()
    asked = OptionalTextField(
        help_text="The mode that its owner requests. Null if it requests none."
    )
    differs = serializers.BooleanField(
        help_text="True if the observed mode differs from the requested one."
    )


OF_DOMAIN: Mapping[type, type[serializers.Serializer[Any]]] = {
    GangMode: GangModeSerializer,
    Members: MembersSerializer,
    ObjectRef: ObjectSerializer,
}


_SIMPLE: Mapping[type, type[serializers.Field[Any, Any, Any, Any]]] = {
    str: serializers.CharField,
    bool: serializers.BooleanField,
    int: serializers.IntegerField,
    float: serializers.FloatField,
    datetime: TimeField,
    date: serializers.DateField,
}


@cache
def serializer_of(row: type) -> type[serializers.Serializer[Any]]:
    """Return the serializer of a row, with the docstring of the row.

    Its name in the OpenAPI document is the row's `json_name`, or the name of the row without `Row`. A row that
    extends a value of `domain` has the fields of the value first.
    """
    if row in OF_DOMAIN:
        return OF_DOMAIN[row]
    bases = tuple(OF_DOMAIN[base] for base in row.__mro__ if base in OF_DOMAIN)
    members = {**_members(row), "__doc__": row.__doc__}
    return type(f"{_json_name(row)}Serializer", bases or (serializers.Serializer,), members)


@cache
def list_serializer_of(row: type) -> type[serializers.Serializer[Any]]:
    """Return the serializer of a page of rows: `next` and `results`."""
    name = f"{_json_name(row)}ListSerializer"
    return type(name, (PageSerializer,), {"results": serializer_of(row)(many=True)})


def extending_serializer(row: type, extension: type) -> type[serializers.Serializer[Any]]:
    """Return a serializer with the fields of `row` and those of `extension`, for the OpenAPI document."""
    members = {**_members(extension), "__doc__": extension.__doc__}
    return type(f"{_json_name(extension)}Serializer", (serializer_of(row),), members)


def _members(row: type) -> dict[str, Any]:
    fields = [field for field in fields_of(row) if field.declaration.in_api]
    methods = {
        f"get_{field.api_name}": _method(getattr(row, field.name))
        for field in fields
        if field.declaration.is_method
    }
    return {**{field.api_name: _member(field) for field in fields}, **methods}


def _method(member: ShownProperty[Any] | ShownMethod[Any]) -> Any:
    """Return the method of a serializer that reads a value of a row."""
    if isinstance(member, ShownProperty):
        return staticmethod(member.read)
    read = member.read

    @wraps(read)
    def get(serializer: serializers.Serializer[Any], item: Any) -> Any:
        return read(item, serializer.context["now"])

    return get


def _json_name(row: type) -> str:
    return str(getattr(row, "json_name", row.__name__.removesuffix("Row")))


def _member(field: Field) -> serializers.Field[Any, Any, Any, Any]:
    declaration = field.declaration
    options: dict[str, Any] = {}
    if declaration.meaning:
        options["help_text"] = declaration.meaning
    if declaration.choices:
        options["choices"] = declaration.choices
    if declaration.may_be_null:
        options["allow_null"] = True
    if declaration.is_read_only:
        options["read_only"] = True
    if declaration.may_be_absent:
        options["required"] = False
    if declaration.is_method:
        return serializers.SerializerMethodField(**options)
    if field.api_name != field.name:
        options["source"] = field.name
    if declaration.empty_is_null:
        return (ChoiceOrNullField if declaration.choices else OptionalTextField)(**options)
    if declaration.is_quantity:
        if NoneType in get_args(field.type):
            options["allow_null"] = True
        return QuantityField(**options)
    return _of_type(field.type, options, declaration.serializer)


def _of_type(
    annotation: Any,
    options: dict[str, Any],
    serializer: type[serializers.Serializer[Any]] | None = None,
) -> serializers.Field[Any, Any, Any, Any]:
    """Return the serializer field of an annotation. Raises TypeError for a type that has none.

    `serializer` is that of the rows in it; without it they declare their fields.
    """
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType) and NoneType in arguments:
        (inner,) = (argument for argument in arguments if argument is not NoneType)
        is_promised = options.get("required", True)
        nullable = {"allow_null": True} if is_promised else {}
        return _of_type(inner, {**options, **nullable}, serializer)
    if origin is tuple:
        if dataclasses.is_dataclass(arguments[0]):
            return _rows_in(arguments[0], serializer, {**options, "many": True})
        return serializers.ListField(child=_of_type(arguments[0], {}), **options)
    if origin in (dict, Mapping):
        return serializers.DictField(child=_of_type(arguments[1], {}), **options)
    if dataclasses.is_dataclass(annotation):
        return _rows_in(annotation, serializer, options)
    if "choices" in options:
        return serializers.ChoiceField(**options)
    if annotation not in _SIMPLE:
        raise TypeError(f"a row cannot have a field of type {annotation!r}")
    return _SIMPLE[annotation](**options)


def _rows_in(
    row: Any, serializer: type[serializers.Serializer[Any]] | None, options: dict[str, Any]
) -> serializers.Field[Any, Any, Any, Any]:
    return (serializer or serializer_of(row))(**options)
