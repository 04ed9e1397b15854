"""What reasons and advice say of a kind or an admission system, in its own words: they know none by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class KindTraits:
    """What is peculiar to a kind of owner, as far as it is told to people."""

    controller: str = ""
    """Who makes its Jobs, in a sentence: `the JobSet controller`; empty where it makes none."""
    role: str = ""
    """What one of its roles is called: `ReplicatedJob`; empty where it has none."""
    parts: str = ""
    """The field in which each role of it has its size; nobody can change that, so another size means to make
    it anew, whole. Empty where nothing of the sort is known."""
    ends_pods: bool = False
    """To suspend it was seen to take all its pods away."""
    jobs_refused: frozenset[str] = frozenset()
    """Reasons of events by which its controller says that a Job of it, or what such a Job needs, was refused."""
    follower_refusals: tuple[str, ...] = ()
    """Parts of the refusing text of its webhooks for pods that have to wait until the first pod of their Job
    has a node."""
    disruptions: Mapping[str, str] = field(default_factory=dict)
    """Reasons of the condition `DisruptionTarget` that its controller gives to pods → what it did to them."""
    pods_refused: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Reasons of events by which its controller says that a pod was refused, where these are its own → how such
    a note begins, before the refusing text."""
    suspend_field: str = ""
    """The field that says that it is suspended, as evidence names it. Where the kind does not tell, the registry
    does: the field that its lever writes."""
    managed_by_field: str = "spec.managedBy"
    """The field that names another controller for an object, as evidence names it; the registry tells it."""
    suspended_detail: str = ""
    """Name in `Owner.detail` of that field's value, where it is not just true."""
    leaves_groups: frozenset[str] = frozenset()
    """API groups of the PodGroups that its controller makes once, and never changes: their minimum can be
    lowered by hand."""
    resumes_jobs: bool = False
    """Its controller resumes a Job of it that is suspended alone."""
    quorum_field: str = ""
    """The field of its spec whose number its controller writes into the PodGroup, again and again."""
    leaves_suspended: bool = False
    """Its controller does not resume what it made and another client suspended."""
    holds_jobs: bool = False
    """A Job of it can be held. The registry tells, by its levers."""
    makes_gangs: bool = False
    """What it makes are gangs of their own. The registry tells."""
    number_paths: Mapping[str, str] = field(default_factory=dict)
    """Name of a number in advice → its path in the object: `minCount` → `spec.schedulingPolicy.gang.minCount`.
    It lists numbers that an API server was seen to accept in place."""
    resource: str = ""
    """How kubectl names the kind: `jobs.batch`. The registry tells."""


NO_TRAITS = KindTraits()


@dataclass(frozen=True, slots=True)
class QueueTraits:
    """What is peculiar to an admission system, as far as it is told to people."""

    manager: str = ""
    """Its field manager."""
    suspend_instead: str = ""
    """A sentence: how an owner of its queues is suspended, where a change of `spec.suspend` is undone."""
    label: str = ""
    """Its name. The registry tells."""
    dispatchers: frozenset[str] = frozenset()
    """Values of `spec.managedBy` of owners that it runs in another cluster. The registry tells."""
    entry: str = "entry"
    """Kind of its entries. The registry tells."""
    active_field: str = ""
    """The field of an entry that is false while the entry is deactivated, as evidence names it."""
    eviction: str = ""
    """Type of the condition by which it says that it took an entry out of its queue."""
    deactivation: str = ""
    """How the reasons of that condition begin where it deactivated the entry."""
    run_cluster_field: str = ""
    """The field of an entry with the name of the cluster that runs its owner, as evidence names it."""


NO_QUEUE_TRAITS = QueueTraits()


@dataclass(frozen=True, slots=True)
class QueueWording:
    """How an admission system speaks of its queues."""

    nominal: str = "quota"
    """What a quota is called after its amount: `4 of 8 quota`."""
    no_nominal: str = "without a quota"
    """What is said of a resource that has none."""
    borrowed: str = "borrowed"
    """What is said of the part beyond the quota; empty where there is none beyond."""
    order: tuple[str, ...] = ()
    """Sentences: who goes first, where its objects do not tell it. Empty: by priority, then by time in line."""
    open_to: str = ""
    """A sentence: who may use a queue, where no alias leads to it."""
    no_alias: str = ""
    """A sentence for a queue that no alias leads to, where its system has aliases."""


NO_QUEUE_WORDING = QueueWording()
