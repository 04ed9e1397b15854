"""Applications of Apache YuniKorn, which pods name by a label or an annotation. They have no object of their own.

gangboard lists no object of this API and acts on the owner of the pods. A pod without an owner is a gang. Task groups and
their minima are not read, because they are in the body of an annotation.

YuniKorn reports on the pods, mostly in events (k8shim and core v1.9.0):

- A pod exceeds the quota of a queue or a user: one event `Informational`, and another once it fits (ask_events.go). The
  pod gets no condition. If the cluster is full, a queue without a limit is also full, and then the pod gets a condition.
- No node fits: `PodScheduled` False, with one text for all causes (scheduler.go). An event `Informational` names the
  causes of the nodes, unless they only lack resources.
- The reservation of a gang: events `GangScheduling` on the first pod (application.go). YuniKorn creates placeholder pods of
  a task group's size, and tries no member before all placeholders have a node.
- A rejected application: YuniKorn ends its pods, and the event `ApplicationFailed` has the cause (application.go).
"""

from __future__ import annotations

from collections.abc import Mapping

from gangboard.domain.group import QueueMark
from gangboard.groups.yunikorn import reasons, rejected_applications
from gangboard.plugins.grouping_api import GroupingAPI, GroupingNotes


class YuniKorn(GroupingAPI):
    """Applications of Apache YuniKorn."""

    label = reasons.SCHEDULER
    group = "yunikorn.apache.org"
    labels: Mapping[str, str] = {
        "yunikorn.apache.org/app-id": "Application",
        "applicationId": "Application",
    }
    annotations: Mapping[str, str] = {"yunikorn.apache.org/app-id": "Application"}
    # Older releases wrote the second one, and v1.8 still reads it (constants.go).
    placeholders = ("internal.yunikorn.apache.org/placeholder", "yunikorn.apache.org/placeholder")
    # In this order (GetQueueNameFromPod in utils.go).
    queue_marks = (
        QueueMark("yunikorn.apache.org/queue", is_label=True),
        QueueMark("yunikorn.apache.org/queue", is_label=False),
        QueueMark("queue", is_label=True),
    )
    schedulers = ("yunikorn",)
    rules = reasons.RULES
    gang_rules = rejected_applications.RULES
    event_reasons = frozenset({reasons.POD_EVENT, reasons.GANG_EVENT, rejected_applications.FAILED})
    # The queue holds the pod back.
    pod_reasons: Mapping[str, str] = {"SchedulingSkipped": "Unschedulable"}
    notes = GroupingNotes(
        members=(
            "the label or annotation `yunikorn.apache.org/app-id` (older: the label "
            "`applicationId`); only `yunikorn` reads it"
        ),
        limits=(
            "It has no object, so gangboard cannot read the minimum of a task group or the "
            "limit of a queue. Each pod without an owner is a gang. Placeholders are in no "
            "gang. Only events say that a queue is full or why an application is rejected"
        ),
        tested="YuniKorn 1.9.0 on 1.37, without its admission controller",
    )
