"""The OpenAPI document of this release as rows. It is the same for everybody and has no data of clusters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from http import HTTPStatus
from typing import Any

from gangboard.pages.api_reference.rows import (
    ApiAnswer,
    ApiCall,
    ApiField,
    ApiObject,
    ApiResource,
    ApiType,
)
from gangboard.pages.core.api.views import read_document

PREFIX = "/api/v1/"
PROBLEM = "Problem"
"""The object of every error. It is shown once, on the first page."""
_NULL = "NullEnum"
_NAMED = {"name": "object"}
_LIMITS = (("minimum", "at least"), ("maximum", "at most"))

Json = Mapping[str, Any]


@cache
def read_resources() -> tuple[ApiResource, ...]:
    """Return all resources by name. The first call of a process takes a second."""
    return resources_of(read_document())


@cache
def read_problem() -> ApiObject:
    """Return the object of every error."""
    return _object(PROBLEM, read_document()["components"]["schemas"])


def find_resource(name: str) -> ApiResource | None:
    """Return a resource by its name."""
    return next((resource for resource in read_resources() if resource.name == name), None)


def resources_of(document: Json) -> tuple[ApiResource, ...]:
    """Return the resources of a document."""
    schemas = document["components"]["schemas"]
    calls: dict[str, list[ApiCall]] = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            name = path.removeprefix(PREFIX).partition("/")[0]
            calls.setdefault(name, []).append(_call(method, path, operation, schemas))
    return tuple(
        ApiResource(name, tuple(calls_of_resource), tuple(_objects(calls_of_resource, schemas)))
        for name, calls_of_resource in sorted(calls.items())
    )


def _call(method: str, path: str, operation: Json, schemas: Json) -> ApiCall:
    paragraphs = [" ".join(text.split()) for text in operation["description"].split("\n\n")]
    summary, dot, rest = paragraphs[0].partition(". ")
    good, bad = [], []
    for status, answer in operation["responses"].items():
        if int(status) < HTTPStatus.BAD_REQUEST:
            good.append(_answer(status, answer))
        else:
            bad.append(_status(status))
    return ApiCall(
        id=operation["operationId"],
        method=method.upper(),
        path=path.removeprefix(PREFIX),
        summary=f"{summary}." if dot else summary,
        details=tuple(text for text in (rest, *paragraphs[1:]) if text),
        parameters=tuple(
            _parameter(parameter, schemas) for parameter in operation.get("parameters", ())
        ),
        body=_name(operation.get("requestBody", {})),
        answers=tuple(good),
        errors=tuple(bad),
    )


def _status(status: str) -> str:
    return f"{status} {HTTPStatus(int(status)).phrase}"


def _answer(status: str, answer: Json) -> ApiAnswer:
    content = next(iter(answer.get("content", {})), "")
    return ApiAnswer(_status(status), content, _name(answer), answer.get("description", ""))


def _name(holder: Json) -> str:
    """Return the name of the object in the body of a request or an answer; empty if it has none."""
    for content in holder.get("content", {}).values():
        return str(content["schema"].get("$ref", "")).rpartition("/")[2]
    return ""


def _parameter(parameter: Json, schemas: Json) -> ApiField:
    name, schema = parameter["name"], parameter["schema"]
    meaning = parameter.get("description", "")
    if parameter["in"] == "path":
        noun, is_id, _ = name.partition("_id")
        meaning = f"`id` of the {noun}." if is_id else f"Name of the {_NAMED.get(noun, noun)}."
    return ApiField(
        name,
        _type(schema, schemas),
        _meaning(meaning, schema),
        place=parameter["in"],
        usual=_value(schema.get("default")),
    )


def _object(name: str, schemas: Json) -> ApiObject:
    schema = schemas[name]
    required = schema.get("required", ())
    fields = tuple(
        ApiField(
            field,
            _type(field_schema, schemas),
            _meaning(field_schema.get("description", ""), field_schema),
            is_optional=field not in required or "default" in field_schema,
            usual=_value(field_schema.get("default")),
        )
        for field, field_schema in schema["properties"].items()
    )
    return ApiObject(name, " ".join(schema.get("description", "").split()), fields)


def _meaning(text: str, schema: Json) -> str:
    """Return the help text with the limits of the value."""
    limits = [f"{label} {schema[key]:,}" for key, label in _LIMITS if key in schema]
    if not limits:
        return text
    sentence = ", ".join(limits)
    return " ".join(filter(None, (text, f"{sentence[0].upper()}{sentence[1:]}.")))


def _value(value: object) -> str:
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _type(schema: Json, schemas: Json) -> ApiType:
    """Return the type of a property or parameter."""
    if "$ref" in schema:
        return _named(schema["$ref"].rpartition("/")[2], schemas)
    if "allOf" in schema:  # one schema beside a description
        (only,) = schema["allOf"]
        return _type(only, schemas)
    if "oneOf" in schema:
        return _one_of(schema["oneOf"], schemas)
    kinds = schema.get("type", "any")
    kinds = list(kinds) if isinstance(kinds, list) else [kinds]
    ending = " or null" if "null" in kinds else ""
    kind = next(name for name in kinds if name != "null")
    choices = tuple(str(name) for name in schema.get("enum", ()) if name is not None)
    if kind == "array":
        return _inside("array of", schema["items"], schemas, ending)
    if kind == "object" and isinstance(schema.get("additionalProperties"), Mapping):
        return _inside("object, each value", schema["additionalProperties"], schemas, ending)
    text = f"{kind} ({schema['format']})" if "format" in schema else kind
    return ApiType(f"{text}{ending}", choices=choices)


def _inside(container: str, schema: Json, schemas: Json, ending: str) -> ApiType:
    """Return the type of a value that contains values of another type."""
    if not schema:
        return ApiType(f"{container} any{ending}")
    inner = _type(schema, schemas)
    # The whole value may be null, so this comes before its content.
    before = f"null or {container}" if ending else container
    return ApiType(f"{before} {inner.words}".rstrip(), inner.schema, inner.choices)


def _one_of(alternatives: Iterable[Json], schemas: Json) -> ApiType:
    """Return the type of a value that may be null."""
    candidates = [
        alternative
        for alternative in alternatives
        if alternative.get("type") != "null"
        and not alternative.get("$ref", "").endswith((_NULL, "BlankEnum"))
    ]
    (only,) = candidates
    inner = _type(only, schemas)
    label = f"null or {inner.words}".rstrip() if inner.schema else f"{inner.words} or null"
    return ApiType(label, inner.schema, inner.choices)


def _named(name: str, schemas: Json) -> ApiType:
    schema = schemas[name]
    if "enum" in schema:
        return ApiType(str(schema.get("type", "string")), choices=tuple(schema["enum"]))
    return ApiType("", name)


def _objects(calls: Iterable[ApiCall], schemas: Json) -> Iterator[ApiObject]:
    """Yield the objects of some calls, each once: first those of requests and answers, then nested ones."""
    names = [
        name
        for call in calls
        for name in (call.body, *(answer.schema for answer in call.answers))
        if name
    ]
    yielded = {PROBLEM}
    while names:
        name = names.pop(0)
        if name in yielded:
            continue
        yielded.add(name)
        shown_object = _object(name, schemas)
        yield shown_object
        names += [field.type.schema for field in shown_object.fields if field.type.schema]
