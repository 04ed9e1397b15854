"""PodGroups of the coscheduling plugin of scheduler-plugins (scheduling.x-k8s.io/v1alpha1).

Pods name their group by a label, and only a scheduler with the plugin reads it. The admin chooses the name of that
scheduler. The object has no conditions, so only the pods say why they wait. A controller of the plugin writes `status` and
counts labelled pods of all namespaces (podgroup_controller.go of v0.35.4-devel). So the decoder only keeps `phase`, and
diagnosis counts the pods.

The condition of a pod has a text of the default scheduler, or a text of the plugin if another member did not fit
(observed).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from gangboard.decode.key_fields import KeyField
from gangboard.decode.wire import Int32, Wire, WireMeta, read_meta
from gangboard.domain.group import Group, Policy
from gangboard.domain.traits import KindTraits
from gangboard.domain.verdict import Finding
from gangboard.facts.scheduler_rules import gang_refusal, no_room
from gangboard.facts.scheduler_text import best_scheduler_message, scheduler_messages
from gangboard.facts.unit import Unit
from gangboard.plugins.grouping_api import GroupingAPI, GroupingNotes, group_resource

_GROUP = "scheduling.x-k8s.io"
_GANG_REJECTIONS = re.compile(
    r"optimistic rejection in PostFilter|rejection in Unreserve|gets rejected due to Pod|failed recently",
    re.IGNORECASE,
)
"""Texts of the plugin about members that it rejected because another member did not fit."""


class _WireSpec(Wire):
    min_member: KeyField[Int32 | None] = None


class _WireStatus(Wire):
    phase: str | None = None


class WirePodGroup(Wire):
    """The fields of a PodGroup that gangboard reads."""

    metadata: WireMeta
    spec: _WireSpec | None = None
    status: _WireStatus | None = None


def _build(wire: WirePodGroup, version: str) -> Group:
    quorum = (wire.spec or _WireSpec()).min_member or 0
    phase = (wire.status or _WireStatus()).phase
    return Group(
        meta=read_meta(wire.metadata, _GROUP, "PodGroup", version),
        # A single pod is no gang.
        policy=Policy.GANG if quorum > 1 else Policy.BASIC,
        quorum=quorum,
        detail={"phase": phase} if phase else {},
    )


def _find_no_room(unit: Unit) -> Finding | None:
    """Return a finding with a message about nodes, because the other members were only rejected with them."""
    messages = scheduler_messages(unit, "Unschedulable")
    about_nodes = tuple(message for message in messages if not _GANG_REJECTIONS.search(message.raw))
    best = best_scheduler_message(about_nodes)
    scheduler = f"Scheduler {unit.other_scheduler}"
    return gang_refusal(NO_ROOM, unit, scheduler, best.text if best is not None else "")


NO_ROOM = no_room(_find_no_room)


class Coscheduling(GroupingAPI):
    """PodGroups of the coscheduling plugin."""

    label = "coscheduling"
    group = _GROUP
    resources = (
        group_resource(_GROUP, "podgroups", "PodGroup", ("v1alpha1",), WirePodGroup, _build),
    )
    labels: Mapping[str, str] = {"scheduling.x-k8s.io/pod-group": "PodGroup"}
    # The names in the Helm chart of scheduler-plugins and in the MPI operator.
    schedulers = ("scheduler-plugins-scheduler", "scheduler-plugins")
    any_name = True
    traits: Mapping[str, KindTraits] = {
        "PodGroup": KindTraits(number_paths={"minMember": "spec.minMember"})
    }
    rules = (NO_ROOM,)
    notes = GroupingNotes(
        members=(
            "the label `scheduling.x-k8s.io/pod-group`; only a scheduler with the plugin reads it"
        ),
        limits=(
            "It has no condition and no lever. Its pods say why they wait. "
            "`default-scheduler` ignores it"
        ),
        tested="the scheduler of scheduler-plugins 0.35 on 1.37",
    )
