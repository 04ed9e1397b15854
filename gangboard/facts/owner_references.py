"""Owner references as they count: read alike by whoever puts a gang together, and what is odd about them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from gangboard.domain.objects import Controller
from gangboard.domain.owner import Owner
from gangboard.domain.pod import Pod
from gangboard.domain.text import label
from gangboard.facts.gang import Gang, Root
from gangboard.plugins import registry


def with_known_controller(thing: Owner | Pod, owners: Mapping[str, Owner]) -> Owner | Pod:
    """Return an object with the first of its owners that is known as its controller, where its own is not.

    The ownership graph decides so; whoever reads the gang then needs to look at one reference only.
    """
    controller = thing.meta.controller
    if controller is not None and controller.uid in owners:
        return thing
    found = next((owners[uid] for uid in thing.meta.owner_uids if uid in owners), None)
    if found is None:
        return thing
    ref = found.meta.ref
    made_by = Controller(ref.group, ref.kind, ref.name, ref.uid)
    return replace(thing, meta=replace(thing.meta, controller=made_by))


def unread_owners(gang: Gang) -> tuple[str, ...]:
    """Return `Kind/name` of what owns a gang, or makes the pods of a bare group, where nobody reads that."""
    owner = gang.owner.meta
    is_bare = registry.owner_kind(owner.ref.group, owner.ref.kind) is None
    things = (owner, *(pod.meta for pod in gang.pods if is_bare and owner.controller is None))
    above = [meta.controller for meta in things if meta.controller is not None]
    known = {owner.ref.uid, *(one.meta.ref.uid for one in (*gang.groups, *gang.workloads))}
    return tuple(
        dict.fromkeys(
            f"{one.kind}/{one.name}" for one in above if one.uid not in known and not _is_read(one)
        )
    )


def _is_read(controller: Controller) -> bool:
    """Whether its kind is always read: what is not known of these is told otherwise."""
    kind = registry.owner_kind(controller.group, controller.kind)
    return kind is not None and not kind.needs_group


def odd_references(
    root: Root, owners: Mapping[str, Owner], *, owned_elsewhere: bool
) -> Iterator[str]:
    """Yield what is odd about how a gang hangs together, as sentences."""
    name = label(root.meta.ref)
    above = root.meta.controller
    if isinstance(root, Owner) and above is not None and above.uid in owners:
        yield (
            f"{name} names itself as its owner, which says nothing."
            if above.uid == root.meta.ref.uid
            else f"Owner references form a ring: {name} is taken as the topmost."
        )
    if owned_elsewhere:
        yield (
            f"{name} names an owner of another namespace: none can own it, so it is a gang of its own."
        )
    if isinstance(root, Pod):
        for kind in registry.kinds_named_by_pods():
            owner = kind.named_by(root.labels)
            if owner:
                yield (
                    f"{name} is labelled as one of {kind.resource.kind} {owner}, which is not known."
                )
