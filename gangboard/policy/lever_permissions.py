"""Permissions that the actor needs for the levers of a cluster.

Kinds, levers and admission systems declare them. Admission policies and roles use `patched_resources` and
`created_resources`, access reviews per lever use `lever_rights`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gangboard.decode.nodes import NODE
from gangboard.domain.api_resource import Resource
from gangboard.domain.hold_manifest import POLICY_VERSIONS
from gangboard.plugins import registry
from gangboard.plugins.lever import Bounds, CreatedResource, Lever
from gangboard.plugins.owner_kind import OwnerKind
from gangboard.policy.cordons import UNSCHEDULABLE, cordon_bounds

Parent = tuple[str, str]
"""(API group, kind) whose objects control Jobs that may be suspended."""


@dataclass(frozen=True, slots=True)
class PermissionOptions:
    """Options for the permissions in one cluster."""

    policy_version: str = POLICY_VERSIONS[0]
    """The served version of mutating policies; empty for none, and then there is no Hold."""
    not_served: frozenset[str] = frozenset()
    """Keys of resources that the cluster does not serve. The actor gets no lever on them."""
    parallelism: bool = False
    """An admin has enabled the lever `parallelism`."""
    namespaces: tuple[str, ...] = ()
    """The namespaces in which gangboard may act; empty for all."""
    topology_keys: tuple[str, ...] = ()
    """Node labels besides the host name by which a relocation may exclude nodes."""
    cordon: bool = False
    """An admin lets gangboard cordon nodes, for `GANGBOARD_CORDON`."""
    binds_hold: bool = True
    """Bind the policy of the Hold. API servers must know Holds before that (`domain.hold_manifest`)."""
    logs: bool = False
    """The reader may read logs of containers, for `GANGBOARD_LOGS`."""
    prometheus: tuple[str, str] | None = None
    """Namespace and `[SCHEME:]NAME:PORT` of the Service that measures accelerator use, or None."""


@dataclass(frozen=True, slots=True)
class PatchedResource:
    """A resource that the actor patches."""

    resource: Resource
    fields: tuple[tuple[str, ...], ...]
    """Paths of the fields that its levers write."""
    managers: tuple[str, ...] | None = None
    """Values of `managed_by` that mean its own controller, or None if it has no such field."""
    managed_by: tuple[str, ...] = ("spec", "managedBy")
    """Path of the field that names its controller."""
    parents: tuple[Parent, ...] | None = ()
    """Kinds of controllers whose objects the actor may change, or None for any."""
    bounds: tuple[Bounds, ...] = ()
    """Limits of the values that its levers write."""
    listed: bool = False
    """The actor finds the objects of a gang by a list, not by their names."""


def patched_resources(options: PermissionOptions) -> tuple[PatchedResource, ...]:
    """Return the resources of this cluster whose fields a lever changes."""
    return tuple(
        patched
        for patched in _patched_by_levers(options)
        if patched.resource.key not in options.not_served
    )


def cordoned_nodes(options: PermissionOptions) -> PatchedResource | None:
    """Return the nodes, if a lever may cordon them. They are in no namespace, so they have a role of their own."""
    if not options.cordon:
        return None
    return PatchedResource(NODE, (UNSCHEDULABLE,), parents=None, bounds=(cordon_bounds(),))


def created_resources(options: PermissionOptions) -> tuple[CreatedResource, ...]:
    """Return the resources whose objects levers create, if the cluster serves owners for these.

    Levers that create objects of one resource have the same conditions.
    """
    owners = parents(options)
    used = {key for kind in _served_kinds(options) for key in kind.all_levers}
    return tuple(
        {
            (created.group, created.plural): created
            for lever in registry.levers()
            if lever.key in used and _is_enabled(lever, options)
            if (created := lever.created_resource(owners)) is not None
        }.values()
    )


def read_only_resources(options: PermissionOptions) -> tuple[Resource, ...]:
    """Return the kinds whose objects the actor only reads, because their lever creates another object."""
    changed = {patched.resource.key for patched in patched_resources(options)}
    return tuple(
        kind.resource
        for kind in _served_kinds(options)
        if kind.levers and kind.resource.key not in changed
    )


def parents(options: PermissionOptions) -> tuple[Parent, ...]:
    """Return the kinds with a lever for single Jobs."""
    return tuple(_identity(kind) for kind in _served_kinds(options) if kind.child_levers)


def _served_kinds(options: PermissionOptions) -> list[OwnerKind]:
    return [kind for kind in registry.owner_kinds() if kind.resource.key not in options.not_served]


def _identity(kind: OwnerKind) -> Parent:
    return kind.resource.group, kind.resource.kind


def _patched_by_levers(options: PermissionOptions) -> Iterator[PatchedResource]:
    for kind in registry.owner_kinds():
        if kind.resource.is_job:
            yield _patched_jobs(kind, options)
            continue
        fields = _fields(kind.suspend_field, kind.levers, options)
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


def _patched_jobs(kind: OwnerKind, options: PermissionOptions) -> PatchedResource:
    """Return the Jobs, which are changed as owners and as children of kinds with levers for single Jobs.

    A Job of a kind that makes gangs, such as a CronJob, is an owner.
    """
    keys = [
        key
        for parent in registry.owner_kinds()
        for key in (*parent.child_levers, *parent.child_relocation_levers)
    ]
    keys += kind.relocation_levers
    makers = (_identity(maker) for maker in _served_kinds(options) if maker.makes_gangs)
    levers = [
        lever for lever in registry.levers() if lever.key in keys and _is_enabled(lever, options)
    ]
    return PatchedResource(
        kind.resource,
        _fields(kind.suspend_field, (*kind.levers, *keys), options),
        kind.own_managers or None,
        parents=(*parents(options), *makers),
        bounds=tuple(
            {
                bounds.rule: bounds
                for lever in levers
                if (bounds := lever.bounds(kind.resource.kind, options.topology_keys)) is not None
            }.values()
        ),
        listed=True,
    )


def _fields(
    suspend_field: tuple[str, ...], keys: tuple[str, ...], options: PermissionOptions
) -> tuple[tuple[str, ...], ...]:
    """Return the fields that these levers write, the suspend field first."""
    levers = (
        lever for lever in registry.levers() if lever.key in keys and _is_enabled(lever, options)
    )
    paths = (path for lever in levers if (path := lever.written_field(suspend_field)))
    return tuple(dict.fromkeys(sorted(paths, key=lambda path: path != suspend_field)))


def _is_enabled(lever: Lever, options: PermissionOptions) -> bool:
    if lever.cordons:
        return options.cordon
    return options.parallelism or not lever.optional


# Rights of each lever


@dataclass(frozen=True, slots=True, order=True)
class Right:
    """A verb on the objects of a resource, as RBAC grants it."""

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


def lever_rights(options: PermissionOptions) -> tuple[LeverRights, ...]:
    """Return the enabled levers of a cluster with their rights, in the order of lists.

    Together they are the role of the actor that `manage.py print_rbac` prints.
    """
    changed = {patched.resource.key: patched for patched in patched_resources(options)}
    rights = _rights_by_lever(changed, options)
    for system in registry.queue_systems():
        for resource in system.resources:
            for lever in system.levers if resource.key in changed else ():
                rights[lever.key] |= _rights(resource, changed)
        if system.relocation_lever is not None and system.relocation_lever.key in rights:
            rights[system.relocation_lever.key] |= _relocated(changed, options)
    return tuple(
        LeverRights(lever.key, lever.title, frozenset({*rights[lever.key], _PODS}))
        for lever in registry.levers()
        if lever.key in rights
    )


def _rights_by_lever(
    changed: Mapping[str, PatchedResource], options: PermissionOptions
) -> defaultdict[str, set[Right]]:
    """Return lever → rights on owners, on their Jobs, and on the objects that the lever creates."""
    rights: defaultdict[str, set[Right]] = defaultdict(set)
    kinds = _served_kinds(options)
    jobs = [kind.resource for kind in kinds if kind.resource.is_job]
    usable = {
        lever.key: created
        for lever in registry.levers()
        if (created := _creation_rights(lever, options)) is not None
    }
    for kind in kinds:
        for key in kind.all_levers:
            if key in usable:
                rights[key] |= _rights(kind.resource, changed) | usable[key]
        for key in (*kind.child_levers, *kind.child_relocation_levers):
            if key in usable:
                rights[key] |= {right for job in jobs for right in _rights(job, changed)}
    for lever in registry.levers():
        if lever.cordons and lever.key in rights:
            rights[lever.key] |= {Right("", NODE.plural, verb) for verb in ("get", "patch")}
    return rights


def _relocated(
    changed: Mapping[str, PatchedResource], options: PermissionOptions
) -> frozenset[Right]:
    """Return the rights on the owners that can be relocated."""
    return frozenset(
        right
        for kind in _served_kinds(options)
        if kind.relocation_levers
        for right in _rights(kind.resource, changed)
    )


def _creation_rights(lever: Lever, options: PermissionOptions) -> frozenset[Right] | None:
    """Return the rights on the objects that a lever creates.

    Returns None if the lever is off or the cluster does not serve these objects.
    """
    if not _is_enabled(lever, options):
        return None
    objects = lever.created_resource(parents(options))
    if objects is None:
        return frozenset()
    if f"{objects.plural}.{objects.group}" in options.not_served:
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
