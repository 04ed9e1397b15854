"""What a file in `queues/` offers: a system that admits gangs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gangboard.domain.api_resource import Resource
from gangboard.domain.group import Group
from gangboard.domain.owner import Owner
from gangboard.domain.traits import NO_QUEUE_TRAITS, NO_QUEUE_WORDS, QueueTraits, QueueWords
from gangboard.plugins.lever import Lever

if TYPE_CHECKING:
    from gangboard.facts.gang import Gang


@dataclass(frozen=True, slots=True)
class QueueSystem:
    """An admission system. One file in `queues/`, constant QUEUE."""

    label: str
    owner_label: str
    """The label on an owner that names its queue."""
    pod_group_label: str = ""
    """The label of pods whose value is the name of the entry that admits them together, in their namespace. Empty
    where pods name none. Such pods name their queue by `owner_label`, also where their owner has no suspend field."""
    resources: tuple[Resource, ...] = ()
    takes_over: Callable[[str, str, bool], str] | None = None
    """(owner in a sentence, its queue, suspended) → what it will do with an owner that names a queue
    of it, once it is installed where it is not."""
    traits: QueueTraits = NO_QUEUE_TRAITS
    """What reasons and advice say of it."""
    words: QueueWords = NO_QUEUE_WORDS
    """What pages say of its queues."""
    phase_of: Callable[[Group], str] | None = None
    """Group of its API group, which waits in its queue → how far that is, in its own words; empty for no word. None
    where groups do not say it."""
    lends: bool = False
    """All that one queue borrows, another one lends: there is nothing to have beyond their quotas."""
    mirrors: Mapping[str, str] = field(default_factory=dict)
    """Values of `spec.managedBy` of what runs elsewhere → the rest of the sentence that says so."""
    lever: Lever | None = None
    """How an owner that it manages is stopped and started. None where it leaves no way."""
    tested: str = ""
    """With which controller, or whose CRDs, and on which Kubernetes: Markdown for docs/kinds.md."""
    job_reactions: Callable[[Gang], tuple[str, ...]] | None = None
    """What it does when one Job of an owner that it manages is stopped."""
    job_warnings: Callable[[Gang, Owner, Lever], tuple[str, ...]] | None = None
    """(gang, the Job, the lever) → what to think about before a Job is stopped whose owner it manages, or
    which it manages by itself."""
