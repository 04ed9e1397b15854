"""`not-attempted`: enough pods exist, but no scheduler has tried them for a minute.

Three causes are possible: no scheduler has that name, the scheduler does not run, or its feature gate is off.
The pods stay Pending without a condition and without an event (observed on 1.37.0).

Two cases do not count:

- A `SchedulingGated` condition on a pod without gates is stale.
- On 1.35 a pod that waits for the rest of its gang has no condition either, but it has a nominated node.
"""

from __future__ import annotations

from collections import Counter
from datetime import datetime

from gangboard.domain.advice import ChangeMethod
from gangboard.domain.health import Health, Stage
from gangboard.domain.pod import Pod
from gangboard.domain.text import count, label, names, plural
from gangboard.domain.verdict import Evidence, Finding
from gangboard.facts.attempts import latest, restart_under_way
from gangboard.facts.dependencies import waiting_for_missing_group
from gangboard.facts.findings import starting_finding, unit_finding
from gangboard.facts.grace_periods import ATTEMPT_GRACE, newest_creation
from gangboard.facts.scheduler_text import group_refusal
from gangboard.facts.unit import Unit, is_formed, lacks_nodes
from gangboard.plugins.rule import UnitRule


def find(unit: Unit) -> Finding | None:
    """Return a finding while no waiting pod has been tried."""
    if not lacks_nodes(unit) or not is_formed(unit) or group_refusal(unit) is not None:
        return None
    if unit.group_name and unit.group is None and not _may_group_exist(unit):
        return None
    untried = tuple(pod for pod in unit.unplaced if pod.is_untried and not pod.nominated_node)
    if not untried or not all(pod.is_untried for pod in unit.unplaced):
        return None
    since = _untried_since(unit, untried)
    due = since + ATTEMPT_GRACE if since is not None else None
    waiting = f"{count(len(untried), 'pod')} {plural(len(untried), 'wait')}"
    if due is not None and due > unit.now:
        if restart_under_way(unit) is not None:
            return None
        message = f"{waiting} for a first report from {_scheduler_names(untried)}."
        return starting_finding(RULE, unit, message, recheck_at=due)
    return unit_finding(
        RULE,
        unit,
        f"{waiting}, with no report from {_scheduler_names(untried)} for over a minute.",
        advice=_advice(unit, untried),
        evidence=_evidence(unit, untried),
        since=since,
    )


def _may_group_exist(unit: Unit) -> bool:
    """Return whether the group that the pods name can exist although gangboard does not know it."""
    if any(pod.group_kind for pod in unit.unplaced):
        return not waiting_for_missing_group(unit)
    return unit.gang.cluster.groups_unobserved


def _untried_since(unit: Unit, untried: tuple[Pod, ...]) -> datetime | None:
    """Return since when a scheduler could have tried the pods: after their creation and without gates.

    No object records when gates were removed. The earliest possible time is the last observation of a gated
    member, or the first assessment of the gang.
    """
    newest = newest_creation(untried)
    if all(pod.scheduled is None for pod in untried):
        return newest
    return latest((newest, unit.memory.gated_at or unit.gang.memory_since or unit.now))


def _scheduler_names(pods: tuple[Pod, ...]) -> str:
    schedulers = Counter(pod.scheduler_name for pod in pods if pod.scheduler_name)
    if not schedulers:
        return "the scheduler"
    listed = names(
        name for name, _ in sorted(schedulers.items(), key=lambda item: (-item[1], item[0]))
    )
    return f"scheduler {listed}" if len(schedulers) == 1 else f"schedulers {listed}"


def _advice(unit: Unit, untried: tuple[Pod, ...]) -> tuple[str, ...]:
    """Return the step that makes a scheduler try them.

    A tree of groups gets no advice, because its quorum can be the cause.
    """
    requested = {pod.scheduler_name for pod in untried if pod.scheduler_name}
    if not requested or (unit.group is not None and unit.group.parent_name):
        return ()
    placing = Counter(pod.scheduler_name for pod in unit.gang.pods if pod.is_placed)
    other_schedulers = {
        name: number for name, number in placing.items() if name and name not in requested
    }
    condition = "does not run" if len(requested) == 1 else "do not run"
    start = (
        f"tart {_scheduler_names(untried)} if {'it' if len(requested) == 1 else 'they'} {condition}"
    )
    if len(other_schedulers) == 1:
        ((name, number),) = other_schedulers.items()
        return (
            f"Give the pods schedulerName {name}, which has placed {count(number, 'other pod')} of "
            f"{label(unit.owner.meta.ref)} ({ChangeMethod.RECREATE}), or s{start}.",
        )
    return (
        f"S{start}, or give the pods the schedulerName of one that does ({ChangeMethod.RECREATE}).",
    )


def _evidence(unit: Unit, untried: tuple[Pod, ...]) -> tuple[Evidence, ...]:
    first = untried[0]
    evidence = [
        Evidence("spec.schedulerName", first.scheduler_name, first.meta.ref),
        Evidence(
            "PodScheduled", first.scheduled.reason if first.scheduled else "absent", first.meta.ref
        ),
    ]
    if unit.group is not None and unit.quorum is not None:
        evidence.append(Evidence("quorum", str(unit.quorum), unit.group.meta.ref))
    return tuple(evidence)


RULE = UnitRule(
    "not-attempted",
    Stage.PLACEMENT,
    "Not attempted",
    95,
    find,
    health=Health.BLOCKED,
    for_waiting_units=True,
)
