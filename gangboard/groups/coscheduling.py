"""PodGroups of the coscheduling plugin of scheduler-plugins (scheduling.x-k8s.io/v1alpha1).

Pods name their group by a label, and only a scheduler that has the plugin reads it; it is called as whoever
installed it likes. The object has no condition: why its pods wait is said of the pods alone. Its `status` is
the work of a controller of its own, which counts pods of all namespaces that carry the label
(podgroup_controller.go of v0.35.4-devel), so pods are counted here; only `phase` is kept.

What its scheduler says of a pod is the stock scheduler's text, or one of the plugin's own: of the pods that
are turned back because another one found no room (observed).
"""

from __future__ import annotations

import re

from gangboard.decode.fitting import KeyField, key_fields
from gangboard.decode.wire import Int32, Wire, WireMeta, read_meta
from gangboard.domain.api_resource import Resource
from gangboard.domain.group import Group, Policy
from gangboard.domain.verdict import Finding
from gangboard.facts.gang_refusal import gang_refusal
from gangboard.facts.scheduler_rules import no_room
from gangboard.facts.scheduler_text import best_scheduler_message, scheduler_messages
from gangboard.facts.unit import Unit
from gangboard.plugins.grouping_api import GroupingAPI, GroupingNotes

_GROUP = "scheduling.x-k8s.io"


_OF_THE_GANG = re.compile(
    r"optimistic rejection in PostFilter|rejection in Unreserve|gets rejected due to Pod|failed recently",
    re.IGNORECASE,
)
"""What the plugin says of members that were turned back because another one found no room."""


class _WireSpec(Wire):
    min_member: KeyField[Int32 | None] = None


class _WireStatus(Wire):
    phase: str | None = None


class WirePodGroup(Wire):
    """A PodGroup as narrow as it is kept."""

    metadata: WireMeta
    spec: _WireSpec | None = None
    status: _WireStatus | None = None


def _build(wire: WirePodGroup, version: str) -> Group:
    quorum = (wire.spec or _WireSpec()).min_member or 0
    phase = (wire.status or _WireStatus()).phase
    return Group(
        meta=read_meta(wire.metadata, _GROUP, "PodGroup", version),
        # One pod by itself is no gang.
        policy=Policy.GANG if quorum > 1 else Policy.BASIC,
        quorum=quorum,
        detail={"phase": phase} if phase else {},
    )


def _find_no_room(unit: Unit) -> Finding | None:
    """Return a finding in the words of a pod that tells of nodes: others only tell that they were turned back."""
    said = scheduler_messages(unit, "Unschedulable")
    telling = tuple(one for one in said if not _OF_THE_GANG.search(one.raw))
    best = best_scheduler_message(telling)
    who = f"Scheduler {unit.other_scheduler}"
    return gang_refusal(NO_ROOM, unit, who, best.text if best is not None else "")


NO_ROOM = no_room(_find_no_room)

GROUPING = GroupingAPI(
    label="coscheduling",
    group=_GROUP,
    resources=(
        Resource(
            group=_GROUP,
            plural="podgroups",
            kind="PodGroup",
            versions=("v1alpha1",),
            wire=WirePodGroup,
            model=Group,
            build=_build,
            needed=True,
            fields=key_fields(WirePodGroup),
        ),
    ),
    labels={"scheduling.x-k8s.io/pod-group": "PodGroup"},
    # As scheduler-plugins' Helm chart names it, and as the MPI operator expects it.
    schedulers=("scheduler-plugins-scheduler", "scheduler-plugins"),
    any_name=True,
    rules=(NO_ROOM,),
    notes=GroupingNotes(
        members="the label `scheduling.x-k8s.io/pod-group`; read by a scheduler with the plugin only",
        limits=(
            "it has no condition and no lever: why its pods wait stands on the pods. To "
            "`default-scheduler` it is decoration"
        ),
        tested="the scheduler of scheduler-plugins 0.35 on 1.37",
    ),
)
