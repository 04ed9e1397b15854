"""Every field of a request body takes only the JSON type that the OpenAPI document names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from rest_framework import serializers

from gangboard.pages.core.api.views import read_document

WRONG: dict[str, tuple[object, ...]] = {
    "boolean": (0, 1, "no", "true"),
    "integer": ("7", True, 1.5),
    "number": ("7", True),
    "string": (7, True),
    "array": ("a", {"0": "a"}),
}
"""JSON type → values of other types, which serializers of DRF convert by themselves."""


def _serializers(above: type[Any] = serializers.Serializer) -> Iterator[type[Any]]:
    for below in above.__subclasses__():
        yield below
        yield from _serializers(below)


def _cases() -> list[tuple[type[Any], str, object]]:
    """Return each field of each body with a value of another type: (serializer, field, value)."""
    document = read_document()
    by_name = {
        cls.__name__: cls for cls in _serializers() if cls.__module__.startswith("gangboard")
    }
    bodies = {
        operation["requestBody"]["content"]["application/json"]["schema"]["$ref"].split("/")[-1]
        for path in document["paths"].values()
        for operation in path.values()
        if "requestBody" in operation
    }
    cases = []
    for body in sorted(bodies):
        cls = by_name[f"{body.removeprefix('Patched')}Serializer"]
        for name, schema in document["components"]["schemas"][body]["properties"].items():
            types = schema.get("type", ())
            (json_type, *_) = [types] if isinstance(types, str) else [*types, ""]
            values: list[object] = [*WRONG.get(json_type, ())]
            if json_type == "array" and schema["items"].get("type") == "string":
                values += [[7], [True]]
            cases += [(cls, name, value) for value in values]
    return cases


@pytest.mark.parametrize(
    ("cls", "name", "value"),
    [pytest.param(*case, id=f"{case[0].__name__}-{case[1]}-{case[2]!r}") for case in _cases()],
)
def test_another_json_type_is_refused(cls: type[Any], name: str, value: object) -> None:
    serializer = cls(data={name: value}, partial=True)
    assert not serializer.is_valid()
    assert list(serializer.errors) == [name]
