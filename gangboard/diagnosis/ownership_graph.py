"""Ownership graph: assigns each object of a cluster to its gang, and updates that object by object.

All results follow from the links of the currently known objects. They do not depend on the order of changes.

- **Owner, and pod with an owner.** The gang is that of the topmost owner by controller references. If the
  controller is not known, any other owner reference counts. A reference to an owner in another namespace does
  not count, because Kubernetes allows none. An owner that makes gangs (a CronJob) belongs to no gang, and its
  children are roots.
- **Pod without a known owner.** The gang is that of the owner that its label names, if its kind has such a
  label. Otherwise it is that of the core PodGroup (on 1.35 the Workload) that the pod names. A pod without
  either is a gang itself.
- **Middle object.** An object between an owner and its pods is never a gang. Without its owner it counts as
  unknown.
- **Occupant.** A pod of a ReplicaSet, a StatefulSet or a similar controller is in a gang only in three cases.
  A label names an owner of another kind, a group keeps the pod together with others, or a queue admits it. The
  StatefulSet or Deployment, if known, is then the root of the gang. Without such a group or queue it is not a
  gang.
- **PodGroup and CompositePodGroup.** The gang is the first of these that exists:
  1. that of its owner, of a group that owns it, of its Workload, or the same of its parent
  2. those of the owners whose templates name it
  3. those of the owners of all pods that name it, if each of these has a known owner
  4. its topmost parent, or the group that owns it
- **Workload.** The gang is that of its owner, by reference or `spec.controllerRef`, or else those of the groups
  that name it. Otherwise, if templates and pods name it (1.35), the rules of a PodGroup apply. A Workload
  without any of these is a gang.
- **Queue entry that its pods name.** As for a PodGroup, unless the scheduler of the pods reads another group.
- **Hold, and any other queue entry.** The gang of the owner or pod whose uid it names, or none.
- **Pods of DaemonSets and nodes, and placeholders of a scheduler.** No gang.

Every gang whose pods or templates name a group shows it, whichever gang it belongs to.
"""

from __future__ import annotations

from collections.abc import Iterable

from gangboard.diagnosis.gang_resolver import GangResolver
from gangboard.diagnosis.group_tree import GroupTree
from gangboard.diagnosis.link_index import LinkIndex
from gangboard.diagnosis.object_links import (
    AttachmentLink,
    GroupKey,
    GroupLink,
    Link,
    OwnerLink,
    PodLink,
    link_of,
    object_key,
)
from gangboard.domain.event import Event
from gangboard.domain.node import Node
from gangboard.facts.gang import Linked
from gangboard.facts.groups import CORE


class OwnershipGraph:
    """The gangs of one cluster. The uid of its root object identifies a gang."""

    def __init__(self) -> None:
        self._links = LinkIndex()
        self._tree = GroupTree(self._links)
        self._resolver = GangResolver(self._links, self._tree)

    def put(self, model: Linked | Node | Event) -> set[str]:
        """Store the state of an object, and return the roots of the affected gangs.

        These are the gangs of the object and of its dependents, before and after the change, and the gangs that
        share a group with it.
        """
        if isinstance(model, Node):
            return self.roots_on_node(model.meta.ref.name)
        if isinstance(model, Event):
            return self.gangs_of_event(model)
        uid, link = model.meta.ref.uid, link_of(model)
        before = self._links.get(uid)
        if before is not None and _have_same_links(before, link):
            return self._update_node(uid, before, link)
        return self._replace(uid, before, link)

    def load(self, model: Linked) -> None:
        """Store the state of an object without computing the affected gangs."""
        uid = model.meta.ref.uid
        self._links.drop(uid)
        self._links.put(uid, link_of(model))

    def remove(self, uid: str) -> set[str]:
        """Remove an object, and return the roots of the affected gangs, including gangs that end with it."""
        return self._replace(uid, self._links.get(uid), None)

    def root_of(self, uid: str) -> str | None:
        """Return the root of the gang that an object belongs to, or None if it is unknown or in no gang.

        A group or Workload in several gangs has the root that is first by name.
        """
        return self._resolver.root_of(uid)

    def gangs_of(self, uid: str) -> set[str]:
        """Return the roots of all gangs that show an object. A shared group has several."""
        return self._resolver.gangs_of(uid)

    def gangs_of_any(self, uids: Iterable[str]) -> set[str]:
        """Return the roots of all gangs that show any of these objects."""
        return {root for uid in uids for root in self.gangs_of(uid)}

    def roots(self) -> set[str]:
        """Return the roots of all gangs."""
        return self._resolver.roots()

    def members(self, root: str) -> tuple[str, ...]:
        """Return the sorted uids of the objects that a gang contains or shows, with its root.

        Empty if `root` is not the root of a gang.
        """
        return self._resolver.members(root)

    def namespace_of(self, uid: str) -> str | None:
        """Return the namespace of an owner, a pod or a group, or None if it is not known."""
        pod = self._links.pods.get(uid)
        if pod is not None:
            return pod.namespace
        link = self._links.owners.get(uid) or self._links.groups.get(uid)
        return link.name[2] if link is not None else None

    def controller_of(self, uid: str) -> str:
        """Return the uid of the controller of an owner or a pod, known or not; empty without a controller."""
        link = self._links.owners.get(uid) or self._links.pods.get(uid)
        return link.controller if link is not None else ""

    def is_owned_elsewhere(self, uid: str) -> bool:
        """Return whether a reference of an object names a known owner in another namespace, which cannot own it."""
        links = self._links
        link = links.owners.get(uid) or links.pods.get(uid)
        if link is None:
            return False
        namespace = link.name[2] if isinstance(link, OwnerLink) else link.namespace
        above = (link.controller, *link.other_owners)
        return any(owner in links.owners and not links.owns(owner, namespace) for owner in above)

    def foreign_pods(self, root: str, members: Iterable[str] | None = None) -> tuple[str, ...]:
        """Return the sorted uids of pods of other gangs that name a group of this gang.

        `members` are those of the gang, if the caller already has them.
        """
        return self._resolver.foreign_pods(root, self.members(root) if members is None else members)

    def placeholders(self, root: str, members: Iterable[str] | None = None) -> tuple[str, ...]:
        """Return the uids of some placeholders without a node, of the groups that pods of this gang name.

        `members` are those of the gang, if the caller already has them.
        """
        return self._resolver.placeholders(self.members(root) if members is None else members)

    def nodes_of(self, uids: Iterable[str]) -> set[str]:
        """Return the names of the nodes of these pods. Other objects are ignored."""
        pods = self._links.pods
        return {pods[uid].node for uid in uids if uid in pods and pods[uid].node}

    def roots_on_node(self, name: str) -> set[str]:
        """Return the roots of the gangs with a pod on a node."""
        roots = {self.root_of(pod) for pod in self._links.pods_on[name]}
        return {root for root in roots if root is not None}

    def gangs_of_event(self, event: Event) -> set[str]:
        """Return the roots of the gangs that an event is about.

        The uid in a kubelet's events about its node is the node's name, so this looks nodes up by name.
        """
        if event.regarding.kind == "Node" and not event.regarding.group:
            return self.roots_on_node(event.regarding.name)
        return self.gangs_of_regarded_object(event.regarding.uid)

    def gangs_of_regarded_object(self, uid: str) -> set[str]:
        """Return the roots of the gangs that events about an object are about.

        An unknown controller (a ReplicaSet) belongs to no gang. Its events are about the gangs whose groups or
        owners its pods name.
        """
        pods = self._links.pods
        if uid in pods and pods[uid].is_placeholder:
            return self._resolver.gangs_naming(pods[uid].key)
        pods_under = self._links.pods_under[uid]
        examples = {
            (pods[pod].key, pods[pod].adopter): pod
            for pod in pods_under
            if pods[pod].group or pods[pod].adopter
        }
        return self.gangs_of(uid) or self.gangs_of_any(examples.values())

    def makers(self, uids: Iterable[str]) -> tuple[str, ...]:
        """Return the sorted uids of the controllers of these pods that are in no gang.

        Only pods that name a group or an owner count.
        """
        links = self._links
        pods = (links.pods[uid] for uid in uids if uid in links.pods)
        controllers = {
            pod.controller for pod in pods if (pod.group or pod.adopter) and pod.controller
        }
        return tuple(sorted(uid for uid in controllers if self.root_of(uid) is None))

    def owners_to_read(self) -> frozenset[str]:
        """Return the resources of `registry.read_on_demand` that a gang needs now."""
        return self._links.owners_to_read()

    # Gangs that a change affects

    def _replace(self, uid: str, before: Link | None, after: Link | None) -> set[str]:
        states = [link for link in (before, after) if link is not None]
        affected: set[str] = set()
        for link in states:
            affected |= self._affected_by(uid, link)
        if before is not None:
            self._links.drop(uid)
        if after is not None:
            self._links.put(uid, after)
        for link in states:
            affected |= self._affected_by(uid, link)
        return affected

    def _update_node(self, uid: str, before: Link, after: Link) -> set[str]:
        """Store a state in which at most the node of a pod has changed."""
        if before != after:
            self._links.drop(uid)
            self._links.put(uid, after)
        affected = self._resolver.gangs_of(uid)
        if isinstance(after, PodLink):
            if after.is_placeholder:
                return self._resolver.gangs_naming(after.key)
            # A Workload of 1.35 can have many replicas that do not affect each other.
            is_entry = object_key(after.key) != after.key
            affected |= (self._resolver.gangs_sharing if is_entry else self._gangs_showing_group)(
                after.key
            )
        return affected

    def _affected_by(self, uid: str, link: Link) -> set[str]:
        """Return the current gangs of an object, and of all objects whose gang depends on it."""
        if isinstance(link, PodLink):
            if link.is_placeholder:
                return self._resolver.gangs_naming(link.key)
            gangs = self._resolver.gangs_of(uid) if uid in self._links.pods else set[str]()
            return gangs | self._gangs_showing_group(link.key) if link.group else gangs
        if isinstance(link, OwnerLink):
            return self._affected_by_owner(uid, link)
        if isinstance(link, AttachmentLink):
            return self._resolver.gangs_of(uid)
        return self._affected_by_group(uid, link)

    def _affected_by_owner(self, uid: str, link: OwnerLink) -> set[str]:
        """Return the gangs of an owner, of its possible subtree, and of the pods and groups that refer to it."""
        links, resolver = self._links, self._resolver
        gangs: set[str] = set()
        keys: set[GroupKey] = set(link.templates)
        groups: set[str] = set(links.workloads_for[link.name])
        pods: set[str] = set(links.pods_adopted[link.name])
        for owner in resolver.possible_owner_subtree(uid):
            gangs |= resolver.gangs_of(owner)
            groups |= links.groups_under[owner]
            pods |= links.pods_under[owner]
            if owner in links.owners:
                keys.update(links.owners[owner].templates)
                groups |= links.workloads_for[links.owners[owner].name]
                pods |= links.pods_adopted[links.owners[owner].name]
        for pod in pods:
            gangs |= resolver.gangs_of(pod)
            keys.add(links.pods[pod].key)
        for key in keys:
            gangs |= self._gangs_showing_group(key)
        return gangs.union(*(resolver.gangs_of(group) for group in groups))

    def _affected_by_group(self, uid: str, link: GroupLink) -> set[str]:
        """Return the gangs of a group, of the groups around it, and of the pods that name it."""
        links, resolver, tree = self._links, self._resolver, self._tree
        namesakes = links.namesakes[link.name]
        groups = {uid, *namesakes, *links.children_of[link.name], *links.groups_of[link.name]}
        for group_link in (link, *(links.groups[namesake] for namesake in namesakes)):
            parent = tree.parent_of(group_link)
            for above in (parent, *tree.owning_groups(group_link)):
                if above is not None:
                    groups.update(tree.chain(above))
            workload = tree.workload_of(group_link)
            if workload is not None:
                groups.add(workload)
        for child in links.groups_under[uid]:
            for group in tree.below(child):
                groups.update((group, *links.groups_of[links.groups[group].name]))
        gangs: set[str] = set()
        gangs = gangs.union(*(resolver.gangs_of(group) for group in groups))
        # This includes groups that pods cannot name, because they can hide a namesake of 1.35 that pods do
        # name.
        key = link.name[1:] if link.name[0] == CORE else link.key
        if key is None:
            return gangs
        # This includes owners without such pods: they are a gang only while a group keeps their pods
        # together.
        for owner in links.owners_by_template_group[key]:
            if links.owners[owner].needs_group:
                gangs |= self._affected_by_owner(owner, links.owners[owner])
        return gangs.union(*(resolver.gangs_of(pod) for pod in links.pods_by_group[key]))

    def _gangs_showing_group(self, key: GroupKey) -> set[str]:
        """Return the gangs that show a group or a group above it; empty if it is not known."""
        group = self._links.object_of(key) if key[2] else None
        if group is None:
            return set()
        return self._resolver.gangs_of(group).union(
            *(self._resolver.gangs_of(parent) for parent in self._tree.chain(group)[1:])
        )


def _have_same_links(before: Link, after: Link) -> bool:
    """Return whether two states of an object have the same links, apart from the node of a pod."""
    if isinstance(before, PodLink) and isinstance(after, PodLink):
        return before._replace(node=after.node) == after
    return before == after
