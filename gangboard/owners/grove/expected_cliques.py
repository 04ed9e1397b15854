"""Expected PodCliques of a set: the existing ones, and the missing ones of its template."""

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


class ScaledClique(NamedTuple):
    """The scaling group of a clique in a set, and the group's replicas in the template."""

    group: str
    replicas: int


_scaled_decoder = msgspec.json.Decoder(dict[str, ScaledClique])


def scaled_cliques(template: WireSetTemplate) -> dict[str, ScaledClique]:
    """Return clique → its scaling group."""
    return {
        clique: ScaledClique(group.name, or_one(group.replicas))
        for group in template.groups or ()
        for clique in group.clique_names or ()
    }


def template_detail(replicas: int, scaled: Mapping[str, ScaledClique]) -> dict[str, str]:
    """Return the template fields that `Owner.detail` of a set keeps in addition to the cliques."""
    return {"replicas": str(replicas), "scaled": msgspec.json.encode(scaled).decode()}


def with_roles(owner: Owner, roles: Sequence[Role]) -> Owner:
    """Return the owner with these roles, their size and their requests."""
    return replace(
        owner, desired=size_of(roles), roles=tuple(roles), pod_requests=requests_of(roles)
    )


def complete_scaling_group(owner: Owner, children: Sequence[Owner]) -> Owner:
    """Return the scaling group with its PodCliques. A clique counts if one of its PodCliques exists."""
    number, roles = int(owner.detail["replicas"]), _roles_by_name(children)
    existing_roles: dict[str, dict[str, Role]] = defaultdict(dict)
    existing: dict[str, dict[int, str]] = defaultdict(dict)
    cliques = owner.detail["cliques"].split()
    label_of = {
        name: child.detail.get(GROUP_INDEX, "") for child in children for name in _role_names(child)
    }
    for name, role in roles.items():
        index, clique = _replica_of(owner, name, label_of[name], cliques)
        if index is not None and index < number:
            existing_roles[clique][name] = role
            existing[clique][index] = name
    names_left = MOST_NAMED
    for clique in dict.fromkeys(cliques):
        if not existing_roles.get(clique):
            continue
        latest = list(existing_roles[clique].values())[-1]
        names = _replica_names(owner.meta.ref.name, clique, number, existing[clique])
        replicas = name_replicas(latest, names, number, existing_roles[clique], names_left)
        names_left = max(0, names_left - (len(replicas) - len(existing_roles[clique])))
        roles.update((role.name, role) for role in replicas)
    return with_roles(owner, tuple(roles.values()))


def complete_set(owner: Owner, children: Sequence[Owner]) -> Owner:
    """Return the set with its existing PodCliques and the missing ones of its template."""
    roles = _ExpectedCliques(owner, children).roles()
    owner_with_roles = with_roles(owner, roles)
    return replace(
        owner_with_roles, grace_seconds=max(item.grace_seconds for item in (owner, *children))
    )


def _roles_by_name(children: Sequence[Owner]) -> dict[str, Role]:
    return {role.name: role for child in children for role in child.roles}


def _role_names(child: Owner) -> tuple[str, ...]:
    return tuple(role.name for role in child.roles)


def _replica_of(
    owner: Owner, name: str, index: str, templates: Collection[str]
) -> tuple[int | None, str]:
    """Return the replica number and the template name of an object of a set or scaling group.

    `index` is the object's label, or empty. The label goes before the name, because names can also contain an epoch.
    `templates` are the names of the templates. The replica is None if the object belongs to no replica.
    """
    prefix = f"{owner.meta.ref.name}-"
    first_part, _, remainder = name.removeprefix(prefix).partition("-")
    if not index:
        return (replica_index(first_part) if name.startswith(prefix) else None), remainder
    matching = [template for template in templates if name.endswith(f"-{template}")]
    return replica_index(index), max(matching, key=len, default=remainder)


def _template_of(group: Owner, name: str) -> str:
    """Return the template clique of a PodClique in a scaling group."""
    matching = [clique for clique in group.detail["cliques"].split() if name.endswith(f"-{clique}")]
    return max(matching, key=len, default=_replica_of(group, name, "", ())[1])


def _replica_names(
    owner: str, template: str, number: int, existing: Mapping[int, str]
) -> Iterator[str]:
    """Yield the name of each replica. A missing replica has the name that Grove would give it."""
    return (existing.get(index, f"{owner}-{index}-{template}") for index in range(number))


class _ExpectedCliques:
    """The PodCliques of a set, from its existing scaling groups and from its template."""

    def __init__(self, owner: Owner, children: Sequence[Owner]) -> None:
        self._owner = owner
        self._name = owner.meta.ref.name
        self._replicas = int(owner.detail["replicas"])
        self._scaled = _scaled_decoder.decode(owner.detail["scaled"])
        self._roles = _roles_by_name(children)
        self._sizes: dict[str, dict[int, int]] = defaultdict(dict)
        """Scaling group of the template → replica of the set → size of the existing group."""
        self._existing_cliques: dict[tuple[str, int], set[str]] = defaultdict(set)
        """(scaling group, replica of the set) → its cliques with an existing PodClique."""
        self._labels: dict[str, str] = {}
        """Name of a PodClique → its label with the replica of the set."""
        for child in children:
            self._labels.update(dict.fromkeys(_role_names(child), child.detail.get(SET_INDEX, "")))
            if (child.meta.ref.group, child.meta.ref.kind) == (GROUP, SCALING_GROUP):
                self._take_group(child)
        self._existing: dict[str, dict[int, str]] = defaultdict(dict)
        """Clique → replica of the set → the name of its PodClique."""
        self._existing_roles: dict[str, dict[str, Role]] = defaultdict(dict)
        """Clique → its existing PodCliques by name."""
        for name, role in self._roles.items():
            index, clique = self._replica(name)
            if index is not None and index < self._replicas:
                self._existing_roles[clique][name] = role
                self._existing[clique][index] = name

    def _replica(self, name: str) -> tuple[int | None, str]:
        """Return the replica number and the clique of a PodClique."""
        cliques = [role.name for role in self._owner.roles]
        return _replica_of(self._owner, name, self._labels.get(name, ""), cliques)

    def _take_group(self, group: Owner) -> None:
        label = group.detail.get(SET_INDEX, "")
        groups = {scaled.group for scaled in self._scaled.values()}
        index, name = _replica_of(self._owner, group.meta.ref.name, label, groups)
        if index is None or index >= self._replicas:
            return
        self._sizes[name][index] = int(group.detail["replicas"])
        for role in group.roles:
            self._existing_cliques[name, index].add(_template_of(group, role.name))

    def roles(self) -> list[Role]:
        """Return the PodCliques of the template by replica of the set, then other existing ones."""
        expected: list[Role] = []
        names_left = MOST_NAMED
        for template in self._owner.roles:
            scaled = self._scaled.get(template.name)
            existing = self._existing_roles[template.name] if scaled is None else {}
            number, names = self._names(template.name, scaled)
            replicas = name_replicas(
                replace(template, replicas=1), names, number, existing, names_left
            )
            names_left = max(0, names_left - (len(replicas) - len(existing)))
            expected += replicas
        roles_by_name = {role.name: role for role in sorted(expected, key=self._order)}
        roles_by_name.update(
            (name, role) for name, role in self._roles.items() if name not in roles_by_name
        )
        return list(roles_by_name.values())

    def _names(self, clique: str, scaled: ScaledClique | None) -> tuple[int, Iterator[str]]:
        """Return the number and the names of a clique's PodCliques that no scaling group lists."""
        if scaled is None:
            existing = self._existing[clique]
            return self._replicas, _replica_names(self._name, clique, self._replicas, existing)
        sizes = {
            index: 0 if clique in self._existing_cliques[scaled.group, index] else size
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
