"""The base class of grouping APIs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec

from gangboard.decode.key_fields import key_fields
from gangboard.domain.api_resource import Resource
from gangboard.domain.group import Group, GroupMark, QueueMark
from gangboard.domain.traits import KindTraits
from gangboard.plugins.rule import GangRule, UnitRule


@dataclass(frozen=True, slots=True)
class GroupingNotes:
    """A line of the table of grouping APIs in docs/kinds.md: Markdown."""

    members: str = ""
    """How a pod becomes a member of a group."""
    limits: str = ""
    """What the API does not tell, or does not allow."""
    tested: str = ""
    """With which scheduler or controller, or whose CRDs, and on which Kubernetes."""


class GroupingAPI:
    """An API that groups pods. The registry instantiates each subclass in `groups/`."""

    label: str
    group: str
    """Its API group."""
    resources: tuple[Resource, ...] = ()
    """Resources of its groups (`group_resource`). Empty if a group is only a name that pods have."""
    traits: Mapping[str, KindTraits] = {}
    """Kind of a group → its own terms in advice."""
    notes = GroupingNotes()

    # Which pods it groups

    annotations: Mapping[str, str] = {}
    """Annotations of pods with the name of their group, in their namespace → kind of the group. Empty if pods name it
    in a field, or do not name it."""
    labels: Mapping[str, str] = {}
    """The same for labels of pods."""
    placeholders: Sequence[str] = ()
    """Annotations that are `true` on pods which its scheduler creates to reserve room. These pods are in no gang."""
    groups_of: Sequence[tuple[str, str]] = ()
    """(API group, kind) of the owners whose pods it groups; no other gang needs it. Empty for any owner."""

    # Its scheduler

    schedulers: tuple[str, ...] = ()
    """Names of the schedulers (`spec.schedulerName`) that read its groups. Other schedulers ignore them, and arithmetic
    does not know what these find. If this is empty and `any_name` is not set, every scheduler reads them."""
    any_name = False
    """The admin chooses the name of its scheduler: any name but the default scheduler's and those of other APIs."""
    queue_marks: tuple[QueueMark, ...] = ()
    """Labels and annotations by which a pod of its schedulers names its queue, the first one counts. Empty if its groups
    name the queue, or it has no queues."""
    pod_reasons: Mapping[str, str] = {}
    """Reason of the condition `PodScheduled` from its scheduler → the reason of the default scheduler with the same
    meaning: `Unschedulable`, or empty if no attempt to place the pod failed."""

    # Its reasons

    rules: tuple[UnitRule, ...] = ()
    """Reasons that only its scheduler has, in shared codes if possible. The engine tries them together with `rules/`,
    on units whose group is of this API or whose pods name a group that has no object."""
    gang_rules: tuple[GangRule, ...] = ()
    """The same for the whole gang: why its scheduler ended pods that it never placed."""
    event_reasons: frozenset[str] = frozenset()
    """Reasons of events that these rules read, or that are about its groups."""

    @cached_property
    def marks(self) -> tuple[GroupMark, ...]:
        """Labels and annotations by which pods name their groups, annotations first."""
        return tuple(
            GroupMark(key, is_label, f"{kind}.{self.group}", self.schedulers, self.any_name)
            for is_label, marks in ((False, self.annotations), (True, self.labels))
            for key, kind in sorted(marks.items())
        )


def group_resource(
    group: str,
    plural: str,
    kind: str,
    versions: tuple[str, ...],
    wire: type[msgspec.Struct],
    build: Callable[[Any, str], Group],
    *,
    fields: tuple[str, ...] = (),
) -> Resource:
    """Return a resource whose objects are groups. Without `fields` those that the wire struct marks count."""
    return Resource(
        group=group,
        plural=plural,
        kind=kind,
        versions=versions,
        wire=wire,
        model=Group,
        build=build,
        needed=True,
        fields=fields or key_fields(wire),
    )
