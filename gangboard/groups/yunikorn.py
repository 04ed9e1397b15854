"""Applications of Apache YuniKorn: pods name theirs by a label, and there is no object of it.

So nothing is listed, and nothing can be acted on but what owns the pods. What YuniKorn says stands on the pods: of
one that its queue keeps back it writes the reason `SchedulingSkipped` (k8shim v1.9.0, read and not run).

Not read: the task groups with their minima, which only the body of an annotation has, and the placeholder pods that
hold the place of members. Pods that nobody owns are a gang each.
"""

from __future__ import annotations

from gangboard.domain.registry import GroupingAPI, GroupingNotes

GROUPING = GroupingAPI(
    label="YuniKorn",
    group="yunikorn.apache.org",
    resources=(),
    labels={
        "yunikorn.apache.org/app-id": "Application",
        "applicationId": "Application",
    },
    schedulers=("yunikorn",),
    notes=GroupingNotes(
        members="the label `yunikorn.apache.org/app-id` (older: `applicationId`); read by `yunikorn` only",
        limits=(
            "it has no object: minima of task groups and placeholders are not read, pods that nobody owns "
            "are a gang each"
        ),
        tested="its labels and texts as read in k8shim 1.9",
    ),
)
