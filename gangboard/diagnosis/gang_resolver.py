"""Resolves the gangs of objects from their links: the root of each, and the gangs that show it.

Every answer is computed from the links as they are, so it is the same however they came. The rules
are those of `ownership_graph`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from gangboard.diagnosis.object_links import GroupLink, ObjectLinks, Place, PodLink
from gangboard.facts.workload_entries import COMPOSITE, WORKLOAD

_PLACEHOLDERS = 20
"""Placeholders without a node that are read per gang, to find out why they wait."""


class GangResolver:
    """The gangs of one cluster, by the links of its objects."""

    def __init__(self, links: ObjectLinks) -> None:
        self._links = links
        self._tops: dict[str, str] = {}
        """Owner → what `top` says of it, as long as no owner comes, goes or moves."""
        self._tops_version = 0

    def root_of(self, uid: str) -> str | None:
        """Return the root of the gang that an object belongs to; None for none or unknown ones.

        A group or Workload that belongs to several gangs answers with the first by name.
        """
        links = self._links
        pod = links.pods.get(uid)
        if pod is not None:
            return self._pod_root(uid, pod)
        if uid in links.owners:
            return None if links.owners[uid].makes_gangs else self._gang_above(uid)
        if uid in links.attachments:
            return self.root_of(links.attachments[uid].owner) if self._is_attached(uid) else None
        return self._home(uid) if uid in links.groups else None

    def gangs_of(self, uid: str) -> set[str]:
        """Return the roots of all gangs that show an object."""
        if uid not in self._links.groups:
            root = self.root_of(uid)
            return {root} if root else set()
        found: set[str] = set()
        for group in (uid, *self._groups_naming(uid)):
            found.update(self._homes(group))
            for place in self._places_below(group):
                found |= self._owned_by(place)[0] | self._templated_by(place)
        return found

    def roots(self) -> set[str]:
        """Return the roots of all gangs."""
        links = self._links
        by_owner = {uid: self.root_of(uid) for uid in links.owners}
        found = {root for root in by_owner.values() if root is not None}
        found.update(home for uid in links.groups for home in self._homes(uid))
        for uid, pod in links.pods.items():
            is_led = by_owner.get(pod.controller) is not None
            if not is_led or not links.owns(pod.controller, pod.namespace):
                root = self._pod_root(uid, pod)
                if root is not None:
                    found.add(root)
        return found

    def members(self, root: str) -> tuple[str, ...]:
        """Return the uids of everything that belongs to a gang or is shown in it, in order.

        The root is among them. Nothing when there is no gang of that root.
        """
        if self.root_of(root) != root:
            return ()
        owners = self.family(root) if root in self._links.owners else []
        pods = {pod for owner in owners for pod in self._pods_under(owner)}
        if root in self._links.pods:
            pods.add(root)
        groups = self._groups_shown(root, owners, pods)
        for group in groups:
            pods |= self._bare_pods(group, root)
        return tuple(sorted({*owners, *pods, *groups, *self._attached(owners, pods)}))

    def foreign_pods(self, root: str, members: Iterable[str]) -> tuple[str, ...]:
        """Return the uids of pods outside a gang that name one of its groups, in order."""
        links, members = self._links, tuple(members)
        # Of a Workload of 1.35 only the entries count that the gang is in, unless it is all of it.
        places = {
            place
            for uid in members
            if (place := self._place(uid)) and (place[0] != WORKLOAD or uid == root)
        }
        places |= {place for place in self._named_by(members) if links.object_at(place) is not None}
        found = {pod for place in places for pod in links.pods_naming[place]}
        return tuple(sorted(pod for pod in found if self.root_of(pod) != root))

    def placeholders(self, members: Iterable[str]) -> tuple[str, ...]:
        """Return the uids of some placeholders without a node of the groups that pods of a gang name, in order."""
        links = self._links
        found = (
            pod
            for place in set(self._named_by(members))
            for pod in links.pods_naming[place]
            if links.pods[pod].is_placeholder and not links.pods[pod].node
        )
        return tuple(islice(sorted(found), _PLACEHOLDERS))

    def naming(self, place: Place) -> set[str]:
        """Return the roots of the gangs whose pods name a group, there or not."""
        roots, has_bare = self._owned_by(place)
        bare = self._links.pods_naming[place] if has_bare else ()
        return roots.union(*(self.gangs_of(pod) for pod in bare))

    def sharing(self, place: Place) -> set[str]:
        """Return the roots of the gangs that have pods or templates in a group."""
        roots, has_bare = self._owned_by(place)
        found = roots | self._templated_by(place)
        group = self._links.object_at(place) if has_bare else None
        home = self._home(group) if group is not None else None
        return found if home is None else {*found, home}

    def _named_by(self, uids: Iterable[str]) -> Iterator[Place]:
        """Yield the groups that these pods, and the templates of these owners, name."""
        links = self._links
        for uid in uids:
            if uid in links.pods and links.pods[uid].group:
                yield links.pods[uid].place
            elif uid in links.owners:
                yield from links.owners[uid].templates

    def _attached(self, owners: Iterable[str], pods: Iterable[str]) -> Iterator[str]:
        """Yield the Holds and queue entries that say that they are about one of these."""
        links = self._links
        if links.attachments:
            for uid in (*owners, *pods):
                yield from filter(self._is_attached, links.attached_to[uid])

    def _is_attached(self, uid: str) -> bool:
        """Whether what an object says that it is about is known in its namespace."""
        links, link = self._links, self._links.attachments[uid]
        pod = links.pods.get(link.owner)
        return links.owns(link.owner, link.namespace) or (
            pod is not None and pod.namespace == link.namespace
        )

    # Owners and their pods

    def top(self, uid: str) -> str:
        """Return the topmost known owner above an owner, below what makes gangs of their own."""
        if self._tops_version != self._links.owners_version:
            self._tops_version, self._tops = self._links.owners_version, {}
        found = self._tops.get(uid)
        if found is None:
            found = self._tops[uid] = _climb(uid, self._owner_above)[-1]
        return found

    def _owner_above(self, uid: str) -> str | None:
        found = self._links.owner_above(uid)
        return None if found is None or self._links.owners[found].makes_gangs else found

    def _gang_above(self, uid: str) -> str | None:
        """Return the gang that an owner belongs to; None for none.

        That is where only middle objects are known of it, or what only takes room.
        """
        top = self.top(uid)
        link = self._links.owners[top]
        if link.needs_group and not self._links.has_group(top):
            return None
        return top if link.stands_alone else None

    def _gangs_above(self, uids: Iterable[str]) -> set[str]:
        return {gang for uid in uids if (gang := self._gang_above(uid)) is not None}

    def family(self, uid: str) -> list[str]:
        """Return an owner and every owner below it."""
        links = self._links
        return self._all_below(uid, lambda above, one: links.owner_above(one) == above)

    def possible_family(self, uid: str) -> list[str]:
        """Return an owner, there or not, and every owner that any reference leads to it or below it."""
        return self._all_below(uid, lambda _above, _one: True)

    def _all_below(self, uid: str, is_under: Callable[[str, str], bool]) -> list[str]:
        found = {uid: None}
        for owner in (waiting := [uid]):
            new = [
                one
                for one in self._links.owners_under[owner]
                if one not in found and is_under(owner, one)
            ]
            found.update(dict.fromkeys(new))
            waiting.extend(new)
        return list(found)

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
        group = self._links.object_at(pod.place) if pod.group else None
        return self._home(group) if group is not None else root

    def _root_without_group(self, uid: str, pod: PodLink) -> str:
        """Return the gang of a pod by its owners alone: without any it is one itself."""
        owner = self._links.owner_by(pod, pod.namespace)
        gang = self._gang_above(owner) if owner is not None else None
        return uid if gang is None else gang

    # Groups

    def _home(self, uid: str) -> str | None:
        """Return the first by name of the roots that a group or Workload belongs to; None for none."""
        return next(iter(self._homes(uid)), None)

    def _homes(self, uid: str) -> tuple[str, ...]:
        """Return the roots that a group or Workload belongs to, the first by name first.

        None where only occupants name it, and it does not keep them together.
        """
        link = self._links.groups[uid]
        if link.kind == WORKLOAD:
            owner = self._owner_of(link)
            if owner is not None:
                return (owner,)
            groups = tuple(self._groups_naming(uid))
            found = {home for group in groups for home in self._homes(group)}
            found |= self._homes_by_pods(uid)  # 1.35
            if found or groups:
                return self._in_order(found)
            above = self.chain(uid)[-1]
            return self._homes(above) if above != uid else (uid,)
        chain = self.chain(uid)
        for one in chain:
            owner = self._owner_of(self._links.groups[one])
            if owner is not None:
                return (owner,)
        top = chain[-1]
        found = self._homes_by_pods(top)
        return self._in_order(found) if found or self._has_only_occupants(top) else (top,)

    def _has_only_occupants(self, top: str) -> bool:
        """Whether pods name a tree of groups, which are in no gang by that."""
        links, places = self._links, tuple(self._places_below(top))
        makers = [maker for place in places for maker in links.makers_naming(place)]
        return (
            bool(makers)
            and all(maker.is_occupant for maker in makers)
            and not any(map(links.keeps_together, places))
        )

    def _homes_by_pods(self, top: str) -> set[str]:
        """Return the gangs of a tree of groups that nobody owns; empty when it is its own."""
        owned: set[str] = set()
        templated: set[str] = set()
        has_bare = False
        for place in self._places_below(top):
            roots, bare = self._owned_by(place)
            owned |= roots
            has_bare = has_bare or bare
            templated |= self._templated_by(place)
        return owned | templated if templated or not has_bare else set()

    def _owner_of(self, link: GroupLink) -> str | None:
        """Return the root above a group or Workload by references.

        Those of its Workload count, too, and those of a group that owns it.
        """
        links = self._links
        waiting, seen = [link], {link}
        for one in waiting:
            named = links.named(one.controller_ref) if one.controller_ref else None
            for uid in (*one.owners, *((named,) if named is not None else ())):
                if links.owns(uid, one.name[2]) and not links.owners[uid].makes_gangs:
                    gang = self._gang_above(uid)
                    if gang is not None:
                        return gang
                pod = links.pods.get(uid)
                if pod is not None and one.is_owned_by_members:
                    # It is named by its pods, unless their scheduler reads another group of theirs.
                    if pod.place != one.place and (found := self._pod_root(uid, pod)) is not None:
                        return found
                elif pod is not None and pod.namespace == one.name[2] and not pod.in_no_gang:
                    root = self._root_without_group(uid, pod)
                    if root != uid or pod.occupant_of is None:
                        return root
            above = (*self.owning_groups(one), self.workload_of(one))
            new = dict.fromkeys(links.groups[uid] for uid in above if uid is not None)
            waiting += [group for group in new if group not in seen]
            seen.update(new)
        return None

    def owning_groups(self, link: GroupLink) -> Iterator[str]:
        """Yield the groups that its references name as its owners; a Workload is only its plan."""
        groups = self._links.groups
        return (
            uid
            for uid in link.owners
            if uid in groups
            and groups[uid].kind != WORKLOAD
            and _share_namespace(groups[uid], link)
        )

    def chain(self, uid: str) -> list[str]:
        """Return a group and the groups above it, up to the topmost known.

        Above it is the CompositePodGroup that it names as its parent, else a group that owns it.
        """
        links = self._links

        def above(one: str) -> str | None:
            link = links.groups[one]
            parent = self.parent_of(link)
            return parent if parent is not None else next(self.owning_groups(link), None)

        return _climb(uid, above)

    def below(self, uid: str) -> list[str]:
        """Return a group and all groups below it, its Workloads included."""
        links = self._links
        found = {uid: None}
        for one in (waiting := [uid]):
            name = links.groups[one].name
            if name[1] == WORKLOAD:
                continue
            is_parent = name[1] == COMPOSITE and links.named(name) == one
            under = set(links.children_of[name]) if is_parent else set()
            for owned in links.groups_under[one]:
                if _share_namespace(links.groups[owned], links.groups[one]):
                    under.add(owned)
            new = [child for child in under if child not in found]
            found.update(dict.fromkeys(new))
            waiting.extend(new)
        return list(found)

    def _places_below(self, uid: str) -> Iterator[Place]:
        """Yield what pods can name of a group and those below it."""
        for one in self.below(uid):
            place = self._place(one)
            if place is not None:
                yield place

    def _place(self, uid: str) -> Place | None:
        """Return under what pods name this object; None when it is none, or not it any more."""
        link = self._links.groups.get(uid)
        if link is None or link.place is None or self._links.named(link.name) != uid:
            return None
        return link.place

    def _owned_by(self, place: Place) -> tuple[set[str], bool]:
        """Return the gangs of the owned pods that name a group, and whether bare ones do too."""
        links, found, has_bare = self._links, set[str](), False
        for maker in links.makers_naming(place):
            owner = links.owner_by(maker, place[1])
            gang = self._gang_above(owner) if owner is not None else None
            if gang is not None:
                found.add(gang)
            elif not has_bare:
                has_bare = not maker.is_occupant or links.keeps_together(place)
        return found, has_bare

    def _templated_by(self, place: Place) -> set[str]:
        return self._gangs_above(self._links.templates_naming[place])

    def _groups_naming(self, uid: str) -> Iterable[str]:
        """Return the groups that name a Workload; none for other objects."""
        link = self._links.groups[uid]
        if link.kind != WORKLOAD or link.is_named or self._links.named(link.name) != uid:
            return ()
        return self._links.groups_of[link.name]

    def _bare_pods(self, group: str, root: str) -> set[str]:
        """Return the pods that belong to a gang only because they name this group."""
        place = self._place(group)
        if place is None or self._home(group) != root or not self._owned_by(place)[1]:
            return set()
        return {pod for pod in self._links.pods_naming[place] if self.root_of(pod) == root}

    def _groups_shown(self, root: str, owners: Iterable[str], pods: Iterable[str]) -> set[str]:
        """Return the groups and Workloads of a gang, going from one to the next."""
        found: set[str] = set()
        waiting = list(self._groups_near(owners, pods))
        if root in self._links.groups:
            waiting.append(root)
        seen = set(waiting)
        for uid in waiting:
            if root not in self.gangs_of(uid):
                continue
            found.add(uid)
            new = self._neighbours(uid) - seen
            seen |= new
            waiting.extend(new)
        return found

    def _groups_near(self, owners: Iterable[str], pods: Iterable[str]) -> set[str]:
        """Return the groups that owners own and that their templates or pods name."""
        links = self._links
        found: set[str] = set()
        places = {links.pods[pod].place for pod in pods}
        for owner in owners:
            link = links.owners[owner]
            found |= links.groups_under[owner] | links.workloads_for[link.name]
            places.update(link.templates)
        groups = (links.object_at(place) for place in places)
        return found.union(group for group in groups if group is not None)

    def _neighbours(self, uid: str) -> set[str]:
        links = self._links
        link = links.groups[uid]
        found = {*self.below(uid), *self._groups_naming(uid), *self.chain(uid)}
        found |= links.children_of[link.name]
        workload = self.workload_of(link)
        return found | {workload} if workload is not None else found

    def workload_of(self, link: GroupLink) -> str | None:
        """Return the Workload that a group names, if it is known."""
        if not link.workload or link.kind == WORKLOAD:
            return None
        uid = self._links.named(link.beside(WORKLOAD, link.workload))
        return uid if uid is not None and not self._links.groups[uid].is_named else None

    def parent_of(self, link: GroupLink) -> str | None:
        """Return the CompositePodGroup that a group names as its parent, if it is known."""
        return self._links.named(link.beside(COMPOSITE, link.parent)) if link.parent else None

    def _in_order(self, roots: set[str]) -> tuple[str, ...]:
        """Return roots by name, so that the first is the same however they came."""
        return tuple(sorted(roots, key=lambda uid: (self._name_of(uid), uid)))

    def _name_of(self, uid: str) -> str:
        link = self._links.owners.get(uid) or self._links.groups.get(uid)
        return link.name[3] if link is not None else ""


def _share_namespace(one: GroupLink, other: GroupLink) -> bool:
    return one.name[2] == other.name[2]


def _climb(start: str, above: Callable[[str], str | None]) -> list[str]:
    """Return the way up from an object to its topmost known one.

    References can be made to form a ring; then the way ends at the least uid of the ring, so that
    all in it agree who is on top.
    """
    way = [start]
    while (up := above(way[-1])) is not None:
        if up in way:
            top = min(way[way.index(up) :])
            return way[: way.index(top) + 1]
        way.append(up)
    return way
