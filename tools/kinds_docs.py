"""Markdown tables of kinds, grouping APIs and admission systems, generated from the registries."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from gangboard.domain.api_resource import Resource
from gangboard.plugins import registry
from gangboard.plugins.owner_kind import OwnerKind

_NOT = "no"


def write_tables(text: str) -> str:
    """Return a document with its tables generated anew from the registries.

    A table stands between `<!-- kinds NAME -->` and `<!-- end -->`, where NAME is one of `TABLES`. Raises
    KeyError for any other.
    """

    def table(match: re.Match[str]) -> str:
        return f"{match[1]}\n{TABLES[match[2]]()}\n{match[3]}"

    return _BLOCK.sub(table, text)


_BLOCK = re.compile(r"(<!-- kinds (\w+) -->)\n.*?(<!-- end -->)", re.DOTALL)


def _short_table() -> str:
    """Return the short table: the supported kinds and their levers."""
    head = "Kind", "Versions", "Suspended as a whole", "One part of it", "Tested with"
    rows = [
        (
            _kind(kind),
            _versions(kind.resource),
            _gang_levers(kind),
            _job_levers(kind),
            kind.notes.tested,
        )
        for kind in _gangs()
    ]
    return _table(head, rows)


def _reading_table() -> str:
    head = "Kind", "Versions", "Read with it", "Queues", "Suspended as a whole", "One part of it"
    rows = [
        (
            _kind(kind),
            _versions(kind.resource),
            _read_with(kind),
            kind.notes.queues or _NOT,
            _gang_levers(kind),
            _job_levers(kind),
        )
        for kind in _gangs()
    ]
    return _table(head, rows)


def _knowledge_table() -> str:
    head = "Kind", "The gang", "Its groups", "What its controller does not allow", "Tested with"
    rows = [
        (_kind(kind), kind.notes.gang, kind.notes.units, kind.notes.limits, kind.notes.tested)
        for kind in _gangs()
    ]
    return _table(head, rows)


def _groups_table() -> str:
    head = (
        "API",
        "Objects",
        "Of the pods of",
        "How a pod comes into one",
        "What it does not tell",
        "Tested with",
    )
    rows = [
        (
            f"{api.label} (`{api.group}`)",
            ", ".join(f"{resource.kind} {_versions(resource)}" for resource in api.resources)
            or "none",
            _names(api.groups_of) or "any kind",
            api.notes.members,
            api.notes.limits,
            api.notes.tested,
        )
        for api in registry.grouping_apis()
    ]
    return _table(head, rows)


def _queues_table() -> str:
    head = "System", "Objects", "Suspended by", "Tested with"
    rows = [
        (
            system.label,
            ", ".join(f"{resource.kind} {_versions(resource)}" for resource in system.resources)
            or "none",
            system.lever.label if system.lever is not None else _NOT,
            system.tested,
        )
        for system in registry.queue_systems()
    ]
    return _table(head, rows)


TABLES: Mapping[str, Callable[[], str]] = {
    "short": _short_table,
    "reading": _reading_table,
    "knowledge": _knowledge_table,
    "groups": _groups_table,
    "queues": _queues_table,
}


def _gangs() -> list[OwnerKind]:
    """Return the kinds that are gangs or create some, by name. Middle kinds are read with them."""
    kinds = [kind_ for kind_ in registry.owner_kinds() if kind_.stands_alone or kind_.makes_gangs]
    return sorted(kinds, key=lambda kind: (kind.label.lower(), kind.resource.group))


def _kind(kind: OwnerKind) -> str:
    return f"{kind.label} (`{kind.resource.group}`)"


def _versions(resource: Resource) -> str:
    return ", ".join(f"`{version}`" for version in resource.versions)


def _read_with(kind: OwnerKind) -> str:
    """Return the kinds read for its gangs: its templates, and the kinds that it creates."""
    blueprints = [template.kind for template in kind.blueprints]
    children = [name for _, name in kind.makes or ()]
    return ", ".join((*blueprints, *children)) or "nothing"


def _gang_levers(kind: OwnerKind) -> str:
    levers = (registry.lever(key) for key in kind.levers)
    fields = (
        ".".join(lever.written_field(kind.suspend_field)) or lever.label
        for lever in levers
        if lever is not None
    )
    return "; ".join(fields) or _NOT


def _job_levers(kind: OwnerKind) -> str:
    """Return the levers of a Job below it, which the kind that creates the Jobs names."""
    below = (registry.owner_kind(*maker_kind) for maker_kind in kind.makes or ())
    makers = (kind, *(maker_kind for maker_kind in below if maker_kind is not None))
    return _labels(dict.fromkeys(key for maker_kind in makers for key in maker_kind.child_levers))


def _labels(keys: Iterable[str]) -> str:
    levers = (registry.lever(key) for key in keys)
    return "; ".join(lever.label for lever in levers if lever is not None) or _NOT


def _names(kinds: Iterable[tuple[str, str]]) -> str:
    return ", ".join(name for _, name in kinds)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines)


def _cell(text: str) -> str:
    return text.replace("|", r"\|")
