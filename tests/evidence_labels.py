"""Labels of evidence: one that looks like a field is the path of a field that is read of that kind.

A label is a field path, such as `spec.suspend`, or plain words. The wire struct of a kind names the fields that
are read of it. `tests/catalogue.py` checks all evidence that rules give in any test, and
`tests/project/test_evidence_labels.py` checks all labels that stand in the code.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache

from msgspec import inspect

from gangboard.decode.claim_objects import RESOURCE_CLAIM, STORAGE_CLASS, VOLUME_CLAIM
from gangboard.decode.events import EVENT
from gangboard.decode.holds import HOLD
from gangboard.decode.node_claims import NODE_CLAIM
from gangboard.decode.nodes import NODE
from gangboard.decode.provisioning_requests import PROVISIONING_REQUEST
from gangboard.domain.api_resource import Resource
from gangboard.domain.objects import ObjectRef
from gangboard.domain.verdict import Evidence
from gangboard.plugins import registry

PLAIN_WORDS = frozenset(
    {
        "admitted",
        "application",
        "cpu",
        "defect",
        "head",
        "memory",
        "message",
        "pods",
        "queue",
        "quorum",
        "reason",
        "refused",
        "restart",
        "restarts",
        "resumed",
        "retry",
        "suspended",
        "waits",
        "why",
    }
)
"""Labels of one lower-case word that name an object instead of a field."""
_TOKEN = re.compile(r"[^\s,:()]+")
_CAMEL = re.compile(r"^[a-z][a-z0-9]*[A-Z]\w*$")
_PATH = re.compile(r"^(metadata|spec|status)\.")
_ITEM = re.compile(r"\[[^\]]*\]")
_ANYTHING = "*"
"""Stands below a map or an untyped value: any key may follow."""

Kind = tuple[str, str]
TOYS = "toys.example"
"""Kinds added by tests, whose decoders read few fields."""


def fields_named(label: str) -> tuple[str, ...]:
    """Return the words of a label that are, or look like, the name of a field."""
    matches = _TOKEN.findall(label)
    if len(matches) == 1 and matches[0].isalpha() and matches[0].islower():
        return () if matches[0] in PLAIN_WORDS else (matches[0],)
    return tuple(text for text in matches if _PATH.match(text) or _CAMEL.match(text))


def wrong_fields(label: str, source: ObjectRef | None) -> tuple[str, ...]:
    """Return the fields of a label that the kind of its source does not have.

    A source of a kind that no decoder reads has none to compare with. Without a source any kind may have it.
    """
    named = fields_named(label)
    if source is None:
        return tuple(name for name in named if not is_field_of_any(name))
    paths = None if source.group == TOYS else field_paths().get((source.group, source.kind))
    return () if paths is None else tuple(name for name in named if not _is_in(name, paths))


def faults_of(evidence: Iterable[Evidence]) -> list[str]:
    """Return a line for each label with a field that its source does not have."""
    return [
        f"{item.source.kind if item.source else 'evidence'} has no field {name} ({item.label})"
        for item in evidence
        for name in wrong_fields(item.label, item.source)
    ]


def is_field_of_any(name: str) -> bool:
    """Whether any kind that is read has such a field."""
    return any(_is_in(name, paths) for paths in field_paths().values())


def _is_in(name: str, paths: frozenset[str]) -> bool:
    path = _ITEM.sub("", name)
    parents = (path.rsplit(".", number)[0] for number in range(1, path.count(".") + 1))
    return path in paths or any(f"{parent}.{_ANYTHING}" in paths for parent in parents)


def has_field(resource: Resource, name: str) -> bool:
    """Whether objects of a resource have a field of that name below `spec`."""
    paths = field_paths()[resource.group, resource.kind]
    return any(path.startswith("spec.") and path.endswith(f".{name}") for path in paths)


@cache
def field_paths() -> Mapping[Kind, frozenset[str]]:
    """Return the paths of all fields that are read, by API group and kind of the object."""
    result: dict[Kind, frozenset[str]] = {}
    for resource in _resources():
        kind = (resource.group, resource.kind)
        result[kind] = result.get(kind, frozenset()) | frozenset(
            _paths(inspect.type_info(resource.wire))
        )
    return result


def _resources() -> Iterator[Resource]:
    yield from registry.resources()
    yield registry.pods()
    yield from (EVENT, HOLD, NODE, NODE_CLAIM, PROVISIONING_REQUEST)
    yield from (RESOURCE_CLAIM, STORAGE_CLASS, VOLUME_CLAIM)


def _paths(info: inspect.Type, path: str = "", seen: tuple[type, ...] = ()) -> Iterator[str]:
    """Yield the paths below a type. A list adds no segment to the path of its items."""
    if isinstance(info, inspect.Metadata):
        yield from _paths(info.type, path, seen)
    elif isinstance(info, inspect.UnionType):
        for fragment in info.types:
            yield from _paths(fragment, path, seen)
    elif isinstance(info, inspect.ListType | inspect.VarTupleType):
        yield from _paths(info.item_type, path, seen)
    elif isinstance(info, inspect.StructType) and info.cls not in seen:
        for field in info.fields:
            below = f"{path}.{field.encode_name}".removeprefix(".")
            yield below
            yield from _paths(field.type, below, (*seen, info.cls))
    elif isinstance(
        info, inspect.DictType | inspect.RawType | inspect.AnyType | inspect.CustomType
    ):
        yield f"{path}.{_ANYTHING}"
