"""Which gangs need a kind of owner that cannot be looked at: those of it, below it, and that may be made of it.

A gang of another kind is told as if the kind was not served: what could not be read has nothing to do with it. So
it is with a grouping API that is for the pods of some kinds only, and with one that pods name by a mark: gangs
without such a pod do not need it.
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
    """Return what of this keeps anything from being said of the gang of `root`."""
    found = tuple(unobserved)
    if not found:
        return ()
    kinds = {kind.resource.key: kind for kind in registry.owner_kinds()}
    things = (root, *members)
    refs = {(thing.meta.ref.group, thing.meta.ref.kind) for thing in things}
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
    named = {thing.group_kind for thing in things if isinstance(thing, Pod)}
    named.update(f"{kind}.{group}" for group, kind in refs)

    def is_needed(one: Unobserved) -> bool:
        if one.resource in groupings:
            return bool(groupings[one.resource] & refs)
        if one.resource in marked:
            return marked[one.resource] in named
        return one.resource not in kinds or _is_concerned(kinds[one.resource], root, things)

    return tuple(filter(is_needed, found))


def _is_concerned(kind: OwnerKind, root: Linked, things: Iterable[Linked]) -> bool:
    wanted = kind.resource.group, kind.resource.kind
    if isinstance(root, Owner):
        own = registry.owner_kind(root.meta.ref.group, root.meta.ref.kind)
        if own is None or own.makes is None or wanted in own.makes:
            return True
    return any(_leads_to(thing, kind, wanted) for thing in things)


def _leads_to(thing: Linked, kind: OwnerKind, wanted: tuple[str, str]) -> bool:
    """Whether an object is of the kind, is controlled by one, or names one by its label."""
    ref, controller = thing.meta.ref, thing.meta.controller
    if wanted in (
        (ref.group, ref.kind),
        (controller.group, controller.kind) if controller else None,
    ):
        return True
    return isinstance(thing, Pod) and bool(kind.named_by(thing.labels))
