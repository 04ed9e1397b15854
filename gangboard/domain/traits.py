"""Traits of kinds and admission systems, with which rules and advice write sentences without knowing any kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class KindTraits:
    """Traits of a kind of owner for sentences and advice."""

    controller: str = ""
    """Its controller in a sentence, such as `the JobSet controller`. Empty if it creates no Jobs."""
    role: str = ""
    """Noun for its roles, such as `ReplicatedJob`. Empty without roles."""
    role_size_field: str = ""
    """Immutable field with the size of each role. Another size requires a new object. Empty if unknown."""
    ends_pods: bool = False
    """A suspend was observed to remove all its pods."""
    jobs_refused: frozenset[str] = frozenset()
    """Event reasons with which its controller reports a rejected Job, or a rejected object that a Job needs."""
    follower_refusals: tuple[str, ...] = ()
    """Texts of its webhooks for pods that must wait until the first pod of their Job has a node."""
    disruptions: Mapping[str, str] = field(default_factory=dict)
    """Reasons of `DisruptionTarget` that its controller sets on pods → past participle, such as `evicted`."""
    pods_refused: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Its own event reasons for a rejected pod → prefixes of the note before the error."""
    suspend_field: str = ""
    """Field that shows the suspension, for evidence. The default is the field that its lever writes."""
    managed_by_field: str = "spec.managedBy"
    """Field that names another controller, for evidence. The registry sets it."""
    suspended_detail: str = ""
    """Key in `Owner.detail` with the value of `suspend_field`, if the value is not simply true."""
    leaves_groups: frozenset[str] = frozenset()
    """API groups of PodGroups that its controller creates and never updates. Users can lower their minimum."""
    resumes_jobs: bool = False
    """Its controller resumes a single suspended Job."""
    quorum_field: str = ""
    """Field of its spec whose number its controller keeps writing to the PodGroup."""
    leaves_suspended: bool = False
    """Its controller does not resume its objects that another client suspended."""
    holds_jobs: bool = False
    """Its Jobs can be held. The registry derives it from the levers."""
    makes_gangs: bool = False
    """The objects that it creates are separate gangs. The registry sets it."""
    number_paths: Mapping[str, str] = field(default_factory=dict)
    """Name of a number in advice → its path, such as `minCount` → `spec.schedulingPolicy.gang.minCount`.

    It has the numbers that an API server was observed to accept in place."""
    resource: str = ""
    """Name of the resource in kubectl, such as `jobs.batch`. The registry sets it."""


NO_TRAITS = KindTraits()


@dataclass(frozen=True, slots=True)
class QueueTraits:
    """Traits of an admission system for sentences and advice."""

    manager: str = ""
    """Its field manager."""
    suspend_instead: str = ""
    """Sentence that says how to suspend an owner in its queues, because the system reverts `spec.suspend`."""
    label: str = ""
    """Its name. The registry sets it."""
    dispatchers: frozenset[str] = frozenset()
    """Values of `spec.managedBy` of owners that it runs in another cluster. The registry sets it."""
    entry: str = "entry"
    """Kind of its entries. The registry sets it."""
    resources: tuple[tuple[str, str], ...] = ()
    """(kind of a queue or an entry, name of its resource in kubectl). The registry sets it."""
    active_field: str = ""
    """Field of an entry that is false while the entry is deactivated, for evidence."""
    eviction: str = ""
    """Condition type for an entry that it evicted from its queue."""
    deactivation: str = ""
    """Prefix of the condition's reasons if it deactivated the entry."""
    run_cluster_field: str = ""
    """Field of an entry with the cluster that runs its owner, for evidence."""
    offered_clusters_field: str = ""
    """Field of an entry with the clusters that it is offered to, for evidence."""
    failed_node: str = ""
    """Sentence about its reaction while one assigned node has failed."""
    failed_nodes: str = ""
    """Sentence about its reaction if several assigned nodes have failed."""


NO_QUEUE_TRAITS = QueueTraits()


@dataclass(frozen=True, slots=True)
class QueueWording:
    """Terms with which an admission system describes its queues."""

    nominal: str = "quota"
    """Noun after an amount: `4 of 8 quota`."""
    no_nominal: str = "without a quota"
    """Text for a resource without a quota."""
    borrowed: str = "borrowed"
    """Text for usage beyond the quota. Empty if the system never exceeds a quota."""
    order: tuple[str, ...] = ()
    """Sentences about the order of entries, if objects do not show it. Empty for priority, then time in line."""
    open_to: str = ""
    """Sentence that says who may use a queue, in a system without aliases."""
    no_alias: str = ""
    """Sentence for a queue without an alias, in a system with aliases."""


NO_QUEUE_WORDING = QueueWording()
