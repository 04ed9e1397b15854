"""Owner references: the effective controller of an object, and warnings about unusual references."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from gangboard.domain.objects import Controller
from gangboard.domain.owner import Owner
from gangboard.domain.pod import Pod
from gangboard.domain.text import label
from gangboard.facts.gang import Gang, Root
from gangboard.plugins import registry


def with_known_controller(item: Owner | Pod, owners: Mapping[str, Owner]) -> Owner | Pod:
    """Return an object with the first known owner as its controller, if its own controller is not known.

    The ownership graph decides in the same way. Code that reads the gang then needs one reference only.
    """
    controller = item.meta.controller
    if controller is not None and controller.uid in owners:
        return item
    owner = next((owners[uid] for uid in item.meta.owner_uids if uid in owners), None)
    if owner is None:
        return item
    ref = owner.meta.ref
    made_by = Controller(ref.group, ref.kind, ref.name, ref.uid)
    return replace(item, meta=replace(item.meta, controller=made_by))


def unread_owners(gang: Gang) -> tuple[str, ...]:
    """Return `Kind/name` of unread owners above a gang, or above the pods of a bare group."""
    owner = gang.owner.meta
    is_bare = registry.owner_kind(owner.ref.group, owner.ref.kind) is None
    metas = (owner, *(pod.meta for pod in gang.pods if is_bare and owner.controller is None))
    above = [meta.controller for meta in metas if meta.controller is not None]
    known = {
        owner.ref.uid,
        *(candidate.meta.ref.uid for candidate in (*gang.groups, *gang.workloads)),
    }
    return tuple(
        dict.fromkeys(
            f"{candidate.kind}/{candidate.name}"
            for candidate in above
            if candidate.uid not in known and not _is_read(candidate)
        )
    )


def _is_read(controller: Controller) -> bool:
    """Return whether gangboard always reads this kind. Other texts report an unknown object of such a kind."""
    kind = registry.owner_kind(controller.group, controller.kind)
    return kind is not None and not kind.needs_group


def odd_references(
    root: Root, owners: Mapping[str, Owner], *, owned_elsewhere: bool
) -> Iterator[str]:
    """Yield sentences about odd owner references of a gang."""
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
