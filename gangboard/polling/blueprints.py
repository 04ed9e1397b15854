"""Blueprints that owners name, such as the runtimes of TrainJobs, and the gangs of these owners."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace

from gangboard.diagnosis.ownership_graph import OwnershipGraph
from gangboard.domain.objects import ObjectRef
from gangboard.domain.owner import Blueprint, Owner

_NO_UIDS: frozenset[str] = frozenset()


class BlueprintTracker:
    """The blueprints of a cluster by name, and the owners that name each. A named blueprint need not exist."""

    def __init__(self, graph: OwnershipGraph) -> None:
        self._graph = graph
        self._blueprints: dict[ObjectRef, Blueprint] = {}
        """By reference without uid."""
        self._owners: dict[ObjectRef, set[str]] = defaultdict(set)
        """Blueprint → uids of the owners that name it."""
        self._named_by_owner: dict[str, tuple[ObjectRef, ...]] = {}
        """uid of an owner → its blueprints."""

    def put(self, model: Blueprint) -> set[str]:
        """Store a blueprint. Return the roots of the gangs that it affects."""
        name = _name(model)
        self._blueprints[name] = model
        return self._gangs(name)

    def all(self) -> tuple[Blueprint, ...]:
        """Return all blueprints of the cluster."""
        return tuple(self._blueprints.values())

    def remove(self, uid: str) -> set[str]:
        """Remove a deleted blueprint. Return the roots of the gangs that it affects.

        A newer blueprint of the same name stays.
        """
        deleted = [name for name, model in self._blueprints.items() if model.meta.ref.uid == uid]
        for name in deleted:
            del self._blueprints[name]
        return {root for name in deleted for root in self._gangs(name)}

    def put_owner(self, owner: Owner) -> None:
        """Store the blueprints that an owner names."""
        uid = owner.meta.ref.uid
        if self._named_by_owner.get(uid, ()) == owner.blueprints:
            return
        self.remove_owner(uid)
        if owner.blueprints:
            self._named_by_owner[uid] = owner.blueprints
        for name in owner.blueprints:
            self._owners[name].add(uid)

    def remove_owner(self, uid: str) -> None:
        """Remove an owner. Other uids are ignored."""
        for name in self._named_by_owner.pop(uid, ()):
            self._owners[name].discard(uid)
            if not self._owners[name]:
                del self._owners[name]

    def of(self, uids: Iterable[str]) -> list[Blueprint]:
        """Return the existing blueprints that any of these owners names."""
        names = dict.fromkeys(name for uid in uids for name in self._named_by_owner.get(uid, ()))
        return [self._blueprints[name] for name in names if name in self._blueprints]

    def _gangs(self, name: ObjectRef) -> set[str]:
        return self._graph.gangs_of_any(self._owners.get(name, _NO_UIDS))


def _name(model: Blueprint) -> ObjectRef:
    return replace(model.meta.ref, uid="")
