"""What owners name and are made by, such as the runtimes of TrainJobs, and the gangs of those that name it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace

from gangboard.diagnosis.ownership_graph import OwnershipGraph
from gangboard.domain.objects import ObjectRef
from gangboard.domain.owner import Blueprint, Owner

_NOBODY: frozenset[str] = frozenset()


class BlueprintTracker:
    """The blueprints of a cluster by name, and the owners that name each, there or not."""

    def __init__(self, graph: OwnershipGraph) -> None:
        self._graph = graph
        self._there: dict[ObjectRef, Blueprint] = {}
        """By name, without the uid."""
        self._naming: dict[ObjectRef, set[str]] = defaultdict(set)
        """Name of a blueprint → uids of the owners that name it."""
        self._named: dict[str, tuple[ObjectRef, ...]] = {}
        """The same the other way round."""

    def put(self, model: Blueprint) -> set[str]:
        """Take in the state of a blueprint; return the roots of the gangs that it is about."""
        name = _name(model)
        self._there[name] = model
        return self._gangs(name)

    def remove(self, uid: str) -> set[str]:
        """Forget a blueprint that is gone; return the roots of the gangs that it was about.

        One of the same name that was made anew meanwhile stays.
        """
        gone = [name for name, model in self._there.items() if model.meta.ref.uid == uid]
        for name in gone:
            del self._there[name]
        return {root for name in gone for root in self._gangs(name)}

    def put_owner(self, owner: Owner) -> None:
        """Take in what an owner names."""
        uid = owner.meta.ref.uid
        if self._named.get(uid, ()) == owner.blueprints:
            return
        self.remove_owner(uid)
        if owner.blueprints:
            self._named[uid] = owner.blueprints
        for name in owner.blueprints:
            self._naming[name].add(uid)

    def remove_owner(self, uid: str) -> None:
        """Forget an owner, if it is one that names any."""
        for name in self._named.pop(uid, ()):
            self._naming[name].discard(uid)
            if not self._naming[name]:
                del self._naming[name]

    def of(self, uids: Iterable[str]) -> list[Blueprint]:
        """Return the blueprints that any of these owners names, as far as they are there."""
        names = dict.fromkeys(name for uid in uids for name in self._named.get(uid, ()))
        return [self._there[name] for name in names if name in self._there]

    def _gangs(self, name: ObjectRef) -> set[str]:
        return self._graph.gangs_of_any(self._naming.get(name, _NOBODY))


def _name(model: Blueprint) -> ObjectRef:
    return replace(model.meta.ref, uid="")
