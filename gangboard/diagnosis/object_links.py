"""What connects the objects of one cluster: owner references and names, indexed both ways.

Nothing is decided here; `ownership_graph` reads gangs out of it. It holds no object of the domain: one
small tuple per object, because a cluster has 150,000 pods.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Set
from sys import intern
from typing import Generic, NamedTuple, TypeVar

from gangboard.domain.group import Group, Policy, read_entry
from gangboard.domain.objects import Meta, ObjectRef
from gangboard.domain.owner import Owner
from gangboard.domain.pod import Pod
from gangboard.domain.queue import QueueEntry
from gangboard.facts.builtin_controllers import makes_occupants
from gangboard.facts.gang import Linked
from gangboard.facts.workload_entries import (
    COMPOSITE,
    CORE,
    POD_GROUP,
    WORKLOAD,
    has_entries,
    is_named_by_pods,
)
from gangboard.plugins import registry

# Pods that belong to the node they run on; they leave no room and wait for nobody.
_INFRASTRUCTURE = {("apps", "DaemonSet"), ("", "Node")}
_NOTHING: frozenset[str] = frozenset()

Place = tuple[str, str, str]
"""(kind, namespace, name) of what pods and templates of pods name: in `scheduling.k8s.io`, or by a label or
an annotation with `Pod.group_kind` as kind.

That is a PodGroup. On 1.35 it is an entry of a Workload, which has no object: it stands under the
name of its `WorkloadEntry` and the kind PodGroup, and in second place the Workload is named.
"""
Name = tuple[str, str, str, str]
"""(API group, kind, namespace, name)."""


class Maker(NamedTuple):
    """What leads from a pod to its owner, the first that is known there counts."""

    controller: str
    """uid, or empty."""
    others: tuple[str, ...]
    """uids of further owner references."""
    adopter: Name | None
    """The owner that its label names (`OwnerKind.pod_label`), there or not."""
    is_occupant: bool = False
    """See `PodLink.occupant_of`."""


Key = TypeVar("Key", bound=Hashable)


def group_place(namespace: str, group_name: str) -> Place:
    """Return the place of the group that a pod or template names."""
    return POD_GROUP, namespace, group_name


def object_place(place: Place) -> Place:
    """Return the place of the object that a group is: its own, of an entry that of its Workload."""
    entry = read_entry(place[2])
    return place if entry is None else (WORKLOAD, place[1], entry.workload)


class OwnerLink(NamedTuple):
    """What connects an owner: who controls it, which groups its pod templates name."""

    name: Name
    controller: str
    """uid, or empty."""
    templates: tuple[Place, ...]
    created: float
    makes_gangs: bool = False
    """What it makes are gangs of their own (`OwnerKind.makes_gangs`)."""
    stands_alone: bool = True
    """It can be a gang (`OwnerKind.stands_alone`)."""
    others: tuple[str, ...] = ()
    """uids of further owner references: they count where the controller is not known."""
    needs_group: str = ""
    """Key of its resource, where it is a gang only while a group takes its pods (`OwnerKind.needs_group`)."""


class PodLink(NamedTuple):
    """What connects a pod."""

    namespace: str
    controller: str
    """uid, or empty."""
    group: str
    """Name of the core PodGroup, or of the entry of a Workload, that it names, or empty."""
    node: str
    in_no_gang: bool
    """Made by a DaemonSet or by the node itself, or a placeholder of its scheduler."""
    group_kind: str = POD_GROUP
    """Of the group that it names; of another API than the core one with its API group."""
    adopter: Name | None = None
    """The owner that its label names (`OwnerKind.pod_label`), there or not."""
    others: tuple[str, ...] = ()
    """uids of further owner references: they count where the controller is not known."""
    is_placeholder: bool = False
    """A placeholder of its scheduler, which names the group whose members it makes room for."""
    occupant_of: str | None = None
    """Of a pod that is no gang by itself and only takes room, the key of the resource that its owner is found
    in, empty where none is; None of any other pod."""
    is_queued: bool = False
    """True if such a pod names a queue. Its owner waits there and is therefore a gang."""

    @property
    def place(self) -> Place:
        """The group that it names."""
        return self.group_kind, self.namespace, self.group

    @property
    def maker(self) -> Maker:
        """What leads to its owner."""
        return Maker(self.controller, self.others, self.adopter, self.occupant_of is not None)


class GroupLink(NamedTuple):
    """What connects a PodGroup, CompositePodGroup or Workload."""

    name: Name
    owners: tuple[str, ...]
    """uids, the controller's first."""
    parent: str
    workload: str
    controller_ref: Name | None
    created: float
    is_named: bool
    """Pods name it: a core PodGroup, one that a label or annotation names, on 1.35 a Workload, whose entries they name."""
    is_gang: bool = True
    """It keeps pods together: its policy is not `basic`."""
    is_owned_by_members: bool = False
    """Its owner references name its own pods, not who made it: an entry in a queue."""

    @property
    def kind(self) -> str:
        """PodGroup, CompositePodGroup or Workload."""
        return self.name[1]

    @property
    def place(self) -> Place | None:
        """Under what pods name it; None for what pods cannot name."""
        if not self.is_named:
            return None
        group, kind, namespace, name = self.name
        return kind if group == CORE else f"{kind}.{group}", namespace, name

    def beside(self, kind: str, name: str) -> Name:
        """Return the name of another object of its API group and namespace."""
        return self.name[0], kind, self.name[2], name


class AttachmentLink(NamedTuple):
    """What connects an object that only says something about another: a Hold, an entry in a queue."""

    owner: str
    """uid of what it is about, as it says itself; its owner references do not count."""
    namespace: str


Link = OwnerLink | PodLink | GroupLink | AttachmentLink
"""Objects that can belong to a gang."""


def link_of(model: Linked) -> Link:
    """Return what connects an object."""
    if isinstance(model, Pod):
        return _pod_link(model)
    if isinstance(model, Owner):
        return _owner_link(model)
    if isinstance(model, Group):
        return _group_link(model)
    if isinstance(model, QueueEntry) and model.group_pods:
        return _pod_group_link(model)
    return AttachmentLink(model.owner_uid, intern(model.meta.ref.namespace))


def _others(meta: Meta) -> tuple[str, ...]:
    """Return the uids of the owner references beside the controller's, in their order."""
    controller = meta.controller.uid if meta.controller else ""
    uids = meta.owner_uids
    if len(uids) < 2 and (controller or not uids):
        return ()
    return tuple(intern(uid) for uid in dict.fromkeys(uids) if uid != controller)


def _name(ref: ObjectRef) -> Name:
    return intern(ref.group), intern(ref.kind), intern(ref.namespace), ref.name


def _created(model: Owner | Group) -> float:
    return model.meta.created_at.timestamp() if model.meta.created_at else 0.0


def _pod_link(pod: Pod) -> PodLink:
    controller, adopter = pod.meta.controller, _adopter(pod)
    occupant_of = _occupant_of(pod, adopter)
    group_kind, group = _group_of(pod)
    made_by = None if controller is None else (controller.group, controller.kind)
    return PodLink(
        namespace=intern(pod.meta.ref.namespace),
        controller=intern(controller.uid) if controller else "",
        group=intern(group),
        node=intern(pod.node),
        in_no_gang=pod.is_placeholder or made_by in _INFRASTRUCTURE,
        is_placeholder=pod.is_placeholder,
        group_kind=intern(group_kind),
        adopter=adopter,
        others=_others(pod.meta),
        occupant_of=occupant_of,
        is_queued=occupant_of is not None
        and not registry.pod_queue_labels().isdisjoint(pod.labels),
    )


def _group_of(pod: Pod) -> tuple[str, str]:
    """Return kind and name of what keeps a pod together with others.

    The group that its scheduler reads goes before the group that its queue admits.
    """
    if not pod.group_name or pod.ignores_group:
        for label, kind in registry.pod_group_labels().items():
            if pod.labels.get(label):
                return kind, pod.labels[label]
    return pod.group_kind or POD_GROUP, pod.group_name


def _occupant_of(pod: Pod, adopter: Name | None) -> str | None:
    """Return `PodLink.occupant_of`: pods that a label gives to an owner of any other kind are no occupants."""
    controller = pod.meta.controller
    if controller is None or not makes_occupants(controller):
        return None
    owners = registry.kinds_that_need_groups()
    if adopter is not None:
        return owners.get(adopter[:2])
    return owners.get((controller.group, controller.kind), "")


def _adopter(pod: Pod) -> Name | None:
    if not registry.labels_naming_owners().isdisjoint(pod.labels):
        for kind in registry.kinds_named_by_pods():
            name = kind.named_by(pod.labels)
            if name:
                place = intern(pod.meta.ref.namespace), intern(name)
                return kind.resource.group, kind.resource.kind, *place
    for name_of, group, owner_kind in registry.owners_by_pod():
        if name := name_of(pod):
            return group, owner_kind, intern(pod.meta.ref.namespace), intern(name)
    return None


def _owner_link(owner: Owner) -> OwnerLink:
    names = {owner.group_name, *(role.group_name for role in owner.roles)} - {""}
    return OwnerLink(
        name=_name(owner.meta.ref),
        controller=owner.meta.controller.uid if owner.meta.controller else "",
        templates=tuple(group_place(owner.meta.ref.namespace, name) for name in sorted(names)),
        created=_created(owner),
        makes_gangs=registry.makes_gangs(owner.meta.ref.group, owner.meta.ref.kind),
        stands_alone=registry.stands_alone(owner.meta.ref.group, owner.meta.ref.kind),
        others=_others(owner.meta),
        needs_group=registry.kinds_that_need_groups().get(
            (owner.meta.ref.group, owner.meta.ref.kind), ""
        ),
    )


def _group_link(group: Group) -> GroupLink:
    controller = group.meta.controller
    uids = dict.fromkeys((*((controller.uid,) if controller else ()), *group.meta.owner_uids))
    ref = group.controller_ref
    return GroupLink(
        name=_name(group.meta.ref),
        owners=tuple(uids),
        parent=group.parent_name,
        workload=group.workload_name,
        controller_ref=(ref[0], ref[1], group.meta.ref.namespace, ref[2]) if ref else None,
        created=_created(group),
        is_named=is_named_by_pods(group) or (group.meta.ref.group == CORE and has_entries(group)),
        is_gang=group.policy is not Policy.BASIC,
    )


def _pod_group_link(entry: QueueEntry) -> GroupLink:
    ref = entry.meta.ref
    kind, _, group = registry.entries_kind(ref.group).partition(".")
    return GroupLink(
        name=(intern(group), intern(kind), intern(ref.namespace), ref.name),
        owners=entry.meta.owner_uids[:1],  # all its pods are named, and each tells the same
        parent="",
        workload="",
        controller_ref=None,
        created=entry.meta.created_at.timestamp() if entry.meta.created_at else 0.0,
        is_named=True,
        is_owned_by_members=True,
    )


class _Index(Generic[Key]):
    """Key → uids."""

    def __init__(self) -> None:
        self._uids: dict[Key, set[str]] = {}

    def __getitem__(self, key: Key) -> Set[str]:
        return self._uids.get(key, _NOTHING)

    def set(self, key: Key, uid: str, *, there: bool) -> None:
        """Add or take away one uid."""
        if there:
            self._uids.setdefault(key, set()).add(uid)
            return
        found = self._uids.get(key)
        if found is not None:
            found.discard(uid)
            if not found:
                del self._uids[key]


class ObjectLinks:
    """All links of one cluster, by uid, with an index for every way to ask."""

    def __init__(self) -> None:
        self.owners: dict[str, OwnerLink] = {}
        self.owners_version = 0
        """Goes up with every change of `owners`."""
        self.pods: dict[str, PodLink] = {}
        self.groups: dict[str, GroupLink] = {}
        self.attachments: dict[str, AttachmentLink] = {}
        self.owners_under: _Index[str] = _Index()
        self.pods_under: _Index[str] = _Index()
        self.pods_adopted: _Index[Name] = _Index()
        """Owner, there or not → pods whose label names it, whatever else leads from them to an owner."""
        self.groups_under: _Index[str] = _Index()
        """Controller or owner uid → uids, whether that owner is known or not."""
        self.attached_to: _Index[str] = _Index()
        """uid → uids of what says that it is about it, whether that is known or not."""
        self.pods_naming: _Index[Place] = _Index()
        self.templates_naming: _Index[Place] = _Index()
        """Group → uids of owners whose pod templates name it; both also by Workload on 1.35."""
        self.children_of: _Index[Name] = _Index()
        """CompositePodGroup → groups that name it as their parent."""
        self.groups_of: _Index[Name] = _Index()
        """Workload → groups that name it."""
        self.workloads_for: _Index[Name] = _Index()
        """Name of an owner → Workloads that name it as their controller."""
        self.pods_on: _Index[str] = _Index()
        self.namesakes: _Index[Name] = _Index()
        """Several uids while the deletion of one has not been seen yet."""
        self._makers_naming: dict[Place, dict[Maker, int]] = defaultdict(dict)
        self._occupants_naming: _Index[str | Name] = _Index()
        """Controller, and owner that they are adopted by → occupants that name a group or a queue."""
        self._needing: dict[Place, Counter[str]] = defaultdict(Counter)
        """Group → keys of the resources of the owners of occupants, and of templates, that name it."""
        self._queued: Counter[str] = Counter()
        """Keys of the resources of the owners of occupants that name a queue."""
        self._owners_to_read: frozenset[str] | None = None
        """None where it has to be worked out anew."""

    def get(self, uid: str) -> Link | None:
        """Return the link of an object, None when it is not known."""
        return (
            self.pods.get(uid)
            or self.owners.get(uid)
            or self.groups.get(uid)
            or self.attachments.get(uid)
        )

    def put(self, uid: str, link: Link) -> None:
        """Add an object that is not there."""
        self._set(uid, link, there=True)

    def drop(self, uid: str) -> None:
        """Take an object away, if it is there."""
        link = self.get(uid)
        if link is not None:
            self._set(uid, link, there=False)

    def named(self, name: Name) -> str | None:
        """Return the uid of the object of that name; of two (one deleted unseen) the newer."""
        found = self.namesakes[name]
        if len(found) < 2:
            return next(iter(found), None)
        return max(found, key=lambda uid: (self._created(uid), uid))

    def object_at(self, place: Place) -> str | None:
        """Return the uid of the PodGroup, or of the Workload, that stands for a group."""
        kind, namespace, name = object_place(place)
        kind, _, group = kind.partition(".")
        uid = self.named((group or CORE, kind, namespace, name))
        return uid if uid is not None and self.groups[uid].is_named else None

    def makers_naming(self, place: Place) -> Iterable[Maker]:
        """Return what leads to the owners of the pods that name a group.

        DaemonSet and static pods are left out: they belong to no gang.
        """
        return self._makers_naming.get(place, ())

    def owner_by(self, maker: Maker | PodLink, namespace: str) -> str | None:
        """Return the known owner that a pod of a namespace, or what leads from it, leads to; None for none.

        By its controller, else by another reference, else by its label. A label goes before a controller that
        needs a group to be a gang: what such a label names has that made.
        """
        found = self.owner_of(maker.controller, maker.others, namespace)
        if maker.adopter is None or (found is not None and not self.owners[found].needs_group):
            return found
        adopter = self.named(maker.adopter)
        return found if adopter is None else adopter

    def owner_of(self, controller: str, others: tuple[str, ...], namespace: str) -> str | None:
        """Return the first of these references that leads to a known owner of the namespace."""
        if controller and self.owns(controller, namespace):
            return controller
        for uid in others:
            if self.owns(uid, namespace):
                return uid
        return None

    def owns(self, uid: str, namespace: str) -> bool:
        """Whether an owner is known that can own something in a namespace: of another one none can."""
        owner = self.owners.get(uid)
        return owner is not None and owner.name[2] in ("", namespace)

    def owner_above(self, uid: str) -> str | None:
        """Return the known owner that an owner leads to; None for none."""
        link = self.owners[uid]
        return self.owner_of(link.controller, link.others, link.name[2])

    def pods_of(self, owner: str) -> Iterator[str]:
        """Yield the pods that lead to an owner."""
        above = self.owners[owner]
        for pod in self.pods_under[owner] | self.pods_adopted[above.name]:
            link = self.pods[pod]
            is_controlled = link.controller == owner and self.owns(owner, link.namespace)
            is_certain = is_controlled and not above.needs_group
            if is_certain or self.owner_by(link, link.namespace) == owner:
                yield pod

    def keeps_together(self, place: Place) -> bool:
        """Whether what is named there keeps pods together; what should be there and is not does, too."""
        if not place[2] or place[0] in registry.kinds_without_objects():
            return False
        group = self.object_at(place)
        return group is None or self.groups[group].is_gang

    def makes_gang(self, occupant: PodLink) -> bool:
        """Whether a group keeps an occupant together with others, or a queue admits it."""
        return occupant.is_queued or self.keeps_together(occupant.place)

    def has_group(self, owner: str) -> bool:
        """Whether the template of an owner, or a pod of it, names a group that keeps pods together, or a queue."""
        link = self.owners[owner]
        if any(self.keeps_together(place) for place in link.templates):
            return True
        pods = (self.pods[pod] for key in (owner, link.name) for pod in self._occupants_naming[key])
        return any(
            self.makes_gang(pod) and self.owner_by(pod, pod.namespace) == owner for pod in pods
        )

    def owners_to_read(self) -> frozenset[str]:
        """Return the keys of the resources that have owners of occupants that a group keeps together, or a queue admits."""
        if self._owners_to_read is None:
            self._owners_to_read = frozenset(filter(None, self._queued)).union(
                key
                for place, keys in self._needing.items()
                if self.keeps_together(place)
                for key in keys
                if key
            )
        return self._owners_to_read

    def _created(self, uid: str) -> float:
        link = self.groups.get(uid) or self.owners[uid]
        return link.created

    def _set(self, uid: str, link: Link, *, there: bool) -> None:
        if isinstance(link, PodLink):
            self._set_pod(uid, link, there=there)
        elif isinstance(link, OwnerLink):
            self._set_owner(uid, link, there=there)
        elif isinstance(link, GroupLink):
            self._set_group(uid, link, there=there)
        else:
            _set_item(self.attachments, uid, link, there=there)
            self.attached_to.set(link.owner, uid, there=there)

    def _set_pod(self, uid: str, link: PodLink, *, there: bool) -> None:
        _set_item(self.pods, uid, link, there=there)
        for above in (link.controller, *link.others):
            if above:
                self.pods_under.set(above, uid, there=there)
        if link.node:
            self.pods_on.set(link.node, uid, there=there)
        if link.group:
            for place in _both(link.place):
                self.pods_naming.set(place, uid, there=there)
                if not link.in_no_gang:
                    self._count(place, link.maker, 1 if there else -1)
        if link.adopter is not None:
            self.pods_adopted.set(link.adopter, uid, there=there)
        if link.occupant_of is not None and (link.group or link.is_queued):
            self._occupants_naming.set(link.controller, uid, there=there)
            if link.adopter is not None:
                self._occupants_naming.set(link.adopter, uid, there=there)
            change = 1 if there else -1
            if link.group:
                self._need(link.place, link.occupant_of, change)
            if link.is_queued:
                self._owners_to_read = None
                self._queued[link.occupant_of] += change
                if not self._queued[link.occupant_of]:
                    del self._queued[link.occupant_of]

    def _need(self, place: Place, key: str, change: int) -> None:
        self._owners_to_read = None
        keys = self._needing[place]
        keys[key] += change
        if not keys[key]:
            del keys[key]
        if not keys:
            del self._needing[place]

    def _count(self, place: Place, maker: Maker, change: int) -> None:
        counts = self._makers_naming[place]
        counts[maker] = counts.get(maker, 0) + change
        if not counts[maker]:
            del counts[maker]
        if not counts:
            del self._makers_naming[place]

    def _set_owner(self, uid: str, link: OwnerLink, *, there: bool) -> None:
        _set_item(self.owners, uid, link, there=there)
        self.owners_version += 1
        self.namesakes.set(link.name, uid, there=there)
        for above in (link.controller, *link.others):
            if above:
                self.owners_under.set(above, uid, there=there)
        # Once each: two templates can name two entries of one Workload.
        for named in {one for place in link.templates for one in _both(place)}:
            self.templates_naming.set(named, uid, there=there)
        if link.needs_group:
            for place in link.templates:
                self._need(place, link.needs_group, 1 if there else -1)

    def _set_group(self, uid: str, link: GroupLink, *, there: bool) -> None:
        _set_item(self.groups, uid, link, there=there)
        self.namesakes.set(link.name, uid, there=there)
        if self._needing:
            self._owners_to_read = None
        for owner in link.owners:
            self.groups_under.set(owner, uid, there=there)
        if link.parent:
            self.children_of.set(link.beside(COMPOSITE, link.parent), uid, there=there)
        if link.workload:
            self.groups_of.set(link.beside(WORKLOAD, link.workload), uid, there=there)
        if link.controller_ref:
            self.workloads_for.set(link.controller_ref, uid, there=there)


def _both(place: Place) -> tuple[Place, ...]:
    """Return the place of a group, and where that has no object, of the Workload that it is in."""
    of_object = object_place(place)
    return (place,) if of_object == place else (place, of_object)


Kept = TypeVar("Kept")


def _set_item(found: dict[str, Kept], uid: str, link: Kept, *, there: bool) -> None:
    if there:
        found[uid] = link
    else:
        del found[uid]
