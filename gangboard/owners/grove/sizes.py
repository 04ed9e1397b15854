"""The PodCliques of a set: the existing ones, and those that its template asks for besides."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import msgspec

from gangboard.decode.wire import or_one
from gangboard.domain.blueprint import Blueprint
from gangboard.domain.owner import Owner, PodRequests, Role
from gangboard.domain.reading.replicas import MOST_NAMED, name_replicas, replica_index
from gangboard.owners.grove.wire import GROUP, SCALING_GROUP, WireSetTemplate


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
    """Return what the detail of a set keeps of its template beside the cliques."""
    return {"replicas": str(replicas), "scaled": msgspec.json.encode(scaled).decode()}


def with_roles(owner: Owner, roles: Sequence[Role]) -> Owner:
    """Return the owner with these roles, and the size and requests that follow."""
    return replace(
        owner, desired=size_of(roles), roles=tuple(roles), pod_requests=requests_of(roles)
    )


def size_of(roles: Sequence[Role]) -> int:
    """Return the pods of all replicas of these roles."""
    return sum(role.replicas * role.pods for role in roles)


def requests_of(roles: Sequence[Role]) -> tuple[PodRequests, ...]:
    """Return what the pods of these roles ask for."""
    return tuple(
        PodRequests(role.replicas * role.pods, role.requests) for role in roles if role.pods
    )


def complete_scaling_group(
    owner: Owner, made: Sequence[Owner], _blueprints: Sequence[Blueprint]
) -> Owner:
    """Return the scaling group with its PodCliques. A clique counts when a PodClique of it exists."""
    number, roles = int(owner.detail["replicas"]), _roles_by_name(made)
    there: dict[str, dict[str, Role]] = defaultdict(dict)
    for name, role in roles.items():
        index, clique = _clique_of(owner, name)
        if index is not None and index < number:
            there[clique][name] = role
    left = MOST_NAMED
    for clique in dict.fromkeys(owner.detail["cliques"].split()):
        if not there.get(clique):
            continue
        alike = list(there[clique].values())[-1]
        names = (f"{owner.meta.ref.name}-{index}-{clique}" for index in range(number))
        found = name_replicas(alike, names, number, there[clique], left)
        left = max(0, left - (len(found) - len(there[clique])))
        roles.update((role.name, role) for role in found)
    return with_roles(owner, tuple(roles.values()))


def complete_set(owner: Owner, made: Sequence[Owner], _blueprints: Sequence[Blueprint]) -> Owner:
    """Return the set with the existing PodCliques and those that its template asks for besides."""
    roles = _Expected(owner, made).roles()
    found = with_roles(owner, roles)
    return replace(found, grace_seconds=max(one.grace_seconds for one in (owner, *made)))


def _roles_by_name(made: Sequence[Owner]) -> dict[str, Role]:
    return {role.name: role for one in made for role in one.roles}


def _clique_of(group: Owner, name: str) -> tuple[int | None, str]:
    """Return the replica and the clique of a PodClique of a scaling group by its name; None for none of it."""
    prefix = f"{group.meta.ref.name}-"
    index, _, clique = name.removeprefix(prefix).partition("-")
    return (replica_index(index) if name.startswith(prefix) else None), clique


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
        for one in made:
            if (one.meta.ref.group, one.meta.ref.kind) == (GROUP, SCALING_GROUP):
                self._take_group(one)
        self._alone: dict[str, dict[str, Role]] = defaultdict(dict)
        """Clique → the PodCliques that exist, by name."""
        for name, role in self._made.items():
            index, clique = _clique_of(owner, name)
            if index is not None and index < self._replicas:
                self._alone[clique][name] = role

    def _take_group(self, group: Owner) -> None:
        index, name = _clique_of(self._owner, group.meta.ref.name)
        if index is None or index >= self._replicas:
            return
        self._sizes[name][index] = int(group.detail["replicas"])
        for role in group.roles:
            self._has[name, index].add(_clique_of(group, role.name)[1])

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
        told = {role.name: role for role in sorted(expected, key=self._replica_of)}
        told.update((name, role) for name, role in self._made.items() if name not in told)
        return list(told.values())

    def _names(self, clique: str, scaled: Scaled | None) -> tuple[int, Iterator[str]]:
        """Return how many PodCliques of a clique its scaling groups do not tell, and their names."""
        if scaled is None:
            return self._replicas, (
                f"{self._name}-{index}-{clique}" for index in range(self._replicas)
            )
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

    def _replica_of(self, role: Role) -> int:
        return _clique_of(self._owner, role.name)[0] or 0
