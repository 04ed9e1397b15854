"""The tree of groups in one cluster: parents, owning groups, Workloads, and the keys that pods name.

It follows links between groups only. `gang_resolver` decides to which gang a group belongs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from gangboard.diagnosis.link_index import LinkIndex
from gangboard.diagnosis.object_links import GroupKey, GroupLink
from gangboard.facts.groups import COMPOSITE, WORKLOAD


class GroupTree:
    """The groups of one cluster, by the links between them."""

    def __init__(self, links: LinkIndex) -> None:
        self._links = links

    def parent_of(self, link: GroupLink) -> str | None:
        """Return the known CompositePodGroup that a group names as its parent, or None."""
        return self._links.named(link.sibling(COMPOSITE, link.parent)) if link.parent else None

    def workload_of(self, link: GroupLink) -> str | None:
        """Return the known Workload that a group names, or None."""
        if not link.workload or link.kind == WORKLOAD:
            return None
        uid = self._links.named(link.sibling(WORKLOAD, link.workload))
        return uid if uid is not None and not self._links.groups[uid].is_named else None

    def owning_groups(self, link: GroupLink) -> Iterator[str]:
        """Yield the groups that its references name as owners. A Workload is a plan, not an owner."""
        groups = self._links.groups
        return (
            uid
            for uid in link.owners
            if uid in groups
            and groups[uid].kind != WORKLOAD
            and _are_in_same_namespace(groups[uid], link)
        )

    def chain(self, uid: str) -> list[str]:
        """Return a group and the groups above it, up to the topmost known one.

        Above a group is the CompositePodGroup that it names as its parent, else a group that owns it.
        """
        links = self._links

        def above(group: str) -> str | None:
            link = links.groups[group]
            parent = self.parent_of(link)
            return parent if parent is not None else next(self.owning_groups(link), None)

        return climb(uid, above)

    def below(self, uid: str) -> list[str]:
        """Return a group and all groups below it, with Workloads."""
        links = self._links
        groups = {uid: None}
        for group in (waiting := [uid]):
            name = links.groups[group].name
            if name[1] == WORKLOAD:
                continue
            is_parent = name[1] == COMPOSITE and links.named(name) == group
            under = set(links.children_of[name]) if is_parent else set()
            for child in links.groups_under[group]:
                if _are_in_same_namespace(links.groups[child], links.groups[group]):
                    under.add(child)
            new = [child for child in under if child not in groups]
            groups.update(dict.fromkeys(new))
            waiting.extend(new)
        return list(groups)

    def keys_below(self, uid: str) -> Iterator[GroupKey]:
        """Yield the keys that pods can name, of a group and of those below it."""
        for group in self.below(uid):
            key = self.key_of(group)
            if key is not None:
                yield key

    def key_of(self, uid: str) -> GroupKey | None:
        """Return the key by which pods name this object.

        Returns None if they cannot name it, or if the key now belongs to a newer object of the same name.
        """
        link = self._links.groups.get(uid)
        if link is None or link.key is None or self._links.named(link.name) != uid:
            return None
        return link.key

    def groups_naming(self, uid: str) -> Iterable[str]:
        """Return the groups that name a Workload, and none for other objects."""
        link = self._links.groups[uid]
        if link.kind != WORKLOAD or link.is_named or self._links.named(link.name) != uid:
            return ()
        return self._links.groups_of[link.name]

    def neighbours(self, uid: str) -> set[str]:
        """Return the groups and Workloads next to a group: above, below, and those that share its Workload."""
        links = self._links
        link = links.groups[uid]
        uids = {*self.below(uid), *self.groups_naming(uid), *self.chain(uid)}
        uids |= links.children_of[link.name]
        workload = self.workload_of(link)
        return uids | {workload} if workload is not None else uids


def climb(start: str, above: Callable[[str], str | None]) -> list[str]:
    """Return the path from an object up to the topmost known one.

    References can form a cycle. The path then ends at the smallest uid of the cycle, which is the same top for
    all objects in it.
    """
    path = [start]
    while (parent := above(path[-1])) is not None:
        if parent in path:
            top = min(path[path.index(parent) :])
            return path[: path.index(top) + 1]
        path.append(parent)
    return path


def _are_in_same_namespace(group: GroupLink, owned: GroupLink) -> bool:
    return group.name[2] == owned.name[2]
