"""The members of the registries, and lookups over them. A process reads the folders once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cache
from importlib import import_module

from gangboard.decode.pods import pod_resource
from gangboard.decode.wire import api_group
from gangboard.domain.api_resource import Resource
from gangboard.domain.forecast import CreationContext, Manifest, ManifestFault
from gangboard.domain.group import GroupMark
from gangboard.domain.hold import HOLD_LEVER
from gangboard.domain.pod import Pod
from gangboard.domain.traits import NO_QUEUE_TRAITS, NO_TRAITS, KindTraits, QueueTraits
from gangboard.plugins.child_manifests import text
from gangboard.plugins.discovery import RegistryError, find_members, sorted_by_key
from gangboard.plugins.grouping_api import GroupingAPI
from gangboard.plugins.lever import Lever
from gangboard.plugins.manifest_faults import pod_faults
from gangboard.plugins.owner_kind import OwnerKind
from gangboard.plugins.queue_system import QueueSystem

# Kinds of owners


@cache
def owner_kinds() -> tuple[OwnerKind, ...]:
    """Return an instance of each owner kind, by resource key. Raises RegistryError for an unknown lever."""
    labels = [system.owner_label for system in admission_systems()]
    kinds: tuple[OwnerKind, ...] = find_members(
        import_module("gangboard.owners"),
        OwnerKind,
        "kind",
        labels,
        methods=("build",),
        key=lambda kind: kind.resource.key,
    )
    known = {lever.key for lever in levers()}
    for kind in kinds:
        for key in kind.all_levers:
            if key not in known:
                raise RegistryError(f"{kind.label} names the lever {key!r}, which no file offers")
    return kinds


def owner_kind(group: str, kind: str) -> OwnerKind | None:
    """Return the kind with this API group and name; None if no file in `owners/` has it."""
    for known in owner_kinds():
        if known.resource.kind == kind and known.resource.group == group:
            return known
    return None


@cache
def job_kind() -> OwnerKind | None:
    """Return the kind Job of Kubernetes, which most other kinds create."""
    return next((kind for kind in owner_kinds() if kind.resource.is_job), None)


@cache
def kind_traits() -> Mapping[tuple[str, str], KindTraits]:
    """Return the terms of each kind in reasons, by API group and kind."""
    groups = {
        (resource.group, resource.kind): replace(
            api.traits.get(resource.kind, NO_TRAITS), resource=resource.key
        )
        for api in grouping_apis()
        for resource in api.resources
    }
    return groups | {
        (kind.resource.group, kind.resource.kind): replace(
            kind.traits,
            holds_jobs=HOLD_LEVER in kind.child_levers,
            makes_gangs=kind.makes_gangs,
            resource=kind.resource.key,
            suspend_field=kind.traits.suspend_field or ".".join(kind.suspend_field),
            managed_by_field=".".join(kind.managed_by_field),
        )
        for kind in owner_kinds()
    }


@cache
def kinds_with_holds() -> tuple[OwnerKind, ...]:
    """Return the kinds whose Jobs can be held."""
    return tuple(kind for kind in owner_kinds() if HOLD_LEVER in kind.child_levers)


def makes_gangs(group: str, kind: str) -> bool:
    """Return whether objects of this kind create gangs that they do not change afterwards."""
    known = owner_kind(group, kind)
    return known is not None and known.makes_gangs


def stands_alone(group: str, kind: str) -> bool:
    """Return whether objects of this kind can be gangs. True for an unknown kind."""
    known = owner_kind(group, kind)
    return known is None or known.stands_alone


@cache
def kinds_named_by_pods() -> tuple[OwnerKind, ...]:
    """Return the kinds whose pods name their owner by a label."""
    return tuple(kind for kind in owner_kinds() if kind.pod_label)


@cache
def labels_naming_owners() -> frozenset[str]:
    """Return the labels by which pods name their owners."""
    return frozenset(kind.pod_label for kind in kinds_named_by_pods())


@cache
def owners_by_pod() -> tuple[tuple[Callable[[Pod], str], str, str], ...]:
    """Return (pod → owner's name, API group, kind) of the kinds that override `name_by_pod`."""
    return tuple(
        (kind.name_by_pod, kind.resource.group, kind.resource.kind)
        for kind in owner_kinds()
        if kind.overrides("name_by_pod")
    )


@cache
def kinds_that_need_groups() -> Mapping[tuple[str, str], str]:
    """Return (API group, kind) → resource key of the kinds that are gangs only while their pods are in a group."""
    return {
        (kind.resource.group, kind.resource.kind): kind.resource.key
        for kind in owner_kinds()
        if kind.needs_group
    }


@cache
def read_on_demand() -> frozenset[str]:
    """Return the keys of the resources that are listed only while an object needs them."""
    return frozenset(kinds_that_need_groups().values())


@cache
def blueprints() -> tuple[Resource, ...]:
    """Return the resources of the templates that owners name."""
    return tuple(resource for kind in owner_kinds() for resource in kind.blueprints)


def faults_of(manifest: Manifest, context: CreationContext) -> Iterable[ManifestFault]:
    """Return why the API server, a webhook or a controller would refuse a manifest of any kind, pods and groups included."""
    group, kind = api_group(text(manifest, "apiVersion")), text(manifest, "kind")
    if not group and kind == "Pod":
        return pod_faults(manifest)
    known = owner_kind(group, kind)
    if known is not None:
        return known.faults(manifest, context)
    for api in grouping_apis():
        if api.group == group and any(resource.kind == kind for resource in api.resources):
            return api.faults(manifest, context)
    return ()


# Levers


@cache
def levers() -> tuple[Lever, ...]:
    """Return all levers, including those of admission systems, in the order of lists."""
    own = find_members(import_module("gangboard.levers"), Lever, "key", methods=("decide",))
    of_queues = (lever for queue in queue_systems() for lever in queue.levers)
    all_levers: tuple[Lever, ...] = sorted_by_key((*own, *of_queues), lambda lever: lever.key)
    return tuple(sorted(all_levers, key=lambda lever: lever.position))


def lever(key: str) -> Lever | None:
    """Return the lever with this key, or None if this release does not know it."""
    return next((lever for lever in levers() if lever.key == key), None)


@cache
def kinds_depending_on_build() -> tuple[OwnerKind, ...]:
    """Return the kinds with a lever that works only with some builds of their controller."""
    keys = {lever.key for lever in levers() if lever.depends_on_build}
    return tuple(kind for kind in owner_kinds() if keys & set(kind.child_levers))


# Grouping APIs


@cache
def grouping_apis() -> tuple[GroupingAPI, ...]:
    """Return all grouping APIs, by API group."""
    return find_members(import_module("gangboard.groups"), GroupingAPI, "group")


@cache
def group_marks() -> tuple[GroupMark, ...]:
    """Return the labels and annotations by which pods name their groups, by API group and key."""
    return tuple(mark for api in grouping_apis() for mark in api.marks)


@cache
def marked_kinds() -> frozenset[str]:
    """Return the kinds of groups that pods name by a label or an annotation, in the form of `Pod.group_kind`."""
    return frozenset(mark.kind for mark in group_marks())


@cache
def groups_without_objects() -> frozenset[str]:
    """Return the API groups whose groups are only names in pods, without objects."""
    return frozenset(api.group for api in grouping_apis() if not api.resources)


@cache
def kinds_without_objects() -> frozenset[str]:
    """Return the part of `marked_kinds` whose groups have no object."""
    return frozenset(
        mark.kind for api in grouping_apis() if not api.resources for mark in api.marks
    )


@cache
def pod_reasons() -> Mapping[str, str]:
    """Return the reasons of other schedulers for pods without a node → those of the default scheduler."""
    return {
        reason: meaning for api in grouping_apis() for reason, meaning in api.pod_reasons.items()
    }


@cache
def pods() -> Resource:
    """Return the pod resource. It decodes the labels and annotations by which pods name their groups."""
    placeholders = [key for api in grouping_apis() for key in api.placeholders]
    queues = {
        name: api.queue_marks
        for api in grouping_apis()
        if api.queue_marks
        for name in api.schedulers
    }
    return pod_resource(group_marks(), placeholders, queues)


# Admission systems


@cache
def queue_systems() -> tuple[QueueSystem, ...]:
    """Return all admission systems and the queues of schedulers, by label."""
    return find_members(import_module("gangboard.queues"), QueueSystem, "label")


@cache
def admission_systems() -> tuple[QueueSystem, ...]:
    """Return the systems with an entry per owner, which decide when it runs.

    The others are queues of a scheduler.
    """
    return tuple(system for system in queue_systems() if system.entry_resources)


@cache
def queue_traits() -> Mapping[str, QueueTraits]:
    """Return the terms of each admission system in reasons, by the API group of its entries."""
    return {
        resource.group: replace(
            queue.traits,
            label=queue.label,
            dispatchers=frozenset(queue.mirrors),
            entry=next((entry.kind for entry in queue.entry_resources), NO_QUEUE_TRAITS.entry),
            resources=tuple((served.kind, served.key) for served in queue.resources),
        )
        for queue in queue_systems()
        for resource in queue.resources
    }


@cache
def run_cluster_fields() -> frozenset[str]:
    """Return the evidence labels whose values are clusters that run owners, or to which owners are offered."""
    return frozenset(
        field
        for traits in queue_traits().values()
        for field in (traits.run_cluster_field, traits.offered_clusters_field)
        if field
    )


@cache
def pod_group_labels() -> Mapping[str, str]:
    """Return label → kind, in the form of `Pod.group_kind`, of the entries that admit pods together."""
    return {
        system.pod_group_label: entries_kind(resource.group)
        for system in queue_systems()
        if system.pod_group_label
        for resource in system.entry_resources
    }


def entries_kind(group: str) -> str:
    """Return the kind by which pods name an entry of this API group that admits them together.

    It differs from the kind of the objects, because the Workload of Kubernetes is only a plan.
    """
    return f"PodGroup.{group}"


@cache
def pod_queue_labels() -> frozenset[str]:
    """Return the labels by which pods name a queue that admits them if their owner has no suspend field."""
    return frozenset(system.owner_label for system in queue_systems() if system.pod_group_label)


def queue_resources(model: type[object]) -> tuple[Resource, ...]:
    """Return the resources of admission systems with this model."""
    return tuple(
        resource
        for system in queue_systems()
        for resource in system.resources
        if resource.model is model
    )


# All resources


@cache
def event_reasons() -> frozenset[str]:
    """Return the event reasons of owner kinds and grouping APIs, beyond those that all rules read."""
    of_owners = frozenset(
        reason
        for kind in owner_kinds()
        for reason in (*kind.event_reasons, *kind.traits.pods_refused, *kind.traits.jobs_refused)
    )
    return of_owners.union(*(api.event_reasons for api in grouping_apis()))


def resources_as_stored() -> tuple[Resource, ...]:
    """Return the resources whose objects pages show unchanged: groups, queues and their entries."""
    return (
        *(resource for api in grouping_apis() for resource in api.resources),
        *(resource for queue in queue_systems() for resource in queue.resources),
    )


def resources() -> tuple[Resource, ...]:
    """Return the resources of owner kinds, their templates, grouping APIs and admission systems, in this order."""
    return (
        *(kind.resource for kind in owner_kinds()),
        *blueprints(),
        *resources_as_stored(),
    )
