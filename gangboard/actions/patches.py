"""What the patch of a step means: which fields it sets, and whether an object has them so."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from gangboard.actions.actor_client import Json
from gangboard.decode.managed_fields import last_writer
from gangboard.domain.hold import ACTION_ANNOTATION

_ABSENT = {"suspend": False, "active": True, "parallelism": 1}
"""What a field of a spec that is not there means, by its name (owners; Kueue's Workload)."""


def wanted_fields(patch: str) -> dict[str, Any]:
    """Return JSON pointer → value of the fields of the spec that a JSON patch sets.

    A map that it adds for a field in it is none.
    """
    found = {
        operation["path"]: operation["value"]
        for operation in json.loads(patch)
        if operation["op"] in ("add", "replace") and operation["path"].startswith("/spec/")
    }
    return {path: value for path, value in found.items() if value != {}}


def leaves_mark(patch: str) -> bool:
    """Whether the patch leaves the id of its action in an annotation."""
    return ACTION_ANNOTATION.replace("/", "~1") in patch or f'"{ACTION_ANNOTATION}"' in patch


def mark_of(raw: Json) -> str:
    """Return the id of the action that changed an object last, or empty."""
    annotations = raw["metadata"].get("annotations") or {}
    return str(annotations.get(ACTION_ANNOTATION, ""))


def tested(patch: str, pointer: str) -> Any:
    """Return the value that a JSON patch tests at a pointer, None when it tests nothing there."""
    for operation in json.loads(patch):
        if operation["op"] == "test" and operation["path"] == pointer:
            return operation["value"]
    return None


def value_at(raw: Json, pointer: str) -> Any:
    """Return the value of a field; of one that is not there what its absence means."""
    found = _found_at(raw, pointer)
    return _ABSENT.get(pointer.rpartition("/")[2]) if found is None else found


def has(raw: Json, pointer: str) -> bool:
    """Whether a field is there at all."""
    return _found_at(raw, pointer) is not None


def _found_at(raw: Json, pointer: str) -> Any:
    found: Any = raw
    for key in pointer.strip("/").split("/"):
        found = found.get(key) if isinstance(found, dict) else None
    return found


def has_all(raw: Json, wanted: dict[str, Any]) -> bool:
    """Whether an object has these values."""
    return all(value_at(raw, pointer) == value for pointer, value in wanted.items())


def in_words(wanted: dict[str, Any]) -> str:
    """Return `spec.suspend true` for a sentence."""
    return " and ".join(
        f"{pointer.strip('/').replace('/', '.')} {json.dumps(value)}"
        for pointer, value in wanted.items()
    )


def pointer_to(path: Iterable[str]) -> str:
    """Return the JSON pointer to a field whose keys need no escaping."""
    return "".join(f"/{key}" for key in path)


def field_manager(raw: Json, pointer: str) -> tuple[str, str]:
    """Return who owns a field by managedFields, and when it was set, as `decode.managed_fields` says."""
    entries = raw["metadata"].get("managedFields") or []
    return last_writer(json.dumps(entries).encode(), pointer)
