"""Index of past assessments: which gangs must be assessed again, because the capacity changed or a recheck is due."""

from __future__ import annotations

import heapq
import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import cache

from gangboard.domain.capacity import ClusterCapacity, PodSet
from gangboard.domain.group import Group
from gangboard.domain.pod import Pod
from gangboard.domain.pod_constraints import PodConstraints, PodTerm
from gangboard.placement.members import shape_of, unreadable_request_text
from gangboard.placement.term_matching import term_matcher
from gangboard.store.objects import pack, unpack


@dataclass(frozen=True, slots=True)
class PodKind:
    """Requests and constraints of a pod. Pods with the same ones are of one kind."""

    requests: tuple[tuple[str, Decimal], ...]
    """(resource, amount in base units), by name."""
    needs: PodConstraints
    matched: frozenset[PodTerm] = frozenset()
    """Anti-affinity terms that matched the pod when its gang was assessed."""
    unread: tuple[str, ...] = ()
    """Requested resources whose amount could not be read."""


def pod_kind(pod: Pod, matched: frozenset[PodTerm]) -> PodKind:
    """Return the kind of a pod that these anti-affinity terms match."""
    requests = tuple(sorted(pod.requests.items()))
    return PodKind(requests, pod.needs, matched, pod.unread_requests)


def waiting_pod_sets(
    pods: Sequence[Pod], capacity: ClusterCapacity, groups: Iterable[Group] = ()
) -> tuple[PodSet, ...]:
    """Return pending members without a nominated node, grouped by kind.

    `groups` are those of the gang. If one of them has topology constraints, the sets are marked: the domain that
    its members may use is unknown here, so no sentence says that they fit.
    """
    has_topology = any(group.topology_keys for group in groups)
    unsupported = ("the topology of its group",) if has_topology else ()
    matched = term_matcher(capacity, pods)
    kinds = Counter(
        pod_kind(pod, matched(pod))
        for pod in pods
        if pod.is_live and not (pod.is_terminating or pod.node or pod.nominated_node or pod.gates)
    )
    return tuple(
        PodSet(
            shape_of(
                f"kind {number}",
                dict(kind.requests),
                kind.needs,
                (*kind.needs.unsupported, *map(unreadable_request_text, kind.unread), *unsupported),
                kind.matched,
            ),
            count,
        )
        for number, (kind, count) in enumerate(kinds.items(), start=1)
    )


_PodCounts = tuple[tuple[PodKind, int, int], ...]
"""(kind, number of pods, number of those that wait for a node)."""


@dataclass(frozen=True, slots=True)
class _Assessment:
    """The last assessment of one gang."""

    version: int
    """Version of the capacity that it was based on."""
    pods: _PodCounts


class AssessmentIndex:
    """The last assessments of the gangs of one cluster, by root."""

    def __init__(self) -> None:
        self.version = 0
        """Increases when the pods of a gang change."""
        self._assessments: dict[str, _Assessment] = {}
        self._pending: set[str] = set()
        """Gangs with a member that waited for a node."""
        self._pods: Counter[PodKind] = Counter()
        self._waiting_pods: Counter[PodKind] = Counter()
        self._kinds: dict[PodKind, PodKind] = {}
        """One shared object for each kind, because thousands of gangs have pods of the same kind."""

    def record(
        self,
        root: str,
        pods: Sequence[Pod],
        capacity: ClusterCapacity,
        *,
        version: int,
        pending: bool,
    ) -> None:
        """Record that a gang with these pods was assessed with this version of the capacity."""
        before = self._assessments.get(root)
        after = _Assessment(version, self._pod_counts(pods, term_matcher(capacity, pods)))
        self._assessments[root] = after
        (self._pending.add if pending else self._pending.discard)(root)
        if before is None or before.pods != after.pods:
            self._add(after, 1)
            self._add(before, -1)

    def pack(self, root: str) -> bytes:
        """Return the recorded pods of a gang in the form that `restore` takes."""
        return pack(self._assessments[root].pods)

    def restore(self, packed_pods: Mapping[str, bytes], *, version: int) -> None:
        """Restore the pods of gangs that need no assessment, because none of their pods waits for a node."""
        # Thousands of gangs have the same bytes.
        unpack_pods = cache(lambda data: unpack(data, _PodCounts))
        for root, data in packed_pods.items():
            before = self._assessments.get(root)
            after = _Assessment(version, self._shared(unpack_pods(data)))
            self._assessments[root] = after
            self._add(after, 1)
            self._add(before, -1)

    def _shared(self, pods: _PodCounts) -> _PodCounts:
        return tuple(
            (self._kinds.setdefault(kind, kind), count, waiting) for kind, count, waiting in pods
        )

    def remove(self, root: str) -> None:
        """Remove a gang."""
        self._add(self._assessments.pop(root, None), -1)
        self._pending.discard(root)

    def outdated(self, version: int) -> set[str]:
        """Return the pending gangs that were assessed with an older capacity than this version."""
        return {root for root in self._pending if self._assessments[root].version < version}

    def common_pod_kinds(self, limit: int) -> list[tuple[PodKind, int]]:
        """Return up to `limit` kinds of pods, each with the number of pods that wait for a node.

        Kinds with the most waiting pods come first, then the most frequent other kinds.
        """
        kinds = [kind for kind, _ in self._waiting_pods.most_common(limit)]
        for kind, _ in self._pods.most_common(2 * limit):
            if len(kinds) < limit and kind not in self._waiting_pods:
                kinds.append(kind)
        return [(kind, self._waiting_pods[kind]) for kind in kinds]

    def _pod_counts(
        self, pods: Sequence[Pod], matched: Callable[[Pod], frozenset[PodTerm]]
    ) -> _PodCounts:
        counts: Counter[PodKind] = Counter()
        waiting: Counter[PodKind] = Counter()
        for pod in pods:
            if not pod.is_live or pod.is_terminating:
                continue
            kind = pod_kind(pod, matched(pod))
            counts[kind] += 1
            waiting[kind] += not pod.is_placed and not pod.gates
        return tuple(
            (self._kinds.setdefault(kind, kind), count, waiting[kind])
            for kind, count in counts.items()
        )

    def _add(self, assessment: _Assessment | None, sign: int) -> None:
        if assessment is None:
            return
        self.version += bool(assessment.pods)
        for kind, count, waiting in assessment.pods:
            _change_count(self._pods, kind, sign * count)
            _change_count(self._waiting_pods, kind, sign * waiting)
            if not self._pods[kind]:
                self._kinds.pop(kind, None)


def _change_count(counts: Counter[PodKind], kind: PodKind, difference: int) -> None:
    counts[kind] += difference
    if not counts[kind]:
        del counts[kind]


ROUND_PAUSE = 5.0
"""Seconds between two rounds over the pending gangs of a cluster."""


class PendingRounds:
    """Rounds over the pending gangs of one cluster, in slices between which watch updates are stored.

    All gangs of a round are assessed with the capacity at its start, so that its results are computed once. Changes
    during a round are taken up by the next one, so each change has its effect soon after the pause.
    """

    def __init__(self, assessments: AssessmentIndex) -> None:
        self._assessments = assessments
        self._roots: list[str] = []
        """Gangs of this round that were not taken yet."""
        self._ended_at = -math.inf
        self._capacity: ClusterCapacity | None = None
        """The capacity of the round. None between two rounds."""
        self._version = 0

    def begin(self, capacity: ClusterCapacity, version: int, *, at_once: bool) -> bool:
        """Start a round if one is due. Return whether a round is in progress. `at_once`: skip the pause."""
        if self._capacity is not None:
            return True
        if not at_once and time.monotonic() - self._ended_at < ROUND_PAUSE:
            return False
        outdated = self._assessments.outdated(version)
        if not outdated:
            return False
        self._roots = sorted(outdated, reverse=True)
        self._capacity, self._version = capacity, version
        return True

    def take(self, limit: int) -> tuple[list[str], ClusterCapacity, int] | None:
        """Return the next gangs of the round with its capacity and version, or None at its end.

        Gangs that were assessed since the start of the round, because an event touched them, are left out.
        """
        if self._capacity is None:
            return None
        outdated = self._assessments.outdated(self._version)
        taken: list[str] = []
        while self._roots and len(taken) < limit:
            root = self._roots.pop()
            if root in outdated:
                taken.append(root)
        if taken:
            return taken, self._capacity, self._version
        self.end()
        return None

    @property
    def in_progress(self) -> bool:
        """Whether a round has not ended yet."""
        return self._capacity is not None

    def end(self) -> None:
        """End the round and start the pause."""
        self._roots, self._capacity, self._ended_at = [], None, time.monotonic()


_SLACK = 64
"""Superseded heap entries that are not worth a clean-up."""


class Rechecks:
    """The next recheck of each gang of one cluster.

    One time for each gang is enough: the assessment at that time schedules the next one.
    """

    def __init__(self) -> None:
        self.times: dict[str, float] = {}
        """Root uid → unix time."""
        self._heap: list[tuple[float, str]] = []
        """(unix time, root uid) of the rechecks in `times`, and of superseded ones."""

    def schedule(self, root: str, due_at: datetime) -> None:
        """Schedule a recheck of a gang, unless an earlier one is scheduled."""
        when = due_at.timestamp()
        if root in self.times and self.times[root] <= when:
            return
        self.times[root] = when
        heapq.heappush(self._heap, (when, root))
        if len(self._heap) > 2 * len(self.times) + _SLACK:
            self._heap = [(when, root) for root, when in self.times.items()]
            heapq.heapify(self._heap)

    def take(self, now: datetime) -> set[str]:
        """Return the gangs whose recheck is due, and remove these rechecks."""
        taken: set[str] = set()
        while self._heap and self._heap[0][0] <= now.timestamp():
            when, root = heapq.heappop(self._heap)
            if self.times.get(root) == when:
                del self.times[root]
                taken.add(root)
        return taken

    def drop(self, root: str) -> None:
        """Remove the recheck of a deleted gang."""
        self.times.pop(root, None)

    def __len__(self) -> int:
        """Return the number of heap entries, including superseded ones."""
        return len(self._heap)
