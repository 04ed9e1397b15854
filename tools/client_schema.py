"""Write the part of the OpenAPI document that the client uses as Python types.

`make clientschema` writes the file, and a test compares it. A field, parameter or operation that the server
lacks raises DriftError with its name.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TARGET = Path(__file__).resolve().parents[1] / "client/src/gangboard_client/schema.py"
PREFIX = "/api/v1/"

OPERATIONS: dict[str, tuple[str, ...]] = {
    "list_gangs": (
        *("cluster", "namespace", "api_group", "kind", "health", "code", "queue", "stage", "q"),
        *("gone", "ordering", "limit", "cursor"),
    ),
    "get_gang": (),
    "list_holds": ("cluster", "namespace", "q", "limit", "cursor"),
    "list_reasons": ("cluster", "namespace"),
    "list_queues": ("cluster", "state", "q", "limit", "cursor"),
    "list_capacity": ("cluster",),
    "list_events": (
        *("cursor", "wait", "limit", "cluster", "namespace", "type", "health", "code", "gang"),
    ),
    "get_me": (),
    "request_action": ("dry_run", "Idempotency-Key"),
    "get_action": (),
}
"""Operation → the parameters that the client sends, without those in the path."""

FIELDS: dict[str, tuple[str, ...]] = {
    "Members": ("desired", "created", "scheduled", "ready", "held"),
    "Gang": (
        *("id", "cluster", "api_group", "kind", "namespace", "name", "uid", "generation"),
        *("health", "stage", "code", "title", "message", "advice", "members", "requests"),
        *("queue", "priority", "since", "observed_at", "stale"),
    ),
    "UnseenCluster": ("cluster", "message"),
    "GangList": ("next", "results", "unseen"),
    "Finding": ("code", "health", "message", "unit", "advice"),
    "Job": ("name", "uid", "generation", "suspended", "held", "finished", "desired", "ready"),
    "GangDetail": (
        *("id", "cluster", "api_group", "kind", "namespace", "name", "uid", "generation"),
        *("health", "stage", "code", "title", "message", "advice", "since", "observed_at"),
        *("stale", "members", "findings", "jobs", "gone_at"),
    ),
    "HoldOwner": ("kind", "name"),
    "Hold": (
        *("cluster", "namespace", "name", "job", "owner", "by", "reason", "since", "until"),
        *("in_force", "lost", "message"),
    ),
    "UnseenHolds": ("cluster", "state", "message"),
    "HoldList": ("next", "results", "unseen"),
    "Reason": (
        *("stage", "code", "title", "gangs", "pods_not_ready", "accelerators", "since"),
        "next_step",
    ),
    "Reasons": ("results", "unknown", "clusters", "clusters_looked_at", "unseen"),
    "Quota": ("flavor", "resource", "accelerator", "nominal_word", "used"),
    "Queue": (
        "cluster",
        "kind",
        "name",
        "state",
        "cause",
        "quotas",
        "waiting",
        "admitted",
        "stale",
    ),
    "UnseenQueues": ("cluster", "state", "message"),
    "QueueList": ("next", "results", "unseen"),
    "Amount": ("resource", "accelerator", "allocatable", "used", "held", "free", "away"),
    "Pool": ("nodes", "ready", "amounts"),
    "ClusterCapacity": ("cluster", "stale", "why", "observed_at", "nodes", "all_nodes"),
    "CapacityList": ("next", "results"),
    "ChangeGang": ("id", "kind", "name"),
    "ChangeAction": ("id", "verb", "state"),
    "Change": (
        *("cursor", "at", "type", "cluster", "namespace", "gang", "health", "code", "title"),
        *("message", "action"),
    ),
    "ChangeList": ("next", "cursor", "results"),
    "Account": ("name", "rights", "token", "may_act"),
    "TargetRequest": ("cluster", "api_group", "kind", "namespace", "name", "uid", "generation"),
    "Target": ("cluster", "kind", "namespace", "name"),
    "Avoid": ("nodes", "topology"),
    "ActionRequest": ("verb", "target", "reason", "until", "avoid"),
    "PlannedStep": ("name", "method", "path", "patch"),
    "Plan": ("allowed", "why_not", "needs", "lever", "steps", "reactions", "warnings"),
    "Action": ("id", "verb", "target", "state", "final", "label", "lever", "message", "warnings"),
    "Problem": ("detail", "errors", "action_id"),
}
"""Schema → the fields that the client reads or sends. A schema follows those that its fields use."""

ANSWERS: dict[str, str] = {
    "list_gangs": "GangList",
    "get_gang": "GangDetail",
    "list_holds": "HoldList",
    "list_reasons": "Reasons",
    "list_queues": "QueueList",
    "list_capacity": "CapacityList",
    "list_events": "ChangeList",
    "get_me": "Account",
    "get_action": "Action",
}
"""Operation → the schema of its response with status 200."""


@dataclass(frozen=True)
class Later:
    """An operation of the contract that some servers lack."""

    method: str
    path: str
    parameters: tuple[str, ...]
    fields: tuple[str, ...]
    """Fields of the response that the client reads."""


LATER: dict[str, Later] = {
    "check_manifests": Later("POST", "checks/", (), ("results",)),
}
LATER_PARAMETERS: dict[str, tuple[str, ...]] = {"list_gangs": ("label", "submitter", "mine")}
"""Parameters that a current server may refuse with a sentence that says so."""

READ_AS = {"MembersWithPods": "Members"}
"""Schema → the smaller schema as which the client reads it."""

_TYPES = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}

Json = Mapping[str, Any]


class DriftError(Exception):
    """The server lacks an element that the client uses. The text names it."""


def server_schema() -> dict[str, Any]:
    """Return the OpenAPI document of the server. Needs configured settings."""
    from drf_spectacular.generators import SchemaGenerator

    document: dict[str, Any] = SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]  # as it comes
    return document


def python_source(document: Json) -> str:
    """Return the text of the client's `schema.py`. Raises DriftError."""
    return "\n".join([*_head(), *_operations(document), *_types(document)]) + "\n"


def _head() -> Iterator[str]:
    yield '"""The part of the OpenAPI document of the server that this client uses.'
    yield ""
    yield "`make clientschema` of the server's repository writes this file: edit `tools/client_schema.py` instead."
    yield '"""'
    yield ""
    yield "from __future__ import annotations"
    yield ""
    yield "from typing import NamedTuple, TypedDict"
    yield ""
    yield ""
    yield "class Operation(NamedTuple):"
    yield '    """How an operation is called."""'
    yield ""
    yield "    method: str"
    yield "    path: str"
    yield "    parameters: tuple[str, ...]"
    yield ""
    yield ""


def _operations(document: Json) -> Iterator[str]:
    yield "OPERATIONS = {"
    for name, parameters in OPERATIONS.items():
        method, path, operation = _find(document, name)
        known = {parameter["name"] for parameter in operation.get("parameters", [])}
        if missing := set(parameters) - known:
            raise DriftError(f"{name} has no parameter {', '.join(sorted(missing))}")
        _check_answer(name, operation)
        yield from _operation(name, method, path, parameters + LATER_PARAMETERS.get(name, ()))
    for name, later in LATER.items():
        _check_later(document, later)
        yield from _operation(name, later.method, later.path, later.parameters)
    yield "}"


def _operation(name: str, method: str, path: str, parameters: tuple[str, ...]) -> Iterator[str]:
    yield f'    "{name}": Operation('
    yield f'        "{method}",'
    yield f'        "{path}",'
    if len(parameters) < 2:
        only = "".join(f'"{parameter}",' for parameter in parameters)
        yield f"        ({only}),"
    else:
        yield "        ("
        yield from (f'            "{parameter}",' for parameter in parameters)
        yield "        ),"
    yield "    ),"


def _find(document: Json, name: str) -> tuple[str, str, Json]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            if operation.get("operationId") == name:
                return method.upper(), path.removeprefix(PREFIX), operation
    raise DriftError(f"there is no operation {name}")


def _check_answer(name: str, operation: Json) -> None:
    if name in ANSWERS and _answer(operation) != ANSWERS[name]:
        raise DriftError(f"{name} does not answer with a {ANSWERS[name]}")


def _answer(operation: Json) -> str:
    """Return the schema of the first successful response."""
    for status, answer in operation["responses"].items():
        content = answer.get("content", {}).get("application/json")
        if status.startswith("2") and content:
            return str(content["schema"].get("$ref", "")).rpartition("/")[2]
    return ""


def _check_later(document: Json, later: Later) -> None:
    """Compare an operation of the contract with the served one, if there is one."""
    operation = document["paths"].get(PREFIX + later.path, {}).get(later.method.lower())
    if operation is None:
        return
    known = {parameter["name"] for parameter in operation.get("parameters", [])}
    fields = document["components"]["schemas"].get(_answer(operation), {}).get("properties", {})
    missing = (set(later.parameters) - known) | (set(later.fields) - set(fields))
    if missing:
        raise DriftError(f"{later.path} has no {', '.join(sorted(missing))}")


def _types(document: Json) -> Iterator[str]:
    schemas = document["components"]["schemas"]
    for name, fields in FIELDS.items():
        if name not in schemas:
            raise DriftError(f"there is no schema {name}")
        properties = schemas[name]["properties"]
        required = set(schemas[name].get("required", ()))
        if missing := set(fields) - set(properties):
            raise DriftError(f"{name} has no field {', '.join(sorted(missing))}")
        yield ""
        yield ""
        yield f"class {name}(TypedDict{'' if required.issuperset(fields) else ', total=False'}):"
        yield f'    """{_first_line(schemas[name])}"""'
        yield ""
        yield from (f"    {field}: {_type(properties[field], schemas)}" for field in fields)


def _first_line(schema: Json) -> str:
    return str(schema.get("description", "")).split("\n")[0]


def _type(property_: Json, schemas: Json) -> str:
    """Return the Python type of a property. Enumerations are str, because later servers may add values."""
    if "$ref" in property_:
        name = property_["$ref"].rpartition("/")[2]
        if name in FIELDS:
            return str(name)
        if name == "NullEnum":
            return "None"
        if "enum" in schemas[name]:
            return "str"
        if name in READ_AS and set(FIELDS[READ_AS[name]]) <= set(schemas[name]["properties"]):
            return READ_AS[name]
        raise DriftError(f"the client does not know the schema {name}")
    if "allOf" in property_:  # One schema beside a description.
        (only,) = property_["allOf"]
        return _type(only, schemas)
    if "oneOf" in property_:
        return " | ".join(_type(member, schemas) for member in property_["oneOf"])
    kinds = property_.get("type")
    return " | ".join(_simple_type(kind, property_, schemas) for kind in _as_list(kinds))


def _as_list(kinds: Any) -> list[str]:
    return list(kinds) if isinstance(kinds, list) else [kinds]


def _simple_type(kind: str, property_: Json, schemas: Json) -> str:
    if kind == "array":
        return f"list[{_type(property_['items'], schemas)}]"
    if kind == "object":
        inner = property_.get("additionalProperties")
        return (
            f"dict[str, {_type(inner, schemas) if isinstance(inner, dict) and inner else 'object'}]"
        )
    return _TYPES[kind]


def main() -> None:
    """Write the file."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gangboard.settings")
    import django

    django.setup()
    TARGET.write_text(python_source(server_schema()))


if __name__ == "__main__":
    main()
