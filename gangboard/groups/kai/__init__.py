"""PodGroups of KAI-Scheduler (scheduling.run.ai/v2alpha2): gangs in queues with quotas, made by its podgrouper.

The podgrouper makes one for whatever it knows to be a gang. For what it does not know, such as a JobSet, and for
each pod of a Job of Kubernetes, it makes one with `minMember` 1, which keeps nobody together (observed on
v0.12.0). Its owner reference names the topmost owner and is no controller's.

What its scheduler says stands in `schedulingConditions`, one for each node pool, the newest last. Before v0.17 it is
not taken back when all run (observed), and none is written where the queue does not exist, or while some member
has a node.
"""

from __future__ import annotations

from gangboard.decode.fitting import key_fields
from gangboard.domain.api_resource import Resource
from gangboard.domain.group import Group
from gangboard.groups.kai.reasons import EVICTED_BY, RULES
from gangboard.groups.kai.wire import GROUP, WirePodGroup, build
from gangboard.plugins.grouping_api import GroupingAPI, GroupingNotes

GROUPING = GroupingAPI(
    label="KAI",
    group=GROUP,
    resources=(
        Resource(
            group=GROUP,
            plural="podgroups",
            kind="PodGroup",
            versions=("v2alpha2",),
            wire=WirePodGroup,
            model=Group,
            build=build,
            needed=True,
            fields=key_fields(WirePodGroup),
        ),
    ),
    annotations={"pod-group-name": "PodGroup"},
    schedulers=("kai-scheduler",),
    rules=RULES,
    event_reasons=frozenset({EVICTED_BY}),
    notes=GroupingNotes(
        members="the annotation `pod-group-name`, which its podgrouper writes; read by `kai-scheduler` only",
        limits=(
            "what it has not got a grouper for, such as a JobSet, it places pod by pod. Of a queue that "
            "does not exist it says nothing before 0.17. A gang that falls below its minimum it deletes after its "
            "`stalenessGracePeriod`, else after a minute"
        ),
        tested="KAI-Scheduler 0.12 on 1.37",
    ),
)
