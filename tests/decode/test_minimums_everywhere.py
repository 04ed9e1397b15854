"""No decoder takes a minimum of 0 for a number: Go clients write it for one that the user did not give.

The minimums are found in the wire structs, so that of a new decoder is tried without an entry here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from msgspec import inspect

from gangboard.domain.api_resource import Resource
from gangboard.polling.cluster_cache import resources
from tests.decode.reading import model, with_identity

_MINIMUM = re.compile(r"min[A-Z]")
_OF_POLICY = ("gang.minCount", "gang.minGroupCount")
"""A policy is read as a map of its members: the numbers in it are no fields of a struct."""
MEANT = {
    "jobs.batch.volcano.sh spec.tasks.minAvailable",
    "podgangs.scheduler.grove.io spec.podgroups.minReplicas",
}
"""Volcano takes a task with 0 as optional. Grove lowers the minimum of a PodGang to 0 once it was placed."""
NOT_KEPT = {
    "jobs.batch.volcano.sh spec.minAvailable",
    "jobsets.jobset.x-k8s.io spec.replicatedJobs.template.spec.scheduling.schedulingPolicy.gang.minCount",
    "jobsets.jobset.x-k8s.io spec.replicatedJobs.template.spec.scheduling.schedulingPolicy.gang.minGroupCount",
}
"""Their struct is decoded, and the stored values do not depend on them. PodGroups and Jobs have the values."""
NEED_A_TREE = {
    "podgroups.scheduling.run.ai spec.minSubGroup",
    "podgroups.scheduling.run.ai spec.subGroups.minSubGroup",
    "podgroups.scheduling.volcano.sh spec.minTaskMember",
}
"""They count among several subgroups or up to another minimum only (`test_minimums.py`, `tests/groups/`)."""

Path = tuple[str, ...]


def _types(kind: inspect.Type) -> list[inspect.Type]:
    """Return the possible types of a value, without its limits."""
    if isinstance(kind, inspect.Metadata):
        return _types(kind.type)
    parts = kind.types if isinstance(kind, inspect.UnionType) else (kind,)
    return [_types(item)[0] if isinstance(item, inspect.Metadata) else item for item in parts]


def _is_policy(name: str, kind: inspect.Type) -> bool:
    is_map = isinstance(kind, inspect.DictType) and isinstance(kind.value_type, inspect.RawType)
    return is_map and name in ("schedulingPolicy", "policy")


def _below(kind: inspect.Type) -> inspect.Type | None:
    """Return the element type of a list or map. Maps of text are skipped."""
    if isinstance(kind, inspect.ListType):
        return _types(kind.item_type)[0]
    return _types(kind.value_type)[0] if isinstance(kind, inspect.DictType) else None


def _minimums(kind: inspect.Type, above: tuple[type, ...] = ()) -> Iterator[Path]:
    """Yield the path of each minimum in a struct; lists and maps take no place in it."""
    if not isinstance(kind, inspect.StructType) or kind.cls in above:
        return
    for field in kind.fields:
        name = field.encode_name
        for item in _types(field.type):
            inner = _below(item)
            if _is_policy(name, item):
                yield from ((name, *number.split(".")) for number in _OF_POLICY)
            elif _MINIMUM.match(name) and isinstance(inner or item, inspect.IntType):
                yield (name,)
            else:
                yield from ((name, *path) for path in _minimums(inner or item, (*above, kind.cls)))


def _written(
    kind: inspect.Type, path: Path, number: int | None, full: bool, above: tuple[type, ...] = ()
) -> Any:
    """Return a value with that number at the path, or without it for None. A full one has other fields besides."""
    if isinstance(kind, inspect.DictType) and isinstance(kind.value_type, inspect.RawType):
        return {"gang": {} if number is None else {path[-1]: number}}
    if (inner := _below(kind)) is not None:
        value = _written(inner, path, number, full, above)
        return [value] if isinstance(kind, inspect.ListType) else {"Worker": value}
    if isinstance(kind, inspect.StrType):
        return "worker"
    if not isinstance(kind, inspect.StructType):
        return 4 if number is None else number
    created: dict[str, Any] = {}
    within = (*above, kind.cls)
    for field in kind.fields:
        name = field.encode_name
        value = next(item for item in _types(field.type) if not isinstance(item, inspect.NoneType))
        if path[:1] == (name,):
            if path[1:] or number is not None:
                created[name] = _written(value, path[1:], number, full, within)
        elif name == "name" or (
            full
            and not _MINIMUM.match(name)
            and not _is_policy(name, value)
            and _is_filled(value, within)
        ):
            created[name] = _written(value, (), None, full, within)
    return created


def _is_filled(kind: inspect.Type, above: tuple[type, ...]) -> bool:
    """Whether a full object has it: numbers, structs, lists and maps of these, and lists of names."""
    inner = _below(kind)
    if isinstance(kind, inspect.ListType) and isinstance(inner, inspect.StrType):
        return True
    inner = inner or kind
    return isinstance(inner, inspect.IntType | inspect.StructType) and (
        isinstance(inner, inspect.IntType) or inner.cls not in above
    )


def _spec_of(resource: Resource) -> inspect.Type:
    whole = inspect.type_info(resource.wire)
    assert isinstance(whole, inspect.StructType)
    specs = [field for field in whole.fields if field.encode_name == "spec"]
    return _types(specs[0].type)[0] if specs else inspect.AnyType()


def _minimum_paths() -> dict[str, tuple[Resource, Path]]:
    """Return resource and path of each minimum, by how it is called here."""
    return {
        f"{resource.key} spec.{'.'.join(path)}": (resource, path)
        for resource in resources()
        for path in _minimums(_spec_of(resource))
    }


MINIMUMS = _minimum_paths()


def _built(called: str, number: int | None, *, full: bool) -> Any:
    resource, path = MINIMUMS[called]
    spec = _written(_spec_of(resource), path, number, full)
    return model(resource, with_identity({"spec": spec}))


@pytest.mark.parametrize("full", [False, True], ids=["alone", "among others"])
@pytest.mark.parametrize("called", MINIMUMS)
def test_zero_reads_as_not_set(called: str, full: bool) -> None:
    same = _built(called, 0, full=full) == _built(called, None, full=full)
    assert same or called in MEANT


@pytest.mark.parametrize("called", MINIMUMS)
def test_positive_minimum_counts(called: str) -> None:
    """Otherwise the objects above would prove no property."""
    counts = [
        _built(called, 3, full=full) != _built(called, None, full=full) for full in (False, True)
    ]
    assert any(counts) is (called not in NOT_KEPT | NEED_A_TREE)


def test_minimum_fields_are_complete() -> None:
    """At any depth, in lists, maps and policies."""
    assert {
        "podgroups.scheduling.k8s.io spec.schedulingPolicy.gang.minCount",
        "workloads.scheduling.k8s.io spec.podGroups.policy.gang.minCount",
        "podgroups.scheduling.run.ai spec.subGroups.minSubGroup",
        "podgroups.scheduling.volcano.sh spec.minTaskMember",
        "podcliquesets.grove.io spec.template.cliques.spec.minAvailable",
        "pytorchjobs.kubeflow.org spec.runPolicy.schedulingPolicy.minAvailable",
        *MEANT,
        *NOT_KEPT,
        *NEED_A_TREE,
    } <= set(MINIMUMS)
