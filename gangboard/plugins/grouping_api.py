"""The base class of grouping APIs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec

from gangboard.decode.key_fields import key_fields
from gangboard.domain.api_resource import Resource
from gangboard.domain.forecast import CreationContext, Manifest, ManifestFault
from gangboard.domain.group import Group, GroupFate, GroupMark, QueueMark
from gangboard.domain.traits import KindTraits
from gangboard.plugins.rule import GangRule, UnitRule


@dataclass(frozen=True, slots=True)
class GroupingNotes:
    """A row of the table of grouping APIs in docs/kinds.md, in Markdown."""

    members: str = ""
    """How a pod becomes a member of a group."""
    limits: str = ""
    """Information that the API does not have, and actions that it does not allow."""
    tested: str = ""
    """The tested scheduler, controller or CRDs, and the version of Kubernetes."""


class GroupingAPI:
    """An API that groups pods. The registry instantiates each subclass in `groups/`."""

    label: str
    group: str
    """The API group of its resources."""
    resources: tuple[Resource, ...] = ()
    """Resources of its groups (`group_resource`). Empty if a group is only a name in pods."""
    traits: Mapping[str, KindTraits] = {}
    """Kind of a group → the API's terms in advice."""
    notes = GroupingNotes()

    # Membership of pods

    annotations: Mapping[str, str] = {}
    """Annotation of a pod with the name of its group, in its namespace → kind of the group.

    Empty if pods name the group in a field, or do not name it.
    """
    labels: Mapping[str, str] = {}
    """Label of a pod with the name of its group, in its namespace → kind of the group."""
    placeholders: Sequence[str] = ()
    """Annotations that are `true` on placeholders. Its scheduler creates these pods to reserve capacity.

    They are in no gang.
    """
    groups_of: Sequence[tuple[str, str]] = ()
    """(API group, kind) of the owners whose pods it groups, if other gangs do not need it. Empty for any owner."""

    fate: GroupFate | None = None
    """What its own controller does with its groups when an owner is suspended.

    None: the kind of the owner decides (`OwnerKind.group_fate`).
    """

    # Scheduler

    schedulers: tuple[str, ...] = ()
    """Names of the schedulers (`spec.schedulerName`) that read its groups.

    Other schedulers ignore the groups, and the arithmetic does not cover these schedulers. If this is empty and
    `any_name` is not set, every scheduler reads the groups.
    """
    any_name = False
    """The admin chooses the name of the scheduler.

    The default scheduler's name and those of other APIs are excluded.
    """
    queue_marks: tuple[QueueMark, ...] = ()
    """Labels and annotations by which a pod of its schedulers names its queue. The first one counts.

    Empty if its groups name the queue, or if it has no queues.
    """
    pod_reasons: Mapping[str, str] = {}
    """Reason of its scheduler in the condition `PodScheduled` → the equivalent reason of the default scheduler.

    That is `Unschedulable`, or empty if no attempt to place the pod failed.
    """

    # Rules

    rules: tuple[UnitRule, ...] = ()
    """Unit rules that only its scheduler has. They use shared codes if possible.

    The engine tries them together with `rules/`, for units whose group is of this API or whose pods name a
    group without an object.
    """
    gang_rules: tuple[GangRule, ...] = ()
    """Gang rules: why its scheduler ended pods that it never placed."""
    event_reasons: frozenset[str] = frozenset()
    """Reasons of events that these rules read, or that are about its groups."""

    def faults(self, manifest: Manifest, context: CreationContext) -> Iterable[ManifestFault]:
        """Return why the API server would refuse a group that does not exist yet."""
        return ()

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
    """Return a resource whose objects are groups. `fields` default to the key fields of the wire struct."""
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
