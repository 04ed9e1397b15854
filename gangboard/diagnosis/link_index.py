"""Index of the links of one cluster, in both directions.

`gang_resolver` reads gangs out of it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Set
from typing import Generic, TypeVar

from gangboard.diagnosis.object_links import (
    AttachmentLink,
    GroupKey,
    GroupLink,
    Link,
    Name,
    OwnerLink,
    PodLink,
    PodOwnerRef,
    object_key,
)
from gangboard.facts.groups import COMPOSITE, CORE, WORKLOAD
from gangboard.plugins import registry

Key = TypeVar("Key", bound=Hashable)
AnyLink = TypeVar("AnyLink")

_NOTHING: frozenset[str] = frozenset()


class _UidIndex(Generic[Key]):
    """Sets of uids by a key."""

    def __init__(self) -> None:
        self._uids: dict[Key, set[str]] = {}

    def __getitem__(self, key: Key) -> Set[str]:
        return self._uids.get(key, _NOTHING)

    def set(self, key: Key, uid: str, *, present: bool) -> None:
        """Add or remove a uid."""
        if present:
            self._uids.setdefault(key, set()).add(uid)
            return
        uids = self._uids.get(key)
        if uids is not None:
            uids.discard(uid)
            if not uids:
                del self._uids[key]


class LinkIndex:
    """The links of one cluster by uid, and by everything that they name."""

    def __init__(self) -> None:
        self.owners: dict[str, OwnerLink] = {}
        self.owners_version = 0
        """Increases with every change of `owners`."""
        self.pods: dict[str, PodLink] = {}
        self.groups: dict[str, GroupLink] = {}
        self.attachments: dict[str, AttachmentLink] = {}
        self.owners_under: _UidIndex[str] = _UidIndex()
        """Owner, known or not → owners that reference it."""
        self.pods_under: _UidIndex[str] = _UidIndex()
        """Owner, known or not → pods that reference it."""
        self.pods_adopted: _UidIndex[Name] = _UidIndex()
        """Owner, known or not → pods whose label names it, regardless of their owner references."""
        self.groups_under: _UidIndex[str] = _UidIndex()
        """Owner, known or not → groups that reference it."""
        self.attached_to: _UidIndex[str] = _UidIndex()
        """uid, known or not → Holds and entries that refer to it."""
        self.pods_by_group: _UidIndex[GroupKey] = _UidIndex()
        """Group → pods that name it. On 1.35 it is also indexed by Workload."""
        self.owners_by_template_group: _UidIndex[GroupKey] = _UidIndex()
        """Group → owners whose pod templates name it. On 1.35 it is also indexed by Workload."""
        self.children_of: _UidIndex[Name] = _UidIndex()
        """CompositePodGroup → groups that name it as their parent."""
        self.groups_of: _UidIndex[Name] = _UidIndex()
        """Workload → groups that name it."""
        self.workloads_for: _UidIndex[Name] = _UidIndex()
        """Name of an owner → Workloads that name it as their controller."""
        self.pods_on: _UidIndex[str] = _UidIndex()
        """Node → pods."""
        self.namesakes: _UidIndex[Name] = _UidIndex()
        """Name → uids. There are several if the deletion of an older object was missed."""
        self._owner_refs_naming: dict[GroupKey, dict[PodOwnerRef, int]] = defaultdict(dict)
        self._occupants_naming: _UidIndex[str | Name] = _UidIndex()
        """Controller, or owner named by a label → occupants that name a group or a queue."""
        self._needing: dict[GroupKey, Counter[str]] = defaultdict(Counter)
        """Group → resource keys of owners that name it by their template or by an occupant, with counts."""
        self._queued: Counter[str] = Counter()
        """Resource keys of the owners of occupants that name a queue, with counts."""
        self._owners_to_read: frozenset[str] | None = None
        """Cache of `owners_to_read`, or None if it is outdated."""

    def get(self, uid: str) -> Link | None:
        """Return the link of an object, or None if it is not known."""
        return (
            self.pods.get(uid)
            or self.owners.get(uid)
            or self.groups.get(uid)
            or self.attachments.get(uid)
        )

    def put(self, uid: str, link: Link) -> None:
        """Add the link of an object that is not known yet."""
        self._set(uid, link, present=True)

    def drop(self, uid: str) -> None:
        """Remove the link of an object, if it is known."""
        link = self.get(uid)
        if link is not None:
            self._set(uid, link, present=False)

    def named(self, name: Name) -> str | None:
        """Return the uid of the object with this name, or None. The newest counts if a deletion was missed."""
        uids = self.namesakes[name]
        if len(uids) < 2:
            return next(iter(uids), None)
        return max(uids, key=lambda uid: (self._created(uid), uid))

    def object_of(self, key: GroupKey) -> str | None:
        """Return the uid of the object behind a group key, a PodGroup or a Workload, or None."""
        kind, namespace, name = object_key(key)
        kind, _, group = kind.partition(".")
        uid = self.named((group or CORE, kind, namespace, name))
        return uid if uid is not None and self.groups[uid].is_named else None

    def owner_refs_naming(self, key: GroupKey) -> Iterable[PodOwnerRef]:
        """Return the owner references of the pods that name a group, without those of pods in no gang."""
        return self._owner_refs_naming.get(key, ())

    def owner_by(self, ref: PodOwnerRef | PodLink, namespace: str) -> str | None:
        """Return the known owner of a pod of a namespace, or None.

        It is the controller, else another owner reference, else the owner that the label names. The label comes
        before a controller that needs a group to be a gang, because the named owner made that controller.
        """
        owner = self.owner_of(ref.controller, ref.other_owners, namespace)
        if ref.adopter is None or (owner is not None and not self.owners[owner].needs_group):
            return owner
        adopter = self.named(ref.adopter)
        return owner if adopter is None else adopter

    def owner_of(
        self, controller: str, other_owners: tuple[str, ...], namespace: str
    ) -> str | None:
        """Return the first of these references that names a known owner in the namespace."""
        if controller and self.owns(controller, namespace):
            return controller
        for uid in other_owners:
            if self.owns(uid, namespace):
                return uid
        return None

    def owns(self, uid: str, namespace: str) -> bool:
        """Return whether an owner is known and may own objects of this namespace."""
        owner = self.owners.get(uid)
        return owner is not None and owner.name[2] in ("", namespace)

    def owner_above(self, uid: str) -> str | None:
        """Return the known owner of an owner, or None."""
        link = self.owners[uid]
        return self.owner_of(link.controller, link.other_owners, link.name[2])

    def pods_of(self, owner: str) -> Iterator[str]:
        """Yield the pods of an owner."""
        above = self.owners[owner]
        for pod in self.pods_under[owner] | self.pods_adopted[above.name]:
            link = self.pods[pod]
            is_controlled = link.controller == owner and self.owns(owner, link.namespace)
            is_certain = is_controlled and not above.needs_group
            if is_certain or self.owner_by(link, link.namespace) == owner:
                yield pod

    def keeps_together(self, key: GroupKey) -> bool:
        """Return whether a group keeps pods together. This includes a missing group."""
        if not key[2] or key[0] in registry.kinds_without_objects():
            return False
        group = self.object_of(key)
        return group is None or self.groups[group].is_gang

    def makes_gang(self, occupant: PodLink) -> bool:
        """Return whether a group keeps an occupant together with other pods, or a queue admits it."""
        return occupant.is_queued or self.keeps_together(occupant.key)

    def has_group(self, owner: str) -> bool:
        """Return whether a pod or the template of an owner names a queue, or a group that keeps pods together."""
        link = self.owners[owner]
        if any(self.keeps_together(key) for key in link.templates):
            return True
        pods = (self.pods[uid] for key in (owner, link.name) for uid in self._occupants_naming[key])
        return any(
            self.makes_gang(pod) and self.owner_by(pod, pod.namespace) == owner for pod in pods
        )

    def owners_to_read(self) -> frozenset[str]:
        """Return the resource keys of owners whose occupants a group keeps together or a queue admits."""
        if self._owners_to_read is None:
            self._owners_to_read = frozenset(filter(None, self._queued)).union(
                resource
                for key, resources in self._needing.items()
                if self.keeps_together(key)
                for resource in resources
                if resource
            )
        return self._owners_to_read

    def _created(self, uid: str) -> float:
        link = self.groups.get(uid) or self.owners[uid]
        return link.created

    def _set(self, uid: str, link: Link, *, present: bool) -> None:
        if isinstance(link, PodLink):
            self._set_pod(uid, link, present=present)
        elif isinstance(link, OwnerLink):
            self._set_owner(uid, link, present=present)
        elif isinstance(link, GroupLink):
            self._set_group(uid, link, present=present)
        else:
            _set_item(self.attachments, uid, link, present=present)
            self.attached_to.set(link.owner, uid, present=present)

    def _set_pod(self, uid: str, link: PodLink, *, present: bool) -> None:
        _set_item(self.pods, uid, link, present=present)
        for above in (link.controller, *link.other_owners):
            if above:
                self.pods_under.set(above, uid, present=present)
        if link.node:
            self.pods_on.set(link.node, uid, present=present)
        if link.group:
            for key in _with_object(link.key):
                self.pods_by_group.set(key, uid, present=present)
                if not link.in_no_gang:
                    self._count_owner_ref(key, link.owner_ref, 1 if present else -1)
        if link.adopter is not None:
            self.pods_adopted.set(link.adopter, uid, present=present)
        if link.occupant_of is not None and (link.group or link.is_queued):
            self._occupants_naming.set(link.controller, uid, present=present)
            if link.adopter is not None:
                self._occupants_naming.set(link.adopter, uid, present=present)
            change = 1 if present else -1
            if link.group:
                self._count_need(link.key, link.occupant_of, change)
            if link.is_queued:
                self._owners_to_read = None
                self._queued[link.occupant_of] += change
                if not self._queued[link.occupant_of]:
                    del self._queued[link.occupant_of]

    def _count_need(self, key: GroupKey, resource: str, change: int) -> None:
        self._owners_to_read = None
        resources = self._needing[key]
        resources[resource] += change
        if not resources[resource]:
            del resources[resource]
        if not resources:
            del self._needing[key]

    def _count_owner_ref(self, key: GroupKey, ref: PodOwnerRef, change: int) -> None:
        counts = self._owner_refs_naming[key]
        counts[ref] = counts.get(ref, 0) + change
        if not counts[ref]:
            del counts[ref]
        if not counts:
            del self._owner_refs_naming[key]

    def _set_owner(self, uid: str, link: OwnerLink, *, present: bool) -> None:
        _set_item(self.owners, uid, link, present=present)
        self.owners_version += 1
        self.namesakes.set(link.name, uid, present=present)
        for above in (link.controller, *link.other_owners):
            if above:
                self.owners_under.set(above, uid, present=present)
        # A set, because two templates can name two entries of one Workload.
        for key in {
            group_key for template in link.templates for group_key in _with_object(template)
        }:
            self.owners_by_template_group.set(key, uid, present=present)
        if link.needs_group:
            for key in link.templates:
                self._count_need(key, link.needs_group, 1 if present else -1)

    def _set_group(self, uid: str, link: GroupLink, *, present: bool) -> None:
        _set_item(self.groups, uid, link, present=present)
        self.namesakes.set(link.name, uid, present=present)
        if self._needing:
            self._owners_to_read = None
        for owner in link.owners:
            self.groups_under.set(owner, uid, present=present)
        if link.parent:
            self.children_of.set(link.sibling(COMPOSITE, link.parent), uid, present=present)
        if link.workload:
            self.groups_of.set(link.sibling(WORKLOAD, link.workload), uid, present=present)
        if link.controller_ref:
            self.workloads_for.set(link.controller_ref, uid, present=present)


def _with_object(key: GroupKey) -> tuple[GroupKey, ...]:
    """Return the key of a group. For an entry of a Workload, the Workload's key is added."""
    of_object = object_key(key)
    return (key,) if of_object == key else (key, of_object)


def _set_item(links: dict[str, AnyLink], uid: str, link: AnyLink, *, present: bool) -> None:
    if present:
        links[uid] = link
    else:
        del links[uid]
