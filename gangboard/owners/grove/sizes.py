"""The PodCliques of a set: the existing ones, and those that its template asks for besides."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import msgspec

from gangboard.decode.jobs import requests_of, size_of
from gangboard.decode.wire import or_one
from gangboard.domain.owner import Owner, Role
from gangboard.facts.roles import MOST_NAMED, name_replicas, replica_index
from gangboard.owners.grove.wire import (
    GROUP,
    GROUP_INDEX,
    SCALING_GROUP,
    SET_INDEX,
    WireSetTemplate,
)


class Scaled(NamedTuple):
    """The scaling group that a clique of a set is in, and its replicas by the template."""

    group: str
    replicas: int


_scaled = msgspec.json.Decoder(dict[str, Scaled])


def scaled_cliques(template: WireSetTemplate) -> dict[str, Scaled]:
    """Return clique → the scaling group that it is in."""
    return {
        clique: Scaled(group.name, or_one(group.replicas))
        for group in template.groups or ()
        for clique in group.clique_names or ()
    }


def template_detail(replicas: int, scaled: Mapping[str, Scaled]) -> dict[str, str]:
    """Return the facts of its template that the detail of a set keeps beside the cliques."""
    return {"replicas": str(replicas), "scaled": msgspec.json.encode(scaled).decode()}


def with_roles(owner: Owner, roles: Sequence[Role]) -> Owner:
    """Return the owner with these roles, and the size and requests that follow."""
    return replace(
        owner, desired=size_of(roles), roles=tuple(roles), pod_requests=requests_of(roles)
    )


def complete_scaling_group(owner: Owner, made: Sequence[Owner]) -> Owner:
    """Return the scaling group with its PodCliques. A clique counts when a PodClique of it exists."""
    number, roles = int(owner.detail["replicas"]), _roles_by_name(made)
    existing_roles: dict[str, dict[str, Role]] = defaultdict(dict)
    existing: dict[str, dict[int, str]] = defaultdict(dict)
    cliques = owner.detail["cliques"].split()
    label_of = {
        name: child.detail.get(GROUP_INDEX, "") for child in made for name in _names_of(child)
    }
    for name, role in roles.items():
        index, clique = _replica_of(owner, name, label_of[name], cliques)
        if index is not None and index < number:
            existing_roles[clique][name] = role
            existing[clique][index] = name
    left = MOST_NAMED
    for clique in dict.fromkeys(cliques):
        if not existing_roles.get(clique):
            continue
        alike = list(existing_roles[clique].values())[-1]
        names = _names(owner.meta.ref.name, clique, number, existing[clique])
        replicas = name_replicas(alike, names, number, existing_roles[clique], left)
        left = max(0, left - (len(replicas) - len(existing_roles[clique])))
        roles.update((role.name, role) for role in replicas)
    return with_roles(owner, tuple(roles.values()))


def complete_set(owner: Owner, made: Sequence[Owner]) -> Owner:
    """Return the set with the existing PodCliques and those that its template asks for besides."""
    roles = _Expected(owner, made).roles()
    owner_with_roles = with_roles(owner, roles)
    return replace(
        owner_with_roles, grace_seconds=max(part.grace_seconds for part in (owner, *made))
    )


def _roles_by_name(made: Sequence[Owner]) -> dict[str, Role]:
    return {role.name: role for child in made for role in child.roles}


def _names_of(made: Owner) -> tuple[str, ...]:
    return tuple(role.name for role in made.roles)


def _replica_of(
    owner: Owner, name: str, index: str, parts: Collection[str]
) -> tuple[int | None, str]:
    """Return the replica of a set or scaling group that something is of, and the name of its template.

    `index` is its label, empty where it has none: names may carry more than replica and template, such as an epoch.
    `parts` are the names of the templates. The replica is None if the object belongs to none.
    """
    prefix = f"{owner.meta.ref.name}-"
    begin, _, rest = name.removeprefix(prefix).partition("-")
    if not index:
        return (replica_index(begin) if name.startswith(prefix) else None), rest
    ends = [part for part in parts if name.endswith(f"-{part}")]
    return replica_index(index), max(ends, key=len, default=rest)


def _template_of(group: Owner, name: str) -> str:
    """Return the clique of a PodClique of a scaling group."""
    ends = [part for part in group.detail["cliques"].split() if name.endswith(f"-{part}")]
    return max(ends, key=len, default=_replica_of(group, name, "", ())[1])


def _names(owner: str, template: str, number: int, existing: Mapping[int, str]) -> Iterator[str]:
    """Yield the name of each replica: that of the existing one, else the one that Grove would give it."""
    return (existing.get(index, f"{owner}-{index}-{template}") for index in range(number))


class _Expected:
    """The PodCliques of a set: those of its existing scaling groups, and those that only its template names."""

    def __init__(self, owner: Owner, made: Sequence[Owner]) -> None:
        self._owner = owner
        self._name = owner.meta.ref.name
        self._replicas = int(owner.detail["replicas"])
        self._scaled = _scaled.decode(owner.detail["scaled"])
        self._made = _roles_by_name(made)
        self._sizes: dict[str, dict[int, int]] = defaultdict(dict)
        """Scaling group of the template → replica of the set → its size, where it exists."""
        self._has: dict[tuple[str, int], set[str]] = defaultdict(set)
        """(scaling group, replica of the set) → its cliques of which a PodClique exists."""
        self._labels: dict[str, str] = {}
        """Name of a PodClique → its label about the replica of the set."""
        for one in made:
            self._labels.update(dict.fromkeys(_names_of(one), one.detail.get(SET_INDEX, "")))
            if (one.meta.ref.group, one.meta.ref.kind) == (GROUP, SCALING_GROUP):
                self._take_group(one)
        self._existing: dict[str, dict[int, str]] = defaultdict(dict)
        """Clique → replica of the set → the name of its PodClique."""
        self._alone: dict[str, dict[str, Role]] = defaultdict(dict)
        """Clique → the PodCliques that exist, by name."""
        for name, role in self._made.items():
            index, clique = self._replica(name)
            if index is not None and index < self._replicas:
                self._alone[clique][name] = role
                self._existing[clique][index] = name

    def _replica(self, name: str) -> tuple[int | None, str]:
        """Return the replica of the set that a PodClique is of, and its clique."""
        cliques = [role.name for role in self._owner.roles]
        return _replica_of(self._owner, name, self._labels.get(name, ""), cliques)

    def _take_group(self, group: Owner) -> None:
        label = group.detail.get(SET_INDEX, "")
        groups = {one.group for one in self._scaled.values()}
        index, name = _replica_of(self._owner, group.meta.ref.name, label, groups)
        if index is None or index >= self._replicas:
            return
        self._sizes[name][index] = int(group.detail["replicas"])
        for role in group.roles:
            self._has[name, index].add(_template_of(group, role.name))

    def roles(self) -> list[Role]:
        """Return those of the template first, by replica of the set, then others that exist."""
        expected: list[Role] = []
        left = MOST_NAMED
        for template in self._owner.roles:
            scaled = self._scaled.get(template.name)
            there = self._alone[template.name] if scaled is None else {}
            number, names = self._names(template.name, scaled)
            found = name_replicas(replace(template, replicas=1), names, number, there, left)
            left = max(0, left - (len(found) - len(there)))
            expected += found
        told = {role.name: role for role in sorted(expected, key=self._order)}
        told.update((name, role) for name, role in self._made.items() if name not in told)
        return list(told.values())

    def _names(self, clique: str, scaled: Scaled | None) -> tuple[int, Iterator[str]]:
        """Return how many PodCliques of a clique its scaling groups do not tell, and their names."""
        if scaled is None:
            existing = self._existing[clique]
            return self._replicas, _names(self._name, clique, self._replicas, existing)
        sizes = {
            index: 0 if clique in self._has[scaled.group, index] else size
            for index, size in self._sizes[scaled.group].items()
        }
        unmade = self._replicas - len(sizes)
        indexes = range(self._replicas) if scaled.replicas else sorted(sizes)
        return sum(sizes.values()) + unmade * scaled.replicas, (
            f"{self._name}-{index}-{scaled.group}-{place}-{clique}"
            for index in indexes
            for place in range(sizes.get(index, scaled.replicas))
        )

    def _order(self, role: Role) -> int:
        return self._replica(role.name)[0] or 0
