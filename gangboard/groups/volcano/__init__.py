"""PodGroups of Volcano (scheduling.volcano.sh/v1beta1): a gang that waits in a queue, then for nodes.

`phase` Pending: its queue has not let it in; Inqueue: it has, and there is no room yet; Unknown: it ran, and
some of its members are gone. One that fell below its minimum before any pod ran is Pending
again (`let_in_again`). A Volcano Job and the jobs of Kubeflow's training operator get their pods only
once it is let in; others have theirs and wait with them.

Both conditions are only ever added, never taken back, so the later one counts (gang.go and session.go of
v1.14.1): `Unschedulable` is True of what cannot be placed, `Scheduled` of what was. Why a queue does not let
a PodGroup in stands in events alone (proportion.go, capacity.go, overcommit.go).
"""

from __future__ import annotations

from gangboard.decode.fitting import key_fields
from gangboard.domain.api_resource import Resource
from gangboard.domain.group import Group
from gangboard.groups.volcano.let_in_again import LET_IN_AGAIN, OWN_PODS_COUNT_TWICE
from gangboard.groups.volcano.queue_gate import GATED
from gangboard.groups.volcano.reasons import RULES
from gangboard.groups.volcano.wire import GROUP, REFUSED, WirePodGroup, build
from gangboard.plugins.grouping_api import GroupingAPI, GroupingNotes

GROUPING = GroupingAPI(
    label="Volcano",
    group=GROUP,
    resources=(
        Resource(
            group=GROUP,
            plural="podgroups",
            kind="PodGroup",
            versions=("v1beta1",),
            wire=WirePodGroup,
            model=Group,
            build=build,
            needed=True,
            fields=key_fields(WirePodGroup),
        ),
    ),
    annotations={
        "scheduling.k8s.io/group-name": "PodGroup",
        "scheduling.volcano.sh/group-name": "PodGroup",
    },
    schedulers=("volcano",),
    rules=(*RULES, GATED, LET_IN_AGAIN, OWN_PODS_COUNT_TWICE),
    event_reasons=frozenset({REFUSED}),
    # The pod itself could be placed while its gang waits (unschedule_info.go of v1.14.1).
    pod_reasons={"Schedulable": ""},
    notes=GroupingNotes(
        members=(
            "the annotations `scheduling.k8s.io/group-name` and `scheduling.volcano.sh/group-name`; read "
            "by scheduler `volcano` only"
        ),
        limits=(
            "why its queue does not let it in stands in events alone; its conditions are never taken "
            "back, the later one counts. Pods behind its gate `queue-allocation-gate` (1.15) wait for their queue"
        ),
        tested="Volcano 1.14 on 1.37",
    ),
)
