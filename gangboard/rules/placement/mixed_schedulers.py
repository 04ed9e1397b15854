"""`mixed-schedulers`: the pods of one gang group name different schedulers.

Neither scheduler sees the whole group and nothing is written anywhere: no condition on the pods, an
empty status on the PodGroup (observed on 1.36.3 and 1.37.0). A basic group has no quorum that could
wait: each scheduler takes its own pods.
"""

from __future__ import annotations

from collections import Counter

from gangboard.domain.facts import Unit
from gangboard.domain.health import Health, Stage
from gangboard.domain.reading.findings import unit_finding
from gangboard.domain.reading.grace import newest_creation
from gangboard.domain.reading.progress import lacks_room
from gangboard.domain.reading.wording import count, names
from gangboard.domain.registry import UnitRule
from gangboard.domain.verdict import Evidence, Finding


def find(unit: Unit) -> Finding | None:
    """Return a finding while members wait in a gang group with several scheduler names."""
    if unit.quorum is None:
        return None
    others = [pod for pod in unit.foreign_pods if pod.is_live and not pod.is_terminating]
    # A core group counts whoever names it; of another API a pod whose scheduler does not read it is no member.
    members = [
        pod
        for pod in (*unit.current, *others)
        if pod.group_name == unit.group_name and not (pod.group_kind and pod.ignores_group)
    ]
    schedulers = Counter(pod.scheduler_name for pod in members if pod.scheduler_name)
    if not unit.group_name or len(schedulers) < 2 or not lacks_room(unit):
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
        advice=("Give all pods of the group one schedulerName (recreate).",),
        evidence=tuple(
            Evidence("schedulerName", pod.scheduler_name, pod.meta.ref) for pod in examples
        ),
        since=newest_creation(unit.unplaced),
    )


RULE = UnitRule(
    "mixed-schedulers", Stage.PLACEMENT, "Mixed schedulers", 20, find, health=Health.BLOCKED
)
