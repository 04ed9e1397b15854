"""Pieces of CEL, the language of admission policies.

`object` and `oldObject` reach a policy as plain maps, also those of built-in kinds, so a policy can go
over their fields without knowing them: what a later Kubernetes adds is pinned too. `dyn()` tells the
type checker not to look for the fields of a known kind (observed on 1.35, 1.36 and 1.37: accepted, no
warning in `status.typeChecking`).
"""

from __future__ import annotations

from collections.abc import Iterable


def text(value: str) -> str:
    """Return a CEL string. Raises ValueError for what would need escaping: no name here has it."""
    if "'" in value or "\\" in value or not value.isprintable():
        raise ValueError(f"{value!r} cannot stand in an expression")
    return f"'{value}'"


def texts(values: Iterable[str]) -> str:
    """Return a CEL list of strings."""
    return f"[{', '.join(map(text, values))}]"


def part(root: str, path: Iterable[str]) -> str:
    """Return the map at `path` of `object` or `oldObject`, an empty one where it is not there."""
    steps = "".join(f".?{step}" for step in path)
    return f"dyn({root}){steps}.orValue({{}})"


def changed(new: str, old: str) -> str:
    """Return the list of keys whose values differ between two maps, those on one side included."""
    return (
        f"{new}.filter(k, !(k in {old} && {old}[k] == {new}[k])) + {old}.filter(k, !(k in {new}))"
    )


def without(keys: str, allowed: Iterable[str]) -> str:
    """Return the list of keys without those that are allowed."""
    return f"({keys}).filter(k, !(k in {texts(allowed)}))"
