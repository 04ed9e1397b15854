"""Finds the members of the five registries by their folder, once, and refuses half-made ones."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import TypeVar

from gangboard.decode.pods import pods_naming
from gangboard.domain.api_resource import Resource
from gangboard.domain.group import GroupMark
from gangboard.domain.hold import HOLD_LEVER
from gangboard.domain.pod import Pod
from gangboard.domain.queue import QueueEntry
from gangboard.domain.traits import NO_QUEUE_TRAITS, NO_TRAITS, KindTraits, QueueTraits
from gangboard.plugins.grouping_api import GroupingAPI
from gangboard.plugins.lever import Lever
from gangboard.plugins.owner_kind import OwnerKind
from gangboard.plugins.queue_system import QueueSystem
from gangboard.plugins.rule import GangRule, UnitRule

Member = TypeVar("Member")


class RegistryError(RuntimeError):
    """A file in a registry folder is half-made or says what another one says already."""


def _modules(package: ModuleType, constant: str) -> Iterator[ModuleType]:
    """Import every module below the package.

    A package that offers the constant itself is a member in several files, any other is only a folder.
    """
    for found in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        module = import_module(found.name)
        if found.ispkg and not _offered(module, constant):
            yield from _modules(module, constant)
        else:
            yield module


def _offered(module: ModuleType, constant: str) -> tuple[object, ...]:
    """Return what a module offers: nothing, one thing, or several."""
    one = getattr(module, constant, None)
    return tuple(getattr(module, f"{constant}S", ())) or (() if one is None else (one,))


def find_members(
    package: ModuleType,
    constant: str,
    types: tuple[type[Member], ...],
    key: Callable[[Member], str],
) -> tuple[Member, ...]:
    """Return what every module below `package` offers, ordered by key.

    A module has one member in `constant` (RULE), or several in a tuple whose name is its plural (RULES).
    Raises RegistryError when a module has neither, has another type there, or repeats a key.
    """
    members: dict[str, Member] = {}
    for module in _modules(package, constant):
        for member in _offered(module, constant) or (None,):
            if not isinstance(member, types):
                names = " or ".join(type_.__name__ for type_ in types)
                raise RegistryError(f"{module.__name__} has no constant {constant} of type {names}")
            name = key(member)
            if name in members:
                raise RegistryError(f"{module.__name__} registers {name!r} a second time")
            members[name] = member
    return tuple(members[name] for name in sorted(members))


def entries(package: ModuleType) -> Iterator[tuple[ModuleType, ...]]:
    """Yield the modules of each file of a package and of each folder in it, the folder itself first."""
    for entry in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        module = import_module(entry.name)
        below = pkgutil.walk_packages(module.__path__, f"{entry.name}.") if entry.ispkg else ()
        yield module, *(import_module(one.name) for one in below)


def kinds_in(modules: Iterable[ModuleType]) -> tuple[type[OwnerKind], ...]:
    """Return the kinds that these modules define. A class without `kind` is only a base of others."""
    return tuple(
        value
        for module in modules
        for value in vars(module).values()
        if isinstance(value, type)
        and issubclass(value, OwnerKind)
        and value.__module__ == module.__name__
        and value.kind
    )


@cache
def owner_kinds() -> tuple[OwnerKind, ...]:
    """Return an instance of each kind of owners, by resource key.

    Raises RegistryError if a file has none, a kind is incomplete or not the only one of its resource, or a
    lever does not exist.
    """
    labels = [system.owner_label for system in admission_systems() if system.owner_label]
    kinds: dict[str, OwnerKind] = {}
    for modules in entries(import_module("gangboard.owners")):
        classes = kinds_in(modules)
        if not classes:
            raise RegistryError(f"{modules[0].__name__} has no subclass of OwnerKind with a kind")
        for class_ in classes:
            kind = _complete(class_, labels)
            if kind.resource.key in kinds:
                raise RegistryError(
                    f"{class_.__module__} registers {kind.resource.key!r} a second time"
                )
            kinds[kind.resource.key] = kind
    return tuple(kinds[key] for key in sorted(kinds))


def _complete(class_: type[OwnerKind], queue_labels: Sequence[str]) -> OwnerKind:
    """Return an instance of a kind. Raises RegistryError for what it must have and has not."""
    missing = [name for name in ("group", "versions", "wire") if not getattr(class_, name, None)]
    missing += [] if class_.overrides("build") else ["build"]
    if missing:
        raise RegistryError(
            f"{class_.__module__}.{class_.__name__} has no {' and no '.join(missing)}"
        )
    kind = class_(queue_labels)
    known = {lever.key for lever in levers()}
    for key in (*kind.levers, *kind.child_levers):
        if key not in known:
            raise RegistryError(f"{kind.label} names the lever {key!r}, which no file offers")
    return kind


def owner_kind(group: str, kind: str) -> OwnerKind | None:
    """Return what is known of a kind of an API group; None where no file in `owners/` is about it."""
    for one in owner_kinds():
        if one.resource.kind == kind and one.resource.group == group:
            return one
    return None


@cache
def job_kind() -> OwnerKind | None:
    """Return the kind of Jobs of Kubernetes itself, which most others make."""
    return next((kind for kind in owner_kinds() if kind.resource.is_job), None)


@cache
def kind_traits() -> Mapping[tuple[str, str], KindTraits]:
    """Return what reasons say of each kind, by API group and kind."""
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
def queue_traits() -> Mapping[str, QueueTraits]:
    """Return what reasons say of each admission system, by the API group of its entries."""
    return {
        resource.group: replace(
            queue.traits,
            label=queue.label,
            dispatchers=frozenset(queue.mirrors),
            entry=next(
                (one.kind for one in queue.resources if one.model is QueueEntry),
                NO_QUEUE_TRAITS.entry,
            ),
        )
        for queue in queue_systems()
        for resource in queue.resources
    }


@cache
def pod_reasons() -> Mapping[str, str]:
    """Return words of other schedulers about pods without a node → the words of the scheduler of Kubernetes."""
    return {
        reason: meaning for api in grouping_apis() for reason, meaning in api.pod_reasons.items()
    }


@cache
def run_cluster_fields() -> frozenset[str]:
    """Return the labels of evidence whose values are clusters in which an admission system runs owners."""
    return frozenset(
        traits.run_cluster_field for traits in queue_traits().values() if traits.run_cluster_field
    )


@cache
def kinds_with_holds() -> tuple[OwnerKind, ...]:
    """Return the kinds whose Jobs can be held."""
    return tuple(kind for kind in owner_kinds() if HOLD_LEVER in kind.child_levers)


def makes_gangs(group: str, kind: str) -> bool:
    """Whether what objects of this kind make are gangs of their own, which they do not change afterwards."""
    found = owner_kind(group, kind)
    return found is not None and found.makes_gangs


def stands_alone(group: str, kind: str) -> bool:
    """Whether objects of this kind can be gangs, which they do not change afterwards."""
    found = owner_kind(group, kind)
    return found is None or found.stands_alone


@cache
def levers() -> tuple[Lever, ...]:
    """Return all levers, those of admission systems included, in the order of lists."""
    found = find_members(
        import_module("gangboard.levers"), "LEVER", (Lever,), lambda lever: lever.key
    )
    found += tuple(queue.lever for queue in queue_systems() if queue.lever is not None)
    if len({lever.key for lever in found}) < len(found):
        raise RegistryError("two levers have the same key")
    return tuple(sorted(found, key=lambda lever: (lever.position, lever.key)))


def lever(key: str) -> Lever | None:
    """Return a lever by its key; None for one that this release does not know."""
    return next((one for one in levers() if one.key == key), None)


@cache
def kinds_told_by_build() -> tuple[OwnerKind, ...]:
    """Return the kinds with a lever of which only a build of their controller tells whether it holds."""
    told = {one.key for one in levers() if one.told_by_build}
    return tuple(kind for kind in owner_kinds() if told & set(kind.child_levers))


@cache
def kinds_named_by_pods() -> tuple[OwnerKind, ...]:
    """Return the kinds of owners that their pods name by a label."""
    return tuple(kind for kind in owner_kinds() if kind.pod_label)


@cache
def labels_naming_owners() -> frozenset[str]:
    """Return the labels by which pods name their owners: a pod without any of them names none."""
    return frozenset(kind.pod_label for kind in kinds_named_by_pods())


@cache
def owners_by_pod() -> tuple[tuple[Callable[[Pod], str], str, str], ...]:
    """Return (pod → name, API group, kind) of the owners that what made their pods tells by its own name."""
    return tuple(
        (kind.name_by_pod, kind.resource.group, kind.resource.kind)
        for kind in owner_kinds()
        if kind.overrides("name_by_pod")
    )


@cache
def kinds_that_need_groups() -> Mapping[tuple[str, str], str]:
    """Return (API group, kind) → resource key of the owners that are gangs only while a group takes their pods."""
    return {
        (kind.resource.group, kind.resource.kind): kind.resource.key
        for kind in owner_kinds()
        if kind.needs_group
    }


@cache
def read_on_demand() -> frozenset[str]:
    """Return the keys of the resources that are listed only while something that was seen needs them."""
    return frozenset(kinds_that_need_groups().values())


@cache
def blueprints() -> tuple[Resource, ...]:
    """Return the resources of what owners name and are made by."""
    return tuple(resource for kind in owner_kinds() for resource in kind.blueprints)


@cache
def event_reasons() -> frozenset[str]:
    """Return the reasons of events that kinds of owners and of groups know besides those that all rules read."""
    of_owners = frozenset(
        reason
        for kind in owner_kinds()
        for reason in (*kind.event_reasons, *kind.traits.pods_refused, *kind.traits.jobs_refused)
    )
    return of_owners.union(*(api.event_reasons for api in grouping_apis()))


@cache
def grouping_apis() -> tuple[GroupingAPI, ...]:
    """Return all grouping APIs, by API group."""
    return find_members(
        import_module("gangboard.groups"), "GROUPING", (GroupingAPI,), lambda api: api.group
    )


@cache
def groups_without_objects() -> frozenset[str]:
    """Return the API groups of grouping APIs of which pods carry a name and nothing else is there."""
    return frozenset(api.group for api in grouping_apis() if not api.resources)


@cache
def group_marks() -> tuple[GroupMark, ...]:
    """Return the labels and annotations by which pods name their groups, by API group and key."""
    return tuple(
        GroupMark(key, is_label, f"{kind}.{api.group}", api.schedulers, api.any_name)
        for api in grouping_apis()
        for is_label, marks in ((False, api.annotations), (True, api.labels))
        for key, kind in sorted(marks.items())
    )


@cache
def marked_kinds() -> frozenset[str]:
    """Return the kinds of groups that pods name by a label or an annotation, as `Pod.group_kind` has them."""
    return frozenset(mark.kind for mark in group_marks())


@cache
def kinds_without_objects() -> frozenset[str]:
    """Return those of `marked_kinds` that only have a name: no object says what keeps their pods together."""
    return frozenset(
        mark.kind
        for api in grouping_apis()
        if not api.resources
        for mark in group_marks()
        if mark.kind.partition(".")[2] == api.group
    )


@cache
def pods() -> Resource:
    """Return how pods are read, with what they name their groups by."""
    placeholders = [key for api in grouping_apis() for key in api.placeholders]
    queues = {name: api.queue_marks for api in grouping_apis() for name in api.schedulers}
    return pods_naming(
        group_marks(), placeholders, {name: marks for name, marks in queues.items() if marks}
    )


@cache
def queue_systems() -> tuple[QueueSystem, ...]:
    """Return all admission systems, and the queues of schedulers, by label."""
    return find_members(
        import_module("gangboard.queues"), "QUEUE", (QueueSystem,), lambda queue: queue.label
    )


@cache
def admission_systems() -> tuple[QueueSystem, ...]:
    """Return those that keep an entry for each owner, and decide when it runs: others are queues of a scheduler."""
    return tuple(
        system
        for system in queue_systems()
        if any(resource.model is QueueEntry for resource in system.resources)
    )


@cache
def pod_group_labels() -> Mapping[str, str]:
    """Return label → kind, as `Pod.group_kind` has it, of what admits together the pods that name it so."""
    return {
        system.pod_group_label: entries_kind(resource.group)
        for system in admission_systems()
        for resource in system.resources
        if system.pod_group_label and resource.model is QueueEntry
    }


def entries_kind(group: str) -> str:
    """Return as which kind pods name the entries of an API group that admit them together.

    It is not that of the objects: Kubernetes has a Workload too, which is only a plan.
    """
    return f"PodGroup.{group}"


@cache
def pod_queue_labels() -> frozenset[str]:
    """Return the labels by which pods name a queue that admits them while their owner has no suspend field."""
    return frozenset(one.owner_label for one in admission_systems() if one.pod_group_label)


@cache
def queue_entry_resources() -> tuple[Resource, ...]:
    """Return the resources in which admission systems keep an entry per owner."""
    return queue_resources(QueueEntry)


def queue_resources(model: type[object]) -> tuple[Resource, ...]:
    """Return the resources of admission systems that are read as objects of this class."""
    return tuple(
        resource
        for system in queue_systems()
        for resource in system.resources
        if resource.model is model
    )


def resources_as_stored() -> tuple[Resource, ...]:
    """Return the resources of which pages show objects as they are: groups, queues and their entries."""
    return (
        *(resource for api in grouping_apis() for resource in api.resources),
        *(resource for queue in queue_systems() for resource in queue.resources),
    )


def resources() -> tuple[Resource, ...]:
    """Resources of all owner kinds, what these name, grouping APIs and admission systems, in this order."""
    return (
        *(kind.resource for kind in owner_kinds()),
        *blueprints(),
        *resources_as_stored(),
    )


@cache
def rules() -> tuple[GangRule | UnitRule, ...]:
    """Return all reasons, by code. One can be judged at the gang and, in another stage, at a unit."""
    return find_members(import_module("gangboard.rules"), "RULE", (GangRule, UnitRule), _place)


def unit_rules_for(group: str, kind: str, grouping: str = "") -> tuple[UnitRule, ...]:
    """Return the rules about one unit of a gang whose owner is of this kind, in the same order.

    `grouping` is the API group of what its pods are grouped by, empty for none.
    """
    found = owner_kind(group, kind)
    own = found.rules if found is not None else ()
    own += tuple(rule for api in grouping_apis() if api.group == grouping for rule in api.rules)
    return _in_order((*unit_rules(), *own)) if own else unit_rules()


def titles() -> dict[str, str]:
    """Return code → title of all reasons, those of single kinds and grouping APIs included."""
    own: list[GangRule | UnitRule] = [rule for kind in owner_kinds() for rule in kind.rules]
    for api in grouping_apis():
        own += (*api.rules, *api.gang_rules)
    return {rule.code: rule.title for rule in (*own, *rules())}


def _place(rule: GangRule | UnitRule) -> str:
    return f"{rule.code} {rule.stage}"


@cache
def gang_rules() -> tuple[GangRule, ...]:
    """Rules about the whole gang, in the order in which they are tried."""
    found = [rule for rule in rules() if isinstance(rule, GangRule)]
    found += [rule for api in grouping_apis() for rule in api.gang_rules]
    return tuple(sorted(found, key=lambda rule: (rule.order, rule.code)))


@cache
def unit_rules() -> tuple[UnitRule, ...]:
    """Rules about one unit: those that override the stages first, then by stage and order."""
    found = [rule for rule in rules() if isinstance(rule, UnitRule)]
    found += [rule.of_unit for rule in gang_rules() if rule.of_unit is not None]
    return _in_order(found)


def _in_order(found: Iterable[UnitRule]) -> tuple[UnitRule, ...]:
    return tuple(
        sorted(
            found,
            key=lambda rule: (not rule.overrides, rule.stage.position, rule.order, rule.code),
        )
    )
