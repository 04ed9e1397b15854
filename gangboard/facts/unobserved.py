"""Which unobserved resources a gang needs.

A gang needs a kind of owner if it has objects of that kind, or if its own kind may create some. It needs a grouping API
for certain kinds of owners only if it has such an owner. It needs an API whose groups pods name by a label only if it
has such a pod. An unreadable resource that a gang does not need counts as not served.
"""

from __future__ import annotations

from collections.abc import Iterable

from gangboard.domain.owner import Owner
from gangboard.domain.pod import Pod
from gangboard.facts.cluster_view import Unobserved
from gangboard.facts.gang import Linked
from gangboard.plugins import registry
from gangboard.plugins.owner_kind import OwnerKind


def concerning(
    unobserved: Iterable[Unobserved], root: Linked, members: Iterable[Linked]
) -> tuple[Unobserved, ...]:
    """Return the unobserved resources that the verdict of the gang needs."""
    resources = tuple(unobserved)
    if not resources:
        return ()
    kinds = {kind.resource.key: kind for kind in registry.owner_kinds()}
    objects = (root, *members)
    refs = {(item.meta.ref.group, item.meta.ref.kind) for item in objects}
    groupings = {
        resource.key: set(api.groups_of)
        for api in registry.grouping_apis()
        for resource in api.resources
        if api.groups_of
    }

    marked = {
        resource.key: kind
        for api in registry.grouping_apis()
        for resource in api.resources
        if (kind := f"{resource.kind}.{resource.group}") in registry.marked_kinds()
    }
    named = {item.group_kind for item in objects if isinstance(item, Pod)}
    named.update(f"{kind}.{group}" for group, kind in refs)

    def is_needed(missing: Unobserved) -> bool:
        if missing.resource in groupings:
            return bool(groupings[missing.resource] & refs)
        if missing.resource in marked:
            return marked[missing.resource] in named
        return missing.resource not in kinds or _is_concerned(
            kinds[missing.resource], root, objects
        )

    return tuple(filter(is_needed, resources))


def _is_concerned(kind: OwnerKind, root: Linked, objects: Iterable[Linked]) -> bool:
    wanted = kind.resource.group, kind.resource.kind
    if isinstance(root, Owner):
        own = registry.owner_kind(root.meta.ref.group, root.meta.ref.kind)
        if own is None or own.makes is None or wanted in own.makes:
            return True
    return any(_leads_to(item, kind, wanted) for item in objects)


def _leads_to(item: Linked, kind: OwnerKind, wanted: tuple[str, str]) -> bool:
    """Return whether an object is of the kind, is controlled by such an object, or names one by its label."""
    ref, controller = item.meta.ref, item.meta.controller
    if wanted in (
        (ref.group, ref.kind),
        (controller.group, controller.kind) if controller else None,
    ):
        return True
    return isinstance(item, Pod) and bool(kind.named_by(item.labels))
