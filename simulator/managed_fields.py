"""Field ownership (`metadata.managedFields`), reduced to the parts that gangboard reads."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]
Path = tuple[str, ...]

_UNTRACKED = {"managedFields", "resourceVersion", "generation", "uid", "creationTimestamp", "name"}
_UNTRACKED |= {"namespace", "deletionTimestamp", "deletionGracePeriodSeconds"}


def track(
    old: Json | None, new: Json, *, manager: str, api_version: str, subresource: str, now: str
) -> list[Json]:
    """Return the managedFields of `new`, which `manager` wrote in place of `old`."""
    before = _leaves(old) if old is not None else {}
    after = _leaves(new)
    written = {path for path, value in after.items() if path not in before or before[path] != value}
    removed = before.keys() - after.keys()
    entries = []
    mine: set[Path] = set(written)
    for entry in (old or {}).get("metadata", {}).get("managedFields", []):
        paths = _paths(entry["fieldsV1"])
        if (entry["manager"], entry.get("subresource", "")) == (manager, subresource):
            mine |= paths - removed
            continue
        remaining = paths - written - removed
        if remaining:
            entries.append({**entry, "fieldsV1": _tree(remaining)})
    if mine:
        entry = {
            "manager": manager,
            "operation": "Update",
            "apiVersion": api_version,
            "time": now,
            "fieldsType": "FieldsV1",
            "fieldsV1": _tree(mine),
        }
        if subresource:
            entry["subresource"] = subresource
        entries.append(entry)
    return entries


def _leaves(obj: Json) -> dict[Path, Any]:
    """Return the fields with an owner: those of metadata, spec and status, lists as a whole."""
    leaves: dict[Path, Any] = {}

    def walk(value: Any, path: Path) -> None:
        # Pod templates count as one field, because no client reads owners inside them.
        if isinstance(value, dict) and value and len(path) < 3 and path[-1:] != ("f:template",):
            for key, inner in value.items():
                if path == ("f:metadata",) and key in _UNTRACKED:
                    continue
                walk(inner, (*path, f"f:{key}"))
        else:
            leaves[path] = value

    for section in ("metadata", "spec", "status"):
        if obj.get(section):
            walk(obj[section], (f"f:{section}",))
    return leaves


def _tree(paths: set[Path]) -> Json:
    root: Json = {}
    for path in sorted(paths):
        node = root
        for step in path:
            node = node.setdefault(step, {})
    return root


def _paths(tree: Json, prefix: Path = ()) -> set[Path]:
    if not tree:
        return {prefix}
    return {path for key, inner in tree.items() for path in _paths(inner, (*prefix, key))}
