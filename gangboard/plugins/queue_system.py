"""The base class of admission systems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from gangboard.domain.api_resource import Resource
from gangboard.domain.forecast import AdmissionState, Forecast, PodSet
from gangboard.domain.group import Group
from gangboard.domain.owner import Owner
from gangboard.domain.queue import NodeReplacement, QueueEntry
from gangboard.domain.traits import NO_QUEUE_TRAITS, NO_QUEUE_WORDING, QueueTraits, QueueWording
from gangboard.plugins.lever import Lever

if TYPE_CHECKING:
    from gangboard.domain.pod import Pod
    from gangboard.facts.gang import Gang
    from gangboard.facts.surroundings import Surroundings


class QueueSystem:
    """An admission system, or the queues of a scheduler. The registry instantiates each subclass in `queues/`."""

    label: str
    owner_label: str
    """The label of an owner that names its queue."""
    pod_group_label = ""
    """The label of pods with the name of the entry that admits them together, in their namespace.

    These pods name their queue by `owner_label`, even if their owner has no suspend field. Empty if pods name no
    entry.
    """
    resources: tuple[Resource, ...] = ()
    traits: QueueTraits = NO_QUEUE_TRAITS
    """The system's terms in reasons and advice."""
    words: QueueWording = NO_QUEUE_WORDING
    """The system's terms on pages about queues."""
    lends = False
    """A queue borrows only from other queues, so the quotas are the limit."""
    mirrors: Mapping[str, str] = {}
    """Values of `spec.managedBy` of objects that run in another cluster → the rest of the sentence about that."""
    lever: Lever | None = None
    """The lever for owners that it manages, or None if they cannot be stopped."""
    relocation_lever: Lever | None = None
    """The lever that relocates an owner that it manages, if the kind can be relocated. None: it is impossible."""
    tested = ""
    """The tested controller or CRDs, and the version of Kubernetes, in Markdown for docs/kinds.md."""

    @property
    def levers(self) -> tuple[Lever, ...]:
        """Its levers."""
        return tuple(lever for lever in (self.lever, self.relocation_lever) if lever is not None)

    @cached_property
    def entry_resources(self) -> tuple[Resource, ...]:
        """Resources whose objects are its entries, one for each owner. Queues of a scheduler have none."""
        return tuple(resource for resource in self.resources if resource.model is QueueEntry)

    def takes_over(self, owner: str, queue: str, suspended: bool) -> str:
        """Return the effect on an owner that names one of its queues if the system is installed later: a sentence."""
        return ""

    def forecast(
        self,
        owner: Owner,
        pod_sets: Sequence[PodSet],
        state: AdmissionState,
        annotations: Mapping[str, str],
    ) -> Forecast | None:
        """Return the decision about a new owner now, or None if the system would not manage it.

        The owner does not exist yet, and the state does not have its entry. `annotations` are those of the owner.
        """
        return None

    def phase_of(self, group: Group) -> str:
        """Return the progress of a waiting group of its API group, in the system's own words; empty if unknown."""
        return ""

    def job_reactions(self, gang: Gang) -> tuple[str, ...]:
        """Return the system's reactions when a Job of an owner that it manages is stopped."""
        return ()

    def job_warnings(self, gang: Gang, job: Owner, lever: Lever) -> tuple[str, ...]:
        """Return warnings before a Job is stopped if the system manages the Job or its owner."""
        return ()

    def relocation_refusal(self, gang: Gang, job: Owner, pods: Sequence[Pod]) -> str:
        """Return why the system would not let one Job that it manages leave a place (a sentence), or empty."""
        return ""

    def relocation_warnings(self, gang: Gang, job: Owner, lever: Lever) -> tuple[str, ...]:
        """Return warnings before a Job leaves a place if the system manages the Job or its owner."""
        return self.job_warnings(gang, job, lever)

    def node_replacement(
        self, gang: Gang, job: Owner, node: str, surroundings: Surroundings
    ) -> NodeReplacement | str:
        """Return the pods of a Job for which the system would assign another node, if theirs is cordoned.

        The result is a sentence if the system would not replace the node.
        """
        return f"{self.label} assigns no other node."
