"""What the actor must be allowed to do for the levers of a cluster.

Kinds, levers and admission systems declare it. `patched_resources` and `created_resources` are for admission policies and roles,
`lever_rights` for access reviews per lever.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gangboard.domain.api_resource import Resource
from gangboard.domain.hold_manifest import POLICY_VERSIONS
from gangboard.plugins import registry
from gangboard.plugins.lever import Bounds, CreatedResource, Lever
from gangboard.plugins.owner_kind import OwnerKind

Parent = tuple[str, str]
"""(API group, kind) whose objects control Jobs that may be suspended."""


@dataclass(frozen=True, slots=True)
class PermissionOptions:
    """Options for the permissions in one cluster."""

    policy_version: str = POLICY_VERSIONS[0]
    """The version of mutating policies that it serves; empty for none, and then there is no Hold."""
    not_served: frozenset[str] = frozenset()
    """Keys of resources that it does not serve. The actor gets no lever on them."""
    parallelism: bool = False
    """The lever `parallelism` is enabled."""
    namespaces: tuple[str, ...] = ()
    """Namespaces in which gangboard may act; empty for all."""
    binds_hold: bool = True
    """Bind the policy of the Hold. Only after API servers know Holds (`domain.hold_manifest`)."""


@dataclass(frozen=True, slots=True)
class PatchedResource:
    """A resource that the actor patches."""

    resource: Resource
    fields: tuple[tuple[str, ...], ...]
    """Paths of the fields that its levers write."""
    managers: tuple[str, ...] | None = None
    """Values of `managed_by` that mean its own controller; None if it has no such field."""
    managed_by: tuple[str, ...] = ("spec", "managedBy")
    """Path of the field that names its controller."""
    parents: tuple[Parent, ...] | None = ()
    """Kinds of controllers whose objects the actor may change; None for any."""
    bounds: tuple[Bounds, ...] = ()
    """Limits of the values that its levers write."""
    listed: bool = False
    """The actor finds the objects of a gang by a list, not by their names."""


def patched_resources(wanted: PermissionOptions) -> tuple[PatchedResource, ...]:
    """Return the resources of this cluster with a lever that changes a field."""
    return tuple(
        patched for patched in _all(wanted) if patched.resource.key not in wanted.not_served
    )


def created_resources(wanted: PermissionOptions) -> tuple[CreatedResource, ...]:
    """Return the resources of which levers create objects, if the cluster serves owners for these."""
    owners = parents(wanted)
    used = {key for kind in _served_kinds(wanted) for key in (*kind.levers, *kind.child_levers)}
    return tuple(
        objects
        for lever in registry.levers()
        if lever.key in used and _is_on(lever, wanted)
        if (objects := lever.created_resource(owners)) is not None
    )


def read_only_resources(wanted: PermissionOptions) -> tuple[Resource, ...]:
    """Return the kinds whose objects the actor only reads, because their lever creates another object."""
    changed = {patched.resource.key for patched in patched_resources(wanted)}
    return tuple(
        kind.resource
        for kind in _served_kinds(wanted)
        if kind.levers and kind.resource.key not in changed
    )


def parents(wanted: PermissionOptions) -> tuple[Parent, ...]:
    """Return the kinds with a lever for single Jobs."""
    return tuple(_identity(kind) for kind in _served_kinds(wanted) if kind.child_levers)


def _served_kinds(wanted: PermissionOptions) -> list[OwnerKind]:
    return [kind for kind in registry.owner_kinds() if kind.resource.key not in wanted.not_served]


def _identity(kind: OwnerKind) -> Parent:
    return kind.resource.group, kind.resource.kind


def _all(wanted: PermissionOptions) -> Iterator[PatchedResource]:
    for kind in registry.owner_kinds():
        if kind.resource.is_job:
            yield _job(kind, wanted)
            continue
        fields = _fields(kind.suspend_field, kind.levers, wanted)
        if fields:
            # An object with a controller is not the topmost owner, and its controller would undo the change.
            yield PatchedResource(
                kind.resource, fields, kind.own_managers or None, kind.managed_by_field
            )
    for queue in registry.queue_systems():
        if queue.lever is None or not queue.lever.writes:
            continue
        for resource in queue.entry_resources:
            # Any object may control an entry.
            yield PatchedResource(resource, (queue.lever.writes,), parents=None, listed=True)


def _job(kind: OwnerKind, wanted: PermissionOptions) -> PatchedResource:
    """Return Jobs, which are changed as owners and as children of kinds with levers for single Jobs.

    A Job of a kind that makes gangs, such as a CronJob, is an owner.
    """
    keys = [key for other in registry.owner_kinds() for key in other.child_levers]
    makers = (_identity(other) for other in _served_kinds(wanted) if other.makes_gangs)
    levers = [lever for lever in registry.levers() if lever.key in keys and _is_on(lever, wanted)]
    return PatchedResource(
        kind.resource,
        _fields(kind.suspend_field, (*kind.levers, *keys), wanted),
        kind.own_managers or None,
        parents=(*parents(wanted), *makers),
        bounds=tuple(
            bounds for lever in levers if (bounds := lever.bounds(kind.resource.kind)) is not None
        ),
        listed=True,
    )


def _fields(
    suspend_field: tuple[str, ...], keys: tuple[str, ...], wanted: PermissionOptions
) -> tuple[tuple[str, ...], ...]:
    """Return the fields that these levers write, the suspend field first."""
    levers = (one for one in registry.levers() if one.key in keys and _is_on(one, wanted))
    paths = (path for lever in levers if (path := lever.written_field(suspend_field)))
    return tuple(dict.fromkeys(sorted(paths, key=lambda path: path != suspend_field)))


def _is_on(lever: Lever, wanted: PermissionOptions) -> bool:
    return wanted.parallelism or not lever.optional


# Rights of each lever


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
    """A lever that is enabled in a cluster, with all rights that it needs there."""

    lever: str
    title: str
    rights: frozenset[Right]


_PODS = Right("", "pods", "list")
"""gangboard reads the pods after each action."""


def lever_rights(wanted: PermissionOptions) -> tuple[LeverRights, ...]:
    """Return the enabled levers of a cluster with their rights, in the order of lists.

    All of them together are the role of the actor that `manage.py print_rbac` prints.
    """
    changed = {patched.resource.key: patched for patched in patched_resources(wanted)}
    rights = _of_kinds(changed, wanted)
    for system in registry.queue_systems():
        for resource in system.resources:
            if system.lever is not None and resource.key in changed:
                rights[system.lever.key] |= _rights(resource, changed)
    return tuple(
        LeverRights(lever.key, lever.title, frozenset({*rights[lever.key], _PODS}))
        for lever in registry.levers()
        if lever.key in rights
    )


def _of_kinds(
    changed: Mapping[str, PatchedResource], wanted: PermissionOptions
) -> defaultdict[str, set[Right]]:
    """Return lever → rights on owners, on their Jobs, and on the objects that the lever creates."""
    rights: defaultdict[str, set[Right]] = defaultdict(set)
    kinds = _served_kinds(wanted)
    jobs = [kind.resource for kind in kinds if kind.resource.is_job]
    usable = {
        lever.key: makes
        for lever in registry.levers()
        if (makes := _makes(lever, wanted)) is not None
    }
    for kind in kinds:
        for key in (*kind.levers, *kind.child_levers):
            if key in usable:
                rights[key] |= _rights(kind.resource, changed) | usable[key]
        for key in kind.child_levers:
            if key in usable:
                rights[key] |= {right for job in jobs for right in _rights(job, changed)}
    return rights


def _makes(lever: Lever, wanted: PermissionOptions) -> frozenset[Right] | None:
    """Return the rights on the objects that a lever creates; None if it is off or the cluster does not serve them."""
    if not _is_on(lever, wanted):
        return None
    objects = lever.created_resource(parents(wanted))
    if objects is None:
        return frozenset()
    if f"{objects.plural}.{objects.group}" in wanted.not_served:
        return None
    return frozenset(Right(objects.group, objects.plural, verb) for verb in objects.verbs)


def _rights(resource: Resource, changed: Mapping[str, PatchedResource]) -> frozenset[Right]:
    patched = changed.get(resource.key)
    verbs = (
        ("get",)
        if patched is None
        else ("get", "list", "patch")
        if patched.listed
        else ("get", "patch")
    )
    return frozenset(Right(resource.group, resource.plural, verb) for verb in verbs)
