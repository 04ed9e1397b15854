"""Label and field selectors, as far as clients of gangboard use them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from simulator import refusals

Json = dict[str, Any]
Test = Callable[[Json], bool]

_SET = re.compile(r"^(?P<key>\S+)\s+(?P<word>in|notin)\s+\((?P<values>[^)]*)\)$")
_COMMA = re.compile(r",(?![^(]*\))")


_ALWAYS = ("metadata.name", "metadata.namespace")
_FIELDS = {
    "pods": (
        *_ALWAYS,
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "spec.hostNetwork",
        "status.phase",
        "status.podIP",
        "status.nominatedNodeName",
    ),
    "jobs": (*_ALWAYS, "status.successful"),
    "nodes": (*_ALWAYS, "spec.unschedulable"),
    "podgroups": _ALWAYS,
    "workloads": _ALWAYS,
    "jobsets": _ALWAYS,
}
"""Selectable fields. Resources that are not listed accept any field."""


def matcher(plural: str, labels: str, fields: str) -> Test | None:
    """Return a test for objects; None without selectors. Raises a 400."""
    for term in filter(None, fields.split(",")):
        path = re.split("!=|==?", term, maxsplit=1)[0].strip()
        if path not in _FIELDS.get(plural, (path,)):
            raise refusals.bad_request(f"field label not supported: {path}")
    tests = [_label_test(term.strip()) for term in _COMMA.split(labels) if term.strip()]
    tests += [_field_test(term.strip()) for term in fields.split(",") if term.strip()]
    if not tests:
        return None
    return lambda obj: all(test(obj) for test in tests)


def _label_test(term: str) -> Test:
    def value(obj: Json, key: str) -> str | None:
        found: str | None = (obj["metadata"].get("labels") or {}).get(key)
        return found

    if match := _SET.match(term):
        key, values = match["key"], {item.strip() for item in match["values"].split(",")}
        if match["word"] == "in":
            return lambda obj: value(obj, key) in values
        return lambda obj: value(obj, key) not in values
    if "!=" in term:
        key, other = term.split("!=", 1)
        return lambda obj: value(obj, key.strip()) != other.strip()
    if "=" in term:
        key, other = re.split("==?", term, maxsplit=1)
        return lambda obj: value(obj, key.strip()) == other.strip()
    if term.startswith("!"):
        return lambda obj: value(obj, term[1:].strip()) is None
    return lambda obj: value(obj, term) is not None


def _field_test(term: str) -> Test:
    if "=" not in term:
        raise refusals.bad_request(f"invalid field selector: {term}")
    negative = "!=" in term
    path, expected = re.split("!=|==?", term, maxsplit=1)

    def value(obj: Json) -> str:
        found: Any = obj
        for step in path.split("."):
            found = found.get(step) if isinstance(found, dict) else None
        return "" if found is None else str(found)

    return lambda obj: (value(obj) == expected) is not negative
