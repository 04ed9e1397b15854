"""The OpenAPI document of this release as rows. It is the same for everybody and has no data of clusters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from http import HTTPStatus
from typing import Any

from drf_spectacular.generators import SchemaGenerator

from gangboard.pages.api_reference.rows import (
    ApiAnswer,
    ApiCall,
    ApiField,
    ApiObject,
    ApiResource,
    ApiType,
)

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
    return resources_of(_document())


@cache
def read_problem() -> ApiObject:
    """Return the object of every error."""
    return _object(PROBLEM, _document()["components"]["schemas"])


def find_resource(name: str) -> ApiResource | None:
    """Return a resource by its name."""
    return next((one for one in read_resources() if one.name == name), None)


@cache
def _document() -> Json:
    document: Json = SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]  # as it comes
    return document


def resources_of(document: Json) -> tuple[ApiResource, ...]:
    """Return the resources of a document."""
    schemas = document["components"]["schemas"]
    calls: dict[str, list[ApiCall]] = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            name = path.removeprefix(PREFIX).partition("/")[0]
            calls.setdefault(name, []).append(_call(method, path, operation, schemas))
    return tuple(
        ApiResource(name, tuple(found), tuple(_objects(found, schemas)))
        for name, found in sorted(calls.items())
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
        parameters=tuple(_parameter(one, schemas) for one in operation.get("parameters", ())),
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
    said = parameter.get("description", "")
    if parameter["in"] == "path":
        noun, is_id, _ = name.partition("_id")
        said = f"`id` of the {noun}." if is_id else f"Name of the {_NAMED.get(noun, noun)}."
    return ApiField(
        name,
        _type(schema, schemas),
        _meaning(said, schema),
        place=parameter["in"],
        usual=_value(schema.get("default")),
    )


def _object(name: str, schemas: Json) -> ApiObject:
    schema = schemas[name]
    required = schema.get("required", ())
    fields = tuple(
        ApiField(
            field,
            _type(found, schemas),
            _meaning(found.get("description", ""), found),
            is_optional=field not in required or "default" in found,
            usual=_value(found.get("default")),
        )
        for field, found in schema["properties"].items()
    )
    return ApiObject(name, " ".join(schema.get("description", "").split()), fields)


def _meaning(text: str, schema: Json) -> str:
    """Return the help text with the limits of the value."""
    limits = [f"{words} {schema[key]:,}" for key, words in _LIMITS if key in schema]
    if not limits:
        return text
    said = ", ".join(limits)
    return " ".join(filter(None, (text, f"{said[0].upper()}{said[1:]}.")))


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
    kind = next(one for one in kinds if one != "null")
    choices = tuple(str(one) for one in schema.get("enum", ()) if one is not None)
    if kind == "array":
        return _inside("array of", schema["items"], schemas, ending)
    if kind == "object" and isinstance(schema.get("additionalProperties"), Mapping):
        return _inside("object, each value", schema["additionalProperties"], schemas, ending)
    said = f"{kind} ({schema['format']})" if "format" in schema else kind
    return ApiType(f"{said}{ending}", choices=choices)


def _inside(words: str, schema: Json, schemas: Json, ending: str) -> ApiType:
    """Return the type of something that has values of one other type in it."""
    if not schema:
        return ApiType(f"{words} any{ending}")
    inner = _type(schema, schemas)
    # What may be null is the whole: it is said before what is in it.
    before = f"null or {words}" if ending else words
    return ApiType(f"{before} {inner.words}".rstrip(), inner.schema, inner.choices)


def _one_of(parts: Iterable[Json], schemas: Json) -> ApiType:
    """Return the type of a value that may be null."""
    kept = [
        part
        for part in parts
        if part.get("type") != "null" and not part.get("$ref", "").endswith((_NULL, "BlankEnum"))
    ]
    (only,) = kept
    found = _type(only, schemas)
    words = f"null or {found.words}".rstrip() if found.schema else f"{found.words} or null"
    return ApiType(words, found.schema, found.choices)


def _named(name: str, schemas: Json) -> ApiType:
    schema = schemas[name]
    if "enum" in schema:
        return ApiType(str(schema.get("type", "string")), choices=tuple(schema["enum"]))
    return ApiType("", name)


def _objects(calls: Iterable[ApiCall], schemas: Json) -> Iterator[ApiObject]:
    """Yield the objects of some calls, each once: first what is sent and answered, then what is in these."""
    names = [
        name
        for call in calls
        for name in (call.body, *(answer.schema for answer in call.answers))
        if name
    ]
    seen = {PROBLEM}
    while names:
        name = names.pop(0)
        if name in seen:
            continue
        seen.add(name)
        found = _object(name, schemas)
        yield found
        names += [field.type.schema for field in found.fields if field.type.schema]
