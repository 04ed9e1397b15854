"""The fields that the patch of a step sets, and their values on an object."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from gangboard.actions.actor_client import Json
from gangboard.decode.managed_fields import last_writer
from gangboard.domain.hold import ACTION_ANNOTATION

_DEFAULTS = {"suspend": False, "active": True, "parallelism": 1}
"""Defaults of missing spec fields, by field name (owners; Kueue's Workload)."""


def patched_fields(patch: str) -> dict[str, Any]:
    """Return the spec fields that a JSON patch sets, as JSON pointer → value.

    An empty map that the patch adds as a parent of another field does not count.
    """
    values = {
        operation["path"]: operation["value"]
        for operation in json.loads(patch)
        if operation["op"] in ("add", "replace") and operation["path"].startswith("/spec/")
    }
    return {path: value for path, value in values.items() if value != {}}


def sets_action_annotation(patch: str) -> bool:
    """Return whether the patch sets the annotation with the id of its action."""
    return ACTION_ANNOTATION.replace("/", "~1") in patch or f'"{ACTION_ANNOTATION}"' in patch


def last_action_id(raw: Json) -> str:
    """Return the id of the last action that changed an object, or an empty string."""
    annotations = raw["metadata"].get("annotations") or {}
    return str(annotations.get(ACTION_ANNOTATION, ""))


def tested_value(patch: str, pointer: str) -> Any:
    """Return the value that a JSON patch tests at a pointer, or None if it has no test there."""
    for operation in json.loads(patch):
        if operation["op"] == "test" and operation["path"] == pointer:
            return operation["value"]
    return None


def kind_of(raw: Json) -> tuple[str, str]:
    """Return the API group and kind of an object."""
    return str(raw.get("apiVersion", "")).rpartition("/")[0], str(raw.get("kind", ""))


def value_at(raw: Json, pointer: str) -> Any:
    """Return the value of a field, or its default if the field is missing."""
    value = _raw_value_at(raw, pointer)
    return _DEFAULTS.get(pointer.rpartition("/")[2]) if value is None else value


def raw_value_at(raw: Json, pointer: str) -> Any:
    """Return the value of a field, or None if it is missing."""
    return _raw_value_at(raw, pointer)


def has_field(raw: Json, pointer: str) -> bool:
    """Return whether an object has a field."""
    return _raw_value_at(raw, pointer) is not None


def _raw_value_at(raw: Json, pointer: str) -> Any:
    value: Any = raw
    for key in pointer.strip("/").split("/"):
        value = value.get(key) if isinstance(value, dict) else None
    return value


def has_values(raw: Json, expected: dict[str, Any]) -> bool:
    """Return whether an object has these values."""
    return all(value_at(raw, pointer) == value for pointer, value in expected.items())


def describe_fields(values: dict[str, Any]) -> str:
    """Return the values for a sentence: `spec.suspend true`."""
    return " and ".join(
        f"{pointer.strip('/').replace('/', '.')} {json.dumps(value)}"
        for pointer, value in values.items()
    )


def pointer_to(path: Iterable[str]) -> str:
    """Return the JSON pointer to a field whose keys need no escaping."""
    return "".join(f"/{key}" for key in path)


def field_manager(raw: Json, pointer: str) -> tuple[str, str]:
    """Return the manager that set a field and the time, read from managedFields by `last_writer`."""
    entries = raw["metadata"].get("managedFields") or []
    return last_writer(json.dumps(entries).encode(), pointer)
