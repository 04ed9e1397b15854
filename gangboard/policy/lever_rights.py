"""What the actor must be allowed for each lever: the permissions that levers and kinds declare, in RBAC's words."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from gangboard.domain.api_resource import Resource
from gangboard.plugins import registry
from gangboard.plugins.lever import Lever
from gangboard.policy.levered import Levered, Wanted, levered, parents


@dataclass(frozen=True, slots=True, order=True)
class Right:
    """A verb on the objects of a resource."""

    group: str
    plural: str
    verb: str

    @property
    def resource(self) -> str:
        """Key of the resource: `jobs.batch`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural


@dataclass(frozen=True, slots=True)
class LeverRights:
    """One lever that is switched on in a cluster, with all that it needs there."""

    lever: str
    title: str
    rights: frozenset[Right]


_PODS = Right("", "pods", "list")
"""After each action gangboard looks at what became of the pods."""


def lever_rights(wanted: Wanted) -> tuple[LeverRights, ...]:
    """Return the levers of a cluster with their rights, in the order of lists.

    All of them together are the role of the actor that `manage.py print_rbac` prints.
    """
    changed = {one.resource.key: one for one in levered(wanted)}
    found = _of_kinds(changed, wanted)
    for system in registry.queue_systems():
        for resource in system.resources:
            if system.lever is not None and resource.key in changed:
                found[system.lever.key] |= _rights(resource, changed)
    return tuple(
        LeverRights(lever.key, lever.title, frozenset({*found[lever.key], _PODS}))
        for lever in registry.levers()
        if lever.key in found
    )


def _of_kinds(changed: Mapping[str, Levered], wanted: Wanted) -> defaultdict[str, set[Right]]:
    """Return lever → rights on owners, on their Jobs, and on what the lever makes."""
    found: defaultdict[str, set[Right]] = defaultdict(set)
    kinds = [kind for kind in registry.owner_kinds() if kind.resource.key not in wanted.not_served]
    jobs = [kind.resource for kind in kinds if kind.resource.is_job]
    usable = {
        lever.key: makes
        for lever in registry.levers()
        if (makes := _makes(lever, wanted)) is not None
    }
    for kind in kinds:
        for key in (*kind.levers, *kind.child_levers):
            if key in usable:
                found[key] |= _rights(kind.resource, changed) | usable[key]
        for key in kind.child_levers:
            if key in usable:
                found[key] |= {right for job in jobs for right in _rights(job, changed)}
    return found


def _makes(lever: Lever, wanted: Wanted) -> frozenset[Right] | None:
    """Return the rights on what a lever makes; None if it is off, or the cluster does not serve that."""
    if lever.optional and not wanted.parallelism:
        return None
    one = lever.makes(parents(wanted))
    if one is None:
        return frozenset()
    if f"{one.plural}.{one.group}" in wanted.not_served:
        return None
    return frozenset(Right(one.group, one.plural, verb) for verb in one.verbs)


def _rights(resource: Resource, changed: Mapping[str, Levered]) -> frozenset[Right]:
    one = changed.get(resource.key)
    verbs = (
        ("get",) if one is None else ("get", "list", "patch") if one.listed else ("get", "patch")
    )
    return frozenset(Right(resource.group, resource.plural, verb) for verb in verbs)
