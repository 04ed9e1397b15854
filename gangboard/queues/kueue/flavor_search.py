"""Flavors that Kueue would assign to the pod sets of a new Workload.

Source: pkg/scheduler/flavorassigner/flavorassigner.go of v0.19.2. The reasons have the words of Kueue, so the decoder of
live Workloads (`flavor_assignment`) reads them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from enum import IntEnum

from gangboard.domain.forecast import PodSet
from gangboard.domain.pod_constraints import Effect, PodConstraints, Taint, Term
from gangboard.domain.queue_policy import QueuePolicy
from gangboard.domain.quota import Flavor, Queue
from gangboard.domain.resources import scheduler_units
from gangboard.placement.matching import matches_label, tolerates
from gangboard.queues.kueue.quota_tree import FlavorResource, QuotaTree

_NOTHING = Decimal(0)
_BINARY = ("memory", "ephemeral-storage", "storage")
_HUGE_PAGES = "hugepages-"
_HARD = (Effect.NO_SCHEDULE, Effect.NO_EXECUTE)
PODS = "pods"
"""Resource of which each pod uses one, if the ClusterQueue has quota for it."""
DEFAULT_POD_SET = "main"
"""Name of the pod set of an owner with one role."""


class Mode(IntEnum):
    """Result for a flavor, worst first."""

    NEVER = 0
    """The flavor does not suit, or the quota may not be taken by preemption."""
    NO_CANDIDATES = 1
    """Quota is missing, and Kueue can preempt no admitted Workload for it."""
    BY_PREEMPTION = 2
    """Quota is missing, and Kueue may be able to preempt Workloads for it."""
    FITS = 3


CanPreempt = Callable[[FlavorResource, Decimal], bool]
"""Returns whether preemption may free enough for a request of this size."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """Flavors of all pod sets, or the reasons why there are none."""

    mode: Mode
    flavors: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Pod set → names of its flavors."""
    usage: Mapping[FlavorResource, Decimal] = field(default_factory=dict)
    text: str = ""
    """Message as Kueue writes it. Empty if all pod sets fit."""


@dataclass(frozen=True, slots=True)
class _Attempt:
    """Result for the resources of one resource group."""

    mode: Mode
    flavor: str = ""
    height: int = 0
    """Height of the Cohort that lends quota. 0 without borrowing."""


@dataclass(frozen=True, slots=True)
class FlavorSearch:
    """The search for flavors in one ClusterQueue."""

    queue: Queue
    policy: QueuePolicy
    flavors: Mapping[str, Flavor]
    """ResourceFlavors by name."""
    quota: QuotaTree
    can_preempt: CanPreempt
    shares_fairly: bool = False
    """The configuration of Kueue enables fair sharing."""

    def assign(self, pod_sets: Sequence[PodSet]) -> Assignment:
        """Return the flavors of the pod sets. The search ends at the first pod set without a flavor."""
        usage: dict[FlavorResource, Decimal] = {}
        chosen: dict[str, tuple[str, ...]] = {}
        texts, mode = [], Mode.FITS
        for pod_set in pod_sets:
            flavors, of_set, reasons = self._assign_one(pod_set, usage)
            mode = min(mode, of_set)
            if reasons:
                name = pod_set.name.lower() or DEFAULT_POD_SET
                listed = ", ".join(sorted(reasons))
                texts.append(f"couldn't assign flavors to pod set {name}: {listed}")
            if of_set is Mode.NEVER:
                break
            chosen[pod_set.name] = tuple(dict.fromkeys(flavors.values()))
            for resource, flavor in flavors.items():
                key = FlavorResource(flavor, resource)
                size = self._requests(pod_set).get(resource, _NOTHING)
                usage[key] = usage.get(key, _NOTHING) + size
        if mode is Mode.FITS:
            return Assignment(mode, chosen, usage)
        return Assignment(mode, text="; ".join(texts))

    def _assign_one(
        self, pod_set: PodSet, usage: Mapping[FlavorResource, Decimal]
    ) -> tuple[dict[str, str], Mode, list[str]]:
        """Return resource → flavor, the worst mode of its resources, and the reasons against flavors."""
        requests, chosen = self._requests(pod_set), dict[str, str]()
        reasons: list[str] = []
        mode = Mode.FITS
        groups = _resource_groups(self.queue)
        for resource, size in requests.items():
            if resource in chosen:
                continue
            flavors = groups.get(resource)
            if flavors is None:
                if not size:
                    continue
                return {}, Mode.NEVER, [f"resource {resource} unavailable in ClusterQueue"]
            of_group = {
                name: amount for name, amount in requests.items() if groups.get(name) == flavors
            }
            attempt, causes = self._best(flavors, of_group, pod_set.needs, usage)
            mode = min(mode, attempt.mode)
            if attempt.mode is not Mode.FITS:
                reasons += causes
            if attempt.mode is Mode.NEVER:
                return {}, mode, causes
            chosen |= dict.fromkeys(of_group, attempt.flavor)
        return chosen, mode, reasons

    def _best(
        self,
        flavors: Iterable[str],
        requests: Mapping[str, Decimal],
        needs: PodConstraints,
        usage: Mapping[FlavorResource, Decimal],
    ) -> tuple[_Attempt, list[str]]:
        """Return the attempt with the flavor that Kueue prefers, and the reasons against all tried flavors."""
        best, reasons = _Attempt(Mode.NEVER), list[str]()
        for name in flavors:
            flavor = self.flavors.get(name)
            unsuited = _unsuited_reason(flavor, needs) if flavor is not None else ""
            if flavor is None or unsuited:
                reasons.append(unsuited or f"flavor {name} not found")
                continue
            attempt = _Attempt(Mode.FITS, name)
            for resource, size in requests.items():
                key = FlavorResource(name, resource)
                mode, height, reason = self._try(key, usage.get(key, _NOTHING), size)
                if reason:
                    reasons.append(reason)
                worse = _Attempt(mode, name, height)
                attempt = worse if self._is_better(attempt, worse) else attempt
            if not self._tries_next(attempt):
                return attempt, reasons
            if self._is_better(attempt, best):
                best = attempt
        return best, reasons

    def _tries_next(self, attempt: _Attempt) -> bool:
        if attempt.mode <= Mode.NO_CANDIDATES:
            return True
        if attempt.mode is Mode.BY_PREEMPTION and not self.policy.stops_at_preemption:
            return True
        return attempt.height > 0 and not self.policy.stops_at_borrowing

    def _is_better(self, one: _Attempt, other: _Attempt) -> bool:
        """Return whether Kueue prefers one attempt (isPreferred)."""
        if one.mode is Mode.NEVER or other.mode is Mode.NEVER:
            return one.mode is not Mode.NEVER
        if (one.mode is Mode.NO_CANDIDATES) != (other.mode is Mode.NO_CANDIDATES):
            return one.mode is not Mode.NO_CANDIDATES
        if self.policy.prefers_preemption:
            return (-one.height, one.mode) > (-other.height, other.mode)
        return (one.mode, -one.height) > (other.mode, -other.height)

    def _try(self, key: FlavorResource, earlier: Decimal, size: Decimal) -> tuple[Mode, int, str]:
        """Return the mode, the height of the lending Cohort and the reason (fitsResourceQuota).

        `earlier` is the request of earlier pod sets for the same flavor.
        """
        total, maximum = earlier + size, self.quota.maximum(self.queue, key)
        resource, flavor = key.resource, key.flavor
        if total > maximum:
            return (
                Mode.NEVER,
                0,
                f"insufficient quota for {resource} in flavor {flavor}, previously considered podsets requests "
                f"({quantity_text(resource, earlier)}) + current podset request "
                f"({quantity_text(resource, size)}) > maximum capacity ({quantity_text(resource, maximum)})",
            )
        available = self.quota.available(self.queue, key)
        height, may_reclaim = self.quota.borrowing_height(self.queue, key, total)
        if total <= available:
            return Mode.FITS, height, ""
        reason = (
            f"insufficient unused quota for {resource} in flavor {flavor}, "
            f"{quantity_text(resource, total - available)} more needed"
        )
        may_borrow = self.policy.borrows_by_preemption or self.shares_fairly
        if not (self.quota.nominal(self.queue, key) >= total or may_reclaim or may_borrow):
            return Mode.NEVER, height, reason
        mode = Mode.BY_PREEMPTION if self.can_preempt(key, total) else Mode.NO_CANDIDATES
        return mode, height, reason

    def _requests(self, pod_set: PodSet) -> dict[str, Decimal]:
        requests = {name: size * pod_set.count for name, size in pod_set.requests.items()}
        if PODS in _resource_groups(self.queue):
            requests[PODS] = Decimal(pod_set.count)
        return {name: requests[name] for name in sorted(requests)}


def _resource_groups(queue: Queue) -> dict[str, tuple[str, ...]]:
    """Return resource → its flavors in order. Resources with equal flavors are in one group."""
    flavors: dict[str, tuple[str, ...]] = {}
    for quota in queue.quotas:
        if quota.nominal is not None:
            flavors[quota.resource] = (*flavors.get(quota.resource, ()), quota.flavor)
    return flavors


def flavor_names(queue: Queue) -> tuple[str, ...]:
    """Return the names of the flavors for which the queue has quota."""
    return tuple(dict.fromkeys(quota.flavor for quota in queue.quotas if quota.nominal is not None))


# Nodes of a flavor


def _unsuited_reason(flavor: Flavor, needs: PodConstraints) -> str:
    """Return why pods with these constraints cannot use the nodes of a flavor. Empty if they can."""
    name = flavor.meta.ref.name
    for taint in flavor.node_taints:
        tolerations = (*needs.tolerations, *flavor.tolerations)
        if taint.effect in _HARD and not any(tolerates(item, taint) for item in tolerations):
            return f"untolerated taint {_go_text(taint)} in flavor {name}"
    labels = flavor.node_labels
    is_selected = all(labels[key] == value for key, value in needs.node_selector if key in labels)
    if not is_selected or not _matches_affinity(needs.affinity, labels):
        return f"flavor {name} doesn't match node affinity"
    return ""


def _matches_affinity(terms: Sequence[Term] | None, labels: Mapping[str, str]) -> bool:
    """Return whether a term matches. Only expressions about the labels of the flavor count (flavorSelector)."""
    about_labels = [
        tuple(entry for entry in term.expressions if entry.key in labels) for term in terms or ()
    ]
    # A term without such an expression matches each flavor.
    if not all(about_labels):
        return True
    return not about_labels or any(
        all(matches_label(entry, labels[entry.key]) for entry in term) for term in about_labels
    )


def _go_text(taint: Taint) -> str:
    return f"{{{taint.key} {taint.value} {taint.effect} <nil>}}"


# Quantities


def quantity_text(resource: str, amount: Decimal) -> str:
    """Return the amount as Kueue prints it: `2`, `500m`, `20Gi`, `1k`."""
    units = scheduler_units(resource, amount)
    if resource == "cpu":
        if units % 1000:
            return f"{units}m"
        units //= 1000
    is_binary = resource in _BINARY or resource.startswith(_HUGE_PAGES)
    base, suffixes = (1024, "KMGTPE") if is_binary else (1000, "kMGTPE")
    suffix = ""
    for letter in suffixes:
        if not units or units % base:
            break
        units //= base
        suffix = f"{letter}i" if is_binary else letter
    return f"{units}{suffix}"
