"""Resolves gangs from the links of objects: the root of each object, and the gangs that show it.

Results depend only on the current links, not on the order of changes. `ownership_graph` states the rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from gangboard.diagnosis.group_tree import GroupTree, climb
from gangboard.diagnosis.link_index import LinkIndex
from gangboard.diagnosis.object_links import GroupKey, GroupLink, PodLink
from gangboard.facts.groups import WORKLOAD

_PLACEHOLDERS = 20
"""Limit of placeholders per gang whose reason to wait is read."""


class GangResolver:
    """The gangs of one cluster, by the links of its objects."""

    def __init__(self, links: LinkIndex, tree: GroupTree) -> None:
        self._links = links
        self._tree = tree
        self._tops: dict[str, str] = {}
        """Cache of `top` by owner, invalidated by any change of an owner."""
        self._tops_version = 0

    def root_of(self, uid: str) -> str | None:
        """Return the root of the gang that an object belongs to, or None if it is unknown or in no gang.

        A group or Workload in several gangs has the root that is first by name.
        """
        links = self._links
        pod = links.pods.get(uid)
        if pod is not None:
            return self._pod_root(uid, pod)
        if uid in links.owners:
            return None if links.owners[uid].makes_gangs else self._gang_above(uid)
        if uid in links.attachments:
            return self.root_of(links.attachments[uid].owner) if self._is_attached(uid) else None
        return self._first_group_root(uid) if uid in links.groups else None

    def gangs_of(self, uid: str) -> set[str]:
        """Return the roots of all gangs that show an object."""
        if uid not in self._links.groups:
            root = self.root_of(uid)
            return {root} if root else set()
        gangs: set[str] = set()
        for group in (uid, *self._tree.groups_naming(uid)):
            gangs.update(self._group_roots(group))
            for key in self._tree.keys_below(group):
                gangs |= self._gangs_of_owned_pods(key)[0] | self._gangs_of_templates(key)
        return gangs

    def roots(self) -> set[str]:
        """Return the roots of all gangs."""
        links = self._links
        by_owner = {uid: self.root_of(uid) for uid in links.owners}
        roots = {root for root in by_owner.values() if root is not None}
        roots.update(group_root for uid in links.groups for group_root in self._group_roots(uid))
        for uid, pod in links.pods.items():
            has_gang_above = by_owner.get(pod.controller) is not None
            if not has_gang_above or not links.owns(pod.controller, pod.namespace):
                root = self._pod_root(uid, pod)
                if root is not None:
                    roots.add(root)
        return roots

    def members(self, root: str) -> tuple[str, ...]:
        """Return the sorted uids of the objects that a gang contains or shows, with its root.

        Empty if `root` is not the root of a gang.
        """
        if self.root_of(root) != root:
            return ()
        owners = self.owner_subtree(root) if root in self._links.owners else []
        pods = {pod for owner in owners for pod in self._pods_under(owner)}
        if root in self._links.pods:
            pods.add(root)
        groups = self._groups_shown(root, owners, pods)
        for group in groups:
            pods |= self._bare_pods(group, root)
        return tuple(sorted({*owners, *pods, *groups, *self._attachments(owners, pods)}))

    def foreign_pods(self, root: str, members: Iterable[str]) -> tuple[str, ...]:
        """Return the sorted uids of pods of other gangs that name a group of this gang."""
        links, members = self._links, tuple(members)
        # An entry of a Workload (1.35) counts only if the gang names it or the Workload is the gang's root.
        keys = {
            key
            for uid in members
            if (key := self._tree.key_of(uid)) and (key[0] != WORKLOAD or uid == root)
        }
        keys |= {key for key in self._groups_named_by(members) if links.object_of(key) is not None}
        pods = {pod for key in keys for pod in links.pods_by_group[key]}
        return tuple(sorted(pod for pod in pods if self.root_of(pod) != root))

    def placeholders(self, members: Iterable[str]) -> tuple[str, ...]:
        """Return sorted uids of some placeholders without a node, of the groups that pods of a gang name."""
        links = self._links
        pods = (
            pod
            for key in set(self._groups_named_by(members))
            for pod in links.pods_by_group[key]
            if links.pods[pod].is_placeholder and not links.pods[pod].node
        )
        return tuple(islice(sorted(pods), _PLACEHOLDERS))

    def gangs_naming(self, key: GroupKey) -> set[str]:
        """Return the roots of the gangs whose pods name a group, known or not."""
        roots, has_bare = self._gangs_of_owned_pods(key)
        bare = self._links.pods_by_group[key] if has_bare else ()
        return roots.union(*(self.gangs_of(pod) for pod in bare))

    def gangs_sharing(self, key: GroupKey) -> set[str]:
        """Return the roots of the gangs with pods or templates in a group."""
        roots, has_bare = self._gangs_of_owned_pods(key)
        gangs = roots | self._gangs_of_templates(key)
        group = self._links.object_of(key) if has_bare else None
        group_root = self._first_group_root(group) if group is not None else None
        return gangs if group_root is None else {*gangs, group_root}

    def _groups_named_by(self, uids: Iterable[str]) -> Iterator[GroupKey]:
        """Yield the groups that these pods and the templates of these owners name."""
        links = self._links
        for uid in uids:
            if uid in links.pods and links.pods[uid].group:
                yield links.pods[uid].key
            elif uid in links.owners:
                yield from links.owners[uid].templates

    def _attachments(self, owners: Iterable[str], pods: Iterable[str]) -> Iterator[str]:
        """Yield the Holds and queue entries that refer to one of these owners or pods."""
        links = self._links
        if links.attachments:
            for uid in (*owners, *pods):
                yield from filter(self._is_attached, links.attached_to[uid])

    def _is_attached(self, uid: str) -> bool:
        """Return whether the object that a Hold or entry refers to is known in its namespace."""
        links, link = self._links, self._links.attachments[uid]
        pod = links.pods.get(link.owner)
        return links.owns(link.owner, link.namespace) or (
            pod is not None and pod.namespace == link.namespace
        )

    # Owners and their pods

    def top(self, uid: str) -> str:
        """Return the topmost known owner above an owner. Owners that make gangs do not count."""
        if self._tops_version != self._links.owners_version:
            self._tops_version, self._tops = self._links.owners_version, {}
        top = self._tops.get(uid)
        if top is None:
            top = self._tops[uid] = climb(uid, self._owner_above)[-1]
        return top

    def _owner_above(self, uid: str) -> str | None:
        owner = self._links.owner_above(uid)
        return None if owner is None or self._links.owners[owner].makes_gangs else owner

    def _gang_above(self, uid: str) -> str | None:
        """Return the gang that an owner belongs to.

        Returns None if gangboard knows only middle objects of it, or if its pods are occupants without a group.
        """
        top = self.top(uid)
        link = self._links.owners[top]
        if link.needs_group and not self._links.has_group(top):
            return None
        return top if link.stands_alone else None

    def _gangs_above(self, uids: Iterable[str]) -> set[str]:
        return {gang for uid in uids if (gang := self._gang_above(uid)) is not None}

    def owner_subtree(self, uid: str) -> list[str]:
        """Return an owner and every owner below it."""
        links = self._links
        return self._all_below(uid, lambda above, child: links.owner_above(child) == above)

    def possible_owner_subtree(self, uid: str) -> list[str]:
        """Return an owner, known or not, and every owner with any reference to it or to an owner below it."""
        return self._all_below(uid, lambda _above, _child: True)

    def _all_below(self, uid: str, is_under: Callable[[str, str], bool]) -> list[str]:
        owners = {uid: None}
        for owner in (waiting := [uid]):
            new = [
                child
                for child in self._links.owners_under[owner]
                if child not in owners and is_under(owner, child)
            ]
            owners.update(dict.fromkeys(new))
            waiting.extend(new)
        return list(owners)

    def _pods_under(self, owner: str) -> Iterator[str]:
        pods = self._links.pods
        return (pod for pod in self._links.pods_of(owner) if not pods[pod].in_no_gang)

    def _pod_root(self, uid: str, pod: PodLink) -> str | None:
        if pod.in_no_gang:
            return None
        root = self._root_without_group(uid, pod)
        if root != uid:
            return root
        if pod.occupant_of is not None and not self._links.makes_gang(pod):
            return None
        group = self._links.object_of(pod.key) if pod.group else None
        return self._first_group_root(group) if group is not None else root

    def _root_without_group(self, uid: str, pod: PodLink) -> str:
        """Return the gang of a pod by its owners alone. A pod without a known owner is a gang itself."""
        owner = self._links.owner_by(pod, pod.namespace)
        gang = self._gang_above(owner) if owner is not None else None
        return uid if gang is None else gang

    # Groups

    def _first_group_root(self, uid: str) -> str | None:
        """Return the root of a group or Workload that is first by name, or None."""
        return next(iter(self._group_roots(uid)), None)

    def _group_roots(self, uid: str) -> tuple[str, ...]:
        """Return the roots that a group or Workload belongs to, by name.

        Empty if only occupants name it and it does not keep them together.
        """
        link = self._links.groups[uid]
        if link.kind == WORKLOAD:
            owner = self._owner_of(link)
            if owner is not None:
                return (owner,)
            groups = tuple(self._tree.groups_naming(uid))
            roots = {home for group in groups for home in self._group_roots(group)}
            roots |= self._group_roots_by_pods(uid)  # 1.35
            if roots or groups:
                return self._sorted_by_name(roots)
            above = self._tree.chain(uid)[-1]
            return self._group_roots(above) if above != uid else (uid,)
        chain = self._tree.chain(uid)
        for group in chain:
            owner = self._owner_of(self._links.groups[group])
            if owner is not None:
                return (owner,)
        top = chain[-1]
        roots = self._group_roots_by_pods(top)
        return self._sorted_by_name(roots) if roots or self._has_only_occupants(top) else (top,)

    def _has_only_occupants(self, top: str) -> bool:
        """Return whether only occupants name a tree of groups, and no group of it keeps them together."""
        links, keys = self._links, tuple(self._tree.keys_below(top))
        refs = [ref for key in keys for ref in links.owner_refs_naming(key)]
        return (
            bool(refs)
            and all(ref.is_occupant for ref in refs)
            and not any(map(links.keeps_together, keys))
        )

    def _group_roots_by_pods(self, top: str) -> set[str]:
        """Return the gangs of a tree of groups without an owner. Empty if the tree is a gang itself."""
        owned: set[str] = set()
        templated: set[str] = set()
        has_bare = False
        for key in self._tree.keys_below(top):
            roots, has_bare_pods = self._gangs_of_owned_pods(key)
            owned |= roots
            has_bare = has_bare or has_bare_pods
            templated |= self._gangs_of_templates(key)
        return owned | templated if templated or not has_bare else set()

    def _owner_of(self, link: GroupLink) -> str | None:
        """Return the root above a group or Workload by references, or None.

        References of its Workload and of a group that owns it also count.
        """
        links = self._links
        waiting, visited = [link], {link}
        for group in waiting:
            named = links.named(group.controller_ref) if group.controller_ref else None
            for uid in (*group.owners, *((named,) if named is not None else ())):
                if links.owns(uid, group.name[2]) and not links.owners[uid].makes_gangs:
                    gang = self._gang_above(uid)
                    if gang is not None:
                        return gang
                pod = links.pods.get(uid)
                if pod is not None and group.is_owned_by_members:
                    # The scheduler of its pods can read another group of theirs.
                    if pod.key != group.key and (home := self._pod_root(uid, pod)) is not None:
                        return home
                elif pod is not None and pod.namespace == group.name[2] and not pod.in_no_gang:
                    root = self._root_without_group(uid, pod)
                    if root != uid or pod.occupant_of is None:
                        return root
            above = (*self._tree.owning_groups(group), self._tree.workload_of(group))
            new = dict.fromkeys(links.groups[uid] for uid in above if uid is not None)
            waiting += [parent for parent in new if parent not in visited]
            visited.update(new)
        return None

    def _gangs_of_owned_pods(self, key: GroupKey) -> tuple[set[str], bool]:
        """Return the gangs of the owned pods that name a group, and whether bare pods also name it."""
        links, gangs, has_bare = self._links, set[str](), False
        for ref in links.owner_refs_naming(key):
            owner = links.owner_by(ref, key[1])
            gang = self._gang_above(owner) if owner is not None else None
            if gang is not None:
                gangs.add(gang)
            elif not has_bare:
                has_bare = not ref.is_occupant or links.keeps_together(key)
        return gangs, has_bare

    def _gangs_of_templates(self, key: GroupKey) -> set[str]:
        return self._gangs_above(self._links.owners_by_template_group[key])

    def _bare_pods(self, group: str, root: str) -> set[str]:
        """Return the pods that belong to a gang only because they name this group."""
        key = self._tree.key_of(group)
        if (
            key is None
            or self._first_group_root(group) != root
            or not self._gangs_of_owned_pods(key)[1]
        ):
            return set()
        return {pod for pod in self._links.pods_by_group[key] if self.root_of(pod) == root}

    def _groups_shown(self, root: str, owners: Iterable[str], pods: Iterable[str]) -> set[str]:
        """Return the groups and Workloads of a gang, by a search from each to its neighbours."""
        groups: set[str] = set()
        waiting = list(self._referenced_groups(owners, pods))
        if root in self._links.groups:
            waiting.append(root)
        visited = set(waiting)
        for uid in waiting:
            if root not in self.gangs_of(uid):
                continue
            groups.add(uid)
            new = self._tree.neighbours(uid) - visited
            visited |= new
            waiting.extend(new)
        return groups

    def _referenced_groups(self, owners: Iterable[str], pods: Iterable[str]) -> set[str]:
        """Return the groups that these owners own, and those that their templates or pods name."""
        links = self._links
        uids: set[str] = set()
        keys = {links.pods[pod].key for pod in pods}
        for owner in owners:
            link = links.owners[owner]
            uids |= links.groups_under[owner] | links.workloads_for[link.name]
            keys.update(link.templates)
        groups = (links.object_of(key) for key in keys)
        return uids.union(group for group in groups if group is not None)

    def _sorted_by_name(self, roots: set[str]) -> tuple[str, ...]:
        """Return the roots by name, so that the first does not depend on the order of changes."""
        return tuple(sorted(roots, key=lambda uid: (self._name_of(uid), uid)))

    def _name_of(self, uid: str) -> str:
        link = self._links.owners.get(uid) or self._links.groups.get(uid)
        return link.name[3] if link is not None else ""
