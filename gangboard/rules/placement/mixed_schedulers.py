"""`mixed-schedulers`: the pods of one group name different schedulers.

No scheduler sees the whole gang. There is no condition on the pods, and the PodGroup has an empty status
(observed on 1.36.3 and 1.37.0). If one scheduler has several of the names, each attempt ends in an error.

Since 1.37 the scheduler also reads the pods that have a node. It then refuses the rest of a basic group if
another scheduler has placed a pod of it (observed on 1.37.2). Older schedulers take their own pods of a basic
group.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from gangboard.domain.advice import ChangeMethod
from gangboard.domain.health import Health, Stage
from gangboard.domain.pod import STOCK_SCHEDULER, Pod
from gangboard.domain.text import count, names
from gangboard.domain.verdict import Evidence, Finding
from gangboard.facts.findings import unit_finding
from gangboard.facts.grace_periods import newest_creation
from gangboard.facts.scheduler_text import (
    ONE_SCHEDULER,
    SchedulerMessage,
    scheduler_errors,
)
from gangboard.facts.state_since import refused_since
from gangboard.facts.unit import Unit, lacks_nodes
from gangboard.plugins.rule import UnitRule

_READS_PLACED_PODS = (1, 37)
"""The first minor version whose scheduler also reads the placed pods of a group."""


def find(unit: Unit) -> Finding | None:
    """Return a finding while members wait in a group with several scheduler names."""
    if not unit.group_name or not lacks_nodes(unit):
        return None
    members = _members(unit)
    schedulers = Counter(pod.scheduler_name for pod in members if pod.scheduler_name)
    if len(schedulers) < 2:
        return None
    errors = tuple(error for error in scheduler_errors(unit) if ONE_SCHEDULER in error.raw)
    if not _is_refused(unit, members, errors):
        return None
    ranked = sorted(schedulers.items(), key=lambda item: (-item[1], item[0]))
    listed = names(f"{name} ({count(number, 'pod')})" for name, number in ranked)
    examples = [
        next(pod for pod in members if pod.scheduler_name == scheduler) for scheduler, _ in ranked
    ]
    return unit_finding(
        RULE,
        unit,
        f"Pods of group {unit.group_name} name different schedulers: {listed}.",
        advice=(f"Give all pods of the group one schedulerName ({ChangeMethod.RECREATE}).",),
        evidence=(
            *(Evidence("spec.schedulerName", pod.scheduler_name, pod.meta.ref) for pod in examples),
            *(Evidence("scheduler says", error.raw, error.source) for error in errors[:1]),
        ),
        since=refused_since(unit, errors) if errors else newest_creation(unit.unplaced),
    )


def _members(unit: Unit) -> list[Pod]:
    """Return the pods of the group, including those of other gangs.

    Every pod that names a core group is a member. A pod that names a group of another API is a member only if
    its scheduler reads it.
    """
    foreign_pods = [pod for pod in unit.foreign_pods if pod.is_live and not pod.is_terminating]
    return [
        pod
        for pod in (*unit.current, *foreign_pods)
        if pod.group_name == unit.group_name and not (pod.group_kind and pod.ignores_group)
    ]


def _is_refused(unit: Unit, members: Sequence[Pod], errors: tuple[SchedulerMessage, ...]) -> bool:
    """Return whether the different names keep members waiting.

    In a gang they always do, in a basic group only if the scheduler compares them.
    """
    if unit.quorum is not None or errors:
        return True
    minor = unit.gang.cluster.kubernetes
    if minor is None or minor < _READS_PLACED_PODS or any(pod.group_kind for pod in members):
        return False
    waits = any(pod.scheduler_name == STOCK_SCHEDULER for pod in unit.unplaced)
    return waits and any(
        pod.is_placed and pod.is_live and pod.scheduler_name not in ("", STOCK_SCHEDULER)
        for pod in members
    )


RULE = UnitRule(
    "mixed-schedulers",
    Stage.PLACEMENT,
    "Mixed schedulers",
    20,
    find,
    health=Health.BLOCKED,
    for_waiting_units=True,
)
