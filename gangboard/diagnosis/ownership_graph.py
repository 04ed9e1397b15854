"""Which gang each object of a cluster belongs to, kept up to date object by object.

The order in which objects come does not matter: everything is answered from the links of the
objects that are known now, and nothing is remembered about how it came to be.

- An owner, and a pod of an owner: the topmost owner reached by controller references, where that is not known by
  any other owner reference. An owner of another namespace owns nothing: Kubernetes does not allow it.
  That ends below an owner that makes gangs (a CronJob), which belongs to none.
- A pod that no reference leads to a known owner: the one that its label names, where its kind has
  such a label; else the gang of the core PodGroup that it names, on 1.35 of the Workload; else it is a gang.
- What only stands between an owner and its pods is never a gang: alone it is as if it were unknown.
- A pod of a ReplicaSet, a StatefulSet or the like is an occupant: it is in a gang only by a label that gives it to
  an owner of another kind, by the group that it names, where that keeps pods together, or by the queue that it names.
  That gang is the StatefulSet or Deployment, where it is known, and such an owner is none without.
- A PodGroup or CompositePodGroup: its owner's gang (its own owner, else that of a group that owns it
  or of its Workload, else the same of its parent); else the gangs of the owners whose templates name
  it; else, when every pod that names it has a known owner, the gangs of those; else its topmost
  parent, or the group that owns it, is a gang.
- A Workload: its owner's gang, by reference or `spec.controllerRef`; else the gangs of the groups
  that name it; else, where templates and pods name it (1.35), as for a PodGroup; else it is a gang.
- An entry that admits pods together which name it: as for a PodGroup, where their scheduler reads no other group.
- A Hold, and any other entry in a queue: the gang of the owner or pod whose uid it names; else none. It
  never is a gang of its own.
- Pods of DaemonSets and of nodes, and placeholders of a scheduler, belong to no gang.

A group is shown in every gang whose pods or templates name it, wherever it belongs.
"""

from __future__ import annotations

from collections.abc import Iterable

from gangboard.diagnosis.gang_resolver import GangResolver
from gangboard.diagnosis.object_links import (
    AttachmentLink,
    GroupLink,
    Link,
    ObjectLinks,
    OwnerLink,
    Place,
    PodLink,
    link_of,
    object_place,
)
from gangboard.domain.event import Event
from gangboard.domain.node import Node
from gangboard.facts.gang import Linked
from gangboard.facts.workload_entries import CORE


class OwnershipGraph:
    """The gangs of one cluster. A gang is named by the uid of its root object."""

    def __init__(self) -> None:
        self._links = ObjectLinks()
        self._resolver = GangResolver(self._links)

    def put(self, model: Linked | Node | Event) -> set[str]:
        """Take in the state of an object; return the roots of the gangs that it touches.

        Touched are the gangs that it or anything that follows it belonged to before or belongs to
        now, and those that share a group with it.
        """
        if isinstance(model, Node):
            return self.roots_on_node(model.meta.ref.name)
        if isinstance(model, Event):
            return self.touch_event(model)
        uid, link = model.meta.ref.uid, link_of(model)
        before = self._links.get(uid)
        if before is not None and _is_same(before, link):
            return self._move(uid, before, link)
        return self._replace(uid, before, link)

    def load(self, model: Linked) -> None:
        """Take in the state of an object where nobody asks which gangs it touches."""
        uid = model.meta.ref.uid
        self._links.drop(uid)
        self._links.put(uid, link_of(model))

    def remove(self, uid: str) -> set[str]:
        """Forget an object; return the roots of the gangs that it touched, those gone included."""
        return self._replace(uid, self._links.get(uid), None)

    def root_of(self, uid: str) -> str | None:
        """Return the root of the gang that an object belongs to; None for none or unknown ones.

        A group or Workload that belongs to several gangs answers with the first by name.
        """
        return self._resolver.root_of(uid)

    def gangs_of(self, uid: str) -> set[str]:
        """Return the roots of all gangs that show an object: several for a shared group."""
        return self._resolver.gangs_of(uid)

    def gangs_of_any(self, uids: Iterable[str]) -> set[str]:
        """Return the roots of all gangs that show any of these objects."""
        return {root for uid in uids for root in self.gangs_of(uid)}

    def roots(self) -> set[str]:
        """Return the roots of all gangs."""
        return self._resolver.roots()

    def members(self, root: str) -> tuple[str, ...]:
        """Return the uids of everything that belongs to a gang or is shown in it, in order.

        The root is among them. Nothing when there is no gang of that root.
        """
        return self._resolver.members(root)

    def namespace_of(self, uid: str) -> str | None:
        """Return the namespace of an owner, a pod or a group; None for an object that is not known."""
        pod = self._links.pods.get(uid)
        if pod is not None:
            return pod.namespace
        link = self._links.owners.get(uid) or self._links.groups.get(uid)
        return link.name[2] if link is not None else None

    def controller_of(self, uid: str) -> str:
        """Return the uid of the controller of an owner or a pod, known or not; empty without one."""
        link = self._links.owners.get(uid) or self._links.pods.get(uid)
        return link.controller if link is not None else ""

    def is_owned_elsewhere(self, uid: str) -> bool:
        """Whether a reference of an object names a known owner of another namespace, which owns nothing here."""
        links = self._links
        link = links.owners.get(uid) or links.pods.get(uid)
        if link is None:
            return False
        namespace = link.name[2] if isinstance(link, OwnerLink) else link.namespace
        above = (link.controller, *link.others)
        return any(one in links.owners and not links.owns(one, namespace) for one in above)

    def foreign_pods(self, root: str, members: Iterable[str] | None = None) -> tuple[str, ...]:
        """Return the uids of pods outside a gang that name one of its groups, in order.

        `members` are those of the gang, if the caller has them.
        """
        return self._resolver.foreign_pods(root, self.members(root) if members is None else members)

    def placeholders(self, root: str, members: Iterable[str] | None = None) -> tuple[str, ...]:
        """Return the uids of some pods in no gang, without a node, that name a group that pods of this gang name.

        `members` are those of the gang, if the caller has them.
        """
        return self._resolver.placeholders(self.members(root) if members is None else members)

    def nodes_of(self, uids: Iterable[str]) -> set[str]:
        """Return the names of the nodes of these pods. Objects that are no pods are ignored."""
        pods = self._links.pods
        return {pods[uid].node for uid in uids if uid in pods and pods[uid].node}

    def roots_on_node(self, name: str) -> set[str]:
        """Return the roots of the gangs with a pod on a node."""
        roots = {self.root_of(pod) for pod in self._links.pods_on[name]}
        return {root for root in roots if root is not None}

    def touch_event(self, event: Event) -> set[str]:
        """Return the roots of the gangs that an event is about.

        A kubelet's events about its node carry the node's name as uid, so nodes go by name.
        """
        if event.regarding.kind == "Node" and not event.regarding.group:
            return self.roots_on_node(event.regarding.name)
        return self.gangs_told_of(event.regarding.uid)

    def gangs_told_of(self, uid: str) -> set[str]:
        """Return the roots of all gangs that events about an object tell of.

        A controller that is not known (a ReplicaSet) belongs to no gang: what is said of it tells
        of the gangs whose groups, or whose owners, its pods name. Others are whole by themselves.
        """
        pods = self._links.pods
        if uid in pods and pods[uid].is_placeholder:
            return self._resolver.naming(pods[uid].place)
        under = self._links.pods_under[uid]
        made = {
            (pods[pod].place, pods[pod].adopter): pod
            for pod in under
            if pods[pod].group or pods[pod].adopter
        }
        return self.gangs_of(uid) or self.gangs_of_any(made.values())

    def makers(self, uids: Iterable[str]) -> tuple[str, ...]:
        """Return those controllers of these objects, where they name a group or an owner, that are in no gang."""
        links = self._links
        pods = (links.pods[uid] for uid in uids if uid in links.pods)
        made_by = {pod.controller for pod in pods if (pod.group or pod.adopter) and pod.controller}
        return tuple(sorted(uid for uid in made_by if self.root_of(uid) is None))

    def owners_to_read(self) -> frozenset[str]:
        """Return those of `registry.read_on_demand` that a gang needs as things are now."""
        return self._links.owners_to_read()

    # What one change touches

    def _replace(self, uid: str, before: Link | None, after: Link | None) -> set[str]:
        states = [link for link in (before, after) if link is not None]
        touched: set[str] = set()
        for link in states:
            touched |= self._around(uid, link)
        if before is not None:
            self._links.drop(uid)
        if after is not None:
            self._links.put(uid, after)
        for link in states:
            touched |= self._around(uid, link)
        return touched

    def _move(self, uid: str, before: Link, after: Link) -> set[str]:
        """Take in a state that changes no gang: at most the pod has another node."""
        if before != after:
            self._links.drop(uid)
            self._links.put(uid, after)
        touched = self._resolver.gangs_of(uid)
        if isinstance(after, PodLink):
            if after.is_placeholder:
                return self._resolver.naming(after.place)
            # A Workload of 1.35 can have many replicas; another one's members are no concern.
            is_entry = object_place(after.place) != after.place
            touched |= (self._resolver.sharing if is_entry else self._gangs_at)(after.place)
        return touched

    def _around(self, uid: str, link: Link) -> set[str]:
        """Return the gangs now of an object and of all that its coming or going can move."""
        if isinstance(link, PodLink):
            if link.is_placeholder:
                return self._resolver.naming(link.place)
            found = self._resolver.gangs_of(uid) if uid in self._links.pods else set[str]()
            return found | self._gangs_at(link.place) if link.group else found
        if isinstance(link, OwnerLink):
            return self._around_owner(uid, link)
        if isinstance(link, AttachmentLink):
            return self._resolver.gangs_of(uid)
        return self._around_group(uid, link)

    def _around_owner(self, uid: str, link: OwnerLink) -> set[str]:
        links, resolver = self._links, self._resolver
        found: set[str] = set()
        places: set[Place] = set(link.templates)
        groups: set[str] = set(links.workloads_for[link.name])
        pods: set[str] = set(links.pods_adopted[link.name])
        for owner in resolver.possible_family(uid):
            found |= resolver.gangs_of(owner)
            groups |= links.groups_under[owner]
            pods |= links.pods_under[owner]
            if owner in links.owners:
                places.update(links.owners[owner].templates)
                groups |= links.workloads_for[links.owners[owner].name]
                pods |= links.pods_adopted[links.owners[owner].name]
        for pod in pods:
            found |= resolver.gangs_of(pod)
            places.add(links.pods[pod].place)
        for place in places:
            found |= self._gangs_at(place)
        return found.union(*(resolver.gangs_of(group) for group in groups))

    def _around_group(self, uid: str, link: GroupLink) -> set[str]:
        links, resolver = self._links, self._resolver
        same = links.namesakes[link.name]
        near = {uid, *same, *links.children_of[link.name], *links.groups_of[link.name]}
        for one in (link, *(links.groups[other] for other in same)):
            parent = resolver.parent_of(one)
            for above in (parent, *resolver.owning_groups(one)):
                if above is not None:
                    near.update(resolver.chain(above))
            workload = resolver.workload_of(one)
            if workload is not None:
                near.add(workload)
        for one_below in links.groups_under[uid]:
            for group in resolver.below(one_below):
                near.update((group, *links.groups_of[links.groups[group].name]))
        found: set[str] = set()
        found = found.union(*(resolver.gangs_of(one) for one in near))
        # Also where pods cannot name it: it can hide a namesake of 1.35, which they do name.
        place = link.name[1:] if link.name[0] == CORE else link.place
        if place is None:
            return found
        # Without pods that name it, too: such an owner is a gang only while a group keeps its pods together.
        for owner in links.templates_naming[place]:
            if links.owners[owner].needs_group:
                found |= self._around_owner(owner, links.owners[owner])
        return found.union(*(resolver.gangs_of(pod) for pod in links.pods_naming[place]))

    def _gangs_at(self, place: Place) -> set[str]:
        """Return the gangs that show a group or one above it; nothing when it is not there."""
        group = self._links.object_at(place) if place[2] else None
        if group is None:
            return set()
        return self._resolver.gangs_of(group).union(
            *(self._resolver.gangs_of(one) for one in self._resolver.chain(group)[1:])
        )


def _is_same(before: Link, after: Link) -> bool:
    """Whether two states of an object connect it alike; on which node a pod is does not count."""
    if isinstance(before, PodLink) and isinstance(after, PodLink):
        return before._replace(node=after.node) == after
    return before == after
