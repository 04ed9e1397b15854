"""The usage of each pod on its node, and the sums per node."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import NamedTuple, TypeVar

from gangboard.domain.bounded_cache import MEBIBYTE, bounded_cache
from gangboard.domain.capacity import Amounts, Requested
from gangboard.domain.pod import Pod
from gangboard.domain.pod_constraints import HostPort, PodTerm
from gangboard.placement.amounts import pod_amounts

Key = TypeVar("Key")


class PodUsage(NamedTuple):
    """The usage of one pod on its node."""

    node: str
    amounts: Amounts
    host_ports: frozenset[HostPort]
    anti_affinity: tuple[PodTerm, ...]
    unread: tuple[str, ...]
    is_pinned: bool
    is_bound: bool
    is_terminating: bool
    """True if the pod is being deleted."""

    def counted(self, terms: Iterable[PodTerm]) -> Iterator[PodTerm]:
        """Yield the matching terms that count the pod, in the form in which its node counts them."""
        for term in terms:
            if not term.is_count:
                yield term
            elif not self.is_terminating:
                yield term if self.is_bound else term.of_nominated


@dataclass(slots=True)
class RequestedSum:
    """A load to which pods are added and from which they are removed.

    A host port or term of two pods stays until both are removed.
    """

    amounts: dict[str, int] = field(default_factory=dict)
    pods: int = 0
    host_ports: dict[HostPort, int] = field(default_factory=dict)
    anti_affinity: dict[PodTerm, int] = field(default_factory=dict)
    matched_terms: dict[PodTerm, int] = field(default_factory=dict)

    def count(self, taken: PodUsage, sign: int) -> None:
        """Add a pod (1) or remove it (-1)."""
        self.pods += sign
        for resource, amount in taken.amounts.items():
            _count(self.amounts, resource, sign * amount)
        for port in taken.host_ports:
            _count(self.host_ports, port, sign)
        for term in taken.anti_affinity:
            _count(self.anti_affinity, term, sign)

    def match(self, taken: PodUsage, terms: Iterable[PodTerm], sign: int) -> None:
        """Count a pod that matches these terms (1), or no longer does (-1)."""
        for term in taken.counted(terms):
            _count(self.matched_terms, term, sign)

    def load(self) -> Requested:
        """Return the current load."""
        return Requested(
            dict(self.amounts),
            self.pods,
            frozenset(self.host_ports),
            dict(self.anti_affinity),
            dict(self.matched_terms),
        )


@dataclass(slots=True)
class NodePods:
    """The pods of one node, which may be unknown."""

    uids: set[str] = field(default_factory=set)
    now: RequestedSum = field(default_factory=RequestedSum)
    pinned: RequestedSum = field(default_factory=RequestedSum)
    unread: dict[str, int] = field(default_factory=dict)

    def count(self, taken: PodUsage, sign: int) -> None:
        """Add a pod (1) or remove it (-1)."""
        self.now.count(taken, sign)
        if taken.is_pinned:
            self.pinned.count(taken, sign)
        for resource in taken.unread:
            _count(self.unread, resource, sign)

    def match(self, taken: PodUsage, terms: Iterable[PodTerm], sign: int) -> None:
        """Count a pod of the node that matches these terms (1), or no longer does (-1)."""
        self.now.match(taken, terms, sign)
        if taken.is_pinned:
            self.pinned.match(taken, terms, sign)


def _count(into: dict[Key, int], key: Key, by: int) -> None:
    """Add to an entry, and delete it at zero, so that the result does not depend on history."""
    remaining = into.get(key, 0) + by
    if remaining:
        into[key] = remaining
    else:
        into.pop(key, None)


def differs_only_in_counting(taken: PodUsage, before: PodUsage) -> bool:
    """Return whether two usages differ at most in fields that matter for topology spread."""
    return taken == before or taken == before._replace(
        is_bound=taken.is_bound, is_terminating=taken.is_terminating
    )


def terms_of(pod: Pod) -> tuple[PodTerm, ...]:
    """Return the terms of a pod that restrict the nodes of pods."""
    if pod.is_finished:
        return ()
    needs = pod.needs
    terms = needs.anti_affinity
    if pod.node:
        return tuple(term for term in terms if term.is_by_host or not term.is_exact)
    terms = tuple(term for term in terms if not term.is_open)
    pod_affinity = () if needs.pod_affinity is None else (needs.pod_affinity,)
    return (*terms, *pod_affinity, *(spread.counted for spread in needs.spreads))


def pod_usage_of(pod: Pod) -> PodUsage | None:
    """Return the usage of a pod. None: the pod is finished or has no node."""
    node = pod.node or pod.nominated_node
    if not node or pod.is_finished:
        return None
    return PodUsage(
        node=sys.intern(node),
        amounts=_amounts(tuple(pod.requests.items())),
        host_ports=pod.needs.host_ports,
        anti_affinity=pod.needs.anti_affinity,
        unread=pod.unread_requests,
        is_pinned=pod.stays,
        is_bound=pod.is_placed,
        is_terminating=pod.is_terminating,
    )


@bounded_cache(16384, 32 * MEBIBYTE)
def _amounts(requests: tuple[tuple[str, Decimal], ...]) -> Amounts:
    """Return the amounts of one pod. Pods with equal requests share the object."""
    return pod_amounts(dict(requests))
