"""The owners of one gang as a tree: who made whom, and what the topmost one has through the others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from gangboard.domain.blueprint import Blueprint
from gangboard.domain.owner import Owner
from gangboard.plugins import registry


def tree_of(
    root: Owner,
    owners: Iterable[Owner],
    current: Collection[str],
    blueprints: Sequence[Blueprint] = (),
) -> tuple[Owner, ...]:
    """Return the root and what it and those below it made, parents first, each completed.

    `current` are the uids that count (`current_attempt.current_uids`). A kind that leaves its size and
    its roles to what it makes has them from there (`OwnerKind.complete`), so the lowest are completed first.
    `blueprints` are those of them that are known.
    """
    by_uid = {one.meta.ref.uid: one for one in (root, *owners) if one.meta.ref.uid in current}
    under: dict[str, list[str]] = defaultdict(list)
    for uid, one in by_uid.items():
        if one.meta.controller is not None and uid != root.meta.ref.uid:
            under[one.meta.controller.uid].append(uid)
    order = [root.meta.ref.uid]
    for uid in order:
        order += under[uid]
    completed: dict[str, Owner] = {}
    for uid in reversed(order):
        made = [completed[child] for child in under[uid]]
        completed[uid] = _completed(by_uid[uid], made, blueprints)
    return tuple(completed[uid] for uid in order)


def _completed(owner: Owner, children: Sequence[Owner], blueprints: Sequence[Blueprint]) -> Owner:
    ref = owner.meta.ref
    kind = registry.owner_kind(ref.group, ref.kind)
    if kind is None:
        return owner
    known = [one for one in blueprints if replace(one.meta.ref, uid="") in owner.blueprints]
    return kind.complete(owner, children, known)
