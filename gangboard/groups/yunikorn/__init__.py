"""Applications of Apache YuniKorn: pods name theirs by a label or an annotation, and there is no object of it.

gangboard therefore lists no object of this API and acts on the owner of the pods. Pods without an owner are one gang each. Task
groups with their minima are not read: only the body of an annotation has them.

What YuniKorn says stands on the pods, and most of it in events alone (k8shim and core v1.9.0):

- that a queue, or the quota of a user, has no room for a pod: an event `Informational`, once, until it has room again
  (ask_events.go). The pod gets no condition. A queue without a limit is said to have no room, too, when the cluster is
  full: then the pod has a condition;
- that no node has room: `PodScheduled` False, with one text for all causes (scheduler.go). Which nodes refuse it
  stands in an event `Informational`, where that is another cause than too few resources;
- how a gang is reserved: events `GangScheduling` on the pod that came first (application.go). YuniKorn makes placeholder
  pods of a task group's size; members are not tried before all of these have a node;
- that an application is rejected: its pods are ended, and the event `ApplicationFailed` says why (application.go).
"""

from __future__ import annotations

from collections.abc import Mapping

from gangboard.domain.group import QueueMark
from gangboard.groups.yunikorn import reasons, rejected
from gangboard.plugins.grouping_api import GroupingAPI, GroupingNotes


class YuniKorn(GroupingAPI):
    """Applications of Apache YuniKorn."""

    label = reasons.WHO
    group = "yunikorn.apache.org"
    labels: Mapping[str, str] = {
        "yunikorn.apache.org/app-id": "Application",
        "applicationId": "Application",
    }
    annotations: Mapping[str, str] = {"yunikorn.apache.org/app-id": "Application"}
    # Older releases wrote the second one; v1.8 still reads it (constants.go).
    placeholders = ("internal.yunikorn.apache.org/placeholder", "yunikorn.apache.org/placeholder")
    # In this order (GetQueueNameFromPod in utils.go).
    queue_marks = (
        QueueMark("yunikorn.apache.org/queue", is_label=True),
        QueueMark("yunikorn.apache.org/queue", is_label=False),
        QueueMark("queue", is_label=True),
    )
    schedulers = ("yunikorn",)
    rules = reasons.RULES
    gang_rules = rejected.RULES
    event_reasons = frozenset({reasons.TOLD, reasons.OF_GANG, rejected.FAILED})
    # Its queue holds back the pod.
    pod_reasons: Mapping[str, str] = {"SchedulingSkipped": "Unschedulable"}
    notes = GroupingNotes(
        members=(
            "the label or annotation `yunikorn.apache.org/app-id` (older: the label `applicationId`); read by "
            "`yunikorn` only"
        ),
        limits=(
            "it has no object: minima of task groups are not read, pods that nobody owns are a gang each, "
            "placeholders are in none. That a queue has no room, and why an application is rejected, stand in "
            "events alone; what a queue may have is in no object"
        ),
        tested="YuniKorn 1.9.0 on 1.37, without its admission controller",
    )
