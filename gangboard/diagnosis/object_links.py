"""Links of objects: their owner references, and the groups and owners that they name.

A link is a small tuple without the object, because a cluster has 150,000 pods. `link_index` looks links up in
both directions, and `ownership_graph` decides which objects are one gang.
"""

from __future__ import annotations

from sys import intern
from typing import NamedTuple

from gangboard.domain.group import Group, Policy, read_entry
from gangboard.domain.objects import Meta, ObjectRef
from gangboard.domain.owner import Owner
from gangboard.domain.pod import Pod
from gangboard.domain.queue import QueueEntry
from gangboard.facts.builtin_controllers import makes_independent_pods
from gangboard.facts.gang import Linked
from gangboard.facts.groups import (
    CORE,
    POD_GROUP,
    WORKLOAD,
    has_entries,
    is_named_by_pods,
)
from gangboard.plugins import registry

# Controllers whose pods belong to a node and are in no gang.
_INFRASTRUCTURE = {("apps", "DaemonSet"), ("", "Node")}

GroupKey = tuple[str, str, str]
"""(kind, namespace, name) of a group that pods and pod templates name.

The kind is that of `scheduling.k8s.io`, or `Pod.group_kind` for a group that a label or an annotation names. An
entry of a Workload (1.35) has no object: its key has the kind PodGroup and the name of its `WorkloadEntry`.
"""
Name = tuple[str, str, str, str]
"""(API group, kind, namespace, name)."""


class PodOwnerRef(NamedTuple):
    """The references of a pod to its owner. The first known owner counts."""

    controller: str
    """uid, or empty."""
    other_owners: tuple[str, ...]
    """uids of further owner references."""
    adopter: Name | None
    """The owner that its label names (`OwnerKind.pod_label`), known or not."""
    is_occupant: bool = False
    """See `PodLink.occupant_of`."""


def group_key(namespace: str, group_name: str) -> GroupKey:
    """Return the key of the group that a pod or template names."""
    return POD_GROUP, namespace, group_name


def object_key(key: GroupKey) -> GroupKey:
    """Return the key of the object of a group: its own, or for an entry that of its Workload."""
    entry = read_entry(key[2])
    return key if entry is None else (WORKLOAD, key[1], entry.workload)


class OwnerLink(NamedTuple):
    """Link of an owner: its controller, and the groups that its pod templates name."""

    name: Name
    controller: str
    """uid, or empty."""
    templates: tuple[GroupKey, ...]
    created: float
    makes_gangs: bool = False
    """The owner's children are gangs of their own (`OwnerKind.makes_gangs`)."""
    stands_alone: bool = True
    """The owner can be a gang (`OwnerKind.stands_alone`)."""
    other_owners: tuple[str, ...] = ()
    """uids of further owner references. They count if the controller is not known."""
    needs_group: str = ""
    """The resource key of the owner if it is a gang only while a group takes its pods (`OwnerKind.needs_group`)."""


class PodLink(NamedTuple):
    """Link of a pod."""

    namespace: str
    controller: str
    """uid, or empty."""
    group: str
    """Name of the core PodGroup, or of the entry of a Workload, that the pod names, or empty."""
    node: str
    in_no_gang: bool
    """The pod was made by a DaemonSet or by the node itself, or is a placeholder of its scheduler."""
    group_kind: str = POD_GROUP
    """Kind of that group, with its API group unless that is the core one."""
    adopter: Name | None = None
    """The owner that its label names (`OwnerKind.pod_label`), known or not."""
    other_owners: tuple[str, ...] = ()
    """uids of further owner references. They count if the controller is not known."""
    is_placeholder: bool = False
    """The pod is a placeholder of its scheduler. It names the group for whose members it reserves a node."""
    occupant_of: str | None = None
    """The resource key of its owner if the pod is an occupant: it is no gang by itself and only uses capacity.

    Empty if that owner is never read, and None for any other pod.
    """
    is_queued: bool = False
    """The pod is an occupant that names a queue. Its owner waits there and is therefore a gang."""

    @property
    def key(self) -> GroupKey:
        """The key of the group that it names."""
        return self.group_kind, self.namespace, self.group

    @property
    def owner_ref(self) -> PodOwnerRef:
        """Its references to its owner."""
        return PodOwnerRef(
            self.controller, self.other_owners, self.adopter, self.occupant_of is not None
        )


class GroupLink(NamedTuple):
    """Link of a PodGroup, CompositePodGroup or Workload."""

    name: Name
    owners: tuple[str, ...]
    """uids, the controller's first."""
    parent: str
    workload: str
    controller_ref: Name | None
    created: float
    is_named: bool
    """Pods can name it: a core PodGroup, a group that a label or annotation names, or a Workload of 1.35."""
    is_gang: bool = True
    """The group keeps pods together, because its policy is not `basic`."""
    is_owned_by_members: bool = False
    """The owner references name the group's own pods, not its maker. This is the case for an entry in a queue."""

    @property
    def kind(self) -> str:
        """PodGroup, CompositePodGroup or Workload."""
        return self.name[1]

    @property
    def key(self) -> GroupKey | None:
        """The key that pods name, or None if pods cannot name the group."""
        if not self.is_named:
            return None
        group, kind, namespace, name = self.name
        return kind if group == CORE else f"{kind}.{group}", namespace, name

    def sibling(self, kind: str, name: str) -> Name:
        """Return the name of another object of its API group and namespace."""
        return self.name[0], kind, self.name[2], name


class AttachmentLink(NamedTuple):
    """Link of an object that refers to another one: a Hold, an entry in a queue."""

    owner: str
    """uid of the object that a field of it names. Its owner references do not count."""
    namespace: str


Link = OwnerLink | PodLink | GroupLink | AttachmentLink
"""Link of an object that can belong to a gang."""


def link_of(model: Linked) -> Link:
    """Return the link of an object."""
    if isinstance(model, Pod):
        return _pod_link(model)
    if isinstance(model, Owner):
        return _owner_link(model)
    if isinstance(model, Group):
        return _group_link(model)
    if isinstance(model, QueueEntry) and model.group_pods:
        return _pod_group_link(model)
    return AttachmentLink(model.owner_uid, intern(model.meta.ref.namespace))


def _other_owners(meta: Meta) -> tuple[str, ...]:
    """Return the uids of the owner references without the controller's, in their order."""
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
    controller_kind = None if controller is None else (controller.group, controller.kind)
    return PodLink(
        namespace=intern(pod.meta.ref.namespace),
        controller=intern(controller.uid) if controller else "",
        group=intern(group),
        node=intern(pod.node),
        in_no_gang=pod.is_placeholder or controller_kind in _INFRASTRUCTURE,
        is_placeholder=pod.is_placeholder,
        group_kind=intern(group_kind),
        adopter=adopter,
        other_owners=_other_owners(pod.meta),
        occupant_of=occupant_of,
        is_queued=occupant_of is not None
        and not registry.pod_queue_labels().isdisjoint(pod.labels),
    )


def _group_of(pod: Pod) -> tuple[str, str]:
    """Return kind and name of the group that keeps a pod together with other pods.

    The group that its scheduler reads comes before the group that its queue admits.
    """
    if not pod.group_name or pod.ignores_group:
        for label, kind in registry.pod_group_labels().items():
            if pod.labels.get(label):
                return kind, pod.labels[label]
    return pod.group_kind or POD_GROUP, pod.group_name


def _occupant_of(pod: Pod, adopter: Name | None) -> str | None:
    """Return `PodLink.occupant_of`. A pod is no occupant if its label names an owner of another kind."""
    controller = pod.meta.controller
    if controller is None or not makes_independent_pods(controller):
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
                resource, namespace = kind.resource, intern(pod.meta.ref.namespace)
                return resource.group, resource.kind, namespace, intern(name)
    for name_of, group, owner_kind in registry.owners_by_pod():
        if name := name_of(pod):
            return group, owner_kind, intern(pod.meta.ref.namespace), intern(name)
    return None


def _owner_link(owner: Owner) -> OwnerLink:
    names = {owner.group_name, *(role.group_name for role in owner.roles)} - {""}
    return OwnerLink(
        name=_name(owner.meta.ref),
        controller=owner.meta.controller.uid if owner.meta.controller else "",
        templates=tuple(group_key(owner.meta.ref.namespace, name) for name in sorted(names)),
        created=_created(owner),
        makes_gangs=registry.makes_gangs(owner.meta.ref.group, owner.meta.ref.kind),
        stands_alone=registry.stands_alone(owner.meta.ref.group, owner.meta.ref.kind),
        other_owners=_other_owners(owner.meta),
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
        owners=entry.meta.owner_uids[
            :1
        ],  # it names all its pods, and each of them leads to the same gang
        parent="",
        workload="",
        controller_ref=None,
        created=entry.meta.created_at.timestamp() if entry.meta.created_at else 0.0,
        is_named=True,
        is_owned_by_members=True,
    )
