"""Notes on the last assessment of each gang: on which room it was judged, and which pods it has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache

from gangboard.domain.capacity import ClusterCapacity, PodSet
from gangboard.domain.group import Group
from gangboard.domain.pod import Pod
from gangboard.domain.pod_constraints import PodConstraints, PodTerm
from gangboard.placement.members import shape_of, unread_text
from gangboard.placement.neighbours import matcher
from gangboard.store.objects import pack, unpack


@dataclass(frozen=True, slots=True)
class PodKind:
    """What a pod asks for. Pods that ask the same are of one kind."""

    requests: tuple[tuple[str, Decimal], ...]
    """(resource, amount in base units), by name."""
    needs: PodConstraints
    matched: frozenset[PodTerm] = frozenset()
    """The terms of anti-affinity that it matched when it was looked at."""
    unread: tuple[str, ...] = ()
    """Resources of which it asks for an amount that could not be read."""


def kind_of(pod: Pod, matched: frozenset[PodTerm]) -> PodKind:
    """Return what a pod asks for."""
    requests = tuple(sorted(pod.requests.items()))
    return PodKind(requests, pod.needs, matched, pod.unread_requests)


def waiting_pod_sets(
    pods: Sequence[Pod], room: ClusterCapacity, groups: Iterable[Group] = ()
) -> tuple[PodSet, ...]:
    """Return the members that want a node and have none kept for them, by what they ask for.

    `groups` are those of the gang. Where one binds its members to a topology, it is not known here
    in which domain they could go: that they fit is never said of such members.
    """
    also = ("the topology of its group",) if any(one.topology_keys for one in groups) else ()
    matched = matcher(room, pods)
    kinds = Counter(
        kind_of(pod, matched(pod))
        for pod in pods
        if pod.is_live and not (pod.is_terminating or pod.node or pod.nominated_node or pod.gates)
    )
    return tuple(
        PodSet(
            shape_of(
                f"kind {number}",
                dict(kind.requests),
                kind.needs,
                (*kind.needs.unsupported, *map(unread_text, kind.unread), *also),
                kind.matched,
            ),
            count,
        )
        for number, (kind, count) in enumerate(kinds.items(), start=1)
    )


_Pods = tuple[tuple[PodKind, int, int], ...]


@dataclass(frozen=True, slots=True)
class _Note:
    version: int
    """Of the room that it was judged on."""
    pods: _Pods
    """(kind, pods there are, those of them that wait for a node)."""


class AssessmentIndex:
    """Notes on the gangs of one cluster, by root."""

    def __init__(self) -> None:
        self.version = 0
        """Goes up when the pods of a gang have changed."""
        self._notes: dict[str, _Note] = {}
        self._pending: set[str] = set()
        """Gangs of which a member waited for a node."""
        self._there: Counter[PodKind] = Counter()
        self._waiting: Counter[PodKind] = Counter()
        self._kinds: dict[PodKind, PodKind] = {}
        """One object for each kind: thousands of gangs ask for the same."""

    def note(
        self, root: str, pods: Sequence[Pod], room: ClusterCapacity, *, version: int, pending: bool
    ) -> None:
        """Remember that a gang was judged on a room of this version, with these pods."""
        old, note = self._notes.get(root), _Note(version, self._count(pods, matcher(room, pods)))
        self._notes[root] = note
        (self._pending.add if pending else self._pending.discard)(root)
        if old is None or old.pods != note.pods:
            self._add(note, 1)
            self._add(old, -1)

    def pack(self, root: str) -> bytes:
        """Return the pods of a gang as they were noted, for `restore`."""
        return pack(self._notes[root].pods)

    def restore(self, notes: Mapping[str, bytes], *, version: int) -> None:
        """Take in notes on gangs that need no verdict: none of their pods waits for a node."""
        # Thousands of gangs ask for the same.
        read = cache(lambda data: unpack(data, _Pods))
        for root, data in notes.items():
            old, note = self._notes.get(root), _Note(version, self._shared(read(data)))
            self._notes[root] = note
            self._add(note, 1)
            self._add(old, -1)

    def _shared(self, pods: _Pods) -> _Pods:
        return tuple(
            (self._kinds.setdefault(kind, kind), count, waiting) for kind, count, waiting in pods
        )

    def drop(self, root: str) -> None:
        """Forget a gang."""
        self._add(self._notes.pop(root, None), -1)
        self._pending.discard(root)

    def behind(self, version: int) -> set[str]:
        """Return the pending gangs that were judged on a room before this one."""
        return {root for root in self._pending if self._notes[root].version < version}

    def kinds(self, most: int) -> list[tuple[PodKind, int]]:
        """Return kinds of pods with the number of those that wait.

        First the ones of which most wait, then the most frequent others.
        """
        found = [kind for kind, _ in self._waiting.most_common(most)]
        for kind, _ in self._there.most_common(2 * most):
            if len(found) < most and kind not in self._waiting:
                found.append(kind)
        return [(kind, self._waiting[kind]) for kind in found]

    def _count(self, pods: Sequence[Pod], matched: Callable[[Pod], frozenset[PodTerm]]) -> _Pods:
        there: Counter[PodKind] = Counter()
        waiting: Counter[PodKind] = Counter()
        for pod in pods:
            if not pod.is_live or pod.is_terminating:
                continue
            kind = kind_of(pod, matched(pod))
            there[kind] += 1
            waiting[kind] += not pod.is_placed and not pod.gates
        return tuple(
            (self._kinds.setdefault(kind, kind), count, waiting[kind])
            for kind, count in there.items()
        )

    def _add(self, note: _Note | None, sign: int) -> None:
        if note is None:
            return
        self.version += bool(note.pods)
        for kind, count, waiting in note.pods:
            _count(self._there, kind, sign * count)
            _count(self._waiting, kind, sign * waiting)
            if not self._there[kind]:
                self._kinds.pop(kind, None)


def _count(counts: Counter[PodKind], kind: PodKind, by: int) -> None:
    counts[kind] += by
    if not counts[kind]:
        del counts[kind]
