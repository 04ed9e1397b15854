"""JSON patch and merge patch, as pure functions on decoded JSON."""

from __future__ import annotations

import copy
from typing import Any


class PatchError(ValueError):
    """An inapplicable JSON patch: a failing test or a missing path."""


def merge_patch(target: Any, patch: Any) -> Any:
    """Return `target` with an RFC 7396 merge patch applied. `target` stays unchanged."""
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merge_patch(result.get(key), value)
    return result


def json_patch(target: Any, operations: Any) -> Any:
    """Return `target` with an RFC 6902 patch applied. Raises `PatchError`."""
    if not isinstance(operations, list):
        raise PatchError("a JSON patch is a list")
    result = copy.deepcopy(target)
    for operation in operations:
        try:
            result = _apply(result, operation)
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise PatchError(f"{operation}: {error}") from error
    return result


def _apply(document: Any, operation: dict[str, Any]) -> Any:
    verb, path = operation["op"], _split(operation["path"])
    if verb == "test":
        if _tested_value(document, path) != operation["value"]:
            raise PatchError("testing value failed")
        return document
    if verb == "remove":
        return _change(document, path, lambda parent, key: _remove(parent, key))
    if verb in ("add", "replace"):
        value = copy.deepcopy(operation["value"])
        if verb == "replace":
            _lookup(document, path)
        return _set(document, path, value, insert=verb == "add")
    if verb in ("move", "copy"):
        source = _split(operation["from"])
        value = copy.deepcopy(_lookup(document, source))
        if verb == "move":
            document = _change(document, source, lambda parent, key: _remove(parent, key))
        return _set(document, path, value, insert=True)
    raise PatchError(f"unexpected operation {verb!r}")


def _split(path: str) -> list[str]:
    if path and not path.startswith("/"):
        raise PatchError(f"{path!r} does not begin with a slash")
    return [segment.replace("~1", "/").replace("~0", "~") for segment in path.split("/")[1:]]


def _lookup(document: Any, path: list[str]) -> Any:
    for key in path:
        document = document[int(key)] if isinstance(document, list) else document[key]
    return document


def _tested_value(document: Any, path: list[str]) -> Any:
    """Return the value to test. For API servers a missing value equals null.

    That is the behaviour of evanphx/json-patch, which they use; RFC 6902 does not specify it.
    """
    parent = _lookup(document, path[:-1]) if path else None
    return parent.get(path[-1]) if isinstance(parent, dict) else _lookup(document, path)


def _remove(parent: Any, key: str) -> None:
    if isinstance(parent, list):
        del parent[int(key)]
    else:
        del parent[key]


def _change(document: Any, path: list[str], change: Any) -> Any:
    if not path:
        raise PatchError("the whole document cannot be removed")
    change(_lookup(document, path[:-1]), path[-1])
    return document


def _set(document: Any, path: list[str], value: Any, *, insert: bool) -> Any:
    if not path:
        return value
    parent, key = _lookup(document, path[:-1]), path[-1]
    if not isinstance(parent, list):
        parent[key] = value
    elif key == "-":
        parent.append(value)
    elif insert:
        if int(key) > len(parent):
            raise PatchError(f"index {key} is out of range")
        parent.insert(int(key), value)
    else:
        parent[int(key)] = value
    return document
