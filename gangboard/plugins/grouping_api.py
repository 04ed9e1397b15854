"""What a file in `groups/` offers: an API that says which pods belong together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gangboard.domain.api_resource import Resource
from gangboard.domain.group import QueueMark
from gangboard.domain.traits import KindTraits
from gangboard.plugins.rule import GangRule, UnitRule


@dataclass(frozen=True, slots=True)
class GroupingNotes:
    """What the table of grouping APIs says of one beside what the registry tells (docs/kinds.md): Markdown."""

    members: str = ""
    """How a pod comes into a group of it."""
    limits: str = ""
    """What it does not tell, or does not allow."""
    tested: str = ""
    """With which scheduler or controller, or whose CRDs, and on which Kubernetes."""


@dataclass(frozen=True, slots=True)
class GroupingAPI:
    """An API that says which pods belong together. One file in `groups/`, constant GROUPING."""

    label: str
    group: str
    resources: tuple[Resource, ...]
    """Their models are domain.Group."""
    annotations: Mapping[str, str] = field(default_factory=dict)
    """Annotations of pods whose value is the name of their group in their namespace → its kind. Empty where
    pods name it in a field of their own, or not at all."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Labels of pods that name their group in the same way."""
    placeholders: tuple[str, ...] = ()
    """Annotations that are `true` on pods that its scheduler makes to hold the place of members: they are in no gang."""
    queue_marks: tuple[QueueMark, ...] = ()
    """Labels and annotations by which a pod of its schedulers names its queue: the first that it has counts. Empty
    where its groups say it, or where it has no queues."""
    schedulers: tuple[str, ...] = ()
    """Names of the schedulers that read its groups, `spec.schedulerName` of pods. To any other they are decoration,
    and what these find of their pods arithmetic cannot know. Without any, and without `any_name`: all do."""
    any_name: bool = False
    """Who installs its scheduler chooses the name: it reads them under any but those of others and the stock one's."""
    rules: tuple[UnitRule, ...] = ()
    """Reasons that only its scheduler has, told in codes that others share where there are such. They are asked
    among those of `rules/`, of units whose group is of this API, or whose pods name one that has no object."""
    gang_rules: tuple[GangRule, ...] = ()
    """The same about the whole gang: why its scheduler ended pods that it never placed."""
    event_reasons: frozenset[str] = frozenset()
    """Reasons of events that these read, or that tell of its groups."""
    pod_reasons: Mapping[str, str] = field(default_factory=dict)
    """Reason of the condition `PodScheduled` in its scheduler's own words → what the scheduler of Kubernetes says
    instead: `Unschedulable`, or empty where no attempt to place the pod failed."""
    traits: Mapping[str, KindTraits] = field(default_factory=dict)
    """Kind of a group → what advice says of it."""
    groups_of: tuple[tuple[str, str], ...] | None = None
    """(API group, kind) of the owners whose pods alone it groups: no other gang needs it. None for any pods."""
    notes: GroupingNotes = GroupingNotes()
    """What the table of grouping APIs says of it."""
