"""The base class of admission systems."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from gangboard.domain.api_resource import Resource
from gangboard.domain.group import Group
from gangboard.domain.owner import Owner
from gangboard.domain.queue import QueueEntry
from gangboard.domain.traits import NO_QUEUE_TRAITS, NO_QUEUE_WORDING, QueueTraits, QueueWording
from gangboard.plugins.lever import Lever

if TYPE_CHECKING:
    from gangboard.facts.gang import Gang


class QueueSystem:
    """An admission system, or the queues of a scheduler. The registry instantiates each subclass in `queues/`."""

    label: str
    owner_label: str
    """The label on an owner that names its queue."""
    pod_group_label = ""
    """The label on pods with the name of the entry that admits them together, in their namespace. Such pods name
    their queue by `owner_label`, also if their owner has no suspend field. Empty if pods name no entry."""
    resources: tuple[Resource, ...] = ()
    traits: QueueTraits = NO_QUEUE_TRAITS
    """Its own terms in reasons and advice."""
    words: QueueWording = NO_QUEUE_WORDING
    """Its own terms on pages about queues."""
    lends = False
    """A queue borrows only what another queue lends, so nothing is available beyond the quotas."""
    mirrors: Mapping[str, str] = {}
    """Values of `spec.managedBy` of objects that run in another cluster → the rest of the sentence about that."""
    lever: Lever | None = None
    """The lever for owners that it manages; None if it leaves no way to stop them."""
    tested = ""
    """With which controller, or whose CRDs, and on which Kubernetes: Markdown for docs/kinds.md."""

    @cached_property
    def entry_resources(self) -> tuple[Resource, ...]:
        """Resources whose objects are its entries, one for each owner. Queues of a scheduler have none."""
        return tuple(resource for resource in self.resources if resource.model is QueueEntry)

    def takes_over(self, owner: str, queue: str, suspended: bool) -> str:
        """Return what it does with an owner that names one of its queues, if it is installed later: a sentence."""
        return ""

    def phase_of(self, group: Group) -> str:
        """Return how far a group of its API group is that waits in a queue, in its own words; empty if unknown."""
        return ""

    def job_reactions(self, gang: Gang) -> tuple[str, ...]:
        """Return what it does when a Job of an owner that it manages is stopped."""
        return ()

    def job_warnings(self, gang: Gang, job: Owner, lever: Lever) -> tuple[str, ...]:
        """Return warnings before a Job is stopped that it manages, or whose owner it manages."""
        return ()
